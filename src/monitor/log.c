/* log.c - the printer behind CCConfig.debug.
 *
 * Nothing in the library prints for these switches: its events (os/trace.h)
 * come by here, on the thread that makes them and often with locks held.  So the
 * lines go straight to standard error, never to the program's own log. */
#include "monitor/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "os/trace.h"
#include "chan/watch.h"
#include "monitor/hold.h"
#include "task/frame.h"
#include "sched/idle.h"

static cc__a32 wanted;	/* of CCDebugFlag */

/* ---- lines ---- */

__attribute__((format(printf, 2, 3))) static void print(const char *topic, const char *format, ...)
{
	const int before = errno;
	char text[160];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	cc__say("libccc: ", topic, ": ", text, "\n");
	errno = before;		/* no call of the library sets it */
}

static bool is_on(unsigned flag)
{
	return (cc__load(&wanted, CC__RELAXED) & flag) != 0;	/* Relaxed: a switch */
}

/* ---- what becomes of a word ---- */

static bool is(uint64_t from, enum cc__state a, uint64_t to, enum cc__state b)
{
	return cc__word_state(from) == a && cc__word_state(to) == b;
}

static void moved_join(const void *who, uint64_t from, uint64_t to)
{
	if (is(from, CC__OWNED, to, CC__DONE))
		print("join", "%s has ended", cc__debug_name(who).text);
	else if (is(from, CC__PARKED, to, CC__QUEUED))
		print("join", "%s is unparked", cc__debug_name(who).text);
	else if (is(from, CC__PARKING, to, CC__NOTIFIED))
		print("join", "%s is unparked before it sleeps", cc__debug_name(who).text);
}

static void moved_park(const void *who, uint64_t from, uint64_t to)
{
	const char *what = is(from, CC__OWNED, to, CC__PARKING)       ? "is about to park"
	                   : is(from, CC__PARKING, to, CC__PARKED)    ? "parks"
	                   : is(from, CC__PARKING, to, CC__OWNED)     ? "need not park"
	                   : is(from, CC__NOTIFIED, to, CC__OWNED) ||
	                             is(from, CC__NOTIFIED, to, CC__QUEUED)
	                       ? "does not park: a wake came first"
	                       : NULL;

	if (what != NULL)
		print("park", "%s %s", cc__debug_name(who).text, what);
}

/* ---- events ---- */

static void enqueued(const void *who, uint64_t where, uint64_t worker)
{
	enum { INBOX = 2 };

	if (is_on(CC_DEBUG_FLAG_INBOX) && (where & 0xff) == INBOX)
		print("inbox", "%s for worker %u", cc__debug_name(who).text, (unsigned)worker);
}

static void joins(const void *who, uint64_t task)
{
	if (is_on(CC_DEBUG_FLAG_JOIN))
		print("join", "%s waits for task %llu", cc__debug_name(who).text,
		      (unsigned long long)task);
}

static void taken(const void *who, uint64_t worker)
{
	if (is_on(CC_DEBUG_FLAG_INBOX))
		print("inbox", "%s taken by worker %u", cc__debug_name(who).text, (unsigned)worker);
}

static void looks_at_flag(const void *who, uint64_t flag)
{
	if (is_on(CC_DEBUG_FLAG_PARK))
		print("park", "%s looks at the flag at %p", cc__debug_name(who).text,
		      (void *)(uintptr_t)flag);
}

/* A wake is counted where it is sent, and where it arrives. */
static void wakes(enum cc__event kind, uint64_t worker, uint64_t how)
{
	static const char *const ends[] = {[CC__WOKEN] = "was woken",
	                                   [CC__TIMED_OUT] = "has slept long enough",
	                                   [CC__NOT_SLEPT] = "does not sleep: a push came first",
	                                   [CC__POLLED] = "found descriptors ready"};
	static cc__a64 sent;
	const unsigned n = (unsigned)worker;

	if (!is_on(CC_DEBUG_FLAG_WAKE))
		return;
	if (kind == CC__EV_SLEEP)
		print("wake", "worker %u is about to sleep", n);
	else if (kind == CC__EV_AWAKE)
		print("wake", "worker %u %s", n, ends[how]);
	else
		/* Relaxed: a number. */
		print("wake", "wake %llu goes to worker %u",
		      (unsigned long long)cc__add(&sent, 1, CC__RELAXED) + 1, n);
}

static void print_event(enum cc__event kind, const void *who, uint64_t a, uint64_t b)
{
	switch (kind) {
	case CC__EV_MOVE:
		if (is_on(CC_DEBUG_FLAG_JOIN))
			moved_join(who, a, b);
		if (is_on(CC_DEBUG_FLAG_PARK))
			moved_park(who, a, b);
		break;
	case CC__EV_ENQUEUE:
		enqueued(who, a, b);
		break;
	case CC__EV_TAKE:
		taken(who, a);
		break;
	case CC__EV_JOIN:
		joins(who, a);
		break;
	case CC__EV_FLAG:
		looks_at_flag(who, b);
		break;
	case CC__EV_SLEEP:
	case CC__EV_AWAKE:
	case CC__EV_POKE:
		wakes(kind, a, b);
		break;
	default:
		break;
	}
}

static void see(enum cc__event kind, const void *who, uint64_t a, uint64_t b)
{
	print_event(kind, who, a, b);
	cc__hold_see(kind, who, a, b);
	cc__chan_see(kind, who, b);
}

void cc__debug_see(void)
{
	cc__watch_log(see);
}

void cc__debug_log(unsigned flags)
{
	const unsigned printed = flags & ~(unsigned)CC_DEBUG_FLAG_SYSMON;

	if (printed == 0)
		return;
	cc__or(&wanted, printed, CC__RELAXED);	/* Relaxed: a switch */
	cc__debug_see();
}
