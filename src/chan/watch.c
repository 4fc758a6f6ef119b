/* watch.c - the lines of watch.h, and the records of channels that are watched. */
#include "chan/watch.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/fork.h"
#include "os/tools.h"
#include "task/frame.h"
#include "wait/thread.h"

/* Kinds of operation that are timed apart. */
enum op { SEND, RECV, TRY_SEND, TRY_RECV, SELECT_SEND, SELECT_RECV, OPS };

/* Anyone adds to it. */
struct times {
	cc__a64 calls, nanos, longest;
};

struct cc__chan_record {
	CCChan *chan;	/* constant while there are users */
	/* Of the channel; the caller that frees it no longer counts (WATCH-1).  0: the record is in
	 * its slab, or on its way there. */
	cc__a32 users;
	cc__a32 reported;	/* 1: its times have been printed */
	struct times times[OPS];
	struct cc__chan_record *link;	/* the slab's */
};

static struct cc__slab records = CC__SLAB_INIT(struct cc__chan_record, link);

/* Of selects that chose no channel. */
static struct times no_channel;

/* ---- lines ---- */

struct watch_text {
	char text[64];
};

/* The channel by its address and name. */
static struct watch_text chan_text(const CCChan *c)
{
	struct watch_text t;

	snprintf(t.text, sizeof t.text, "%p%s%s", (const void *)c, c->name[0] != '\0' ? " " : "",
	         c->name);
	return t;
}

static struct watch_text result_text(int result)
{
	static const struct {
		int error;
		const char *name;
	} names[] = {{0, "done"},
	             {EPIPE, "EPIPE"},
	             {EAGAIN, "EAGAIN"},
	             {ETIMEDOUT, "ETIMEDOUT"},
	             {ECANCELED, "ECANCELED"},
	             {EDEADLK, "EDEADLK"},
	             {EINVAL, "EINVAL"},
	             {ENOMEM, "ENOMEM"}};
	struct watch_text t;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].error == result) {
			snprintf(t.text, sizeof t.text, "%s", names[i].name);
			return t;
		}
	snprintf(t.text, sizeof t.text, "error %d", result);
	return t;
}

static const char *reason_name(enum cc__reason reason)
{
	static const char *const names[] = {
#define NAME(name) [name] = #name
	    NAME(CC_CHAN_NOTIFY_NONE),  NAME(CC_CHAN_NOTIFY_DATA),   NAME(CC_CHAN_NOTIFY_CANCEL),
	    NAME(CC_CHAN_NOTIFY_CLOSE), NAME(CC_CHAN_NOTIFY_SIGNAL),
	};

	return names[reason];
}

_Static_assert((int)CC_CHAN_NOTIFY_NONE == (int)CC__REASON_NONE &&
                   (int)CC_CHAN_NOTIFY_DATA == (int)CC__REASON_DATA &&
                   (int)CC_CHAN_NOTIFY_CANCEL == (int)CC__REASON_CANCEL &&
                   (int)CC_CHAN_NOTIFY_CLOSE == (int)CC__REASON_CLOSE &&
                   (int)CC_CHAN_NOTIFY_SIGNAL == (int)CC__REASON_SIGNAL,
               "CCChanNotify names enum cc__reason");

__attribute__((format(printf, 1, 2))) static void print(const char *format, ...)
{
	const int before = errno;
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);	/* mutant: delete va_end survives: it does nothing where we run. */
	cc__say("libccc: chan: ", text, "\n");
	errno = before;	/* no call of the library sets it */
}

static struct cc__debug_name caller(void)
{
	return cc__debug_name(cc__self());
}

/* ---- times ---- */

