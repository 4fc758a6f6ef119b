/* codec_isal.c - Intel's isa-l: the fastest, with a dictionary and flushes as zlib has them.
 * Its levels are 0 to 3, of which even the highest compresses less than zlib's 6. */
#include <errno.h>
#include <stdlib.h>

#include <isa-l.h>

#include "codec.h"

struct coder {
	struct isal_zstream stream;
	uint32_t level;
	unsigned char buffer[ISAL_DEF_LVL3_LARGE];	/* what the levels above 0 need */
};

static void *coder_new(int level)
{
	struct coder *c = malloc(sizeof *c);

	if (c != NULL)
		c->level = level <= 1 ? 0 : level <= 3 ? 1 : level <= 6 ? 2 : 3;
	return c;
}

static size_t bound(size_t length)
{
	return length + length / 8 + 1024;	/* stored blocks, with much room */
}

static int compress_piece(void *coder, struct piece *p)
{
	struct coder *c = coder;
	struct isal_zstream *z = &c->stream;

	isal_deflate_init(z);
	z->level = c->level;
	z->level_buf = c->buffer;
	z->level_buf_size = sizeof c->buffer;
	if (p->dictionary != 0 && isal_deflate_set_dict(z, (unsigned char *)p->in - p->dictionary,
	                                                (uint32_t)p->dictionary) != COMP_OK)
		return EIO;
	z->next_in = (unsigned char *)p->in;
	z->avail_in = (uint32_t)p->in_length;
	z->next_out = p->out + p->out_length;
	z->avail_out = (uint32_t)(p->out_size - p->out_length);
	z->end_of_stream = p->last;
	z->flush = p->last ? NO_FLUSH : SYNC_FLUSH;
	if (isal_deflate(z) != COMP_OK || z->avail_in != 0 || z->avail_out == 0)
		return EIO;
	p->out_length = p->out_size - z->avail_out;
	return 0;
}

const struct codec codec_isal = {
    .name = "isal",
    .block_size = 128 << 10,
    .coder_new = coder_new,
    .coder_free = free,
    .bound = bound,
    .compress = compress_piece,
};
