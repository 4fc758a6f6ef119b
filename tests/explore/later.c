/* later.c - a task that begins at a time, on the real frames and wheel: its time, a recall
 * and the end of its runtime may come at once, and one of them has it (B1).  A timer that
 * was on its way meanwhile does nothing to whoever has the frame then.
 *
 * Everybody here is outside of the runtime; its one worker is a wheel.
 *
 * defines: MC_SYMMETRIC=1
 * sources: base/lock.c wait/wait.c wait/thread.c base/slab.c task/frame.c task/join.c
 * sched/options.c sched/inspect.c sched/later.c
 * time/timer.c */
#include <errno.h>
#include <limits.h>

#define SHIM_REAL_SLAB
#define SHIM_SCHEDULER
#define SHIM_REAL_LATER
#include "shim_pages.h"
#include "shim_wait.h"
#include "sched/later.h"
#include "sched/spawn.h"
#include "sched/worker.h"
#include "shim_frames.h"
#include "shim_stacks.h"

enum { WHEN = 2 * CC_SEC / CC__TIMER_UNIT * CC__TIMER_UNIT };	/* the clock begins at one */
#define LATER (2 * (cc_time)WHEN)

static struct cc__sched home;
static struct cc__worker wheel;
static CCTask task[2];		/* the second: perhaps the frame's next life */
static int made[2];		/* what its spawner has left for it; plain */
static cc__a32 begun[2];
static bool recalled[2];	/* each recaller's own */

/* ---- the rest of the runtime ---- */

struct cc__worker *cc__worker_here(void)
{
	return NULL;
}

struct cc__worker *cc__worker_in_turn(struct cc__sched *s)
{
	MC_ASSERT(s == &home);
	return &wheel;
}

static bool kept;	/* the keeper was told */

void cc__idle_timer(struct cc__idle *i, cc_time deadline)
{
	(void)i;
	MC_ASSERT(deadline == WHEN || deadline == LATER);
	kept = true;
}

static cc__a32 ending;		/* as in idle.h: somebody waits for the last task */
static bool told, seen;		/* he has been told; has seen by himself */

void cc__idle_one_less(struct cc__idle *i)
{
	(void)i;
	told = cc__load(&ending, CC__SEQ_CST) != 0;
}

void cc__switch_away(struct cc__parker *fiber, uint64_t ticket, cc_time deadline)
{
	(void)fiber, (void)ticket, (void)deadline;
	mc_fail("nobody waits");
}

struct cc__waiter *shim_fiber_waiter(struct cc__parker *fiber)
{
	(void)fiber;
	mc_fail("nobody waits");
}

void cc__schedule(struct cc__parker *fiber)
{
	(void)fiber;
	mc_fail("nobody waits");
}

/* It is queued: a worker runs it at once, to its end. */
void cc__worker_schedule_new(struct cc__fiber *f)
{
	/* Relaxed: it is ours. */
	const uint64_t id = cc__load(&f->handle, CC__RELAXED) & CC__HANDLE_ID;
	struct cc__wake nobody;

	MC_ASSERT(made[id - 1] == 1);
	cc__add(&begun[id - 1], 1, CC__RELAXED);
	cc__word_claim(&f->parker, 1);
	if (cc__frame_end(f, 0, false, &nobody))
		cc__frame_put(NULL, f);
	MC_ASSERT(nobody.who == NULL);
}

/* ---- who takes part ---- */

static struct cc__fiber *frame_for(int which)
{
	struct cc__fiber *f = cc__frame_get(NULL);

	made[which] = 1;
	task[which] = (CCTask){.frame = f, .id = (uint64_t)which + 1};
	cc__frame_begin(f, &home, NULL);
	return f;
}

static void spawn_at(int which, cc_time when)
{
	struct cc__fiber *f = frame_for(which);

	MC_ASSERT(cc__later_set(&home, NULL, f, task[which].id, when));
}

static void spawn(int which)
{
	spawn_at(which, WHEN);
}

/* Its time has passed. */
static void spawn_late(void)
{
	struct cc__fiber *f = frame_for(0);

	MC_ASSERT(!cc__later_set(&home, NULL, f, task[0].id, cc__now()));
	cc__frame_show(f, task[0].id);
	cc__later_begin(f);
}

static void no_task(void)
{
	cc__timers_init(&wheel.timers);
}

static void one_task(void)
{
	no_task();
	spawn(0);
	MC_ASSERT(kept);
}

static void spawn_first(void)
{
	spawn(0);
}

static void recall(int which)
{
	const int err = cc_task_recall(task[which]);

	MC_ASSERT(err == 0 || err == EALREADY || err == EINVAL);
	if ((recalled[which] = err == 0))
		made[which] = 2;	/* nobody looks at it any more */
}

static void recall_first(void)
{
	recall(0);
}

static void recall_and_spawn(void)
{
	recall(0);
	spawn(1);
}

static void recall_and_spawn_for_another_time(void)
{
	recall(0);
	spawn_at(1, LATER);
}

static void run_until(cc_time now)
{
	cc__timers_run(&wheel.timers, now, UINT_MAX, cc__later_fire);
}

