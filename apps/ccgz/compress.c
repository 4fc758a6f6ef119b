/* compress.c - compression as a job of three steps (engine.h).
 *
 *      read    fills a block with input and puts the 32 KB of input before it in front of it,
 *              as the dictionary
 *      work    compresses the block to a piece of a deflate stream, and sums it up
 *      write   writes the piece and combines the sums
 *
 * All pieces together, between one header and one trailer, are one gzip member.  With a codec that
 * cannot continue a stream, the work wraps each piece in a header and a trailer of its own, and
 * the file is a sequence of members.  A piece other than the last ends with a flush at a byte
 * boundary, so that pieces can simply follow each other. */
#include "compress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ccc/ccc.h>

#include "codec.h"
#include "engine.h"
#include "gzip.h"
#include "progress.h"
#include "report.h"

struct idle_coder {
	struct idle_coder *next;
	void *coder;
};

struct packing {
	struct job job;
	const struct options *options;
	struct input *input;
	struct output *output;
	struct gzip_header header;

	/* Of the reader. */
	bool first;	/* no block has been read */
	size_t tail_length;
	unsigned char tail[DICTIONARY];	/* the end of the input so far */

	/* The coders that no block uses.  A coder is taken for the time of the work only, and
	 * the one that was used last first, because its memory is still in the cache.  So there
	 * are as many coders as blocks that are worked on at the same time. */
	CCMutex mutex;
	struct idle_coder *idle;	/* mutex */

	/* Of the writer. */
	uint64_t length;	/* of the input so far */
	uint32_t crc;		/* of this */
};

struct pack_block {
	struct block block;
	bool first;
	const struct codec *codec;
	uint32_t crc;
	struct piece piece;
	unsigned char data[];	/* room for the dictionary, the input and the output */
};

static struct pack_block *block_of(struct block *block)
{
	return (struct pack_block *)block;	/* its first member */
}

/* ---- blocks ---- */

static struct block *pack_block_new(struct job *job)
{
	const struct options *o = ((struct packing *)job)->options;
	const size_t room = o->codec->bound(o->block_size) + GZIP_HEADER_MAX + GZIP_TRAILER;
	struct pack_block *b = malloc(sizeof *b + DICTIONARY + o->block_size + room);

	if (b == NULL)
		return NULL;
	*b = (struct pack_block){.codec = o->codec};
	b->piece.in = b->data + DICTIONARY;
	b->piece.out = b->data + DICTIONARY + o->block_size;
	b->piece.out_size = room;
	return &b->block;
}

static void pack_block_free(struct block *block)
{
	free(block_of(block));
}

/* ---- coders ---- */

/* Takes an idle coder, or makes one.  Returns NULL if there is no memory. */
static struct idle_coder *coder_take(struct packing *p)
{
	const struct options *o = p->options;
	struct idle_coder *c;

	cc_mutex_lock_anyway(&p->mutex);
	if ((c = p->idle) != NULL)
		p->idle = c->next;
	cc_mutex_unlock(&p->mutex);
	if (c == NULL && (c = malloc(sizeof *c)) != NULL &&
	    (c->coder = o->codec->coder_new(o->level)) == NULL) {
		free(c);
		return NULL;
	}
	return c;
}

static void coder_put(struct packing *p, struct idle_coder *c)
{
	cc_mutex_lock_anyway(&p->mutex);
	c->next = p->idle;
	p->idle = c;
	cc_mutex_unlock(&p->mutex);
}

/* Frees all coders, after the last block. */
static void coders_free(struct packing *p)
{
	struct idle_coder *c;

	while ((c = p->idle) != NULL) {
		p->idle = c->next;
		p->options->codec->coder_free(c->coder);
		free(c);
	}
}

/* ---- the steps ---- */

/* Puts the input before this block in front of it, and keeps what the next block will need. */
static void chain(struct packing *p, struct pack_block *b)
{
	unsigned char *in = b->data + DICTIONARY;

	memcpy(in - p->tail_length, p->tail, p->tail_length);
	b->piece.dictionary = p->tail_length;
	if (b->piece.in_length >= DICTIONARY) {	/* else this block is the last */
		memcpy(p->tail, in + b->piece.in_length - DICTIONARY, DICTIONARY);
		p->tail_length = DICTIONARY;
	}
}

