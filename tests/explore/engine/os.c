/* os.c - what src/os defines for everybody else: futex, clock, threads, TLS;
 * and locks and panic.
 *
 * The kernel compares a futex word and enqueues in one step, and reads the
 * newest value.  Neither a wait nor a wake orders anything else: code that needs
 * more than that must get it from the word.  Time stands still until a timed
 * wait runs out. */
#include <errno.h>
#include <string.h>

#include "mc.h"

enum { LOCKS = 64, START = 1000000000 };

static struct lock {
	const void *p;
	int owner;      /* -1: free */
	mc_view view;   /* what its last owner had seen */
	int view_slots; /* of it that mean something */
} locks[LOCKS];
static int n_locks;
static bool trylocks; /* learned for ever: somebody asks whether a lock is free */
static cc_time now;
static uint64_t arrivals;
/* Room for struct cc__lock_stack of debug builds, which nobody shares; undone
 * like any static. */
static uint64_t lock_stacks[MC_THREADS + 1][64];

void (*cc__panic_hook)(void);

void os_reset(void)
{
	n_locks = 0;
	now = START;
	arrivals = 0;
}

_Noreturn void cc__panic(const char *file, int line, const char *what)
{
	mc_fail("panic: %s (%s:%d)", what, base_name(file), line);
}

/* ---- locks ---- */

static struct lock *lock_of(const void *p)
{
	int i;

	for (i = 0; i < n_locks; i++)
		if (locks[i].p == p)
			return &locks[i];
	if (n_locks == LOCKS)
		limit("locks");
	locks[n_locks].p = p;
	locks[n_locks].owner = -1;
	locks[n_locks].view_slots = 0;
	return &locks[n_locks++];
}

bool lock_free(const void *p)
{
	return lock_of(p)->owner < 0;
}

static void acquire(struct lock *l)
{
	l->owner = me;
	threads[me].locks++;
	join(threads[me].cur, l->view, 0, l->view_slots);
	stored();
}

/* The lock's memory is touched as an atomic: use after free, and a free that is
 * not ordered after the unlock, are seen. */
static struct lock *arrive(const void *p, const struct mc_site *site)
{
	struct granule *g = point(p, true, site);

	access_in(g, p, 1, WRITE | ATOMIC, (uintptr_t)site);
	return lock_of(p);
}

void mc_lock_at(const void *p, const struct mc_site *site)
{
	struct lock *l = arrive(p, site);

	if (l->owner == me)
		mc_fail("lock: T%d takes %s twice (%s:%d)", me, site->text, base_name(site->file),
		        site->line);
	if (l->owner >= 0) {
		if (tracing)
			trace_op(site, "lock    %s: waits for T%d", site->text, l->owner);
		threads[me].on = p;
		block(IN_LOCK);
		access_at(p, 1, WRITE | ATOMIC, (uintptr_t)site);
	}
	acquire(l);
	if (tracing)
		trace_op(site, "lock    %s", site->text);
}

bool mc_trylock_at(const void *p, const struct mc_site *site)
{
	struct lock *l = arrive(p, site);

	relearn |= !trylocks;
	trylocks = true;
	if (tracing)
		trace_op(site, "trylock %s: %s", site->text, l->owner < 0 ? "taken" : "busy");
	if (l->owner >= 0)
		return false;
	acquire(l);
	return true;
}

void mc_unlock_at(const void *p, const struct mc_site *site)
{
	struct lock *l = lock_of(p);
	struct thread *t = &threads[me];

	/* No choice here: whoever waits for the lock can run before our next
	 * operation just as well, and only mc_trylock sees that it is still held. */
	if (trylocks)
		point(p, true, site);
	else
		operate(p, true);
	t->site = site;
	access_at(p, 1, WRITE | ATOMIC, (uintptr_t)site);
	if (l->owner != me)
		mc_fail("lock: T%d unlocks %s, which it does not hold (%s:%d)", me, site->text,
		        base_name(site->file), site->line);
	if (tracing)
		trace_op(site, "unlock  %s", site->text);
	l->owner = -1;
	t->locks--;
	memset(l->view + l->view_slots, 0, (size_t)(slots - l->view_slots) * sizeof(mc_ts));
	l->view_slots = slots;
	view_publish(l->view);
	stored();
}

void *cc__thread_scratch(void);
void *cc__thread_scratch(void)
{
	return lock_stacks[me];
}

/* ---- sleeping ---- */

