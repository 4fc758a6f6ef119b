/* trace.c - the rings behind os/trace.h, and their dump. */
#include "os/trace.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "os/assert.h"
#include "os/pages.h"
#include "os/write.h"

/* Events a thread's ring holds: 40 bytes each. */
enum { RING = 1 << 15 };

struct event {
	uint64_t number;
	uint64_t who, a, b;
	uint32_t kind;
};

struct ring {
	struct ring *next;	/* all rings; constant once listed */
	unsigned thread;	/* 1-based */
	cc__a64 count;		/* events ever; the last RING are there */
	struct event event[RING];
};

#ifdef CC__TRACE
cc__a32 cc__watching = {CC__WATCH_TRACE | CC__WATCH_ASSERT};
void (*cc__panic_hook)(void) = cc__trace_dump_last;
#else
cc__a32 cc__watching;
void (*cc__panic_hook)(void);
#endif
static CC__ATOMIC(cc__event_fn *) event_hook;
static cc__a64 numbers = {1};
static CC__ATOMIC(struct ring *) rings;
static cc__a32 threads;

static _Thread_local struct ring *ring_here;

/* After find_tools (tools.c), which finds ThreadSanitizer. */
__attribute__((constructor(102))) static void watch_order(void)
{
	if (cc__tools_order())
		cc__watch_also(CC__WATCH_ORDER);
}

uint64_t cc__trace_number(void)
{
	/* Relaxed: the number is drawn between two accesses to the word that
	 * happen anyway, and a fetch-add is in one order for all threads (V1). */
	return cc__add(&numbers, 1, CC__RELAXED);
}

/* This thread's ring; a thread that has gone leaves its own for the dump. */
static __attribute__((noinline)) struct ring *here(void)
{
	struct ring *r = ring_here;

	__asm__ volatile("" ::: "memory");
	if (r != NULL || (r = cc__pages_map(sizeof *r)) == NULL)
		return r;
	r->thread = cc__add(&threads, 1, CC__RELAXED) + 1;	/* Relaxed: a number */
	r->next = cc__load(&rings, CC__RELAXED);	/* Relaxed: the exchange decides */
	/* Release: the ring, to the acquire in cc__trace_dump. */
	while (!cc__cas_weak(&rings, &r->next, r, CC__RELEASE, CC__RELAXED))
		continue;
	ring_here = r;
	return r;
}

void cc__trace_add(uint64_t number, enum cc__event kind, const void *who, uint64_t a, uint64_t b)
{
	/* Acquire: the hook, from cc__watch_log. */
	const uint32_t watching = cc__load(&cc__watching, CC__ACQUIRE);
	struct ring *r;
	uint64_t n;

	if (watching & CC__WATCH_LOG)
		cc__load(&event_hook, CC__RELAXED)(kind, who, a, b);	/* Relaxed: it is there */
	if (!(watching & CC__WATCH_TRACE) || (r = here()) == NULL)
		return;
	n = cc__load(&r->count, CC__RELAXED);	/* Relaxed: our own */
	r->event[n % RING] = (struct event){number, (uintptr_t)who, a, b, (uint32_t)kind};
	/* Release: the event, to the acquire in cc__trace_dump. */
	cc__store(&r->count, n + 1, CC__RELEASE);
}

void cc__watch(uint32_t flags)
{
	cc__panic_hook = flags & CC__WATCH_TRACE ? cc__trace_dump_last : NULL;
	/* Relaxed, twice: a switch for diagnosis.  ORDER stays as the process began. */
	cc__and(&cc__watching, CC__WATCH_ORDER, CC__RELAXED);
	cc__or(&cc__watching, flags, CC__RELAXED);
}

void cc__watch_also(uint32_t flags)
{
	cc__or(&cc__watching, flags, CC__RELAXED);	/* Relaxed: as above */
}

void cc__watch_log(cc__event_fn *hook)
{
	/* Relaxed: any of them will do.  Release: the hook, to cc__trace_add. */
	cc__store(&event_hook, hook, CC__RELAXED);
	cc__or(&cc__watching, CC__WATCH_LOG, CC__RELEASE);
}

static const char *const names[] = {
    [CC__EV_MOVE] = "move",     [CC__EV_ENQUEUE] = "enqueue",   [CC__EV_SLEEP] = "sleep",
    [CC__EV_AWAKE] = "awake",   [CC__EV_LIST] = "list",         [CC__EV_DECIDE] = "decide",
    [CC__EV_WITHDRAW] = "withdraw", [CC__EV_FLAG] = "flag",
    [CC__EV_STACK] = "stack",   [CC__EV_PLACE] = "place",
    [CC__EV_TAKE] = "take",         [CC__EV_JOIN] = "join",
    [CC__EV_POKE] = "poke",     [CC__EV_LIFE] = "life",         [CC__EV_STEAL] = "steal",
    [CC__EV_HOLD] = "hold",     [CC__EV_LET_GO] = "letgo",      [CC__EV_FOR] = "for",
    [CC__EV_LATER] = "later",   [CC__EV_CANCELLED] = "cancelled",
};

static void dump_ring(int fd, const struct ring *r, uint64_t most)
{
	char line[160];
	/* Acquire: pairs with the release in cc__trace_add. */
	uint64_t end = cc__load(&r->count, CC__ACQUIRE);
	uint64_t begin = end > RING ? end - RING : 0;

	if (end - begin > most)
		begin = end - most;
	for (uint64_t i = begin; i < end; i++) {
		const struct event *e = &r->event[i % RING];
		int n = snprintf(line, sizeof line, "trace %llu %u %s %llx %llx %llx%s\n",
		                 (unsigned long long)e->number, r->thread, names[e->kind],
		                 (unsigned long long)e->who, (unsigned long long)e->a,
		                 (unsigned long long)e->b, i == begin && begin > 0 ? " cut" : "");

		if (n < 0 || !cc__write_all(fd, line, (size_t)n))
			return;
	}
}

static void dump(int fd, uint64_t most)
{
	/* Acquire: pairs with the release in here(). */
	for (struct ring *r = cc__load(&rings, CC__ACQUIRE); r != NULL; r = r->next)
		dump_ring(fd, r, most);
}

void cc__trace_dump(int fd)
{
	dump(fd, UINT64_MAX);
}

void cc__trace_dump_last(void)
{
	dump(STDERR_FILENO, 64);
}