static int pack_read(struct job *job, struct block *block)
{
	struct packing *p = (struct packing *)job;
	struct pack_block *b = block_of(block);
	const size_t size = p->options->block_size;

	cc_try(input_read(p->input, b->data + DICTIONARY, size, &b->piece.in_length));
	b->block.last = b->piece.in_length < size;
	b->first = p->first;
	p->first = false;
	if (!p->options->independent && !b->codec->whole_members)
		chain(p, b);
	return 0;
}

/* A piece as a member of its own. */
static int work_member(const struct packing *p, struct pack_block *b, void *coder)
{
	struct piece *piece = &b->piece;
	struct gzip_header header = {.level = p->options->level};

	if (b->first)
		header = p->header;
	/* It is not known yet, and not told of a member that is too large to be kept in memory. */
	header.member_size = p->options->block_size <= GZIP_SIZED_MAX;
	piece->out_length = gzip_put_header(piece->out, &header);
	cc_try(b->codec->compress(coder, piece));
	gzip_put_trailer(piece->out + piece->out_length, b->crc, (uint32_t)piece->in_length);
	piece->out_length += GZIP_TRAILER;
	if (header.member_size != 0)
		gzip_set_member_size(piece->out, (uint32_t)piece->out_length);
	return 0;
}

static int pack_work(struct job *job, struct block *block)
{
	struct packing *p = (struct packing *)job;
	struct pack_block *b = block_of(block);
	struct idle_coder *c = coder_take(p);
	int err;

	if (c == NULL)
		return ENOMEM;
	b->crc = checksum(0, b->piece.in, b->piece.in_length);
	b->piece.last = b->block.last;
	b->piece.out_length = 0;
	err = b->codec->whole_members ? work_member(p, b, c->coder)
	                              : b->codec->compress(c->coder, &b->piece);
	coder_put(p, c);
	if (err != 0)
		report_error(p->input->name, "the codec %s failed", b->codec->name);
	return err;
}

static int pack_write(struct job *job, struct block *block)
{
	struct packing *p = (struct packing *)job;
	struct pack_block *b = block_of(block);

	/* An empty block after others, at the end of the file, need not be a member. */
	if (b->codec->whole_members && b->piece.in_length == 0 && !b->first)
		return 0;
	p->crc = checksum_combine(p->crc, b->crc, b->piece.in_length);
	p->length += b->piece.in_length;
	progress_add(b->piece.in_length);
	return output_write(p->output, b->piece.out, b->piece.out_length);
}

/* ---- a file ---- */

static void make_header(struct packing *p)
{
	const char *slash = strrchr(p->input->name, '/');
	const char *base = slash != NULL ? slash + 1 : p->input->name;

	p->header.level = p->options->level;
	if (!p->options->name || p->input->fd == 0)
		return;
	if (strlen(base) < sizeof p->header.name)
		strcpy(p->header.name, base);
	if (p->input->stat.st_mtime > 0 && p->input->stat.st_mtime <= UINT32_MAX)
		p->header.time = (uint32_t)p->input->stat.st_mtime;
}

/* One member: a header, the pieces, a trailer. */
static int pack_member(struct packing *p, const struct engine *engine)
{
	unsigned char frame[GZIP_HEADER_MAX];

	cc_try(output_write(p->output, frame, gzip_put_header(frame, &p->header)));
	cc_try(engine->run(&p->job, p->options->processes));
	gzip_put_trailer(frame, p->crc, (uint32_t)p->length);
	return output_write(p->output, frame, GZIP_TRAILER);
}

int compress_file(const struct options *o, struct input *in, struct output *out, uint64_t *length)
{
	const bool small = S_ISREG(in->stat.st_mode) && in->stat.st_size < (off_t)o->block_size;
	const struct engine *engine = small || o->processes == 1 ? &engine_serial : o->engine;
	struct packing p = {.job = {.block_new = pack_block_new,
	                            .block_free = pack_block_free,
	                            .read = pack_read,
	                            .work = pack_work,
	                            .write = pack_write},
	                    .options = o,
	                    .input = in,
	                    .output = out,
	                    .first = true};
	int err;

	make_header(&p);
	err = o->codec->whole_members ? engine->run(&p.job, o->processes) : pack_member(&p, engine);
	coders_free(&p);
	*length = p.length;
	return err;
}
