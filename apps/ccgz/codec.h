/* codec.h - the libraries that compress a block, behind one small table.
 *
 * A codec turns a block of input into a piece of a raw deflate stream (RFC 1951).  Most codecs
 * can use the 32 KB before the block as a dictionary and end a piece at a byte boundary, so
 * that all pieces together are one stream.  A codec that cannot (whole_members) turns each block
 * into a stream of its own, which becomes a gzip member of its own.
 *
 * zlib is always there; libdeflate and isa-l if they were found when ccgz was built. */
#ifndef CCGZ_CODEC_H
#define CCGZ_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DICTIONARY = 32 << 10 };	/* the farthest that deflate looks back */

/* What a codec reads and writes.  It adds to out_length. */
struct piece {
	const unsigned char *in;	/* `dictionary` bytes of the input before it precede it */
	size_t dictionary, in_length;
	unsigned char *out;
	size_t out_size, out_length;
	bool last;	/* the stream ends with this piece */
};

struct codec {
	const char *name;
	bool whole_members;
	size_t block_size;	/* a good one */
	/* The state of one compression; NULL: no memory.  Used by one piece at a time. */
	void *(*coder_new)(int level);
	void (*coder_free)(void *coder);
	/* An upper bound of what `length` bytes can become. */
	size_t (*bound)(size_t length);
	/* Returns 0, or EIO if the library failed. */
	int (*compress)(void *coder, struct piece *piece);
};

extern const struct codec codec_zlib, codec_libdeflate, codec_isal;

/* The codec of that name, or NULL if it is unknown or was not built in. */
const struct codec *codec_named(const char *name);

/* The names of all codecs, separated by commas, in `text`. */
const char *codec_names(char *text, size_t size);

/* Decompresses whole deflate streams, by libdeflate if it is built in, else by zlib. */
void *decoder_new(void);
void decoder_free(void *decoder);

/* Decompresses the stream at `in`, which ends within in_length bytes and becomes out_length bytes.
 * Returns the length of the stream; 0: it is not like that. */
size_t decode(void *decoder, const unsigned char *in, size_t in_length, unsigned char *out,
              size_t out_length);

/* The gzip checksum of `data`, continuing from `crc` (0 at the start).  It is libdeflate's if
 * that is built in, which is several times faster than zlib's. */
uint32_t checksum(uint32_t crc, const void *data, size_t length);

/* The checksum of two pieces of data, of which the second has `length` bytes. */
uint32_t checksum_combine(uint32_t first, uint32_t second, size_t length);

#endif