static void add_time(struct times *t, cc_time began)
{
	const uint64_t nanos = (uint64_t)(cc__now() - began);
	uint64_t longest = cc__load(&t->longest, CC__RELAXED);	/* Relaxed: as below */

	/* Relaxed, all: a sum, a count and a maximum that no thread relies on.
	 * mutant: swap cc__add survives: in any order. */
	cc__add(&t->calls, 1, CC__RELAXED);
	cc__add(&t->nanos, nanos, CC__RELAXED);
	while (longest < nanos &&
	       !cc__cas_weak(&t->longest, &longest, nanos, CC__RELAXED, CC__RELAXED))
		continue;
}

static void print_times(const char *of, const char *what, const struct times *t)
{
	/* Relaxed, all: either no thread uses the channel any more, or the process exits and
	 * operations that are under way may be missed. */
	const unsigned long long calls = cc__load(&t->calls, CC__RELAXED);
	const unsigned long long nanos = cc__load(&t->nanos, CC__RELAXED);
	const unsigned long long longest = cc__load(&t->longest, CC__RELAXED);

	if (calls > 0)
		print("%s%llu %s, mean %llu ns, longest %llu ns", of, calls, what, nanos / calls,
		      longest);
}

/* Once for each record, by a thread that is a user or was the last one. */
static void report(struct cc__chan_record *r)
{
	static const char *const what[OPS] = {
	    [SEND] = "sends",
	    [RECV] = "receives",
	    [TRY_SEND] = "tries to send",
	    [TRY_RECV] = "tries to receive",
	    [SELECT_SEND] = "sends by select",
	    [SELECT_RECV] = "receives by select",
	};
	char of[sizeof(struct watch_text) + 2];

	/* Relaxed: the exchange picks one of the two that may come. */
	if (!(cc__chan_watch(r->chan) & CC__CHAN_TIMING) || cc__xchg(&r->reported, 1, CC__RELAXED) != 0)
		return;
	snprintf(of, sizeof of, "%s: ", chan_text(r->chan).text);
	for (int op = 0; op < OPS; op++)
		print_times(of, what[op], &r->times[op]);
}

/* ---- users ---- */

void cc__chan_enter(CCChan *c)
{
	/* Relaxed: a channel that may be used has a user, and the caller has been given the
	 * channel by it. */
	cc__add(&c->record->users, 1, CC__RELAXED);
}

void cc__chan_leave(CCChan *c)
{
	struct cc__chan_record *r = c->record;

	/* Release: what the caller noted; acquire: what all others did, to the last one. */
	if (cc__sub(&r->users, 1, CC__ACQ_REL) > 1)
		return;
	report(r);
	cc__chan_give_back(c);
	cc__slab_put(&records, r);
}

/* The caller becomes a user, unless there is none. */
static bool enter_if_used(struct cc__chan_record *r)
{
	uint32_t users = cc__load(&r->users, CC__RELAXED);	/* Relaxed: the exchange decides */

	while (users != 0)
		/* Acquire: the record and the name of its channel, from cc__chan_made. */
		if (cc__cas_weak(&r->users, &users, users + 1, CC__ACQUIRE, CC__RELAXED))
			return true;
	return false;
}

static bool report_unfreed(void *object, void *unused)
{
	struct cc__chan_record *r = object;

	(void)unused;
	if (enter_if_used(r)) {
		report(r);
		cc__chan_leave(r->chan);
	}
	return true;
}

/* The times of all channels that have not been freed.  Other threads may still use them. */
static void report_at_exit(void)
{
	if (cc__forked())
		return;
	cc__slab_walk(&records, report_unfreed, NULL);
	print_times("", "selects that chose no channel", &no_channel);
}

/* Without memory for it there is no report. */
static void report_later(void)
{
	static cc__a32 registered;

	/* Relaxed: the exchange picks one call. */
	if (cc__xchg(&registered, 1, CC__RELAXED) == 0)
		(void)atexit(report_at_exit);
}

/* ---- life ---- */

