/* decompress_members.c - decompression of members that tell their size, as a job of three steps
 * (engine.h).
 *
 *      read    a whole member
 *      work    decompresses and checks it
 *      write   writes the data, or reports what was wrong
 *
 * What was wrong is reported by the write, not by the work, so that all the data before a
 * damaged member has been written by then. */
#include <errno.h>
#include <stdlib.h>

#include "codec.h"
#include "decompress.h"
#include "engine.h"
#include "gzip.h"
#include "progress.h"
#include "report.h"

/* Larger members are left to decompress_stream, which needs little memory for them. */
enum { MEMBER_MAX = GZIP_SIZED_MAX + GZIP_SIZED_MAX / 8 };

struct unpacking {
	struct job job;
	struct input *input;
	struct output *output;
	struct unpacked *unpacked;
	bool more;	/* something else follows the members */
};

struct member {
	struct block block;
	void *decoder;
	unsigned char *in, *out;
	size_t in_size, in_length, out_size, out_length;
	uint32_t crc;
	const char *problem;	/* NULL: none */
};

static struct block *member_new(struct job *job)
{
	struct member *m = calloc(1, sizeof *m);

	(void)job;
	if (m == NULL || (m->decoder = decoder_new()) == NULL) {
		free(m);
		return NULL;
	}
	return &m->block;
}

static void member_free(struct block *block)
{
	struct member *m = (struct member *)block;

	decoder_free(m->decoder);
	free(m->in);
	free(m->out);
	free(m);
}

/* Makes a buffer at least that large. */
static int reserve(unsigned char **buffer, size_t *size, size_t wanted)
{
	unsigned char *larger;

	if (*size >= wanted)
		return 0;
	if ((larger = realloc(*buffer, wanted)) == NULL)
		return ENOMEM;
	*buffer = larger;
	*size = wanted;
	return 0;
}

static int member_read(struct job *job, struct block *block)
{
	struct unpacking *u = (struct unpacking *)job;
	struct member *m = (struct member *)block;
	struct input *in = u->input;
	size_t size;

	cc_try(input_peek(in));
	size = gzip_member_size(in->ahead + in->ahead_at, in->ahead_end - in->ahead_at);
	m->block.last = size < GZIP_SIZED_PREFIX + GZIP_TRAILER || size > MEMBER_MAX;
	m->in_length = m->out_length = 0;
	m->problem = NULL;
	if (m->block.last) {
		u->more = in->ahead_at != in->ahead_end;
		return 0;
	}
	cc_try(reserve(&m->in, &m->in_size, size));
	cc_try(input_read(in, m->in, size, &m->in_length));
	if (m->in_length < size)
		m->problem = "unexpected end of file";
	return 0;
}

/* Decompresses a member.  Returns NULL, or what is wrong with it. */
static const char *unpack(struct member *m)
{
	const unsigned char *trailer = m->in + m->in_length - GZIP_TRAILER;
	struct source source = {.at = m->in, .end = trailer};
	struct gzip_header header;
	const char *problem = gzip_get_header(&source, &header);
	uint32_t crc, length;

	if (problem != NULL)
		return problem;
	gzip_get_trailer(trailer, &crc, &length);
	if (length > GZIP_SIZED_MAX)
		return "invalid compressed data--length error";
	if (reserve(&m->out, &m->out_size, length + 1) != 0)
		return "no memory for a member";
	if (decode(m->decoder, source.at, (size_t)(trailer - source.at), m->out, length) !=
	    (size_t)(trailer - source.at))
		return "invalid compressed data--format violated";
	m->out_length = length;
	m->crc = checksum(0, m->out, length);
	return m->crc == crc ? NULL : "invalid compressed data--crc error";
}

static int member_work(struct job *job, struct block *block)
{
	struct member *m = (struct member *)block;

	(void)job;
	if (m->problem == NULL && m->in_length != 0)
		m->problem = unpack(m);
	return 0;
}

static int member_write(struct job *job, struct block *block)
{
	struct unpacking *u = (struct unpacking *)job;
	struct member *m = (struct member *)block;

	if (m->problem != NULL) {
		report_error(u->input->name, "%s", m->problem);
		return EBADMSG;
	}
	u->unpacked->in += m->in_length;
	u->unpacked->out += m->out_length;
	if (m->in_length != 0)
		u->unpacked->crc = m->crc;
	progress_add(m->in_length);
	return output_write(u->output, m->out, m->out_length);
}

int decompress_members(const struct options *o, struct input *in, struct output *out,
                       struct unpacked *unpacked, bool *more)
{
	struct unpacking u = {.job = {.block_new = member_new,
	                              .block_free = member_free,
	                              .read = member_read,
	                              .work = member_work,
	                              .write = member_write},
	                      .input = in,
	                      .output = out,
	                      .unpacked = unpacked};
	const struct engine *engine = o->processes == 1 ? &engine_serial : o->engine;

	cc_try(engine->run(&u.job, o->processes));
	*more = u.more;
	return 0;
}