void cc__relax(void)
{
	static const struct mc_site site = {"relax", "spin", 0};
	struct thread *t = &threads[me];
	struct loc *l = t->stale_loc;

	t->site = &site;
	t->pc = (uintptr_t)__builtin_return_address(0);
	if (tracing)
		trace_op(&site, "relax");
	if (t->stale) {
		/* A store becomes visible in finite time: next turn it is a newer one. */
		struct msg *m = l->newest;

		while (m->older != NULL && m->older->ts > t->cur[l->slot])
			m = m->older;
		t->cur[l->slot] = m->ts;
	}
	block(SPINNING);
	t->stale = false;
	t->spin_mark = stores - t->stores;
}

uint64_t mc_wait_at(void *p, size_t size, uint64_t value, const struct mc_site *site)
{
	struct thread *t = &threads[me];
	struct granule *g = point(p, false, site);
	struct loc *l;

	access_in(g, p, size, READ | ATOMIC, (uintptr_t)site);
	l = loc_of(g, p, size, site);
	if (size < 8)
		value &= ((uint64_t)1 << (size * 8)) - 1;
	if (loc_newest(l) == value) {
		if (tracing)
			trace_op(site, "wait    while %s == %s", site->text, number(value));
		t->loc = l;
		t->value = value;
		block(IN_WAIT);
		l = loc_of(g, p, size, site);
	}
	read_newest(l, CC__ACQUIRE);
	if (tracing)
		trace_op(site, "wait    %s -> %s", site->text, number(l->newest->value));
	return l->newest->value;
}

static void sleep_on(struct thread *t, const void *p, cc_time deadline)
{
	t->on = p;
	t->value = 0;
	t->deadline = deadline;
	t->woken = t->woken_by_other = false;
	t->seq = ++arrivals;
	block(IN_FUTEX);
}

static int futex_wait(const void *p, size_t size, uint32_t expected, cc_time deadline,
                      const struct mc_site *site)
{
	struct thread *t = &threads[me];
	struct granule *g = point(p, true, site);
	struct loc *l;

	access_in(g, p, size, READ | ATOMIC, (uintptr_t)site);
	l = loc_of(g, p, size, site);
	read_newest(l, CC__RELAXED);
	if ((uint32_t)l->newest->value != expected) {
		if (tracing)
			trace_op(site, "futex   %s is %s: no wait", site->text,
			         number(l->newest->value));
		return 0;
	}
	if (deadline <= now)
		return ETIMEDOUT;
	if (tracing)
		trace_op(site, "futex   sleeps on %s == %s", site->text, number(expected));
	t->other = NULL;
	sleep_on(t, p, deadline);
	if (tracing)
		trace_op(site, "futex   returns%s", t->value ? " (TIMED OUT)" : "");
	return t->value ? ETIMEDOUT : 0;
}

/* Who has been woken by one word, or is late, is still to be had by the other. */
static bool sleeps_on(const struct thread *t, const void *p)
{
	return t->state == IN_FUTEX && ((t->on == p && !t->woken) ||
	                                (t->other == p && !t->woken_by_other));
}

static int sleeper_after(const void *p, uint64_t seq)
{
	int found = -1;

	for (int i = 0; i < n_threads; i++)
		if (sleeps_on(&threads[i], p) && threads[i].seq > seq &&
		    (found < 0 || threads[i].seq < threads[found].seq))
			found = i;
	return found;
}

/* Which sleeper the kernel takes is a choice; by default the first to come. */
static int futex_wake(const void *p, int most, const struct mc_site *site)
{
	int k;

	point(p, true, site);
	heap_live(p, 1);
	for (k = 0; k < most; k++) {
		int queue[MC_THREADS], n = 0, i;
		uint64_t seq = 0;

		while ((i = sleeper_after(p, seq)) >= 0) {
			queue[n++] = i;
			seq = threads[i].seq;
		}
		if (n == 0)
			break;
		i = queue[n > 1 && most < n ? choose('k', n) : 0];
		threads[i].woken = true;
		if (threads[i].other == p)
			threads[i].woken_by_other = true;
		if (tracing)
			trace_op(site, "futex   wakes T%d", i);
	}
	stored();
	return k;
}

int cc__futex_wait(cc__a32 *a, uint32_t expected, cc_time deadline)
{
	static const struct mc_site site = {"futex word", "cc__futex_wait", 0};

	threads[me].pc = (uintptr_t)__builtin_return_address(0);
	return futex_wait(&a->raw, 4, expected, deadline, &site);
}

void cc__futex_wake(cc__a32 *a, int most)
{
	static const struct mc_site site = {"futex word", "cc__futex_wake", 0};

	threads[me].pc = (uintptr_t)__builtin_return_address(0);
	futex_wake(&a->raw, most, &site);
}

