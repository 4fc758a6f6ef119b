/* blocking.c - the pool for blocking calls: a job is handed to a thread whose idle
 * time runs out, threads come and go, and some do not start.  Callers are threads:
 * for the pool they are waiters like fibers.
 *
 * The pool itself is included, so that a start can fail.  Its threads count as
 * threads: two callers are searched with the bound of three and more.  The pool has
 * no atomics of its own, so with four threads only preemptions are searched.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c */
#include <errno.h>

#define SHIM_REAL_SLAB /* but for a simpler one, below */
#define SHIM_CANCEL
#include "shim_wait.h"

/* Each object a new one.  A late waker may still hold a thread's record; whoever
 * touches anything else that was given back is found. */
void *cc__slab_get(struct cc__slab *s)
{
	char *p = mc_alloc(s->size);

	for (size_t i = 0; i < s->size / sizeof(uint64_t); i++)
		((uint64_t *)(void *)p)[i] = 0;
	return p;
}

void cc__slab_put(struct cc__slab *s, void *object)
{
	if (s->link != offsetof(struct cc__thread, next))
		mc_free(object);
}

static unsigned refusals;	/* threads up to that number do not start; .init's */
static bool joined[MC_THREADS];	/* by whoever joins */

static int start_or_not(struct cc__os_thread *t, void (*main)(void *), void *arg, const char *text)
{
	if ((unsigned)(text[9] - '0') <= refusals) /* "cc-block-1" */
		return EAGAIN;
	return cc__thread_start(t, main, arg, text);
}

static void join_once(struct cc__os_thread t)
{
	cc__thread_join(t);
	MC_ASSERT(!joined[t.handle]);
	joined[t.handle] = true;
}

#define TURN 1 /* of a watch */
#define cc__thread_start start_or_not
#define cc__thread_join join_once
#include "io/blocking.c"
#undef cc__thread_start
#undef cc__thread_join

_Static_assert(offsetof(struct cc__blocking_thread, next) != offsetof(struct cc__thread, next),
               "cc__slab_put tells them apart by the link");

void cc__thread_yield(void)
{
	cc__relax();
}

/* What only cc_blocking calls. */
struct cc__blocking *cc__blocking_of_caller(void)
{
	return NULL;
}

/* ---- callers ---- */

static struct cc__blocking pool;
static bool alone;	/* one job at a time; .init's */
static int turns;	/* the job's; plain, so that two at once are a race */

static void one_thread(void)
{
	cc__blocking_init(&pool, 1, CC_SEC, 0);
	alone = true;
}

static void two_threads(void)
{
	cc__blocking_init(&pool, 2, CC_SEC, 0);
}

static int job(void *arg)
{
	if (alone)
		turns++;
	return ++*(int *)arg;
}

static void call(void)
{
	int n = 6, result = 0;

	MC_ASSERT(cc__blocking_run(&pool, job, &n, &result) == 0);
	MC_ASSERT(n == 7 && result == 7);
}

static void call_once(void)
{
	be_thread();
	call();
}

static void call_twice(void)
{
	call_once();
	call();
}

/* Whenever everybody sleeps: no job waits, and the bound holds. */
static bool no_job_waits(void)
{
	return pool.first == NULL && cc__peek(&pool.waiting) == 0 && pool.looking == 0 &&
	       pool.awake == 0 && !pool.watched && pool.live <= pool.max;
}

/* Every thread has ended, by idleness or by fini, and has been joined.  How many
 * there were. */
static unsigned all_ended(void)
{
	const unsigned started = pool.started > refusals ? pool.started - refusals : 0;
	unsigned n = 0;

	MC_ASSERT(pool.live == 0 && pool.idle.head == NULL && pool.first == NULL);
	MC_ASSERT(cc__peek(&pool.waiting) == 0 && pool.looking == 0);
	MC_ASSERT(pool.awake == 0 && !pool.watched);
	for (int i = 0; i < MC_THREADS; i++)
		n += joined[i];
	MC_ASSERT(n == started);
	check_threads_at_rest();
	return started;
}

static void ended_by_fini(void)
{
	mc_outcome("%u", all_ended());
}

/* Idle time ends them all; only fini joins the last. */
static void ended_by_idleness(void)
{
	MC_ASSERT(pool.live == 0);
	cc__blocking_fini(&pool);
	ended_by_fini();
}

/* The second call meets the thread idle, on its way out, or gone. */
SCENARIO(blocking_hand_over_at_idle_end, .init = one_thread, .body = {call_twice},
         .conserve = no_job_waits, .final = ended_by_idleness, .spurious = MC_NONE, .bound = 2,
         .outcomes = "1 2")
SCENARIO(blocking_two_callers_one_thread, .init = one_thread, .body = {call_once, call_once},
         .conserve = no_job_waits, .final = ended_by_idleness, .bound = 2, .weak = 1,
         .spurious = MC_NONE, .timeouts = 1, .outcomes = "1 2")
