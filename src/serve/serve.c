/* serve.c - the accept loop.
 *
 * Two nurseries.  The outer one has one child, which accepts: what cancels the caller ends its
 * wait.  The inner one is shielded and has the connections: only its own deadline, set when the
 * acceptor has returned, ends them.
 *
 * SERVE-1  A connection is listed as idle while its handler waits in cc_serve_next.  The list and
 *          `stopping` change under the server's lock.
 * SERVE-2  The stop ends the reading direction of each listed connection, under the lock, so that
 *          its descriptor is still its own.  What has arrived before can be read, so a request that
 *          comes at the same moment is answered.  A connection that comes to be listed later is refused. */
#include <ccc/serve.h>

#include <ccc/io.h>
#include <ccc/net.h>
#include <ccc/sync.h>

#include <errno.h>
#include <stdbool.h>

#include "io/stream.h"

/* A handler that has returned may have left output, which a peer must take within this. */
#define LAST_FLUSH (10 * CC_SEC)

struct server {
	int listener;			/* constant, as all down to `slots` */
	cc_serve_handler *handler;
	void *user;
	CCServeOptions options;
	CCNursery *connections;
	CCSemaphore slots;		/* connections that may still be opened */
	CCMutex lock;
	struct cc__connection *idle;	/* the lock; SERVE-1 */
	bool stopping;			/* the lock */
};

/* On the stack of its task. */
struct cc__connection {
	struct server *server;			/* constant */
	struct cc__connection *next, **from;	/* the server's lock */
	CCStream *stream;			/* constant */
};

/* What a new task gets. */
struct accepted {
	struct server *server;
	int fd;
};

/* ---- idle connections ---- */

/* False: the server stops. */
static bool idle_enter(struct cc__connection *c)
{
	struct server *s = c->server;
	bool enters;

	cc_mutex_lock_anyway(&s->lock);
	if ((enters = !s->stopping)) {
		c->next = s->idle;
		c->from = &s->idle;
		if (c->next != NULL)
			c->next->from = &c->next;
		s->idle = c;
	}
	cc_mutex_unlock(&s->lock);
	return enters;
}

/* True: the server stops. */
static bool idle_leave(struct cc__connection *c)
{
	struct server *s = c->server;
	bool stopping;

	cc_mutex_lock_anyway(&s->lock);
	*c->from = c->next;
	if (c->next != NULL)
		c->next->from = c->from;
	stopping = s->stopping;
	cc_mutex_unlock(&s->lock);
	return stopping;
}

static void stop_idle(struct server *s)
{
	cc_mutex_lock_anyway(&s->lock);
	s->stopping = true;
	for (struct cc__connection *c = s->idle; c != NULL; c = c->next)
		cc_fd_shutdown(c->stream->fd, CC_FD_READ);
	cc_mutex_unlock(&s->lock);
}

int cc_serve_next(CCStream *stream, cc_time deadline)
{
	struct cc__connection *c = stream->served;
	const char *data;
	size_t n;
	int err;

	if (c == NULL)
		return EINVAL;
	if (cc__buffer_held(&stream->in) > 0)
		return 0;
	if ((err = cc_stream_flush(stream, deadline)) != 0)
		return err;
	if (deadline == CC_NOW)
		return cc_stream_peek(stream, 1, &data, &n, CC_NOW);
	if (!idle_enter(c))	/* what has arrived is answered */
		return cc_stream_peek(stream, 1, &data, &n, CC_NOW) == 0 ? 0 : ECANCELED;
	err = cc_stream_peek(stream, 1, &data, &n, deadline);
	return idle_leave(c) && err == EPIPE ? ECANCELED : err;
}

/* ---- a connection ---- */

static int call_handler(const struct server *s, CCStream *stream)
{
	const CCNurseryOptions o = {.deadline = cc_after(s->options.total)};
	CCNursery n;
	int result, err;

	if (s->options.total == 0)
		return s->handler(stream, s->user);
	if ((err = cc_nursery_init(&n, &o)) != 0)
		return err;
	result = s->handler(stream, s->user);
	cc_ignore(cc_nursery_join(&n));
	return result;
}

