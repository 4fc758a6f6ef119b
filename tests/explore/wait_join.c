/* wait_join.c - the end of a task and those who join it, on the real frames.
 *
 * A thread plays the worker that ends a task; fibers and stacks are not needed
 * for it (worker.c has them).  Joiners are threads; a polling one looks once.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c base/slab.c task/frame.c task/join.c
 * sched/options.c sched/inspect.c */
#include <errno.h>

#define SHIM_REAL_SLAB
#include "shim_pages.h"
#include "shim_wait.h"
#include "sched/later.h"
#include "task/frame.h"
#include "sched/sched.h"
#include "sched/spawn.h"
#include "shim_frames.h"
#include "shim_stacks.h"

static struct cc__sched home;
static CCTask task[2];	/* the second: the frame's next life */
static int output[2];	/* what the tasks do; plain */
static int joined;	/* how many got the result; results_lock */
static int results_lock;

enum { RESULT = 40 };

/* A task up to the moment it runs. */
static struct cc__fiber *begin(int which, bool detached)
{
	struct cc__fiber *f = cc__frame_get(NULL);

	cc__frame_begin(f, &home, NULL);
	cc__frame_show(f, ((uint64_t)which + 1) | (detached ? CC__HANDLE_DETACHED : 0));
	task[which] = (CCTask){.frame = f, .id = (uint64_t)which + 1};
	cc__word_publish(&f->parker);
	cc__word_claim(&f->parker, 1);
	return f;
}

static void begin_first(void)
{
	begin(0, false);
}

static void got(int which, int result)
{
	MC_ASSERT(result == RESULT + which && output[which] == 1);
	mc_lock(&results_lock);
	joined++;
	mc_unlock(&results_lock);
}

static void end(int which)
{
	struct cc__fiber *f = task[which].frame;
	struct cc__wake last;

	output[which] = 1;
	if (cc__frame_end(f, RESULT + which, false, &last))
		cc__frame_put(NULL, f);
	cc__wake(last);
}

/* By a joiner that ran the task itself. */
static void end_joined(void)
{
	struct cc__fiber *f = task[0].frame;
	struct cc__wake last;

	output[0] = 1;
	MC_ASSERT(cc__frame_end(f, RESULT, true, &last));
	got(0, RESULT);
	cc__frame_put(NULL, f);
	cc__wake(last);
}

static void end_first(void)
{
	end(0);
}

static void join(int which, cc_time deadline)
{
	int *result = mc_alloc(sizeof *result);
	int err = cc_task_join(task[which], deadline, result);

	MC_ASSERT(err == 0 || err == EINVAL || err == EAGAIN || err == ETIMEDOUT);
	if (err == 0)
		got(which, *result);
	mc_free(result);
}

static void join_for_ever(void)
{
	be_thread();
	join(0, CC_FOREVER);
}

static void join_a_second(void)
{
	be_thread();
	join(0, cc__now() + CC_SEC);
}

static void join_now(void)
{
	be_thread();
	join(0, CC_NOW);
}

static void detach(void)
{
	int err = cc_task_detach(task[0]);

	MC_ASSERT(err == 0 || err == EINVAL);
	if (err == 0) {
		mc_lock(&results_lock);
		joined += 10;
		mc_unlock(&results_lock);
	}
}

/* The frame is back in the pool, once. */
static void recycled(void)
{
	struct cc__fiber *f = task[0].frame;

	MC_ASSERT(cc__word_state(cc__peek(&f->parker.word)) == CC__IDLE);
	MC_ASSERT(cc__peek(&f->handle) == 0 && f->done.head == NULL);
	MC_ASSERT(cc__frame_get(NULL) == f && cc__frame_get(NULL) != f);
	mc_outcome("%d", joined);
}
/* covers: SCH-47/m, SCH-48/m, SCH-49/m, SCH-50/m, RES-13/m, RES-60/m */
SCENARIO(join_one_waits, .init = begin_first, .body = {join_for_ever, end_first}, .final = recycled,
         .outcomes = "1")
/* Both wait, or the first takes the result alone. */
SCENARIO(join_two_wait, .init = begin_first, .body = {join_for_ever, join_for_ever, end_first},
         .final = recycled, .spurious = MC_NONE, .outcomes = "1 2") /* covers: RES-14/m */
SCENARIO(join_one_waits_one_polls, .init = begin_first,
         .body = {join_for_ever, join_now, end_first}, .final = recycled, .outcomes = "1")
SCENARIO(join_or_detach, .init = begin_first, .body = {join_for_ever, detach, end_first},
         .final = recycled, .outcomes = "1 10 11")

SCENARIO(join_in_place, .init = begin_first, .body = {join_for_ever, end_joined}, .final = recycled,
         .outcomes = "1 2")
SCENARIO(join_in_place_or_detach, .init = begin_first, .body = {detach, end_joined},
         .final = recycled, .outcomes = "1 11")

static int seen(const CCFiberInfo *info, void *arg)
{
	(void)arg;
	MC_ASSERT(info->id == 1);
	return 0;
}

static void look(void)
{
	be_thread();
	cc_fiber_each(seen, NULL);
}

