/* trace.c - the rings behind os/trace.h, and their dump. */
#include "os/trace.h"

#include <pthread.h>
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

static void dump_end(void);

/* In .data even where it is 0: the kernel counts armed probes only in memory that the file
 * backs. */
#ifdef CC__TRACE
cc__a32 cc__watching = {CC__WATCH_TRACE | CC__WATCH_ASSERT};
void (*cc__panic_hook)(void) = dump_end;
#else
__attribute__((section(".data"))) cc__a32 cc__watching = {0};
void (*cc__panic_hook)(void);
#endif

/* The semaphore that all probes of monitor/trace_probes.h share: CC__WATCH_PROBES. */
#ifdef CC__SDT
#define SEMAPHORE(probe) \
	".globl ccc_" probe "_semaphore\n" \
	".hidden ccc_" probe "_semaphore\n" \
	".set ccc_" probe "_semaphore, cc__watching + 2\n"
__asm__(SEMAPHORE("spawn") SEMAPHORE("run") SEMAPHORE("yield") SEMAPHORE("park") SEMAPHORE("wake")
        SEMAPHORE("end") SEMAPHORE("steal") SEMAPHORE("sleep") SEMAPHORE("awake"));
#endif

static CC__ATOMIC(cc__event_fn *) event_hook;
static CC__ATOMIC(cc__record_fn *) record_hook;
static cc__a32 record_kinds;	/* a bit for each that the hook wants */
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
	/* Relaxed: a switch for diagnosis.  The recorder needs no number but the time, and the
	 * clock, unlike a counter, is not a cache line that all workers write. */
	if (!(cc__load(&cc__watching, CC__RELAXED) & CC__WATCH_TRACE))
		return (uint64_t)cc__now();
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

/* A probe may be armed before there is a recorder. */
static void record(uint64_t time, enum cc__event kind, const void *who, uint64_t a, uint64_t b)
{
	/* Acquire: what the recorder needs, from cc__watch_record. */
	cc__record_fn *hook = cc__load(&record_hook, CC__ACQUIRE);

	if (hook != NULL)
		hook(time, kind, who, a, b);
}

void cc__trace_add(uint64_t number, enum cc__event kind, const void *who, uint64_t a, uint64_t b)
{
	/* Acquire: the hook, from cc__watch_log. */
	const uint32_t watching = cc__load(&cc__watching, CC__ACQUIRE);
	struct ring *r;
	uint64_t n;

	if (watching & CC__WATCH_LOG)
		cc__load(&event_hook, CC__RELAXED)(kind, who, a, b);	/* Relaxed: it is there */
	if (watching & (CC__WATCH_RECORD | CC__WATCH_PROBES))
		record(watching & CC__WATCH_TRACE ? (uint64_t)cc__now() : number, kind, who, a, b);
	if (!(watching & CC__WATCH_TRACE) || (r = here()) == NULL)
		return;
	n = cc__load(&r->count, CC__RELAXED);	/* Relaxed: our own */
	r->event[n % RING] = (struct event){number, (uintptr_t)who, a, b, (uint32_t)kind};
	/* Release: the event, to the acquire in cc__trace_dump. */
	cc__store(&r->count, n + 1, CC__RELEASE);
}

void cc__trace_event(enum cc__event kind, const void *who, uint64_t a, uint64_t b)
{
	/* Relaxed, both: a switch for diagnosis; constant once there is a recorder.  What only the
	 * recorder could want, and does not, is not worth a look at the clock. */
	if ((cc__load(&cc__watching, CC__RELAXED) & (CC__WATCH_TRACE | CC__WATCH_LOG)) ||
	    (cc__load(&record_kinds, CC__RELAXED) >> kind & 1))
		cc__trace_add(cc__trace_number(), kind, who, a, b);
}

void cc__watch(uint32_t flags)
{
	if (cc__panic_hook == NULL || cc__panic_hook == dump_end)
		cc__panic_hook = flags & CC__WATCH_TRACE ? dump_end : NULL;
	/* Relaxed, twice: a switch for diagnosis.  ORDER stays as the process began; the recorder
	 * and the tracers have their bits to themselves. */
	cc__and(&cc__watching, CC__WATCH_ORDER | CC__WATCH_RECORD | CC__WATCH_PROBES, CC__RELAXED);
	cc__or(&cc__watching, flags, CC__RELAXED);
}

void cc__watch_not(uint32_t flags)
{
	cc__and(&cc__watching, ~flags, CC__RELAXED);	/* Relaxed: a switch for diagnosis */
}

void cc__watch_also(uint32_t flags)
{
	cc__or(&cc__watching, flags, CC__RELAXED);	/* Relaxed: a switch for diagnosis */
}

void cc__watch_log(cc__event_fn *hook)
{
	/* Relaxed: any of them will do.  Release: the hook, to cc__trace_add. */
	cc__store(&event_hook, hook, CC__RELAXED);
	cc__or(&cc__watching, CC__WATCH_LOG, CC__RELEASE);
}

void cc__watch_record(cc__record_fn *hook, uint32_t kinds)
{
	cc__store(&record_kinds, kinds, CC__RELAXED);	/* Relaxed: always the same */
	cc__store(&record_hook, hook, CC__RELEASE);	/* Release: to the acquire in record */
}

/* ---- what the recorder keeps for a thread ---- */

static _Thread_local void *slot_here;
static pthread_key_t slot_key;
static pthread_once_t slot_once = PTHREAD_ONCE_INIT;
static bool slot_has_key;
typedef void slot_exit(void *value);
static CC__ATOMIC(slot_exit *) slot_at_exit;

static void slot_ends(void *value)
{
	slot_here = NULL;
	cc__load(&slot_at_exit, CC__RELAXED)(value);	/* Relaxed: always the same one */
}

static void slot_make_key(void)
{
	slot_has_key = pthread_key_create(&slot_key, slot_ends) == 0;
}

/* Not inlined, for the reason of cc__tls_get. */
__attribute__((noinline)) void *cc__trace_slot(void)
{
	__asm__ volatile("" ::: "memory");
	return slot_here;
}

/* Without a key the value is kept when the thread ends: it is not used again, that is all. */
__attribute__((noinline)) void cc__trace_slot_set(void *value, void (*at_exit)(void *value))
{
	pthread_once(&slot_once, slot_make_key);
	cc__store(&slot_at_exit, at_exit, CC__RELAXED);	/* Relaxed: always the same one */
	if (slot_has_key)
		(void)pthread_setspecific(slot_key, value);
	slot_here = value;
	__asm__ volatile("" ::: "memory");
}

/* ---- the dump ---- */

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

/* The last events of each thread: what a panic prints. */
static void dump_end(void)
{
	dump(STDERR_FILENO, 64);
}