static int serve_stream(struct server *s, int fd)
{
	struct cc__connection c = {.server = s};
	int result, err;

	if ((err = cc_stream_open(&c.stream, fd)) != 0) {
		cc_fd_close(fd);
		return err;
	}
	c.stream->served = &c;
	cc_stream_idle_limit(c.stream, s->options.idle);
	result = call_handler(s, c.stream);
	err = cc_stream_close(c.stream, cc_after(LAST_FLUSH));
	return result != 0 ? result : err;
}

static int connection_main(void *arg)
{
	const struct accepted *a = arg;
	struct server *s = a->server;
	const int result = serve_stream(s, a->fd);

	if (s->options.ended != NULL)
		s->options.ended(s->user, result);
	cc_ignore(cc_semaphore_post(&s->slots, 1));
	return 0;
}

/* ---- accepting ---- */

static void start_connection(struct server *s, int fd)
{
	const struct accepted a = {s, fd};

	if (cc_nursery_spawn_copy(s->connections, s->options.task, connection_main, &a,
	                          sizeof a) == 0)
		return;
	cc_fd_close(fd);
	if (s->options.ended != NULL)
		s->options.ended(s->user, ENOMEM);
	cc_ignore(cc_semaphore_post(&s->slots, 1));
}

/* A call that need not wait succeeds in a cancelled task too, so new connections could keep the
 * acceptor from noticing. */
static int told_to_stop(void)
{
	const int reason = cc_cancel_reason();

	return reason == 0 || reason == ETIMEDOUT ? reason : ECANCELED;
}

static int accept_all(void *arg)
{
	struct server *s = arg;
	int fd, err;

	while ((err = told_to_stop()) == 0 && (err = cc_semaphore_wait(&s->slots)) == 0 &&
	       (err = cc_net_accept(s->listener, &fd, CC_FOREVER)) == 0)
		start_connection(s, fd);
	return err;
}

/* The first attempt tells a listener that is no listener from one that is closed later. */
static int check_listener(struct server *s)
{
	int fd = -1, err;

	cc_ignore(cc_semaphore_wait_until(&s->slots, CC_NOW));	/* there is one */
	if ((err = cc_net_accept(s->listener, &fd, CC_NOW)) == 0)
		start_connection(s, fd);
	else
		cc_ignore(cc_semaphore_post(&s->slots, 1));
	return err == EBADF || err == EINVAL || err == ENOTSOCK ? err : 0;
}

/* In the shielded nursery: only the acceptor's end ends the wait. */
static int run_acceptor(struct server *s, CCNursery *outer)
{
	CCTask acceptor;
	int result = ECANCELED, err;

	if ((err = check_listener(s)) != 0)
		return err;
	if ((err = cc_nursery_spawn_task(outer, &acceptor, NULL, accept_all, s)) != 0)
		return err;
	if ((err = cc_task_join(acceptor, CC_FOREVER, &result)) != 0)
		return err;
	return result == EBADF ? 0 : result;
}

static int serve_inside(struct server *s, CCNursery *outer)
{
	const CCNurseryOptions o = {.policy = CC_NURSERY_SUPERVISE, .shield = 1};
	CCNursery inner;
	int result, err;

	if ((err = cc_nursery_init(&inner, &o)) != 0)
		return err;
	s->connections = &inner;
	result = run_acceptor(s, outer);
	stop_idle(s);
	/* If there is no memory for the timer, the grace period is over at once. */
	if (cc_nursery_deadline(&inner, cc_after(s->options.grace)) != 0)
		cc_nursery_cancel(&inner, 0);
	cc_ignore(cc_nursery_join(&inner));
	return result;
}

int cc_serve(int listener, cc_serve_handler *handler, void *user, const CCServeOptions *options)
{
	struct server s = {.listener = listener, .handler = handler, .user = user};
	CCNursery outer;
	int result, err;

	if (options != NULL)
		s.options = *options;
	if (handler == NULL || s.options.idle < 0 || s.options.total < 0 || s.options.grace < 0)
		return EINVAL;
	if ((err = cc_nursery_init(&outer, NULL)) != 0)
		return err;
	s.slots = (CCSemaphore)CC_SEMAPHORE_INIT(
	    s.options.connections != 0 && s.options.connections < CC_SEMAPHORE_MAX / 2
	        ? s.options.connections
	        : CC_SEMAPHORE_MAX / 2);
	result = serve_inside(&s, &outer);
	cc_ignore(cc_nursery_join(&outer));
	return result;
}
