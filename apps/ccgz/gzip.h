/* gzip.h - the gzip file format (RFC 1952): headers and trailers.
 *
 * A file is a sequence of members.  A member is a header, a raw deflate stream, and a trailer
 * with the checksum and the length of the data.
 *
 * A member may tell its own length in the extra field of the header, so that the members of a
 * file can be decompressed at the same time.  Two such fields are known: "BC" of the BGZF format
 * (16 bits, the length minus 1), and "CC", which ccgz --fast-codec writes (32 bits). */
#ifndef CCGZ_GZIP_H
#define CCGZ_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GZIP_FIRST_BYTE = 0x1f,
	GZIP_TRAILER = 8,
	GZIP_HEADER_MAX = 10 + 10 + 256,	/* of what gzip_put_header writes */
	GZIP_SIZED_PREFIX = 20,			/* bytes that are enough for gzip_member_size */
	GZIP_SIZED_MAX = 8 << 20,		/* data of a member that tells its size */
};

/* Bytes that can be taken one by one. */
struct source {
	const unsigned char *at, *end;
	/* Called at the end: provides more, or returns false.  NULL: there is never more. */
	bool (*more)(struct source *);
};

struct gzip_header {
	uint32_t time;	/* of the original file; 0: unknown */
	char name[256];       /* of the original file; "": none */
	int level;		/* written only */
	uint32_t member_size;	/* not 0: written as an extra field; not read */
};

/* Writes a header, without the name if it is 256 bytes or more.  Returns its length. */
size_t gzip_put_header(unsigned char *out, const struct gzip_header *header);

/* Sets the size in a header that was written with a member_size. */
void gzip_set_member_size(unsigned char *header, uint32_t size);

void gzip_put_trailer(unsigned char out[GZIP_TRAILER], uint32_t crc, uint32_t length);
void gzip_get_trailer(const unsigned char in[GZIP_TRAILER], uint32_t *crc, uint32_t *length);

/* Takes a header.  Returns NULL, or what is wrong with it: gzip_no_magic if this is no member. */
extern const char gzip_no_magic[];
const char *gzip_get_header(struct source *source, struct gzip_header *header);

/* Whether these bytes begin a gzip member. */
bool gzip_magic(const unsigned char *data, size_t length);

/* The size of the member that begins with these bytes, if its header tells; 0: it does not. */
size_t gzip_member_size(const unsigned char *data, size_t length);

/* The next byte, or -1 at the end. */
static inline int source_byte(struct source *s)
{
	if (s->at == s->end && (s->more == NULL || !s->more(s)))
		return -1;
	return *s->at++;
}

#endif