static void run(void)
{
	run_until(WHEN);
}

/* Who looks makes it WAITED: the lock decides then. */
static int see(const CCFiberInfo *info, void *arg)
{
	(void)arg;
	MC_ASSERT(info->id == 1 || info->id == 2);
	return 0;
}

static void look(void)
{
	cc_fiber_each(see, NULL);
}

static void one_seen_task(void)
{
	one_task();
	look();
}

/* As the end of a runtime does (cancel_tasks in start.c). */
static void cancel(void)
{
	cc__store(&home.cancel, 1, CC__SEQ_CST);
	cc__fence_heavy();
	cc__fiber_unpark_all(&home);
}

/* ---- what must hold ---- */

static void ended(int which)
{
	MC_ASSERT(cc__peek(&begun[which]) + recalled[which] == 1);
}

static void first_ended(void)
{
	ended(0);
	MC_ASSERT(wheel.timers.levels == 0 && wheel.timers.reached.first == NULL);
	MC_ASSERT(cc__peek(&home.recalled_outside) == recalled[0]);
	mc_outcome(recalled[0] ? "recalled" : "begun");
}

/* If its time had come before it was there, it waits for the next run. */
static void perhaps_ended(void)
{
	mc_outcome(cc__peek(&begun[0]) == 1 ? "begun" : "before");
	run();
	ended(0);
}

/* The second begins by this run or by the next. */
static void both_ended(void)
{
	ended(0);
	run();
	ended(1);
	mc_outcome(task[0].frame == task[1].frame ? "same" : "other");
}

/* The wheel has reached the first one's time only: that one's timer, on its way while the frame
 * was given out again, is nothing to the second. */
static void second_waits_for_its_time(void)
{
	ended(0);
	if (cc__peek(&begun[1]) != 0)
		mc_fail("later: the timer of a recalled task began the next task in its frame");
	MC_ASSERT(cc__timers_earliest(&wheel.timers) <= LATER);
	run_until(LATER);
	ended(1);
	MC_ASSERT(wheel.timers.levels == 0 && wheel.timers.reached.first == NULL);
	mc_outcome(task[0].frame == task[1].frame ? "same" : "other");
}

SCENARIO(later_recall_against_its_time, .init = one_task, .body = {recall_first, run},
         .final = first_ended, .outcomes = "recalled begun")
SCENARIO(later_recall_of_a_seen_one_against_its_time, .init = one_seen_task,
         .body = {recall_first, run}, .final = first_ended, .outcomes = "recalled begun")
SCENARIO(later_look_against_recall_and_time, .init = one_task, .body = {recall_first, run, look},
         .bound = 2, .weak = 1, .final = first_ended, .outcomes = "recalled begun")
SCENARIO(later_look_against_spawn, .init = no_task, .body = {spawn_first, look, run}, .bound = 2,
         .weak = 1, .final = perhaps_ended, .outcomes = "begun before")
SCENARIO(later_look_against_a_late_spawn, .init = no_task, .body = {spawn_late, look},
         .final = first_ended, .outcomes = "begun")
SCENARIO(later_timer_and_the_next_life, .init = one_task, .body = {recall_and_spawn, run},
         .bound = 2, .final = both_ended, .outcomes = "same other")
SCENARIO(later_timer_and_another_start, .init = one_task,
         .body = {recall_and_spawn_for_another_time, run}, .bound = 2,
         .final = second_waits_for_its_time, .outcomes = "same other")
/* Seen, so the timer takes the lock between its look at the handle and the mark. */
SCENARIO(later_timer_of_a_seen_one_and_another_start, .init = one_seen_task,
         .body = {recall_and_spawn_for_another_time, run}, .bound = 2,
         .final = second_waits_for_its_time, .outcomes = "same other")
SCENARIO(later_timer_of_a_seen_one_and_the_next_life, .init = one_seen_task,
         .body = {recall_and_spawn, run}, .bound = 2, .final = both_ended,
         .outcomes = "same other")
SCENARIO(later_look_against_timer_and_another_start, .init = one_seen_task,
         .body = {recall_and_spawn_for_another_time, run, look}, .bound = 1, .weak = 1,
         .final = second_waits_for_its_time, .outcomes = "same other")
SCENARIO(later_time_against_the_end, .init = one_task, .body = {cancel, run}, .bound = 2,
         .weak = 1, .final = first_ended)
SCENARIO(later_spawn_against_the_end, .init = no_task, .body = {spawn_first, cancel},
         .final = first_ended)
SCENARIO(later_recall_against_the_end, .init = one_task, .body = {recall_first, cancel},
         .final = first_ended, .outcomes = "recalled begun")

/* Who waits for the last task sees that it was taken back, or is told. */
static void wait_for_the_last(void)
{
	cc__store(&ending, 1, CC__SEQ_CST);
	seen = cc__load(&home.recalled_outside, CC__SEQ_CST) == 1;
}

static void told_or_seen(void)
{
	MC_ASSERT(recalled[0] && (told || seen));
}
SCENARIO(later_recall_of_the_last, .init = one_task, .body = {recall_first, wait_for_the_last},
         .final = told_or_seen)
