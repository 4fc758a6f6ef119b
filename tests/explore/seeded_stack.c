/* seeded_stack.c - holes that need fiber stacks: who may run a fiber whose stack
 * is still in use.  Each beside its twin, as in seeded.c.
 *
 * Two workers.  Worker 0 runs the fiber first; worker 1 wakes it, or takes it
 * from the queue, and runs it on. */
#include "engine.h"

enum { OWNED, PARKING, PARKED, NOTIFIED, QUEUED, DONE };

static mc_ctx *fiber, *home[2];
static cc__a32 word;
static CC__ATOMIC(mc_ctx *) queue; /* one entry */
static cc__a32 idle;               /* worker 0 sleeps while this is 0 */
static int progress;               /* the fiber's own */

static void go_home(void)
{
	mc_switch(home[mc_self()]);
}

static void end_fiber(void)
{
	MC_ASSERT(++progress == 2);
	cc__store(&word, DONE, CC__RELEASE);
	mc_ctx_end(home[mc_self()]);
}

static bool commit(void)
{
	uint32_t w = PARKING;

	return cc__cas(&word, &w, PARKED, CC__RELEASE, CC__ACQUIRE);
}

static void resume(void)
{
	home[mc_self()] = mc_ctx_self();
	mc_switch(fiber);
}

/* The wake: true if the caller must run or enqueue the fiber. */
static bool wake(void)
{
	uint32_t w = mc_wait_while(&word, OWNED);

	while (w == PARKING || w == PARKED)
		if (cc__cas_weak(&word, &w, w == PARKED ? QUEUED : NOTIFIED, CC__ACQ_REL,
		                 CC__RELAXED))
			return w == PARKED;
	return false;
}

static void finished(void)
{
	MC_ASSERT(cc__peek(&word) == DONE);
}

/* ---- commit ---- */

static void park_commit_on_own_stack(void *arg)
{
	(void)arg;
	progress++;
	cc__store(&word, PARKING, CC__SEQ_CST);
	if (commit())
		go_home();
	end_fiber();
}

static void park_commit_elsewhere(void *arg)
{
	(void)arg;
	progress++;
	cc__store(&word, PARKING, CC__SEQ_CST);
	go_home();
	end_fiber();
}

static void make_committing_itself(void)
{
	fiber = mc_ctx_new(park_commit_on_own_stack, NULL);
}

static void make_committed_by_worker(void)
{
	fiber = mc_ctx_new(park_commit_elsewhere, NULL);
}

static void run(void)
{
	resume();
}

static void run_then_commit(void)
{
	resume();
	if (!commit())
		resume();
}

static void run_then_commit_relaxed(void)
{
	uint32_t w = PARKING;

	resume();
	if (!cc__cas(&word, &w, PARKED, CC__RELAXED, CC__ACQUIRE))
		resume();
}

static void wake_and_run(void)
{
	if (wake())
		resume();
}
SCENARIO(commit_on_own_stack, .init = make_committing_itself, .body = {run, wake_and_run},
         .final = finished, .expect = "context")
SCENARIO(commit_on_the_workers_stack, .init = make_committed_by_worker,
         .body = {run_then_commit, wake_and_run}, .final = finished)
SCENARIO(commit_without_release, .init = make_committed_by_worker,
         .body = {run_then_commit_relaxed, wake_and_run}, .final = finished, .expect = "context")

/* ---- yield ---- */

static void yield_enqueued_by_itself(void *arg)
{
	(void)arg;
	progress++;
	cc__store(&word, QUEUED, CC__RELAXED);
	cc__store(&queue, fiber, CC__RELEASE);
	go_home();
	end_fiber();
}

static void yield_enqueued_by_worker(void *arg)
{
	(void)arg;
	progress++;
	go_home();
	end_fiber();
}

static void make_yielding_itself(void)
{
	fiber = mc_ctx_new(yield_enqueued_by_itself, NULL);
}

static void make_yielding(void)
{
	fiber = mc_ctx_new(yield_enqueued_by_worker, NULL);
}

static void run_then_enqueue(void)
{
	resume();
	cc__store(&word, QUEUED, CC__RELAXED);
	cc__store(&queue, fiber, CC__RELEASE);
}

static void steal_and_run(void)
{
	mc_wait_while(&queue, NULL);
	resume();
}
SCENARIO(yield_enqueued_on_own_stack, .init = make_yielding_itself, .body = {run, steal_and_run},
         .final = finished, .expect = "context")
SCENARIO(yield_enqueued_after_the_switch, .init = make_yielding,
         .body = {run_then_enqueue, steal_and_run}, .final = finished)

/* ---- searching while PARKING ----
 * Worker 0 has nothing else to do.  If it sleeps on the parking fiber's stack,
 * before the commit, a wake that meets PARKING leaves the fiber to a commit that
 * never comes. */

static void sleep_until_work(void)
{
	while (cc__load(&queue, CC__ACQUIRE) == NULL)
		cc__futex_wait(&idle, 0, CC_FOREVER);
}

static void park_searching(void *arg)
{
	(void)arg;
	progress++;
	cc__store(&word, PARKING, CC__SEQ_CST);
	sleep_until_work(); /* on our own stack */
	go_home();
	end_fiber();
}

static void make_searching(void)
{
	fiber = mc_ctx_new(park_searching, NULL);
}

static void run_commit_search(void)
{
	resume();
	if (commit())
		sleep_until_work();
	resume();
}

static void wake_and_push(void)
{
	if (!wake())
		return;
	cc__store(&queue, fiber, CC__RELEASE);
	cc__store(&idle, 1, CC__RELEASE);
	cc__futex_wake(&idle, 1);
}
SCENARIO(search_while_parking, .init = make_searching, .body = {run_commit_search, wake_and_push},
         .final = finished, .expect = "deadlock")
SCENARIO(search_after_the_commit, .init = make_committed_by_worker,
         .body = {run_commit_search, wake_and_push}, .final = finished)