bool cc__chan_made(CCChan *c)
{
	struct cc__chan_record *r = cc__slab_get(&records);

	if (r == NULL)
		return false;
	c->record = r;
	r->chan = c;
	cc__init(&r->reported, 0);
	memset(r->times, 0, sizeof r->times);
	/* Release: the record and the channel's name, to the acquire in enter_if_used. */
	cc__store(&r->users, 1, CC__RELEASE);
	if (cc__chan_watch(c) & CC__CHAN_TIMING)
		report_later();
	if (cc__chan_watch(c) & CC__CHAN_LOG)
		print("%s: made for %zu of %u bytes, %s, by %s", chan_text(c).text, c->capacity,
		      c->size,
		      c->kind == &cc__buffered || c->kind == &cc__buffered_drop_old ? "with a ring"
		                                                                    : "locked",
		      caller().text);
	return true;
}

void cc__chan_freed(CCChan *c)
{
	if (cc__chan_watch(c) & CC__CHAN_LOG)
		print("%s: freed, by %s", chan_text(c).text, caller().text);
	cc__chan_leave(c);
}

/* ---- order ---- */

/* A receive happens after sends, and a send after receives that made room for it. */
static const void *order_of(const CCChan *c, enum cc__way way)
{
	return c->source != NULL ? &c->source->wait[way] : &c->wait[way];
}

void cc__chan_order_begin(CCChan *c, enum cc__way way)
{
	if (cc__chan_watch(c) & CC__CHAN_ORDER) {
		cc__happens_before(order_of(c, way));
		cc__quiet_begin();
	}
}

void cc__chan_order_end(CCChan *c, enum cc__way way, int result)
{
	if (!(cc__chan_watch(c) & CC__CHAN_ORDER))
		return;
	cc__quiet_end();
	if (result != EAGAIN && result != ETIMEDOUT && result != ECANCELED)
		cc__happens_after(order_of(c, way == CC__SEND ? CC__RECV : CC__SEND));
}

void cc__chan_closes(const CCChan *c, int send_error, int recv_error)
{
	cc__happens_before(order_of(c, CC__SEND));
	cc__happens_before(order_of(c, CC__RECV));
	if (cc__chan_watch(c) & CC__CHAN_LOG)
		print("%s: closed with %d for senders, %d for receivers, by %s", chan_text(c).text,
		      send_error, recv_error, caller().text);
}

/* ---- one operation ---- */

static void note(CCChan *c, enum op op, cc_time began)
{
	CC_POINT("chan.before_note", c);
	if (cc__chan_watch(c) & CC__CHAN_TIMING)
		add_time(&c->record->times[op], began);
}

void cc__chan_done(CCChan *c, enum cc__way way, bool is_try, cc_time began, int result)
{
	static const char *const names[] = {[SEND] = "send",
	                                    [RECV] = "receive",
	                                    [TRY_SEND] = "try to send",
	                                    [TRY_RECV] = "try to receive"};
	const enum op op = way == CC__SEND ? (is_try ? TRY_SEND : SEND) : is_try ? TRY_RECV : RECV;

	note(c, op, began);
	if (cc__chan_watch(c) & CC__CHAN_LOG)
		print("%s: %s by %s: %s", chan_text(c).text, names[op], caller().text,
		      result_text(result).text);
}

static const char *verb(enum cc__way way)
{
	return way == CC__SEND ? "send" : "receive";
}

void cc__chan_parks(const CCChan *c, enum cc__way way, cc_time deadline)
{
	print("%s: %s waits to %s%s", chan_text(c).text, caller().text, verb(way),
	      deadline != CC_FOREVER ? ", with a deadline" : "");
}

void cc__chan_waited(const CCChan *c, enum cc__way way, const struct cc__waiter *w, int result)
{
	const char *cause = result == ETIMEDOUT   ? ", timed out"
	                    : result == ECANCELED ? ", cancelled"
	                                          : "";

	/* Relaxed: our own waiter, decided and read before. */
	print("%s: %s has waited to %s: %s%s", chan_text(c).text, caller().text, verb(way),
	      reason_name((enum cc__reason)cc__load(&w->reason, CC__RELAXED)), cause);
}

