/* decompress_stream.c - decompression of members that have to be taken one after the other.
 *
 *      read_ahead -> packed -> inflate_all -> plain -> check_and_write, main thread
 *
 * Only one fiber at a time can decompress, because each byte may depend on those before it.  The
 * rest happens beside it: one fiber reads ahead, and the main thread sums up and writes.
 * Chunks come from two pools and go back to them; their capacity limits how far a stage can be
 * ahead of the next.
 *
 * If the data is bad, inflate_all sends what is good, and closes the channel with an error, so
 * that the main thread writes all that could be decompressed. */
#include <errno.h>
#include <string.h>

#include <zlib.h>

#include "codec.h"
#include "decompress.h"
#include "engine.h"
#include "gzip.h"
#include "progress.h"
#include "report.h"

enum { CHUNK = 128 << 10, CHUNKS = 4 };

struct chunk {
	size_t length;
	unsigned char data[CHUNK];
};
cc_chan_type(Chunks, struct chunk *);

/* A piece of a member's data, or its end. */
struct plain {
	struct chunk *chunk;	/* NULL: the member ends here, and its trailer says: */
	uint32_t crc, length;
	size_t packed;	/* bytes of input that were taken for it */
};
cc_chan_type(Plains, struct plain);

struct stream {
	const struct options *options;
	struct input *input;
	struct output *output;
	struct unpacked *unpacked;	/* of the main thread */
	Chunks packed_pool, plain_pool, packed;
	Plains plain;
};

/* ---- reading ---- */

static cc_task_fn(read_ahead, struct stream *s;)
{
	struct stream *s = self->s;

	for (bool last = false; !last;) {
		struct chunk *chunk;
		const int err = cc_recv(s->packed_pool, &chunk);

		if (err == EPIPE)
			return 0;	/* no more is wanted */
		cc_try(err);
		cc_try(input_read(s->input, chunk->data, CHUNK, &chunk->length));
		last = chunk->length < CHUNK;
		cc_try(cc_send(s->packed, chunk));
	}
	return cc_close(s->packed);
}

/* ---- decompressing ---- */

/* The compressed data, chunk by chunk.  The source is its first member, for gzip_get_header. */
struct packed_source {
	struct source source;
	struct stream *s;
	struct chunk *chunk;	/* that the source is in; NULL: none */
	size_t taken;		/* bytes of chunks that no `plain` has told about */
	int err;		/* why there is no more; EPIPE: the end of the file */
};

static bool next_chunk(struct source *source)
{
	struct packed_source *from = (struct packed_source *)source;

	if (from->chunk != NULL)
		from->err = cc_send(from->s->packed_pool, from->chunk);
	from->chunk = NULL;
	source->at = source->end = NULL;
	if (from->err == 0)
		from->err = cc_recv(from->s->packed, &from->chunk);
	if (from->err != 0)
		return false;
	from->taken += from->chunk->length;
	source->at = from->chunk->data;
	source->end = from->chunk->data + from->chunk->length;
	return source->at != source->end || next_chunk(source);
}

/* What to do at the end of the input, where there should be more. */
static int ended(const struct packed_source *from)
{
	if (from->err != EPIPE)
		return from->err;
	report_error(from->s->input->name, "unexpected end of file");
	return EBADMSG;
}

static int send_plain(struct packed_source *from, struct plain plain)
{
	plain.packed = from->taken;
	from->taken = 0;
	return cc_send(from->s->plain, plain);
}

/* Sends what has been decompressed into *out, if there is something. */
static int flush(struct packed_source *from, z_stream *z, struct chunk **out)
{
	struct plain plain = {.chunk = *out};

	if (*out == NULL)
		return 0;
	plain.chunk->length = CHUNK - z->avail_out;
	*out = NULL;
	return send_plain(from, plain);
}

/* One deflate stream. */
static int inflate_one(struct packed_source *from, z_stream *z, struct chunk **out)
{
	struct source *source = &from->source;
	int result = Z_OK;

	while (result != Z_STREAM_END) {
		if (source->at == source->end && !next_chunk(source))
			return ended(from);
		if (*out == NULL) {
			cc_try(cc_recv(from->s->plain_pool, out));
			z->next_out = (*out)->data;
			z->avail_out = CHUNK;
		}
		z->next_in = (unsigned char *)source->at;
		z->avail_in = (uInt)(source->end - source->at);
		result = inflate(z, Z_NO_FLUSH);
		source->at = source->end - z->avail_in;
		if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
			report_error(from->s->input->name,
			             "invalid compressed data--format violated");
			return EBADMSG;
		}
		if (z->avail_out == 0)
			cc_try(flush(from, z, out));
	}
	return 0;
}

/* Copies what is left as it is. */
static int copy_rest(struct packed_source *from)
{
	struct source *source = &from->source;

	while (source->at != source->end || next_chunk(source)) {
		struct plain plain = {0};

		cc_try(cc_recv(from->s->plain_pool, &plain.chunk));
		plain.chunk->length = (size_t)(source->end - source->at);
		memcpy(plain.chunk->data, source->at, plain.chunk->length);
		source->at = source->end;
		cc_try(send_plain(from, plain));
	}
	return from->err == EPIPE ? 0 : from->err;
}

/* Something that is no member follows a member. */
static int end_with_garbage(struct packed_source *from)
{
	if (from->s->options->force && from->s->options->to_stdout)
		return copy_rest(from);
	report_warning(from->s->input->name, "decompression OK, trailing garbage ignored");
	return 0;
}

