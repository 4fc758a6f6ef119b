/* worker.c - the real scheduler: spawn from outside while the worker goes to sleep,
 * join, yield, deadlines, stop; with one worker, and with two that steal.
 *
 * Stacks are the engine's (os/context.h beside this file), so the pool is a
 * few descriptors.  The scheduler starts in .init: its workers are the first
 * threads, and the bodies those after them.  Somebody stops it, or its workers are
 * daemons that may sleep for ever.
 *
 * The search is included, and the thief, with microseconds that are none: on a clock that
 * stands still its spin would not end.  So is in_place.c, with a seeded bug: a joiner that does
 * not see the scope around it.
 *
 * defines: CC_FIBER_QUEUE_INITIAL=2
 * sources: base/lock.c wait/wait.c wait/thread.c wait/cancel.c base/slab.c sched/switch.c sched/caller.c
 * sched/ready.c sched/pick.c sched/bound.c sched/start.c sched/sleep.c task/frame.c task/join.c
 * sched/inspect.c sched/options.c sched/spawn.c time/timer.c sched/runq.c sched/global.c sched/inbox.c sched/idle.c
 * sched/branch.c sched/branch_task.c sched/later.c task/local.c sched/pressure.c */
#include <errno.h>

#define SHIM_REAL_SLAB
#include "shim_pages.h"
#include "shim_wait.h"
#include "task/local.h"
#include "task/overflow.h"
#include "sched/sched.h"
#include "sched/spawn.h"
#include "sched/worker.h"
#include "shim_stacks.h"

/* Nobody spins, and nothing must have waited to be taken. */
#undef CC_USEC
#define CC_USEC ((cc_time)0)
#include "sched/search.c"
#include "sched/steal.c"

/* Seeded: a task runs in place whatever scope its joiner is in; .init's. */
static bool place_ignores_scopes;
static struct cc__member *no_member;

static inline struct cc__member **member_for_place(struct cc__member **place)
{
	return place_ignores_scopes ? &no_member : cc__past_locals(place);
}

#define cc__past_locals member_for_place
#include "sched/in_place.c"
#undef cc__past_locals

/* ---- stacks ---- */

void cc__overflow_install(void) {}

int cc__sched_default(struct cc__sched **out)
{
	(void)out;
	mc_fail("spawn: there is no default runtime");
}

enum { STACKS = 4 };
static struct described {
	struct cc__stack stack;
	struct cc__timer alarm;
} described[STACKS];
static int pool;				/* stands for the pool's lock */
static struct cc__stack_list free_stacks;	/* pool */
static unsigned stacks_most = STACKS;		/* .init's */

int cc__stack_pool_init(struct cc__stack_pool *p, const CCConfig *config)
{
	(void)config;
	*p = (struct cc__stack_pool){0};
	for (unsigned i = 0; i < stacks_most; i++) {
		described[i].stack.alarm = offsetof(struct described, alarm);
		cc__stack_push(&free_stacks, &described[i].stack);
	}
	return 0;
}

void cc__stack_pool_fini(struct cc__stack_pool *p)
{
	(void)p;
	MC_ASSERT(free_stacks.count == stacks_most);
}

struct cc__stack *cc__stack_get(struct cc__stack_pool *p, unsigned order)
{
	struct cc__stack *s;

	(void)p, (void)order;
	mc_lock(&pool);
	s = cc__stack_pop(&free_stacks);
	mc_unlock(&pool);
	return s;
}

void cc__stack_put(struct cc__stack_pool *p, struct cc__stack *s)
{
	(void)p;
	mc_lock(&pool);
	cc__stack_push(&free_stacks, s);
	mc_unlock(&pool);
}

void cc__stack_put_list(struct cc__stack_pool *p, struct cc__stack_list *list)
{
	struct cc__stack *s;

	while ((s = cc__stack_pop(list)) != NULL)
		cc__stack_put(p, s);
}

void cc__stack_pool_explain(struct cc__stack_pool *p, unsigned order, char *text, size_t size)
{
	(void)p, (void)order, (void)size;
	text[0] = '\0';
}

cc_time cc__stack_pool_age(struct cc__stack_pool *p, cc_time now, cc_time idle)
{
	(void)p, (void)now, (void)idle;
	return CC_FOREVER;
}

/* ---- what is not in play: descriptors, the monitor, blocking calls, reports ---- */

void cc__poll_init(struct cc__poll *p, const CCAllocator *allocator)
{
	(void)p, (void)allocator;
}

bool cc__poll_claim(struct cc__poll *p)
{
	(void)p;
	mc_fail("poll: nobody waits for a descriptor");
}

