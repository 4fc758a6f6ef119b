/* watch.c - lines on standard error, one for each thing that happened.  (Task 0 is a
 * thread.) */
#include "chan/watch.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "os/tools.h"
#include "sched/fiber.h"

__attribute__((format(printf, 2, 3))) static void print(const CCChan *c, const char *format, ...)
{
	char what[128], line[256];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);	/* mutant: delete va_end survives: it does nothing where we run. */
	snprintf(line, sizeof line, "libccc: chan: %p%s%s: %s, by task %llu\n", (const void *)c,
	         c->name[0] != '\0' ? " " : "", c->name, what, (unsigned long long)cc_fiber_id());
	cc__say(line);
}

void cc__chan_made(CCChan *c)
{
	cc__init(&c->users, 1);
	memset(c->times, 0, sizeof c->times);
	if (c->watch & CC__CHAN_LOG)
		print(c, "made for %zu of %u bytes, %s", c->capacity, c->size,
		      c->kind == &cc__buffered || c->kind == &cc__buffered_drop_old ? "with a ring"
		                                                                    : "locked");
}

/* A receive happens after sends, and a send after receives that made room for it. */
static const void *order_of(const CCChan *c, enum cc__way way)
{
	return &c->wait[way];
}

void cc__chan_order_begin(CCChan *c, enum cc__way way)
{
	if (c->watch & CC__CHAN_ORDER) {
		cc__happens_before(order_of(c, way));
		cc__quiet_begin();
	}
}

void cc__chan_order_end(CCChan *c, enum cc__way way, int result)
{
	if (!(c->watch & CC__CHAN_ORDER))
		return;
	cc__quiet_end();
	if (result != EAGAIN && result != ETIMEDOUT && result != ECANCELED)
		cc__happens_after(order_of(c, way == CC__SEND ? CC__RECV : CC__SEND));
}

void cc__chan_closes(const CCChan *c, int send_error, int recv_error)
{
	cc__happens_before(order_of(c, CC__SEND));
	cc__happens_before(order_of(c, CC__RECV));
	if (c->watch & CC__CHAN_LOG)
		print(c, "closed with %d for senders, %d for receivers", send_error, recv_error);
}

static void print_times(const CCChan *c, const char *what, const struct cc__chan_times *t)
{
	/* Relaxed, both: nobody else uses it any more. */
	const unsigned long long calls = cc__load(&t->calls, CC__RELAXED);
	const unsigned long long nanos = cc__load(&t->nanos, CC__RELAXED);

	if (calls > 0)
		print(c, "%llu %s of %llu ns", calls, what, nanos / calls);
}

void cc__chan_enter(CCChan *c)
{
	/* Relaxed: a channel that may be used has a user, who is the caller's. */
	cc__add(&c->users, 1, CC__RELAXED);
}

void cc__chan_leave(CCChan *c)
{
	/* Release: what the caller noted; acquire: what all others did, to the last one. */
	if (cc__sub(&c->users, 1, CC__ACQ_REL) > 1)
		return;
	if (c->watch & CC__CHAN_TIMING) {
		print_times(c, "sends", &c->times[CC__SEND]);
		print_times(c, "receives", &c->times[CC__RECV]);
	}
	cc__chan_give_back(c);
}

void cc__chan_freed(CCChan *c)
{
	if (c->watch & CC__CHAN_LOG)
		print(c, "freed");
	cc__chan_leave(c);
}

void cc__chan_done(CCChan *c, enum cc__way way, cc_time began, int result)
{
	CC_POINT("chan.before_note", c);
	/* Relaxed, both: sums.
	 * mutant: swap cc__add survives: in any order. */
	cc__add(&c->times[way].calls, 1, CC__RELAXED);
	cc__add(&c->times[way].nanos, (uint64_t)(cc__now() - began), CC__RELAXED);
	if (c->watch & CC__CHAN_VERBOSE)
		print(c, "%s: %d", way == CC__SEND ? "send" : "receive", result);
}