/* One member: header, deflate stream, trailer. */
static int inflate_member(struct packed_source *from, z_stream *z)
{
	struct gzip_header header;
	struct plain end = {0};
	unsigned char trailer[GZIP_TRAILER];
	const char *problem = gzip_get_header(&from->source, &header);
	struct chunk *out = NULL;
	int err, sent, c = 0;

	if (problem != NULL) {
		if (from->err != 0 && from->err != EPIPE)
			return from->err;
		report_error(from->s->input->name, "%s", problem);
		return EBADMSG;
	}
	if (inflateReset(z) != Z_OK)
		return EINVAL;
	err = inflate_one(from, z, &out);
	sent = flush(from, z, &out);
	cc_try(err != 0 ? err : sent);
	for (int i = 0; i < GZIP_TRAILER && c >= 0; i++)
		trailer[i] = (unsigned char)(c = source_byte(&from->source));
	if (c < 0)
		return ended(from);
	gzip_get_trailer(trailer, &end.crc, &end.length);
	return send_plain(from, end);
}

/* Whether another member follows the first ones.  Zeros that fill a tape or a disk block are
 * no garbage.  *err: nothing follows, 0 if that is as it should be. */
static bool another(struct packed_source *from, int *err)
{
	struct source *source = &from->source;
	bool padded = false;
	int c;

	while ((c = source_byte(source)) == 0)
		padded = true;
	if (c < 0) {
		*err = from->err == EPIPE ? 0 : from->err;
		return false;
	}
	source->at--;
	if (!padded && c == GZIP_FIRST_BYTE)
		return true;
	*err = end_with_garbage(from);
	return false;
}

static int inflate_members(struct packed_source *from, bool first)
{
	z_stream z = {0};
	int err = inflateInit2(&z, -15) == Z_OK ? 0 : ENOMEM;

	while (err == 0 && (first || another(from, &err))) {
		err = inflate_member(from, &z);
		first = false;
	}
	inflateEnd(&z);
	return err;
}

static cc_task_fn(inflate_all, struct stream *s; bool first;)
{
	struct packed_source from = {.source = {.more = next_chunk}, .s = self->s};
	const int err = inflate_members(&from, self->first);

	cc_close(self->s->packed_pool);	/* read_ahead ends */
	if (err != 0 && err != EBADMSG)
		return err;
	return cc_close_error(self->s->plain, err);
}

/* ---- writing ---- */

static int check(struct stream *s, const struct plain *end, uint32_t crc, uint64_t length)
{
	s->unpacked->crc = crc;
	if (crc == end->crc && (uint32_t)length == end->length)
		return 0;
	report_error(s->input->name, "invalid compressed data--%s error",
	             crc != end->crc ? "crc" : "length");
	return EBADMSG;
}

static int check_and_write(struct stream *s)
{
	struct plain plain;
	uint64_t length = 0;
	uint32_t crc = 0;
	int err;

	while ((err = cc_recv(s->plain, &plain)) == 0) {
		s->unpacked->in += plain.packed;
		progress_add(plain.packed);
		if (plain.chunk == NULL) {
			cc_try(check(s, &plain, crc, length));
			crc = 0;
			length = 0;
			continue;
		}
		crc = checksum(crc, plain.chunk->data, plain.chunk->length);
		length += plain.chunk->length;
		s->unpacked->out += plain.chunk->length;
		cc_try(output_write(s->output, plain.chunk->data, plain.chunk->length));
		cc_try(cc_send(s->plain_pool, plain.chunk));
	}
	return err == EPIPE ? 0 : err;
}

/* ---- a file ---- */

/* Chunks live in the nursery's arena: whatever happens, they are there until all fibers that use them
 * have ended, and need not be collected. */
static int fill(CCNursery *n, Chunks pool)
{
	for (int i = 0; i < CHUNKS; i++) {
		struct chunk *chunk = cc_arena_alloc(cc_nursery_arena(n), sizeof *chunk);

		if (chunk == NULL)
			return ENOMEM;
		cc_try(cc_send(pool, chunk));
	}
	return 0;
}

static int run_stream(struct stream *s, CCNursery *n)
{
	cc_try(fill(n, s->packed_pool));
	cc_try(fill(n, s->plain_pool));
	cc_spawn(n, read_ahead, .s = s);
	cc_spawn(n, inflate_all, .s = s, .first = s->unpacked->in == 0);
	return check_and_write(s);
}

int decompress_stream(const struct options *o, struct input *in, struct output *out,
                      struct unpacked *unpacked)
{
	struct stream s = {.options = o,
	                   .input = in,
	                   .output = out,
	                   .unpacked = unpacked,
	                   .packed_pool = cc_chan_make(Chunks, CHUNKS),
	                   .plain_pool = cc_chan_make(Chunks, CHUNKS),
	                   .packed = cc_chan_make(Chunks, CHUNKS),
	                   .plain = cc_chan_make(Plains, CHUNKS)};
	CCNurseryOptions options = {0};
	int err = ENOMEM;

	if (s.packed_pool.chan != NULL && s.plain_pool.chan != NULL && s.packed.chan != NULL &&
	    s.plain.chan != NULL)
		err = engine_runtime(&options.runtime, o->processes);
	if (err == 0)
		cc_nursery_scope_with(n, &err, &options) {
			const int failed = run_stream(&s, n);

			if (failed != 0)
				cc_nursery_cancel(n, failed);
		}
	cc_free(s.packed_pool);
	cc_free(s.plain_pool);
	cc_free(s.packed);
	cc_free(s.plain);
	return err;
}
