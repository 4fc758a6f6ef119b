/* gzip.c - see gzip.h. */
#include "gzip.h"

#include <string.h>

enum { SECOND_BYTE = 0x8b, METHOD_DEFLATE = 8, OS_UNIX = 3 };
enum { FLAG_CRC = 2, FLAG_EXTRA = 4, FLAG_NAME = 8, FLAG_COMMENT = 16, FLAGS_RESERVED = 0xe0 };
enum { FIXED = 10, EXTRA_AT = 12, SIZE_AT = 16 }; /* offsets in a header with an extra field */
enum { SLOWEST = 2, FASTEST = 4 };			/* what the header says about the level */

const char gzip_no_magic[] = "not in gzip format";

static void put32(unsigned char *out, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		out[i] = (unsigned char)(value >> 8 * i);
}

static uint32_t get32(const unsigned char *in)
{
	return in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

size_t gzip_put_header(unsigned char *out, const struct gzip_header *h)
{
	static const unsigned char extra[] = {8, 0, 'C', 'C', 4, 0};
	const size_t name = strlen(h->name);
	size_t length = FIXED;

	memset(out, 0, FIXED);
	out[0] = GZIP_FIRST_BYTE;
	out[1] = SECOND_BYTE;
	out[2] = METHOD_DEFLATE;
	put32(out + 4, h->time);
	out[8] = h->level == 9 ? SLOWEST : h->level == 1 ? FASTEST : 0;
	out[9] = OS_UNIX;
	if (h->member_size != 0) {
		out[3] |= FLAG_EXTRA;
		memcpy(out + length, extra, sizeof extra);
		put32(out + SIZE_AT, h->member_size);
		length = SIZE_AT + 4;
	}
	if (name != 0) {
		out[3] |= FLAG_NAME;
		memcpy(out + length, h->name, name + 1);
		length += name + 1;
	}
	return length;
}

void gzip_set_member_size(unsigned char *header, uint32_t size)
{
	put32(header + SIZE_AT, size);
}

void gzip_put_trailer(unsigned char out[GZIP_TRAILER], uint32_t crc, uint32_t length)
{
	put32(out, crc);
	put32(out + 4, length);
}

void gzip_get_trailer(const unsigned char in[GZIP_TRAILER], uint32_t *crc, uint32_t *length)
{
	*crc = get32(in);
	*length = get32(in + 4);
}

bool gzip_magic(const unsigned char *data, size_t length)
{
	return length >= 2 && data[0] == GZIP_FIRST_BYTE && data[1] == SECOND_BYTE;
}

size_t gzip_member_size(const unsigned char *data, size_t length)
{
	if (length < GZIP_SIZED_PREFIX || !gzip_magic(data, length) || !(data[3] & FLAG_EXTRA))
		return 0;
	data += EXTRA_AT;
	if (memcmp(data, "BC\2", 4) == 0)
		return (size_t)(data[4] | data[5] << 8) + 1;
	return memcmp(data, "CC\4", 4) == 0 ? get32(data + 4) : 0;
}

/* Takes `length` bytes.  False at the end of the source. */
static bool skip(struct source *s, int length)
{
	while (length-- > 0)
		if (source_byte(s) < 0)
			return false;
	return true;
}

/* Takes a string with its 0, of which the first bytes go to `text` unless that is NULL. */
static bool take_string(struct source *s, char *text, size_t size)
{
	size_t used = 0;
	int c;

	while ((c = source_byte(s)) > 0)
		if (text != NULL && used + 1 < size)
			text[used++] = (char)c;
	if (text != NULL)
		text[used] = '\0';
	return c == 0;
}

const char *gzip_get_header(struct source *s, struct gzip_header *h)
{
	unsigned char fixed[FIXED];
	int c = 0, low;

	*h = (struct gzip_header){0};
	for (int i = 0; i < FIXED && c >= 0; i++)
		fixed[i] = (unsigned char)(c = source_byte(s));
	if (c < 0)
		return "unexpected end of file";
	if (!gzip_magic(fixed, FIXED))
		return gzip_no_magic;
	if (fixed[2] != METHOD_DEFLATE)
		return "compressed with an unknown method";
	if (fixed[3] & FLAGS_RESERVED)
		return "has unknown flags in its header";
	h->time = get32(fixed + 4);
	if (fixed[3] & FLAG_EXTRA &&
	    ((low = source_byte(s)) < 0 || (c = source_byte(s)) < 0 || !skip(s, low | c << 8)))
		return "unexpected end of file";
	if ((fixed[3] & FLAG_NAME && !take_string(s, h->name, sizeof h->name)) ||
	    (fixed[3] & FLAG_COMMENT && !take_string(s, NULL, 0)) ||
	    (fixed[3] & FLAG_CRC && !skip(s, 2)))
		return "unexpected end of file";
	return NULL;
}