int cc__futex_wait64(cc__a64 *a, uint64_t expected, cc_time deadline)
{
	static const struct mc_site site = {"futex word", "cc__futex_wait64", 0};

	threads[me].pc = (uintptr_t)__builtin_return_address(0);
	return futex_wait(&a->raw, 8, (uint32_t)expected, deadline, &site);
}

void cc__futex_wake64(cc__a64 *a)
{
	static const struct mc_site site = {"futex word", "cc__futex_wake64", 0};

	threads[me].pc = (uintptr_t)__builtin_return_address(0);
	futex_wake(&a->raw, MC_THREADS, &site);
}

int cc__futex_wait_either(cc__a64 *a, uint64_t expected, struct cc__futex_other *o,
                          cc_time deadline)
{
	static const struct mc_site own = {"futex word", "cc__futex_wait_either", 0};
	static const struct mc_site other = {"other word", "cc__futex_wait_either", 0};
	struct thread *t = &threads[me];
	struct granule *g;
	struct loc *mine, *theirs;

	t->pc = (uintptr_t)__builtin_return_address(0);
	g = point(&a->raw, true, &own);
	access_in(g, &a->raw, 8, READ | ATOMIC, (uintptr_t)&own);
	mine = loc_of(g, &a->raw, 8, &own);
	/* Nothing is done in between: what comes here might as well have come before. */
	g = point(&o->word->raw, true, &other);
	access_in(g, &o->word->raw, 4, READ | ATOMIC, (uintptr_t)&other);
	theirs = loc_of(g, &o->word->raw, 4, &other);
	read_newest(mine, CC__RELAXED);
	read_newest(theirs, CC__RELAXED);
	if ((uint32_t)mine->newest->value != (uint32_t)expected)
		return 0;
	if ((uint32_t)theirs->newest->value != o->expected) {
		o->end = CC__FUTEX_DIFFERS;
		return EALREADY;
	}
	if (deadline <= now)
		return ETIMEDOUT;
	if (tracing)
		trace_op(&own, "futex   sleeps on %s == %s, and on another", own.text,
		         number(expected));
	t->other = &o->word->raw;
	sleep_on(t, &a->raw, deadline);
	if (t->woken_by_other) {
		o->end = CC__FUTEX_WOKEN;
		return EALREADY;
	}
	return t->value ? ETIMEDOUT : 0;
}

uint32_t cc__futex_wake_shared(const cc__a32 *word, uint32_t most);
uint32_t cc__futex_wake_shared(const cc__a32 *word, uint32_t most)
{
	static const struct mc_site site = {"other word", "cc__futex_wake_shared", 0};

	threads[me].pc = (uintptr_t)__builtin_return_address(0);
	return (uint32_t)futex_wake(&word->raw, most < MC_THREADS ? (int)most : MC_THREADS, &site);
}

/* ---- clock ---- */

cc_time clock_now(void)
{
	return now;
}

void clock_reach(cc_time t)
{
	if (t <= now)
		return;
	now = t;
	share(&now);
}

cc_time cc__now(void)
{
	static const struct mc_site site = {"clock", "cc__now", 0};

	threads[me].pc = (uintptr_t)__builtin_return_address(0);
	point(&now, false, &site);
	if (tracing)
		trace_op(&site, "now     %lld", (long long)now);
	return now;
}

/* ---- threads and TLS ---- */

int cc__thread_start(struct cc__os_thread *t, void (*main)(void *), void *arg, const char *name)
{
	(void)name;
	t->handle = (uintptr_t)thread_add(main, arg);
	if (tracing)
		trace("  T%d starts T%d\n", me, (int)t->handle);
	return 0;
}

void cc__thread_join(struct cc__os_thread t)
{
	static const struct mc_site site = {"thread", "cc__thread_join", 0};
	const struct thread *other = &threads[t.handle];

	threads[me].site = &site;
	threads[me].pc = (uintptr_t)__builtin_return_address(0);
	if (other->state != ENDED) {
		threads[me].on = (void *)t.handle;
		block(IN_JOIN);
	}
	join(threads[me].cur, other->cur, 0, slots);
}

void *cc__tls_get(void)
{
	return threads[me].tls;
}

int cc__tls_set(void *record, void (*at_exit)(void *record))
{
	threads[me].tls = record;
	threads[me].tls_exit = at_exit;
	return 0;
}

void os_thread_end(void)
{
	struct thread *t = &threads[me];
	void *record = t->tls;

	if (record != NULL && t->tls_exit != NULL) {
		t->tls = NULL;
		t->tls_exit(record);
	}
	if (t->locks != 0)
		mc_fail("lock: T%d ends with a lock held", me);
}