void cc__poll_release(struct cc__poll *p)
{
	(void)p;
	mc_fail("poll: nobody has claimed it");
}

void cc__poll_sleep(struct cc__poll *p, cc_time deadline, struct cc__poll_found *found)
{
	(void)p, (void)deadline, (void)found;
	mc_fail("poll: nobody waits for a descriptor");
}

bool cc__poll_wake(struct cc__poll *p, const struct cc__poll_found *found)
{
	(void)p, (void)found;
	return false;
}

bool cc__poll_run(struct cc__poll *p, cc_time deadline)
{
	(void)p, (void)deadline;
	return false;
}

int cc__sysmon_start(struct cc__sched *s)
{
	(void)s;
	return 0;
}

void cc__sysmon_stop(struct cc__sched *s)
{
	(void)s;
}

void cc__sysmon_rouse(struct cc__sysmon *m)
{
	(void)m;
	mc_fail("sysmon: there is none that could sleep");
}

void cc__stats_report(struct cc__sched *s)
{
	(void)s;
}

void cc__poll_fini(struct cc__poll *p)
{
	(void)p;
}

void cc__blocking_init(struct cc__blocking *p, unsigned max, cc_time idle_time, unsigned watch)
{
	(void)p, (void)max, (void)idle_time, (void)watch;
}

void cc__blocking_fini(struct cc__blocking *p)
{
	(void)p;
}

unsigned cc__cpus_allowed(void)
{
	return 2;
}

void cc__pages_unmap(void *p, size_t size)
{
	(void)p, (void)size;
	mc_fail("no ring has grown");
}

void cc__thread_prompt(void)
{
}

uint32_t cc__thread_number(void)
{
	return 1;
}

void cc__thread_yield(void)
{
	cc__relax();
}

/* ---- start and stop ---- */

static struct cc__sched sched;
static cc__a32 tasks_run;	/* tasks that came to their end */

static void *alloc(void *context, size_t size)
{
	(void)context;
	return mc_alloc_zero(size);
}

static void release(void *context, void *p, size_t size)
{
	(void)context, (void)size;
	mc_free(p);
}

static cc_time idle_wait = CC_FOREVER;	/* no worker looks by itself */

static void start_workers_of(unsigned workers)
{
	const CCConfig config = {
	    .workers = workers,
	    .workers_max = workers,
	    .stack_cache = STACKS,
	    .stack_idle = workers == 1 ? 3600 * CC_SEC : CC_FOREVER,
	    .idle_wait = idle_wait,
	    .inbox_max = 4,
	    .allocator = {alloc, release, NULL},
	};

	MC_ASSERT(cc__sched_start(&sched, &config) == 0);
}

static void start(void)
{
	start_workers_of(1);
}

static void stop(void)
{
	MC_ASSERT(cc__sched_stop(&sched, CC_FOREVER) == 0);
}

/* From a body, or in .init, where it is in the global queue before anybody runs. */
static void spawn(CCTask *out, cc_task_main *main, void *arg)
{
	MC_ASSERT(cc__sched_spawn(&sched, out, NULL, main, arg, 0) == 0);
}

static void spawn_in_init(CCTask *out, cc_task_main *main, void *arg)
{
	cc__tls_set(&record[MC_THREADS - 1], NULL);
	spawn(out, main, arg);
	cc__tls_set(NULL, NULL);
}

/* Nothing runnable while the workers sleep; called when nobody can run. */
static bool nothing_runnable(void)
{
	bool any = false;

	if (cc__peek(&sched.stopped) != 0)
		return true;
	for (unsigned i = 0; i < cc__peek(&sched.workers); i++) {
		const struct cc__worker *w = sched.worker[i];

		any |= cc__runq_length(&w->queue) > 0 || cc__inbox_any(&w->inbox) ||
		       cc__inbox_any(&w->own);
	}
	return !any && cc__global_length(&sched.global) == 0 &&
	       cc__peek(&sched.idle->searching) == 0;
}

#define WORKER_SCENARIO(name, ...) \
	SCENARIO(name, .conserve = nothing_runnable, .bound = 2, .weak = 1, .spurious = MC_NONE, \
	         .timeouts = 1, .steps = 6000, __VA_ARGS__)

/* ---- spawn against sleep ---- */

static int count_run(void *arg)
{
	(void)arg;
	cc__add(&tasks_run, 1, CC__RELAXED);
	return 0;
}

static void spawn_detached(void)
{
	be_thread();
	spawn(NULL, count_run, NULL);
}

