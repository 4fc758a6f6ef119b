/* stream_read.c - reading from streams: the buffer first, the backend after it. */
#include <errno.h>
#include <string.h>

#include "io/stream.h"

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int read_count(size_t *count, size_t n, int err)
{
	if (count != NULL)
		*count = n;
	return err;
}

/* ---- from the backend ---- */

/* Reads more into the buffer, which gets room for `want` bytes in all: more than it holds.  The
 * memory is released before a wait if it holds nothing (STREAM-2). */
static int fill_more(CCStream *s, size_t want, cc_time deadline)
{
	struct cc__buffer *in = &s->in;
	bool first = deadline != CC_NOW;
	size_t n;
	int err;

	do {
		if (first && cc__stream_drained(s)) {
			first = false;
			cc__buffer_release(in);
			continue;
		}
		n = 0;
		if (!cc__buffer_reserve(in, want))
			return ENOMEM;
		err = s->backend->read(s->object, in->at + in->end, in->room - in->end, &n);
		if (err == 0 && n > 0) {
			cc__buffer_filled(in, n);
			return 0;
		}
		cc__buffer_release(in);
		if (err != EAGAIN)
			return err != 0 ? err : EPIPE;
	} while ((err = cc__stream_wait(s, CC_FD_READ, deadline)) == 0);
	return err;
}

/* Past the buffer, which is empty, into the caller's memory. */
static int read_through(CCStream *s, void *to, size_t size, size_t *n, cc_time deadline)
{
	bool first = deadline != CC_NOW;
	int err;

	cc__buffer_release(&s->in);
	do {
		*n = 0;
		if (first && cc__stream_drained(s)) {
			first = false;
			continue;
		}
		err = s->backend->read(s->object, to, size, n);
		if (err != EAGAIN)
			return err == 0 && *n == 0 ? EPIPE : err;
	} while ((err = cc__stream_wait(s, CC_FD_READ, deadline)) == 0);
	*n = 0;
	return err;
}

/* ---- some bytes, all bytes ---- */

static size_t take_held(struct cc__buffer *in, void *to, size_t size)
{
	const size_t n = least(cc__buffer_held(in), size);

	memcpy(to, cc__buffer_first(in), n);
	cc__buffer_drop(in, n);
	return n;
}

/* `size` is not 0. */
static int take_some(CCStream *s, void *to, size_t size, size_t *n, cc_time deadline)
{
	int err;

	if (cc__buffer_held(&s->in) == 0) {
		if (size >= CC__BUFFER_FIRST)
			return read_through(s, to, size, n, deadline);
		if ((err = fill_more(s, 1, deadline)) != 0)
			return err;
	}
	*n = take_held(&s->in, to, size);
	return 0;
}

int cc_stream_read(CCStream *stream, void *buffer, size_t size, size_t *count, cc_time deadline)
{
	size_t n = 0;
	const int err = size > 0 ? take_some(stream, buffer, size, &n, deadline) : 0;

	return read_count(count, n, err);
}

int cc_stream_read_all(CCStream *stream, void *buffer, size_t size, size_t *count, cc_time deadline)
{
	size_t done = 0, n;
	int err = 0;

	for (; err == 0 && done < size; done += n) {
		n = 0;
		err = take_some(stream, (char *)buffer + done, size - done, &n, deadline);
	}
	return read_count(count, done, err);
}

/* ---- up to a delimiter ---- */

/* Waits until `delimiter` is among the first `most` unread bytes.  Its position into *at. */
static int find_delimiter(CCStream *s, char delimiter, size_t most, size_t *at, cc_time deadline)
{
	struct cc__buffer *in = &s->in;
	size_t seen = 0;
	int err = 0;

	while (err == 0) {
		const size_t here = least(cc__buffer_held(in), most);
		const char *found = here > seen ? memchr(cc__buffer_first(in) + seen, delimiter,
		                                         here - seen)
		                                : NULL;

		if (found != NULL) {
			*at = (size_t)(found - cc__buffer_first(in));
			return 0;
		}
		if (here == most)
			return EMSGSIZE;
		seen = here;
		err = fill_more(s, seen + 1, deadline);
	}
	return err;
}

int cc_stream_read_until(CCStream *stream, char delimiter, void *buffer, size_t size, size_t *count,
                         cc_time deadline)
{
	size_t at = 0, n = 0;
	const int err = find_delimiter(stream, delimiter, size, &at, deadline);

	if (err == 0)
		n = take_held(&stream->in, buffer, at + 1);
	return read_count(count, n, err);
}

/* The line ending is not counted, so the line feed is at `size` at most: after `size` - 1
 * characters and a carriage return. */
int cc_stream_read_line(CCStream *stream, char *text, size_t size, size_t *count, cc_time deadline)
{
	struct cc__buffer *in = &stream->in;
	size_t at = 0, length;
	int err;

	if (size == 0 || size == SIZE_MAX)
		return read_count(count, 0, EINVAL);
	if ((err = find_delimiter(stream, '\n', size + 1, &at, deadline)) != 0)
		return read_count(count, 0, err);
	length = at > 0 && cc__buffer_first(in)[at - 1] == '\r' ? at - 1 : at;
	if (length >= size)
		return read_count(count, 0, EMSGSIZE);
	memcpy(text, cc__buffer_first(in), length);
	text[length] = 0;
	cc__buffer_drop(in, at + 1);
	return read_count(count, length, 0);
}

/* ---- in place ---- */

int cc_stream_peek(CCStream *stream, size_t size, const char **data, size_t *count,
                   cc_time deadline)
{
	struct cc__buffer *in = &stream->in;
	int err = 0;

	while (err == 0 && cc__buffer_held(in) < size)
		err = fill_more(stream, size, deadline);
	*count = cc__buffer_held(in);
	*data = *count > 0 ? cc__buffer_first(in) : "";
	return err;
}

int cc_stream_consume(CCStream *stream, size_t size)
{
	if (size > cc__buffer_held(&stream->in))
		return EINVAL;
	cc__buffer_drop(&stream->in, size);
	return 0;
}