static void begin_detached(void)
{
	begin(0, true);
}
SCENARIO(join_while_somebody_looks, .init = begin_first, .body = {join_for_ever, look, end_first},
         .final = recycled, .outcomes = "1")
SCENARIO(end_of_a_detached_task_while_somebody_looks, .init = begin_detached,
         .body = {look, end_first}, .final = recycled, .outcomes = "0")

/* A deadline against the end.  Whoever is left joins in the end. */
static void join_a_second_then_for_ever(void)
{
	join_a_second();
	mc_lock(&results_lock);
	if (joined > 0) {
		mc_unlock(&results_lock);
		return;
	}
	mc_unlock(&results_lock);
	join(0, CC_FOREVER);
}
SCENARIO(join_deadline, .init = begin_first, .body = {join_a_second_then_for_ever, end_first},
         .final = recycled, .outcomes = "1")
SCENARIO(join_deadline_and_another, .init = begin_first,
         .body = {join_a_second, join_for_ever, end_first}, .timeouts = 1, .weak = 1,
         .final = recycled, .outcomes = "1 2") /* covers: RES-14/m, RES-60/m */

/* The frame's next task is none of the old handle's. */
static void end_first_begin_second(void)
{
	end(0);
	if (cc__word_state(cc__load(&((struct cc__fiber *)task[0].frame)->parker.word,
	                            CC__ACQUIRE)) == CC__DONE)
		return;	/* left to a joiner */
	begin(1, false);
	end(1);
}

static void join_first_late(void)
{
	be_thread();
	join(0, CC_NOW);
	join(0, CC_FOREVER);
}

static void second_is_whole(void)
{
	struct cc__fiber *f = task[1].frame;

	if (f != NULL)
		MC_ASSERT(cc__word_state(cc__peek(&f->parker.word)) == CC__DONE &&
		          (cc__peek(&f->handle) & CC__HANDLE_ID) == 2 && f->run.result == RESULT + 1);
	MC_ASSERT(joined >= 1);
}
SCENARIO(join_stale_handle, .spurious = MC_NONE, .init = begin_first,
         .body = {join_for_ever, join_first_late, end_first_begin_second},
         .final = second_is_whole) /* covers: RES-60/m, SCH-47/m */

/* ---- the end of a task as a case of a group ----
 * A selector waits for the task or for a token; one of them is chosen.  A task that was
 * not chosen keeps its result, although the selector was still listed when it ended. */
static struct cc__waitq source;
static bool given;	/* source.lock */

struct selector {
	struct cc__group group;
	struct cc__case cases[2];
	int result;
};

static void give(void)
{
	struct cc__batch batch = {0};

	cc__lock(&source.lock, CC__RANK_WAITQ);
	given = true;
	cc__waitq_take(&source, &batch, CC__REASON_SIGNAL, 0);
	cc__unlock(&source.lock);
	cc__batch_flush(&batch);
}

/* List it, unless the token is there: then it is chosen, or somebody else was. */
static bool list_source(struct selector *s)
{
	bool listed;

	cc__lock(&source.lock, CC__RANK_WAITQ);
	if ((listed = !given))
		cc__waitq_append(&source, &s->cases[1].w);
	else
		cc__group_claim(&s->group, 2);
	cc__unlock(&source.lock);
	return listed;
}

/* Which was chosen; 2: none. */
static uint32_t choose_one(cc_time deadline)
{
	struct selector *s = mc_alloc_zero(sizeof *s);
	uint32_t won;
	int err;

	s->cases[0] = (struct cc__case){
	    .w.io = &s->result, .object = &task[0], .ops = &cc__task_ops};
	s->cases[1] = (struct cc__case){
	    .w.lock = &source.lock, .object = &source, .ops = &cc__waitq_ops};
	MC_ASSERT(cc__group_begin(&s->group, s->cases, 2) == 0);
	if (list_source(s) && cc__task_ops.publish(&task[0], &s->cases[0].w))
		err = cc__group_sleep(&s->group, s->cases, 2, deadline, &won);
	else
		err = cc__group_give_up(&s->group, s->cases, 2, &won);
	MC_ASSERT(won == 2 ? err == ETIMEDOUT : err == 0);
	if (won == 0)
		got(0, s->result);
	else
		MC_ASSERT(s->result == 0);
	mc_free(s);
	return won;
}

static void select_then_join(void)
{
	be_thread();
	if (choose_one(CC_FOREVER) != 0)
		join(0, CC_FOREVER);
}

static void select_a_second_then_join(void)
{
	be_thread();
	if (choose_one(cc__now() + CC_SEC) != 0)
		join(0, CC_FOREVER);
}

static void result_is_had_once(void)
{
	MC_ASSERT(joined == 1 && source.head == NULL);
	check_threads_at_rest();
}
/* covers: SCH-45/m, SCH-46/m, SCH-58/m */
SCENARIO(select_a_task, .init = begin_first, .body = {select_then_join, end_first, give},
         .final = result_is_had_once, .spurious = MC_NONE)
SCENARIO(select_a_task_until, .init = begin_first,
         .body = {select_a_second_then_join, end_first}, .final = result_is_had_once,
         .timeouts = 1, .spurious = MC_NONE)