static void spawn_detached_twice(void)
{
	spawn_detached();
	spawn_detached();
}

static void one_run(void)
{
	MC_ASSERT(cc__peek(&tasks_run) == 1);
}

static void two_run(void)
{
	MC_ASSERT(cc__peek(&tasks_run) == 2);
}

static void three_run(void)
{
	MC_ASSERT(cc__peek(&tasks_run) == 3);
}
/* covers: SCH-18/m, SCH-10/m, SCH-28/m, RES-35/m */
WORKER_SCENARIO(worker_spawn_twice, .init = start, .body = {spawn_detached_twice}, .daemon = 1,
                .final = two_run)

/* The last step of a spawn alone, so that two of them stay small: frames that
 * are filled already. */
static struct cc__fiber *filled[2];

static void start_with_filled(void)
{
	start();
	for (int i = 0; i < 2; i++) {
		filled[i] = cc__frame_get(NULL);
		cc__frame_begin(filled[i], &sched, NULL);
		filled[i]->run.main = count_run;
		cc__frame_show(filled[i], (100 + (uint64_t)i) | CC__HANDLE_DETACHED);
		cc__init(&sched.spawned_outside, (uint64_t)i + 1);
	}
}

static void push_filled(int i)
{
	cc__word_publish(&filled[i]->parker);
	cc__schedule(&filled[i]->parker);
}

static void push_first(void)
{
	push_filled(0);
}

static void push_second(void)
{
	push_filled(1);
}
WORKER_SCENARIO(worker_two_pushers, .weak = MC_NONE, .init = start_with_filled,
                .body = {push_first, push_second}, .daemon = 1,
                .final = two_run) /* covers: SCH-18/m, SCH-10/m */

/* ---- stop ---- */

static void spawn_and_stop(void)
{
	spawn_detached();
	stop();
}

static void spawn_twice_and_stop(void)
{
	spawn_detached_twice();
	stop();
}
WORKER_SCENARIO(worker_stop, .init = start, .body = {stop}, .leaks = true)
WORKER_SCENARIO(worker_spawn_and_stop, .init = start, .body = {spawn_and_stop}, .final = one_run,
                .leaks = true)
WORKER_SCENARIO(worker_spawn_twice_and_stop, .weak = MC_NONE, .init = start,
                .body = {spawn_twice_and_stop}, .final = two_run, .leaks = true)

/* A stop that does not wait for long takes itself back, or is too late for it. */
static bool taken_back;		/* the first stop was */

static void stop_in_a_second(void)
{
	int err = cc__sched_stop(&sched, cc__now() + CC_SEC);

	MC_ASSERT(err == 0 || err == ETIMEDOUT);
	if (err == 0)
		return;
	taken_back = true;
	/* It takes no more: the tasks have been told to end. */
	MC_ASSERT(cc__sched_spawn(&sched, NULL, NULL, count_run, NULL, 0) == ECANCELED);
	stop();
}

static void all_due_run(void)
{
	MC_ASSERT(cc__peek(&tasks_run) == 1);
	mc_outcome("%d", taken_back);
}

static void start_with_one(void)
{
	start();
	spawn_in_init(NULL, count_run, NULL);
}
WORKER_SCENARIO(worker_stop_taken_back, .init = start_with_one, .body = {stop_in_a_second},
                .final = all_due_run, .leaks = true, .outcomes = "0 1")

/* ---- join from outside ---- */

static int give_back(void *arg)
{
	cc__add(&tasks_run, 1, CC__RELAXED);
	return *(int *)arg;
}

static int seven = 7;
static CCTask task;

static void start_with_task(void)
{
	start();
	spawn_in_init(&task, give_back, &seven);
}

static void join_for_ever(void)
{
	int result = 0, err;

	be_thread();
	err = cc_task_join(task, CC_FOREVER, &result);
	MC_ASSERT(err == EINVAL || (err == 0 && result == 7));
}

static void join_in_a_second(void)
{
	int result = 0, err;

	be_thread();
	err = cc_task_join(task, cc__now() + CC_SEC, &result);
	if (err == ETIMEDOUT)
		err = cc_task_join(task, CC_FOREVER, &result);
	MC_ASSERT(err == 0 && result == 7);
}

static void spawn_and_join(void)
{
	CCTask mine;
	int result = 0;

	be_thread();
	spawn(&mine, give_back, &seven);
	MC_ASSERT(cc_task_join(mine, CC_FOREVER, &result) == 0 && result == 7);
	MC_ASSERT(cc_task_join(mine, CC_FOREVER, &result) == EINVAL);
}
/* covers: SCH-47/m, SCH-49/m, SCH-50/m, RES-13/m, RES-60/m */
WORKER_SCENARIO(worker_spawn_and_join, .init = start, .body = {spawn_and_join}, .daemon = 1,
                .final = one_run)
