/* worker.c - the real scheduler with its one worker: spawn from outside while
 * the worker goes to sleep, join, yield, deadlines, stop.
 *
 * Stacks are the engine's (os/context.h beside this file), so the pool is a
 * few descriptors.  The scheduler starts in .init: its worker is thread 0, and
 * the bodies are threads 1, 2 and so on.  Somebody stops it, or it is a daemon
 * that may sleep for ever.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c wait/slab.c sched/worker.c
 * sched/sched.c sched/fiber.c sched/timer.c sched/blocking.c */
#include <errno.h>

#define SHIM_REAL_SLAB
#include "shim_pages.h"
#include "shim_wait.h"
#include "sched/sched.h"
#include "sched/worker.h"

/* ---- stacks ---- */

enum { STACKS = 4 };
static struct cc__stack stack[STACKS];
static struct cc__stack_list free_stacks;

int cc__stack_pool_init(struct cc__stack_pool *p, const CCConfig *config)
{
	(void)config;
	*p = (struct cc__stack_pool){0};
	for (int i = 0; i < STACKS; i++)
		cc__stack_push(&free_stacks, &stack[i]);
	return 0;
}

void cc__stack_pool_fini(struct cc__stack_pool *p)
{
	(void)p;
	MC_ASSERT(free_stacks.count == STACKS);
}

struct cc__stack *cc__stack_get(struct cc__stack_pool *p)
{
	(void)p;
	return cc__stack_pop(&free_stacks);
}

void cc__stack_put(struct cc__stack_pool *p, struct cc__stack *s)
{
	(void)p;
	cc__stack_push(&free_stacks, s);
}

void cc__stack_put_list(struct cc__stack_pool *p, struct cc__stack_list *list)
{
	struct cc__stack *s;

	while ((s = cc__stack_pop(list)) != NULL)
		cc__stack_put(p, s);
}

void cc__stack_pool_explain(struct cc__stack_pool *p, char *text, size_t size)
{
	(void)p, (void)text, (void)size;
	mc_fail("explain: there are stacks enough");
}

bool cc__stack_pool_age(struct cc__stack_pool *p)
{
	(void)p;
	return false;
}

void *cc__stack_top(const struct cc__stack_pool *p, const struct cc__stack *s)
{
	(void)p, (void)s;
	return NULL;
}

void *cc__stack_bottom(const struct cc__stack_pool *p, const struct cc__stack *s)
{
	(void)p, (void)s;
	return NULL;
}

/* ---- descriptors: none (poll.c has them) ---- */

void cc__poll_init(struct cc__poll *p, const CCAllocator *allocator)
{
	(void)p, (void)allocator;
}

void cc__poll_fini(struct cc__poll *p)
{
	(void)p;
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
	char *p = mc_alloc(size);

	(void)context;
	for (size_t i = 0; i < size / sizeof(uint64_t); i++)
		((uint64_t *)(void *)p)[i] = 0;
	return p;
}

static void release(void *context, void *p, size_t size)
{
	(void)context, (void)size;
	mc_free(p);
}

static void start(void)
{
	const CCConfig config = {
	    .workers = 1,
	    .stack_cache = STACKS,
	    .stack_idle = 3600 * CC_SEC,
	    .allocator = {alloc, release, NULL},
	};

	MC_ASSERT(cc__sched_start(&sched, &config) == 0);
}

static void stop(void)
{
	MC_ASSERT(cc__sched_stop(&sched, CC_FOREVER) == 0);
}

/* From a body, or in .init, where it is in the inbox before anybody runs. */
static void spawn(CCTask *out, cc_task_main *main, void *arg)
{
	MC_ASSERT(cc__sched_spawn(&sched, out, NULL, main, arg) == 0);
}

static void spawn_in_init(CCTask *out, cc_task_main *main, void *arg)
{
	cc__tls_set(&record[MC_THREADS - 1], NULL);
	spawn(out, main, arg);
	cc__tls_set(NULL, NULL);
}

