/* stream.c - making, writing and closing streams. */
#include "io/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* So many bytes are collected before they are sent without a flush. */
enum { OUT_MOST = 16 * 1024 };

/* ---- making ---- */

int cc_stream_new(CCStream **stream, const CCStreamBackend *backend, void *object)
{
	CCStream *s;

	if (stream == NULL || backend == NULL || object == NULL || backend->read == NULL ||
	    backend->write == NULL || backend->wait == NULL || backend->close == NULL)
		return EINVAL;
	if ((s = malloc(sizeof *s)) == NULL)
		return ENOMEM;
	*s = (CCStream){.backend = backend, .object = object, .fd = -1};
	*stream = s;
	return 0;
}

void cc_stream_idle_limit(CCStream *stream, cc_time span)
{
	stream->idle = span > 0 && span != CC_FOREVER ? span : 0;
}

int cc_stream_fd(const CCStream *stream)
{
	return stream->fd;
}

/* ---- waiting ---- */

int cc__stream_wait(const CCStream *s, unsigned event, cc_time deadline)
{
	cc_time until = deadline;

	if (deadline == CC_NOW)
		return EAGAIN;
	if (s->idle != 0) {
		until = cc_after(s->idle);
		until = until < deadline ? until : deadline;
	}
	return s->backend->wait(s->object, event, until);
}

/* ---- writing ---- */

/* Sends 1 to `size` bytes. */
static int output_some(CCStream *s, const char *from, size_t size, size_t *n, cc_time deadline)
{
	int err;

	do {
		*n = 0;
		if ((err = s->backend->write(s->object, from, size, n)) != EAGAIN)
			return err;
	} while ((err = cc__stream_wait(s, CC_FD_WRITE, deadline)) == 0);
	return err;
}

int cc_stream_flush(CCStream *stream, cc_time deadline)
{
	struct cc__buffer *out = &stream->out;
	size_t n;
	int err;

	while (cc__buffer_held(out) > 0) {
		if ((err = output_some(stream, cc__buffer_first(out), cc__buffer_held(out), &n,
		                     deadline)) != 0)
			return err;
		cc__buffer_drop(out, n);
	}
	cc__buffer_release(out);
	return 0;
}

/* Stores all of it, which must not be more than OUT_MOST with what is held. */
static int keep_output(struct cc__buffer *out, const void *from, size_t size)
{
	if (!cc__buffer_reserve(out, cc__buffer_held(out) + size))
		return ENOMEM;
	memcpy(out->at + out->end, from, size);
	out->end += size;
	return 0;
}

/* Sends what is held, and then `from` without a copy; *done counts the latter. */
static int send_through(CCStream *s, const char *from, size_t size, size_t *done, cc_time deadline)
{
	size_t n;
	int err = cc_stream_flush(s, deadline);

	for (; err == 0 && *done < size; *done += n)
		err = output_some(s, from + *done, size - *done, &n, deadline);
	return err;
}

int cc_stream_write(CCStream *stream, const void *buffer, size_t size, size_t *count,
                    cc_time deadline)
{
	struct cc__buffer *out = &stream->out;
	size_t done = 0;
	int err = 0;

	if (size >= OUT_MOST) {
		err = send_through(stream, buffer, size, &done, deadline);
	} else if (size > 0) {
		if (cc__buffer_held(out) + size > OUT_MOST)
			err = cc_stream_flush(stream, deadline);
		if (err == 0)
			err = keep_output(out, buffer, size);
		done = err == 0 ? size : 0;
	}
	if (count != NULL)
		*count = done;
	return err;
}

/* ---- the end ---- */

int cc_stream_shutdown(CCStream *stream, cc_time deadline)
{
	int err;

	if (stream->backend->shutdown == NULL)
		return ENOTSUP;
	if ((err = cc_stream_flush(stream, deadline)) != 0)
		return err;
	return stream->backend->shutdown(stream->object);
}

int cc_stream_close(CCStream *stream, cc_time deadline)
{
	int err, closed;

	if (stream == NULL)
		return 0;
	err = cc_stream_flush(stream, deadline);
	closed = stream->backend->close(stream->object);
	cc__buffer_fini(&stream->in);
	cc__buffer_fini(&stream->out);
	free(stream);
	return err != 0 ? err : closed;
}
