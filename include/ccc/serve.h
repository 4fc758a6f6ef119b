/* serve.h - the accept loop of a server: a task for each connection, limits, a graceful stop.
 *
 *      static cc_serve_fn(echo, struct app *app)
 *      {
 *              char line[256];
 *              size_t n;
 *              int err = 0;
 *
 *              while (err == 0 && (err = cc_serve_next(stream, CC_FOREVER)) == 0)
 *                      if ((err = cc_stream_read_line(stream, line, sizeof line, &n,
 *                                                     cc_after(app->patience))) == 0)
 *                              err = cc_stream_write(stream, line, n, NULL, CC_FOREVER);
 *              return err;
 *      }
 *
 *      CCServeOptions limits = {.connections = 1000, .idle = 30 * CC_SEC, .grace = 5 * CC_SEC};
 *
 *      cc_nursery_scope(n, &err) {
 *              cc_nursery_cancel_on(n, SIGTERM);       // signal.h
 *              stopped = cc_serve_on(listener, echo, &app, &limits);
 *      } */
#ifndef CCC_SERVE_H
#define CCC_SERVE_H

#include <ccc/nursery.h>
#include <ccc/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Talks with one client, in a task of its own.  The stream belongs to cc_serve, which flushes and
 * closes it when the handler returns.  The result is for CCServeOptions.ended only. */
typedef int cc_serve_handler(CCStream *stream, void *user);

/* Limits.  All zero: none, and a stop that does not wait. */
typedef struct CCServeOptions {
	/* Connections at a time.  At the limit no further ones are accepted: they wait in the
	 * listener's queue.  0: as many as there are descriptors. */
	unsigned connections;
	/* A connection ends if its peer neither sends nor takes a byte for so long while the handler
	 * waits for it (cc_stream_idle_limit).  0: no limit. */
	cc_time idle;
	/* A connection ends after so long: the waits of its handler return ETIMEDOUT.  0: never. */
	cc_time total;
	/* After the stop, handlers have so long to answer the requests that they have begun. */
	cc_time grace;
	/* How the tasks of connections start (task.h); NULL: the defaults. */
	const CCTaskOptions *task;
	/* Called by the task of each connection after its end, with the handler's result, or
	 * ENOMEM if the handler was not called.  NULL: not called. */
	void (*ended)(void *user, int result);
} CCServeOptions;

/* Accepts connections of `listener` and calls `handler(stream, user)` for each, until a nursery
 * around the caller is cancelled or late, or the listener is closed with cc_fd_close.
 * `options` may be NULL.
 *
 * An error of one connection ends neither the others nor the call.  If descriptors are used up, or
 * memory for tasks, the call goes on as soon as there are some (cc_net_accept).
 *
 * The stop is graceful.  No further connection is accepted.  Handlers that wait in cc_serve_next
 * get ECANCELED at once.  The others go on, because they are shielded from what cancelled the
 * caller, until the grace period has passed: then their waits end with ECANCELED.  The call returns
 * after the last handler.  `listener` still belongs to the caller.
 *
 * Returns 0 if the listener was closed, or
 *   ECANCELED   a nursery around the caller was cancelled, or the caller's runtime is ending
 *   ETIMEDOUT   the deadline of a nursery around the caller passed
 *   EINVAL      `handler` is NULL, a span of the options is negative, or `listener` does not
 *               listen
 *   EBADF       `listener` was not open when the call began
 *   ENOTSOCK    `listener` is not a socket
 *   ENOMEM      no memory for the call itself
 *   ENOTSUP     in a child of fork (runtime.h)
 *
 * Any thread.  May park.  Cancellation point, but the handlers end first. */
CC_API CC_MUST_CHECK int cc_serve(int listener, cc_serve_handler *handler, void *user,
                                  const CCServeOptions *options);

/* Waits in a handler for the first byte of the next request, at most until `deadline`, after a
 * flush of the stream's output.  A request whose first byte has been read does not wait.  This is
 * where a handler ends when the server stops: call it between requests, and not within one.
 *
 * Returns 0, or
 *   ECANCELED   the server stops, or its grace period has passed
 *   EPIPE       the peer has closed the connection
 *   ETIMEDOUT   the deadline passed, or the idle limit or the connection's time is over; EAGAIN if
 *               the deadline was CC_NOW
 *   EINVAL      the stream is not one of cc_serve
 *   (other)     the errors of cc_stream_peek and cc_stream_flush
 *
 * The handler only.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_serve_next(CCStream *stream, cc_time deadline);

#ifndef __cplusplus
/* cc_serve_fn(name, type *parameter) is the head of a handler's definition; the stream is `stream`.
 * cc_serve_on(listener, name, pointer, options) calls cc_serve with such a handler, and the
 * compiler checks that the pointer has the handler's type.  Each argument is evaluated once. */
#define cc_serve_fn(name, parameter) \
	int name##_handler(CCStream *stream, parameter); \
	static int name(CCStream *cc_stream, void *cc_user) \
	{ \
		return name##_handler(cc_stream, cc_user); \
	} \
	int name##_handler(CCStream *stream, parameter)
#define cc_serve_on(listener, name, pointer, options) \
	((void)sizeof(name##_handler((CCStream *)0, (pointer))), \
	 cc_serve(listener, name, pointer, options))
#endif

#ifdef __cplusplus
}
#endif
#endif