/* covers: RES-14/m */
WORKER_SCENARIO(worker_two_join, .init = start_with_task, .body = {join_for_ever, join_for_ever},
                .daemon = 1, .final = one_run)
WORKER_SCENARIO(worker_join_deadline, .init = start_with_task, .body = {join_in_a_second},
                .daemon = 1, .final = one_run)

/* ---- fibers among themselves ---- */

static int turns[2];	/* the tasks' own */

static int yield_once(void *arg)
{
	int *mine = arg;

	++*mine;
	cc_yield();
	MC_ASSERT(++*mine == 2);
	cc__add(&tasks_run, 1, CC__RELAXED);
	return 0;
}

static int spawn_and_yield(void *arg)
{
	(void)arg;
	spawn(NULL, yield_once, &turns[1]);
	return yield_once(&turns[0]);
}

static void start_with_yielders(void)
{
	start_with_filled();
	spawn_in_init(NULL, spawn_and_yield, NULL);
}

static void yielders_and_one(void)
{
	MC_ASSERT(turns[0] == 2 && turns[1] == 2);
	three_run();
}
WORKER_SCENARIO(worker_yield, .init = start_with_yielders, .body = {push_first}, .daemon = 1,
                .final = yielders_and_one) /* covers: RES-57/m */

/* A thief takes what is in the worker's queue and runs it, at any moment: a second worker
 * without a search, so that all of it stays small. */
static struct cc__worker thief;

static void be_thief(void)
{
	struct cc__worker *w = &thief;

	be_thread();
	w->sched = &sched;
	w->idle = sched.idle;
	w->nap = &sched.idle->nap[1];
	w->id = 2;
	w->age_at = CC_FOREVER;
	w->thread = &record[mc_self()];
	w->thread->worker = w;
	cc__runq_init(&w->queue);
	cc__timers_init(&w->timers);
	cc__context_adopt(&w->context);
	cc__carry_check_init(&w->carry);
}

static void steal_and_run(void)
{
	be_thief();
	if (cc__runq_steal(&sched.worker[0]->queue, CC__TAKE_STARTED, 0, &thief.loot)) {
		cc__worker_move_in_loot(&thief, &thief.loot);
		cc__worker_run(&thief);
	}
	cc__frame_cache_flush(&thief.frames);
	cc__stack_put_list(&sched.stacks, &thief.stacks);
}

static void start_with_two_yielders(void)
{
	start();
	spawn_in_init(NULL, spawn_and_yield, NULL);
}

static void both_yielded(void)
{
	MC_ASSERT(turns[0] == 2 && turns[1] == 2);
	two_run();
	mc_outcome("%s", cc__peek(&thief.picks) > 0 ? "stolen" : "alone");
}
/* Who yields is found in the queue only when the switch away from it is over (D2): else its
 * context is resumed while it runs, or before it is saved.  The first to yield goes the long
 * way, since what is next has not started; the second takes its turn. */
WORKER_SCENARIO(worker_yields_under_a_thief, .weak = MC_NONE, .bound = 1, .init = start_with_two_yielders,
                .body = {steal_and_run}, .daemon = 1, .final = both_yielded,
                .outcomes = "stolen alone") /* covers: RES-57/m, SCH-08/m */

static int yield_and_give_back(void *arg)
{
	cc_yield();
	return give_back(arg);
}

/* What it joins has begun, so it cannot run in place: the joiner parks. */
static int join_inside(void *arg)
{
	CCTask mine;
	int result = 0;

	(void)arg;
	spawn(&mine, yield_and_give_back, &seven);
	cc_yield();
	MC_ASSERT(cc_task_join(mine, CC_FOREVER, &result) == 0 && result == 7);
	cc__add(&tasks_run, 1, CC__RELAXED);
	return 0;
}

static void start_with_joiner(void)
{
	start_with_filled();
	spawn_in_init(NULL, join_inside, NULL);
}
WORKER_SCENARIO(worker_fiber_joins_fiber, .init = start_with_joiner, .body = {push_first},
                .daemon = 1, .final = three_run) /* covers: SCH-48/m, SCH-50/m, RES-57/m */

/* ---- fibers woken from outside ---- */

static cc__a32 flag;
static CC__ATOMIC(struct cc__parker *) sleeper;