SCENARIO(blocking_two_callers_two_threads, .init = two_threads, .body = {call_once, call_once},
         .conserve = no_job_waits, .final = ended_by_idleness, .bound = 1, .weak = 1,
         .spurious = MC_NONE, .timeouts = 1, .outcomes = "1 2")

/* ---- a thread that watches the queue ---- */

/* The second call comes before the watch, during it, while its end is not known to the pool,
 * or when the thread is idle or gone.  It is never left to a thread that has looked already. */
static void one_watches(void)
{
	cc__blocking_init(&pool, 1, CC_SEC, 2);
	alone = true;
}

/* Of two threads one watches; the other one becomes idle. */
static void one_of_two_watches(void)
{
	cc__blocking_init(&pool, 2, CC_SEC, 1);
}

SCENARIO(blocking_watch_sees_the_next_job, .init = one_watches, .body = {call_twice},
         .conserve = no_job_waits, .final = ended_by_idleness, .spurious = MC_NONE, .bound = 2,
         .outcomes = "1 2")
SCENARIO(blocking_watch_with_two_callers, .init = one_watches, .body = {call_once, call_once},
         .conserve = no_job_waits, .final = ended_by_idleness, .bound = 2, .weak = 0,
         .spurious = MC_NONE, .timeouts = 1, .outcomes = "1 2")
SCENARIO(blocking_watch_beside_an_idle_thread, .init = one_of_two_watches,
         .body = {call_once, call_once}, .conserve = no_job_waits, .final = ended_by_idleness,
         .bound = 1, .weak = 0, .spurious = MC_NONE, .timeouts = 1, .outcomes = "1 2")

/* ---- a caller that is cancelled ---- */

static cc__a32 cancelled;	/* .init's: what cancels the second caller */
static int withdrawn;		/* the second caller's */

const cc__a32 *cc__cancel_flag(struct cc__parker *who)
{
	(void)who;
	return mc_self() == 1 ? &cancelled : NULL;
}

static void one_thread_one_cancelled(void)
{
	one_thread();
	cc__init(&cancelled, CC__CANCEL);
}

/* It has run, once, or never will (B6). */
static void call_cancelled(void)
{
	int n = 6, result = 0, err;

	be_thread();
	err = cc__blocking_run(&pool, job, &n, &result);
	MC_ASSERT(err == 0 ? n == 7 && result == 7 : err == ECANCELED && n == 6);
	withdrawn = err != 0;
}

static void run_or_withdrawn(void)
{
	cc__blocking_fini(&pool);
	all_ended();
	MC_ASSERT(turns == 2 - withdrawn);
	mc_outcome("%s", withdrawn ? "withdrawn" : "run");
}
SCENARIO(blocking_call_is_withdrawn_or_run, .init = one_thread_one_cancelled,
         .body = {call_once, call_cancelled}, .conserve = no_job_waits, .final = run_or_withdrawn,
         .bound = 2, .weak = 1, .spurious = MC_NONE, .timeouts = 1, .outcomes = "run withdrawn")

/* ---- fini ---- */

static cc__a32 other_done;

static void call_and_fini(void)
{
	call_once();
	cc__blocking_fini(&pool);
}

static void call_and_say(void)
{
	call_once();
	cc__store(&other_done, 1, CC__RELEASE);
}

static void call_and_fini_after_other(void)
{
	call_once();
	mc_wait_while(&other_done, 0);
	cc__blocking_fini(&pool);
}

SCENARIO(blocking_fini_at_idle_end, .init = one_thread, .body = {call_and_fini},
         .conserve = no_job_waits, .final = ended_by_fini, .outcomes = "1")
SCENARIO(blocking_fini_of_two_threads, .init = two_threads,
         .body = {call_and_fini_after_other, call_and_say}, .conserve = no_job_waits,
         .final = ended_by_fini, .bound = 1, .weak = 1, .spurious = MC_NONE, .timeouts = 1,
         .outcomes = "1 2")

/* ---- threads that do not start ---- */

/* A job that waits for a thread which does not come is run by its caller, and so
 * are those that waited behind it. */
static void one_thread_refused(void)
{
	one_thread();
	alone = false;
	refusals = 1;
}

static void two_threads_one_refused(void)
{
	two_threads();
	refusals = 1;
}

static void two_threads_refused(void)
{
	two_threads();
	refusals = 2;
}
SCENARIO(blocking_no_thread_starts, .init = one_thread_refused, .body = {call_once, call_once},
         .conserve = no_job_waits, .final = ended_by_idleness, .bound = 2, .spurious = MC_NONE,
         .timeouts = 1, .outcomes = "0 1")
SCENARIO(blocking_one_thread_starts, .init = two_threads_one_refused,
         .body = {call_once, call_once}, .conserve = no_job_waits, .final = ended_by_idleness,
         .bound = 2, .spurious = MC_NONE, .timeouts = 1, .outcomes = "1")
SCENARIO(blocking_neither_thread_starts, .init = two_threads_refused,
         .body = {call_once, call_once}, .conserve = no_job_waits, .final = ended_by_idleness,
         .bound = 2, .spurious = MC_NONE, .timeouts = 1, .outcomes = "0")
