/* stream.h - a stream: its backend, and a buffer for each direction.
 *
 * STREAM-1  The reader touches `in` only, the writer `out` only, so one of each may run at once.
 * STREAM-2  A call that waits for input holds no memory in `in` unless it holds unread bytes; `out`
 *           has memory only between a write and the end of the flush that follows. */
#ifndef CC__IO_STREAM_H
#define CC__IO_STREAM_H

#include <ccc/stream.h>

#include "io/buffer.h"

struct cc__connection;

struct CCStream {
	const CCStreamBackend *backend;	/* constant */
	void *object;			/* constant */
	int fd;				/* constant; -1: the backend is not a descriptor */
	uint32_t read_generation;	/* of the last attempt (io/use.h); the reader's */
	uint32_t write_generation;	/* likewise; the writer's */
	cc_time idle;			/* changes between calls only; 0: no limit */
	struct cc__buffer in;		/* the reader's */
	struct cc__buffer out;		/* the writer's */
	struct cc__connection *served;	/* constant while the handler runs (serve/serve.c); or NULL */
};

/* Waits until the operation of that event is worth another attempt.  0, or EAGAIN (CC_NOW),
 * ETIMEDOUT, ECANCELED and the backend's errors.  May park. */
int cc__stream_wait(const CCStream *s, unsigned event, cc_time deadline);

/* An attempt to read would return EAGAIN, as far as is known, so a call that may wait can leave it
 * out before its first wait (cc__use_drained). */
bool cc__stream_drained(CCStream *s);

#endif