static int park_on_flag(void *arg)
{
	(void)arg;
	cc__store(&sleeper, cc__self(), CC__RELEASE);
	while (cc__load(&flag, CC__RELAXED) == 0)
		cc__park_if(&flag, 0);
	cc__add(&tasks_run, 1, CC__RELAXED);
	return 0;
}

static CC__ATOMIC(struct cc__parker *) sleeper_too;

static int park_on_flag_too(void *arg)
{
	(void)arg;
	cc__store(&sleeper_too, cc__self(), CC__RELEASE);
	while (cc__load(&flag, CC__RELAXED) == 0)
		cc__park_if(&flag, 0);
	cc__add(&tasks_run, 1, CC__RELAXED);
	return 0;
}

static void nobody(void) {}

static void start_with_sleeper(void)
{
	start();
	spawn_in_init(&task, park_on_flag, NULL);
}

static void raise_and_unpark(void)
{
	struct cc__parker *p = mc_wait_while(&sleeper, NULL);

	cc__store(&flag, 1, CC__RELAXED);
	cc__unpark(p);
}
/* covers: SCH-10/m, SCH-30/m, SCH-33/m, SCH-34/m, LIF-33/m, LIF-36/m, RES-57/m */
WORKER_SCENARIO(worker_fiber_woken_by_two, .weak = MC_NONE, .init = start_with_sleeper,
                .body = {raise_and_unpark, raise_and_unpark}, .daemon = 1, .final = one_run)

/* Who waits for a task goes on where it ends, through no queue, or a wake from outside or
 * its deadline was first: one of them has it. */
static int join_apart(void *arg)
{
	CCTask mine;
	int result = 0, err;

	(void)arg;
	spawn(&mine, give_back, &seven);
	cc__store(&sleeper, cc__self(), CC__RELEASE);
	if ((err = cc_task_join(mine, cc__now() + CC_SEC, &result)) == ETIMEDOUT)
		err = cc_task_join(mine, cc__now() + 2 * CC_SEC, &result);
	MC_ASSERT(err == 0 && result == 7);
	cc__add(&tasks_run, 1, CC__RELAXED);
	return 0;
}

static void start_with_joiner_apart(void)
{
	start();
	spawn_in_init(NULL, join_apart, NULL);
}

static void two_run_and_no_pressure(void)
{
	two_run();
	MC_ASSERT(cc__sched_pressure(&sched) == 0);
}

static void unpark_joiner(void)
{
	cc__unpark(mc_wait_while(&sleeper, NULL));
}

WORKER_SCENARIO(worker_joins_apart, .bound = 3, .init = start_with_joiner_apart,
                .body = {unpark_joiner}, .daemon = 1, .final = two_run_and_no_pressure)

/* A joiner inside a scope and a task outside of it, which sleeps until the joiner is back: the
 * cancellation ends the join, whether the task has begun or not (PLACE-1 in in_place.c). */
static struct cc__scope outer_scope, inner_scope;
static cc__a32 scope_opened;

/* The task is over, or it sees the flag when it begins. */
static void end_sleeper(void)
{
	struct cc__parker *p = cc__load(&sleeper, CC__ACQUIRE);

	cc__store(&flag, 1, CC__RELAXED);
	if (p != NULL)
		cc__unpark(p);
}

static void join_until_cancelled(struct cc__scope *scope)
{
	struct cc__member **slot = cc__member_slot(cc__self());
	struct cc__member m;
	CCTask mine;
	int err;

	cc__member_enter(&m, scope, cc__self(), slot);
	cc__store(&scope_opened, 1, CC__RELEASE);
	spawn(&mine, park_on_flag, NULL);
	err = cc_task_join(mine, CC_FOREVER, NULL);
	MC_ASSERT(err == ECANCELED);
	cc__member_leave(&m, cc__member_slot(cc__self()));
	end_sleeper();
	MC_ASSERT(cc_task_join(mine, CC_FOREVER, NULL) == 0);
	cc__add(&tasks_run, 1, CC__RELAXED);
}

static int join_in_scope(void *arg)
{
	(void)arg;
	cc__scope_open(&outer_scope, &sched.root.scope);
	join_until_cancelled(&outer_scope);
	cc__scope_close(&outer_scope);
	return 0;
}

static int join_in_inner_scope(void *arg)
{
	(void)arg;
	cc__scope_open(&outer_scope, &sched.root.scope);
	cc__scope_open(&inner_scope, &outer_scope);
	join_until_cancelled(&inner_scope);
	cc__scope_close(&inner_scope);
	cc__scope_close(&outer_scope);
	return 0;
}

