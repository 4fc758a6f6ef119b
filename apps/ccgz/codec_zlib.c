/* codec_zlib.c - zlib: the reference, and the default. */
#include <errno.h>
#include <stdlib.h>

#include <zlib.h>

#include "codec.h"

enum { RAW = -15, MEMORY = 8 };	/* deflate without a header, 32 KB window; zlib's default memory */

static void *coder_new(int level)
{
	z_stream *z = calloc(1, sizeof *z);

	if (z != NULL &&
	    deflateInit2(z, level, Z_DEFLATED, RAW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(z);
		return NULL;
	}
	return z;
}

static void coder_free(void *coder)
{
	deflateEnd(coder);
	free(coder);
}

static size_t bound(size_t length)
{
	return compressBound(length) + 16;	/* what a flush adds */
}

static int compress_piece(void *coder, struct piece *p)
{
	z_stream *z = coder;
	int result;

	if (deflateReset(z) != Z_OK)
		return EIO;
	if (p->dictionary != 0 &&
	    deflateSetDictionary(z, p->in - p->dictionary, (uInt)p->dictionary) != Z_OK)
		return EIO;
	z->next_in = (unsigned char *)p->in;	/* zlib does not write to it */
	z->avail_in = (uInt)p->in_length;
	z->next_out = p->out + p->out_length;
	z->avail_out = (uInt)(p->out_size - p->out_length);
	result = deflate(z, p->last ? Z_FINISH : Z_SYNC_FLUSH);
	p->out_length = p->out_size - z->avail_out;
	return result == (p->last ? Z_STREAM_END : Z_OK) && z->avail_out != 0 ? 0 : EIO;
}

const struct codec codec_zlib = {
    .name = "zlib",
    .block_size = 128 << 10,
    .coder_new = coder_new,
    .coder_free = coder_free,
    .bound = bound,
    .compress = compress_piece,
};