/* Nothing runnable while the worker sleeps; called when nobody can run. */
static bool nothing_runnable(void)
{
	const struct cc__worker *w = sched.worker;

	return cc__peek(&sched.stopped) != 0 ||
	       (cc__peek(&w->inbox) == NULL && w->ready.head == NULL);
}

#define WORKER_SCENARIO(name, ...) \
	SCENARIO(name, .conserve = nothing_runnable, .bound = 2, .spurious = MC_NONE, \
	         .timeouts = 1, __VA_ARGS__)

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
/* covers: SCH-18/m, SCH-10/m, SCH-28/m */
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
		cc__frame_begin(filled[i], &sched, 100 + (uint64_t)i, NULL, true);
		filled[i]->run.main = count_run;
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
WORKER_SCENARIO(worker_two_pushers, .init = start_with_filled, .body = {push_first, push_second},
                .daemon = 1, .final = two_run) /* covers: SCH-18/m, SCH-10/m */

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
WORKER_SCENARIO(worker_spawn_twice_and_stop, .init = start, .body = {spawn_twice_and_stop},
                .final = two_run, .leaks = true)

/* A stop that does not wait for long takes itself back, or is too late for it. */
static uint32_t due = 1;	/* tasks that must run */

static void stop_in_a_second(void)
{
	int err = cc__sched_stop(&sched, cc__now() + CC_SEC);

	MC_ASSERT(err == 0 || err == ETIMEDOUT);
	if (err == 0)
		return;
	due = 2;
	spawn_detached();
	stop();
}

static void all_due_run(void)
{
	MC_ASSERT(cc__peek(&tasks_run) == due);
	mc_outcome("%d", (int)cc__peek(&tasks_run));
}

static void start_with_one(void)
{
	start();
	spawn_in_init(NULL, count_run, NULL);
}
WORKER_SCENARIO(worker_stop_taken_back, .init = start_with_one, .body = {stop_in_a_second},
                .final = all_due_run, .leaks = true, .outcomes = "1 2")

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
/* covers: SCH-47/m, SCH-49/m, SCH-50/m, RES-13/m, RES-14/m, RES-60/m */
WORKER_SCENARIO(worker_spawn_and_join, .init = start, .body = {spawn_and_join}, .daemon = 1,
                .final = one_run)
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

static int join_inside(void *arg)
{
	CCTask mine;
	int result = 0;

	(void)arg;
	spawn(&mine, give_back, &seven);
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
WORKER_SCENARIO(worker_fiber_woken_by_two, .init = start_with_sleeper,
                .body = {raise_and_unpark, raise_and_unpark}, .daemon = 1, .final = one_run)

/* Woken while others are pushed. */
static void start_with_sleeper_and_filled(void)
{
	start_with_filled();
	spawn_in_init(NULL, park_on_flag, NULL);
}
WORKER_SCENARIO(worker_fiber_woken_beside_a_push, .init = start_with_sleeper_and_filled,
                .body = {raise_and_unpark, push_first}, .daemon = 1, .final = two_run)
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
	MC_ASSERT(queue.head == NULL && sched.worker->timers.first == NULL);
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
                .daemon = 1, .bound = 3, .final = one_result, .outcomes = "woken late")
/* covers: RES-18/m, LIF-22/m */
WORKER_SCENARIO(worker_fiber_deadline_beside_a_push, .init = start_with_waiter_and_filled,
                .body = {wake_with_seven, push_first}, .daemon = 1, .final = one_result_and_one_run)

/* The runtime goes away once the woken task has ended, whoever woke it. */
static void join_and_stop(void)
{
	be_thread();
	MC_ASSERT(cc_task_join(task, CC_FOREVER, NULL) == 0);
	stop();
}
WORKER_SCENARIO(worker_stopped_under_a_late_waker, .weak = 1, .init = start_with_sleeper,
                .body = {join_and_stop, raise_and_unpark}, .final = one_run) /* covers: RES-56/m */