static void start_with_join_in_scope(void)
{
	start();
	spawn_in_init(&task, join_in_scope, NULL);
}

static void start_with_join_in_inner_scope(void)
{
	start();
	spawn_in_init(&task, join_in_inner_scope, NULL);
}

static void start_with_join_that_ignores_scopes(void)
{
	place_ignores_scopes = true;
	start_with_join_in_scope();
}

static void cancel_scope_and_join(void)
{
	be_thread();
	mc_wait_while(&scope_opened, 0);
	cc__scope_cancel(&outer_scope, CC__CANCEL, false);
	MC_ASSERT(cc_task_join(task, CC_FOREVER, NULL) == 0);
}
/* covers: RES-68/m, RES-36/m */
WORKER_SCENARIO(worker_cancel_ends_a_join, .weak = MC_NONE, .init = start_with_join_in_scope,
                .body = {cancel_scope_and_join}, .daemon = 1, .final = two_run)
WORKER_SCENARIO(worker_cancel_ends_a_join_in_an_inner_scope, .weak = MC_NONE,
                .init = start_with_join_in_inner_scope, .body = {cancel_scope_and_join},
                .daemon = 1, .final = two_run) /* covers: RES-68/m */
/* The joiner is below the sleeping task, and nothing reaches it. */
WORKER_SCENARIO(worker_place_that_ignores_scopes_traps, .weak = MC_NONE,
                .init = start_with_join_that_ignores_scopes, .body = {cancel_scope_and_join},
                .daemon = 1, .final = two_run, .expect = "deadlock")

/* Woken while others are pushed. */
static void start_with_sleeper_and_filled(void)
{
	start_with_filled();
	spawn_in_init(NULL, park_on_flag, NULL);
}
WORKER_SCENARIO(worker_fiber_woken_beside_a_push, .weak = MC_NONE,
                .init = start_with_sleeper_and_filled, .body = {raise_and_unpark, push_first},
                .daemon = 1, .final = two_run)
/* covers: SCH-10/m, RES-57/m */

/* A deadline of the worker's own timers against a wake. */
static struct cc__waitq queue;
static int waited;	/* the fiber's result */
static bool taken;	/* the waker's */

static int wait_a_second(void *arg)
{
	struct cc__waiter *w = waiter_new();

	(void)arg;
	cc__lock(&queue.lock, CC__RANK_WAITQ);
	waited = cc__wait(&queue, w, cc__now() + CC_SEC);
	mc_free(w);
	cc__add(&tasks_run, 1, CC__RELAXED);
	return 0;
}

static void start_with_waiter(void)
{
	start();
	spawn_in_init(NULL, wait_a_second, NULL);
}

static void wake_with_seven(void)
{
	taken = cc__wake_one(&queue, CC__REASON_DATA, 7);
}

static void one_result(void)
{
	MC_ASSERT(queue.head == NULL && sched.worker[0]->timers.levels == 0);
	MC_ASSERT(waited == (taken ? 7 : ETIMEDOUT));
	mc_outcome("%s", taken ? "woken" : "late");
}

static void start_with_waiter_and_filled(void)
{
	start_with_filled();
	spawn_in_init(NULL, wait_a_second, NULL);
}

static void one_result_and_one_run(void)
{
	one_result();
	two_run();
}
WORKER_SCENARIO(worker_fiber_deadline, .init = start_with_waiter, .body = {wake_with_seven},
                .daemon = 1, .final = one_result, .outcomes = "woken late")
/* covers: RES-18/m, LIF-22/m */
WORKER_SCENARIO(worker_fiber_deadline_beside_a_push, .weak = MC_NONE,
                .init = start_with_waiter_and_filled, .body = {wake_with_seven, push_first},
                .daemon = 1, .final = one_result_and_one_run)

/* ---- tasks that begin later ---- */

static int recalled;	/* what cc_task_recall said */

static void start_with_later(void)
{
	const CCTaskOptions o = {.start = cc__now() + CC_SEC};

	start();
	cc__tls_set(&record[MC_THREADS - 1], NULL);
	MC_ASSERT(cc__sched_spawn(&sched, &task, &o, count_run, NULL, 0) == 0);
	cc__tls_set(NULL, NULL);
}

static void recall(void)
{
	be_thread();
	recalled = cc_task_recall(task);
}

/* One of them has it (B1). */
static void run_or_recalled(void)
{
	MC_ASSERT(recalled == 0 || recalled == EALREADY);
	MC_ASSERT(cc__peek(&tasks_run) == (recalled != 0));
	mc_outcome("%s", recalled == 0 ? "recalled" : "run");
}
WORKER_SCENARIO(worker_later_against_recall, .init = start_with_later, .body = {recall},
                .daemon = 1, .final = run_or_recalled, .outcomes = "recalled run")