/* ---- select ---- */

static bool is_channel(const CCCase *c)
{
	return c->kind == CC_CASE_SEND || c->kind == CC_CASE_RECV;
}

/* A case that lost has perhaps not been looked at: its kind and its channel may make no sense. */
static const char *kind_name(const CCCase *c)
{
	switch (c->kind) {
	case CC_CASE_SEND:
		return c->on.chan != NULL ? "send to " : "send";
	case CC_CASE_RECV:
		return c->on.chan != NULL ? "receive from " : "receive";
	case CC_CASE_TASK:
		return "end of a task";
	case CC_CASE_TOKEN:
		return "token";
	case CC_CASE_FD:
		return "descriptor";
	case CC_CASE_SIGNAL:
		return "signal";
	case CC_CASE_TIMEOUT:
		return "timeout";
	case CC_CASE_DEFAULT:
		return "default";
	case CC_CASE_NEVER:
		return "never";
	}
	return "no such kind";
}

/* "select of 3 by task 7: case 1, receive from 0x..., won: done", for example. */
static void print_case(const CCCase *cases, uint32_t count, uint32_t i, const char *became,
                       const char *result)
{
	const CCCase *c = &cases[i];

	print("select of %u by %s: case %u, %s%s, %s%s", count, caller().text, i, kind_name(c),
	      is_channel(c) && c->on.chan != NULL ? chan_text(c->on.chan).text : "", became,
	      result);
}

void cc__select_waits(const CCCase *cases, uint32_t count, uint32_t i)
{
	print_case(cases, count, i, "waits", "");
}

static void print_select(const CCCase *cases, uint32_t count, uint32_t chosen, int result)
{
	char end[sizeof(struct watch_text) + 2];

	snprintf(end, sizeof end, ": %s", result_text(result).text);
	if (chosen < count)
		print_case(cases, count, chosen, "won", end);
	else
		print("select of %u by %s: no case%s", count, caller().text, end);
}

void cc__select_done(const CCCase *cases, uint32_t count, uint32_t chosen, unsigned watch,
                     cc_time began, int result)
{
	const CCCase *c = chosen < count ? &cases[chosen] : NULL;

	if (c != NULL && is_channel(c))
		note(c->on.chan, c->kind == CC_CASE_SEND ? SELECT_SEND : SELECT_RECV, began);
	else if (watch & CC__CHAN_TIMING)
		add_time(&no_channel, began);
	if (watch & CC__CHAN_LOG)
		print_select(cases, count, chosen, result);
	for (uint32_t i = 0; (watch & CC__CHAN_VERBOSE) && c != NULL && i < count; i++)
		if (i != chosen)
			print_case(cases, count, i, "lost", "");
}

/* ---- wakes ---- */

/* The channel whose lock that is; NULL: none. */
static const CCChan *chan_of(const void *lock)
{
	const struct cc__chan_kind *const kinds[] = {&cc__buffered, &cc__locked, &cc__broadcast,
	                                             &cc__subscribed};
	const CCChan *c = NULL;

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds && c == NULL; i++)
		c = cc__slab_find(kinds[i]->heads, lock);
	return c;
}

void cc__chan_see(enum cc__event kind, const void *who, uint64_t b)
{
	const struct cc__parker *self;
	const CCChan *c;

	if (kind != CC__EV_DECIDE || !(cc__chan_settings() & CC__CHAN_VERBOSE) ||
	    (c = chan_of((const void *)(uintptr_t)(b >> 8))) == NULL)
		return;
	self = cc__self();
	if (self == who)
		print("%s: %s ends its own wait: %s", chan_text(c).text, cc__debug_name(who).text,
		      reason_name((enum cc__reason)(b & 0xff)));
	else
		print("%s: %s wakes %s: %s", chan_text(c).text, cc__debug_name(self).text,
		      cc__debug_name(who).text, reason_name((enum cc__reason)(b & 0xff)));
}