/* It may be the last: then somebody learns that it is over, and nobody touches the
 * scheduler any more. */
WORKER_SCENARIO(worker_stopped_by_a_recall, .weak = MC_NONE, .init = start_with_later,
                .body = {stop, recall}, .final = run_or_recalled, .leaks = true)

/* No time is given: it begins when it is found, by the walk or by its spawner. */
static void spawn_later(void)
{
	const CCTaskOptions o = {.start = cc__now() + 100 * CC_SEC};

	be_thread();
	recalled = cc__sched_spawn(&sched, &task, &o, count_run, NULL, 0);
}

static void cancel(void)
{
	be_thread();
	cc__store(&sched.cancel, 1, CC__SEQ_CST);	/* as cancel_tasks in sched.c */
	cc__fence_heavy();
	cc__fiber_unpark_all(&sched);
}

static void run_unless_refused(void)
{
	MC_ASSERT(recalled == 0 || recalled == ECANCELED);
	MC_ASSERT(cc__peek(&tasks_run) == (recalled == 0));
	MC_ASSERT(sched.worker[0]->timers.levels == 0);
	mc_outcome("%s", recalled == 0 ? "run" : "refused");
}
WORKER_SCENARIO(worker_later_against_cancel, .weak = MC_NONE, .init = start,
                .body = {spawn_later, cancel}, .daemon = 1, .final = run_unless_refused,
                .outcomes = "run refused")

/* The runtime goes away once the woken task has ended, whoever woke it. */
static void join_and_stop(void)
{
	be_thread();
	MC_ASSERT(cc_task_join(task, CC_FOREVER, NULL) == 0);
	stop();
}
WORKER_SCENARIO(worker_stopped_under_a_late_waker, .weak = MC_NONE, .init = start_with_sleeper,
                .body = {join_and_stop, raise_and_unpark}, .final = one_run) /* covers: RES-56/m */

/* ---- starvation ---- */

/* Two stacks: the worker's reserve, and one that a sleeper sits on.  The second task
 * starves, and gets its turn when the first has ended. */
static void start_with_two_stacks(void)
{
	stacks_most = 2;
	start();
	spawn_in_init(NULL, park_on_flag, NULL);
	spawn_in_init(NULL, park_on_flag_too, NULL);
	spawn_in_init(NULL, count_run, NULL);
}

static void raise_for_both(void)
{
	raise_and_unpark();
	cc__unpark(mc_wait_while(&sleeper_too, NULL));
}
WORKER_SCENARIO(worker_starved_task_runs, .init = start_with_two_stacks, .body = {raise_for_both},
                .daemon = 1, .final = three_run)

/* ---- two workers ---- */

static void start_two(void)
{
	start_workers_of(2);
}

/* What a task has spawned runs although its spawner does not come back. */
static cc__a32 other_has_run;

static int say_so(void *arg)
{
	(void)arg;
	cc__add(&tasks_run, 1, CC__RELAXED);
	cc__store(&other_has_run, 1, CC__RELEASE);
	return 0;
}

static int spawn_and_hog(void *arg)
{
	(void)arg;
	spawn(NULL, say_so, NULL);
	mc_wait_while(&other_has_run, 0);
	cc__add(&tasks_run, 1, CC__RELAXED);
	return 0;
}

static void start_two_with_hog(void)
{
	start_two();
	spawn_in_init(NULL, spawn_and_hog, NULL);
}
WORKER_SCENARIO(workers_steal_from_one_that_hogs, .weak = MC_NONE, .bound = 1,
                .init = start_two_with_hog, .body = {nobody}, .daemon = 3, .final = two_run)

/* The fiber that is woken goes to the worker that ran it last, which falls asleep,
 * hogs no more, or has others. */
static void start_two_with_sleeper(void)
{
	start_two();
	spawn_in_init(NULL, park_on_flag, NULL);
}
WORKER_SCENARIO(workers_wake_from_outside, .weak = MC_NONE, .bound = 1,
                .init = start_two_with_sleeper, .body = {raise_and_unpark}, .daemon = 3,
                .final = one_run)
WORKER_SCENARIO(workers_spawn_from_outside, .weak = MC_NONE, .bound = 1, .init = start_two,
                .body = {spawn_detached_twice}, .daemon = 3, .final = two_run)

/* Who wakes a fiber and hogs: as an offer (R4 in runq.h) or in the ring, it gets the other
 * worker, whether that searches or falls asleep. */
static int wake_and_hog(void *arg)
{
	(void)arg;
	raise_and_unpark();
	mc_wait_while(&tasks_run, 0);
	cc__add(&tasks_run, 1, CC__RELAXED);
	return 0;
}

static void start_two_with_sleeper_and_hog(void)
{
	start_two_with_sleeper();
	spawn_in_init(NULL, wake_and_hog, NULL);
}
WORKER_SCENARIO(workers_wake_by_one_that_hogs, .weak = MC_NONE, .bound = 1,
                .init = start_two_with_sleeper_and_hog, .body = {nobody}, .daemon = 3,
                .final = two_run)

/* The same where a worker may sleep on watch (docs/idle.md).  A worker that has left something
 * to the worker that hogs may not sleep without one. */
static void start_two_on_watch_with_hog(void)
{
	idle_wait = 5 * CC_MSEC;
	start_two_with_hog();
}
WORKER_SCENARIO(workers_on_watch_steal_from_one_that_hogs, .weak = MC_NONE, .bound = 1,
                .init = start_two_on_watch_with_hog, .body = {nobody}, .daemon = 3,
                .final = two_run)	/* covers: WKG-04/m WKG-05/m WKG-07/m LIF-13/m */

static void start_two_on_watch_with_sleeper_and_hog(void)
{
	idle_wait = 5 * CC_MSEC;
	start_two_with_sleeper_and_hog();
}
WORKER_SCENARIO(workers_on_watch_wake_by_one_that_hogs, .weak = MC_NONE, .bound = 1,
                .init = start_two_on_watch_with_sleeper_and_hog, .body = {nobody}, .daemon = 3,
                .final = two_run)	/* covers: LIF-13/m */

/* The joiner may be stolen when it is woken. */
static void start_two_with_joiner_apart(void)
{
	start_two();
	spawn_in_init(NULL, join_apart, NULL);
}

WORKER_SCENARIO(workers_join_apart, .weak = MC_NONE, .bound = 1,
                .init = start_two_with_joiner_apart, .body = {unpark_joiner}, .daemon = 3,
                .final = two_run_and_no_pressure)

/* What is sent back (T3 in steal.h) runs there, though its sender hogs: the other worker
 * searches, falls asleep, or has robbed us again. */
static int wake_send_back_and_hog(void *arg)
{
	struct cc__worker *w = cc__worker_here();

	(void)arg;
	raise_and_unpark();
	send_back(w, sched.worker[2 - w->id]);
	MC_ASSERT(cc__runq_started(&w->queue) <= 1);	/* offered, if anything */
	mc_wait_while(&tasks_run, 0);
	cc__add(&tasks_run, 1, CC__RELAXED);
	return 0;
}

static void start_two_with_sleeper_and_sender(void)
{
	start_two_with_sleeper();
	spawn_in_init(NULL, wake_send_back_and_hog, NULL);
}
WORKER_SCENARIO(workers_send_back_and_hog, .weak = MC_NONE, .bound = 1,
                .init = start_two_with_sleeper_and_sender, .body = {nobody}, .daemon = 3,
                .final = two_run)

/* Both agree that it is over, or both go on. */
WORKER_SCENARIO(workers_stop, .weak = MC_NONE, .bound = 1, .init = start_two, .body = {stop},
                .leaks = true)
WORKER_SCENARIO(workers_spawn_and_stop, .weak = MC_NONE, .bound = 1, .init = start_two,
                .body = {spawn_and_stop}, .final = one_run, .leaks = true)

static void start_two_with_one(void)
{
	start_two();
	spawn_in_init(NULL, count_run, NULL);
}
WORKER_SCENARIO(workers_stop_taken_back, .weak = MC_NONE, .bound = MC_NONE,
                .init = start_two_with_one, .body = {stop_in_a_second}, .final = all_due_run,
                .leaks = true, .outcomes = "0 1")

/* A fiber's deadline: whoever keeps the timers wakes it, or somebody from outside. */
static void start_two_with_waiter(void)
{
	start_two();
	spawn_in_init(NULL, wait_a_second, NULL);
}

static void one_result_of_two(void)
{
	MC_ASSERT(queue.head == NULL && sched.worker[1]->timers.levels == 0);
	one_result();
}
WORKER_SCENARIO(workers_fiber_deadline, .weak = MC_NONE, .bound = 1, .init = start_two_with_waiter,
                .body = {wake_with_seven}, .daemon = 3, .final = one_result_of_two,
                .outcomes = "woken late")
