/* idle.c - how workers fall asleep and are woken, on the real queues: what is
 * pushed gets a worker, whoever pushes it and however long he is busy then; timers
 * have a keeper; and every announcement has one end (I1 to I6).
 *
 * A worker here searches as the one of search.c does, without its spin.  Whoever
 * "hogs" is in a fiber that does not come back: its body ends, and what is in its
 * queue is for others.  Workers that are left sleep for ever, as daemons.
 *
 * sources: base/lock.c sched/idle.c sched/runq.c sched/inbox.c base/slab.c */
#include <errno.h>

#include "shim_idle.h"
#include "sched/inbox.h"

enum { WORKERS = 3 };

static struct cc__idle *idle;
static struct cc__runq queue[WORKERS];
static struct cc__inbox inbox[WORKERS], global;
static struct cc__loot loot[WORKERS];		/* each worker's */
static CC__ATOMIC(cc_time) bell = {CC_FOREVER};	/* the one timer */
static cc__a32 rung;				/* it has expired, so often */

static void start(uint32_t workers)
{
	idle = cc__idle_new();
	cc__init(&idle->count, workers);
	for (int i = 0; i < WORKERS; i++)
		cc__runq_init(&queue[i]);
}

static void two_workers(void)
{
	start(2);
}

static void three_workers(void)
{
	start(3);
}

static unsigned length_of(unsigned i)
{
	return cc__runq_started(&queue[i]);
}

/* ---- what a worker does ---- */

/* The steps in the wrong order, or one left out; .init's. */
static enum {
	NO_HOLE,
	GENERATION_BEFORE_PUSH,
	SNAPSHOT_AFTER_PROBE,
	ANNOUNCED_AFTER_CHECK,
	NOBODY_LOOKS_FOR_WHAT_IS_LEFT,
} hole;

static bool offers;	/* .init's: who pushes offers, while somebody searches */

static void queue_own(unsigned me, struct cc__fiber *f)
{
	if (!offers || !cc__idle_hungry(idle) || !cc__runq_offer(&queue[me], f))
		MC_ASSERT(cc__runq_push(&queue[me], f, CC__READY));
}

static void push_own(unsigned me, struct cc__fiber *f)
{
	if (hole == GENERATION_BEFORE_PUSH && cc__idle_pushed(idle, &idle->nap[me], 1) &&
	    !cc__idle_watched(idle, 1))
		cc__idle_call(idle);
	queue_own(me, f);
	if (hole != GENERATION_BEFORE_PUSH && cc__idle_pushed(idle, &idle->nap[me], 1) &&
	    !cc__idle_watched(idle, length_of(me)))
		cc__idle_call(idle);
}

static bool take_box(unsigned me, struct cc__inbox *box)
{
	struct cc__fiber *f = cc__inbox_take(box), *next;
	const bool any = f != NULL;

	for (; f != NULL; f = next) {
		next = f->next;
		push_own(me, f);
	}
	return any;
}

static bool steal(unsigned me, unsigned from)
{
	struct cc__loot *mine = &loot[me];

	if (length_of(from) == 0 || !cc__runq_steal(&queue[from], CC__TAKE_ANY, 0, mine))
		return false;
	for (uint32_t i = 0; i < mine->count; i++)
		push_own(me, mine->fiber[i]);
	return true;
}

static void run_timer(void)
{
	cc_time at = cc__load(&bell, CC__RELAXED);

	if (at <= cc__now() && cc__cas(&bell, &at, CC_FOREVER, CC__RELAXED, CC__RELAXED))
		cc__add(&rung, 1, CC__RELAXED);
}

static bool with_timers, with_boxes;	/* .init's: a probe looks there too */
static bool own_boxes;			/* .init's: of others' inboxes nobody takes */
static bool only_second_watches;	/* .init's */

static bool probe(unsigned me)
{
	if (with_timers)
		run_timer();
	if (with_boxes && (take_box(me, &inbox[me]) || take_box(me, &global)))
		return true;
	if (length_of(me) > 0)
		return true;
	for (unsigned i = 0; i < cc__peek(&idle->count); i++)
		if (i != me &&
		    (steal(me, i) || (with_boxes && !own_boxes && take_box(me, &inbox[i]))))
			return true;
	return false;
}

static bool any_left(void)
{
	for (unsigned i = 0; i < cc__peek(&idle->count); i++)
		if (length_of(i) > 0 || (with_boxes && cc__inbox_any(&inbox[i])))
			return true;
	return with_boxes && cc__inbox_any(&global);
}

static bool left(void *arg)
{
	(void)arg;
	return hole != NOBODY_LOOKS_FOR_WHAT_IS_LEFT && any_left();
}

static cc__a32 over;	/* nothing more will come */

static bool ended(void)
{
	return cc__load(&over, CC__SEQ_CST) != 0;
}

static bool stay(void *arg)
{
	return (with_boxes && cc__inbox_any(&inbox[*(unsigned *)arg])) || ended();
}

static cc_time deadline(void *arg)
{
	(void)arg;
	return cc__load(&bell, CC__RELAXED);
}

static const struct cc__idle_ops ops = {.left = left, .stay = stay, .deadline = deadline};
static cc_time watch[3] = {CC_FOREVER, CC_FOREVER, CC_FOREVER};	/* .init's: of each sleep */

/* cc__idle_sleep without a watch, with its announcement too late. */
static void sleep_announced_late(unsigned me, uint64_t snapshot)
{
	struct cc__nap *mine = &idle->nap[me];

	cc__sub(&idle->searching, 1, CC__SEQ_CST);
	cc__fence_heavy();
	if (cc__idle_generations(idle) == snapshot) {
		cc__add(&idle->sleepers, 1, CC__SEQ_CST);
		cc__store(&mine->asleep, 1, CC__SEQ_CST);
		while (cc__load(&mine->asleep, CC__ACQUIRE) != 0)
			cc__futex_wait(&mine->asleep, 1, CC_FOREVER);
	} else {
		cc__idle_search(idle);
	}
}

static void go_to_sleep(unsigned me, uint64_t snapshot, unsigned slept)
{
	const cc_time span = only_second_watches && me != 2 ? CC_FOREVER : watch[slept];

	if (hole == SNAPSHOT_AFTER_PROBE)
		snapshot = cc__idle_generations(idle);
	if (hole == ANNOUNCED_AFTER_CHECK)
		sleep_announced_late(me, snapshot);
	else
		cc__idle_sleep(idle, me, snapshot, &ops, &me, span, CC_FOREVER);
}

/* True: there is something in its queue.  False: it is over. */
static bool search(unsigned me)
{
	unsigned slept = 0;

	cc__idle_search(idle);
	for (;; slept += slept < 2) {
		const uint64_t snapshot = cc__idle_generations(idle);

		if (ended()) {
			cc__idle_give_up(idle);
			return false;
		}
		if (probe(me))
			break;
		go_to_sleep(me, snapshot, slept);
	}
	cc__idle_found(idle, &ops, &me);
	return true;
}

static struct cc__fiber *pick(unsigned me)
{
	struct cc__fiber *f = cc__runq_take_offer(&queue[me]);

	return f != NULL ? f : cc__runq_pop(&queue[me]);
}

static void run_all(unsigned me)
{
	struct cc__fiber *f;

	while ((f = pick(me)) != NULL)
		take(f);
}

static void work(unsigned me)
{
	while (search(me))
		run_all(me);
}

static void work_1(void)
{
	work(1);
}

static void work_2(void)
{
	work(2);
}

/* It runs one fiber and does not come back. */
static void work_then_hog(unsigned me)
{
	struct cc__fiber *f;

	do
		if (!search(me))
			return;
	while ((f = pick(me)) == NULL);
	take(f);
}

static void hog_1(void)
{
	work_then_hog(1);
}

static void hog_2(void)
{
	work_then_hog(2);
}

/* ---- what must hold ---- */

/* Each announcement is either still a sleep or has been taken back (I4). */
static bool counts_right(void)
{
	uint32_t asleep = 0;

	for (unsigned i = 0; i < cc__peek(&idle->count); i++)
		asleep += cc__peek(&idle->nap[i].asleep);
	return cc__peek(&idle->sleepers) == asleep && cc__peek(&idle->searching) == 0;
}

/* Nobody can run: then nothing is left beside a sleeper (I2, I3). */
static bool conserved(void)
{
	return counts_right() && (cc__peek(&idle->sleepers) == 0 || !any_left());
}

static void one_taken(void)
{
	all_taken(1);
}

static void two_taken(void)
{
	all_taken(2);
}

#define IDLE_SCENARIO(name, ...) \
	SCENARIO(name, .conserve = conserved, .spurious = MC_NONE, __VA_ARGS__)

/* ---- a push by a worker ---- */

static void push_and_hog(void)
{
	push_own(0, fill(0));
}

static void push_twice_and_hog(void)
{
	push_own(0, fill(0));
	push_own(0, fill(1));
}
IDLE_SCENARIO(idle_push_reaches_a_sleeper, .init = two_workers, .body = {push_and_hog, work_1},
              .daemon = 2, .final = one_taken)
/* covers: WKG-02/m, WKG-04/m, WKG-05/m, WKG-06/m, WKG-07/m, WKG-17/m, RES-64/m, LIF-13/m */
IDLE_SCENARIO(idle_two_pushes_reach_a_sleeper, .init = two_workers,
              .body = {push_twice_and_hog, work_1}, .daemon = 2, .bound = 2, .final = two_taken)
IDLE_SCENARIO(idle_push_and_two_sleepers, .init = three_workers,
              .body = {push_and_hog, work_1, work_2}, .daemon = 6, .bound = 1, .weak = 1,
              .final = one_taken)

/* Whoever finds something stops searching, and does not come back: what was left
 * to him needs another (I3). */
IDLE_SCENARIO(idle_searcher_leaves, .init = three_workers,
              .body = {push_twice_and_hog, hog_1, hog_2}, .weak = MC_NONE, .final = two_taken)
/* covers: RES-58/m */

/* ---- an offer ---- */

/* It is reached like what is in a ring, though it was made for a searcher who has found
 * something else by then, or falls asleep. */
static void two_workers_with_offers(void)
{
	two_workers();
	offers = true;
}

static void three_workers_with_offers(void)
{
	three_workers();
	offers = true;
}

/* It comes back to its queue once. */
static void push_twice_and_run_one(void)
{
	struct cc__fiber *f;

	push_twice_and_hog();
	if ((f = pick(0)) != NULL)
		take(f);
}
IDLE_SCENARIO(idle_offer_reaches_a_worker, .init = two_workers_with_offers,
              .body = {push_and_hog, work_1}, .daemon = 2, .final = one_taken)
IDLE_SCENARIO(idle_offer_taken_back, .init = two_workers_with_offers,
              .body = {push_twice_and_run_one, work_1}, .daemon = 2, .bound = 2,
              .final = two_taken)
IDLE_SCENARIO(idle_searcher_leaves_an_offer, .init = three_workers_with_offers,
              .body = {push_twice_and_hog, hog_1, hog_2}, .weak = MC_NONE, .final = two_taken)

/* ---- a push from outside ---- */

static void two_workers_with_boxes(void)
{
	two_workers();
	with_boxes = true;
}

static void three_workers_with_boxes(void)
{
	three_workers();
	with_boxes = true;
}

static void push_to_any(int i)
{
	MC_ASSERT(cc__inbox_push(&global, fill(i)));
	cc__idle_pushed_outside(idle, CC__ANY);
}

static void push_to(int worker, int i)
{
	struct cc__idle *theirs = idle;

	MC_ASSERT(cc__inbox_push(&inbox[worker], fill(i)));
	cc__idle_pushed_outside(theirs, worker);	/* nothing else may be there any more */
}

static void push_0_to_any(void)
{
	push_to_any(0);
}

static void push_1_to_any(void)
{
	push_to_any(1);
}

static void push_0_to_worker_1(void)
{
	push_to(1, 0);
}

static void push_1_to_worker_1(void)
{
	push_to(1, 1);
}
IDLE_SCENARIO(idle_push_from_outside, .init = two_workers_with_boxes,
              .body = {push_0_to_any, work_1}, .daemon = 2, .final = one_taken)
IDLE_SCENARIO(idle_push_to_a_target, .init = two_workers_with_boxes,
              .body = {push_0_to_worker_1, work_1}, .daemon = 2, .final = one_taken)
/* covers: RES-52/m */
IDLE_SCENARIO(idle_two_pushes_from_outside, .init = two_workers_with_boxes,
              .body = {push_0_to_any, work_1, push_1_to_any}, .daemon = 2, .weak = 1,
              .final = two_taken)

/* The target hogs: whoever looks around next takes over what is in its inbox. */
static void push_0_to_worker_1_then_1_to_any(void)
{
	push_to(1, 0);
	push_to_any(1);
}
IDLE_SCENARIO(idle_target_hogs, .init = three_workers_with_boxes,
              .body = {push_0_to_worker_1_then_1_to_any, work_2}, .daemon = 2,
              .final = two_taken) /* covers: RES-37/m */

/* ---- a watch ---- */

/* Somebody sleeps for a moment only, twice, and need not be woken; then without
 * a watch.  In the end it has looked, or been woken. */
static void watched(void)
{
	two_workers();
	watch[0] = watch[1] = CC_MSEC;
}

static void watched_by_one_of_two(void)
{
	three_workers();
	watch[0] = watch[1] = CC_MSEC;
}
SCENARIO(idle_watch_finds_a_push, .conserve = counts_right, .spurious = MC_NONE, .init = watched,
         .body = {push_and_hog, work_1}, .daemon = 2, .bound = 2, .final = one_taken)
/* covers: RES-72/m, WKG-04/m, WKG-05/m, LIF-13/m */
SCENARIO(idle_watch_ends_and_pushes_wake, .conserve = counts_right, .spurious = MC_NONE,
         .init = watched, .body = {push_twice_and_hog, work_1}, .daemon = 2, .bound = 2, .weak = 1,
         .final = two_taken)
/* covers: RES-72/m, WKG-07/m */
SCENARIO(idle_one_watches_one_sleeps, .conserve = counts_right, .spurious = MC_NONE, .timeouts = 1,
         .init = watched_by_one_of_two, .body = {push_twice_and_hog, hog_1, hog_2}, .weak = MC_NONE,
         .bound = 1, .final = two_taken)

/* Somebody falls asleep beside a watch, and something comes that nobody else may
 * take. */
static void second_watched_and_own_boxes(void)
{
	three_workers_with_boxes();
	own_boxes = true;
	only_second_watches = true;
	watch[0] = watch[1] = CC_MSEC;
}
SCENARIO(idle_push_to_a_target_beside_a_watch, .conserve = counts_right, .spurious = MC_NONE,
         .timeouts = 1, .init = second_watched_and_own_boxes,
         .body = {push_0_to_worker_1, work_1, work_2}, .daemon = 6, .weak = MC_NONE, .bound = 1,
         .final = one_taken)

/* ---- timers ---- */

static void two_workers_with_a_timer(void)
{
	two_workers();
	with_timers = true;
}

static void three_workers_with_a_timer(void)
{
	three_workers();
	with_boxes = with_timers = true;
}

static void set_timer_and_hog(void)
{
	const cc_time at = cc__now() + CC_SEC;

	cc__store(&bell, at, CC__RELAXED);
	cc__idle_timer(idle, at);
}

static void rung_once(void)
{
	MC_ASSERT(cc__peek(&rung) == 1);
}

static void rung_once_and_one_taken(void)
{
	rung_once();
	all_taken(1);
}
IDLE_SCENARIO(idle_timer_has_a_keeper, .init = two_workers_with_a_timer,
              .body = {set_timer_and_hog, work_1}, .daemon = 2, .final = rung_once)
IDLE_SCENARIO(idle_timer_and_two_sleepers, .init = three_workers_with_a_timer,
              .body = {set_timer_and_hog, work_1, work_2}, .daemon = 6, .weak = MC_NONE, .bound = 1,
              .final = rung_once)
/* The keeper is called away and hogs: another one takes its role over. */
IDLE_SCENARIO(idle_keeper_called_away, .init = three_workers_with_a_timer,
              .body = {set_timer_and_hog, hog_1, work_2, push_0_to_worker_1}, .daemon = 6,
              .weak = MC_NONE, .bound = 1, .final = rung_once_and_one_taken)

/* A temporary one (search.c) whose time is over: it retires. */
static void sleep_once_and_retire(void)
{
	unsigned me = 1;
	uint64_t snapshot;

	cc__idle_search(idle);
	snapshot = cc__idle_generations(idle);
	MC_ASSERT(!probe(me));
	cc__idle_sleep(idle, me, snapshot, &ops, &me, CC_FOREVER, 0);
	MC_ASSERT(!probe(me));
	cc__idle_give_up(idle);
	cc__idle_wake_one(idle);
}

static void three_workers_and_a_timer_that_is_set(void)
{
	start(3);
	with_timers = true;
	cc__init(&bell, cc__now() + CC_SEC);
}
/* It was the keeper, and another one falls asleep meanwhile, relying on it. */
IDLE_SCENARIO(idle_keeper_retires, .init = three_workers_and_a_timer_that_is_set,
              .body = {sleep_once_and_retire, work_2}, .daemon = 2, .bound = 2,
              .final = rung_once)

/* ---- the reserve, which may not take what was pushed ---- */

static void three_workers_with_a_reserve(void)
{
	start(3);
	cc__init(&idle->reserve, 2);
}

static void search_in_vain(void)
{
	unsigned me = 1;

	cc__idle_search(idle);
	for (int n = 0; n < 2; n++)
		cc__idle_sleep(idle, me, cc__idle_generations(idle), &ops, &me, CC_FOREVER, CC_FOREVER);
	cc__idle_found(idle, &ops, &me);
}
/* It was relied on, or woken instead of another. */
IDLE_SCENARIO(idle_reserve_passes_on, .init = three_workers_with_a_reserve,
              .body = {push_and_hog, search_in_vain, work_2}, .daemon = 6, .bound = 1,
              .weak = 1, .final = one_taken)

/* ---- the end ---- */

/* Nobody is counted who does not sleep or search (I4). */
static void push_and_end(void)
{
	push_own(0, fill(0));
	run_all(0);
	cc__store(&over, 1, CC__SEQ_CST);
	cc__idle_wake_all(idle);
}

static void nobody_counted(void)
{
	MC_ASSERT(counts_right() && cc__peek(&idle->sleepers) == 0 && cc__peek(&idle->keeper) == 0);
	all_taken(1);
}
IDLE_SCENARIO(idle_end_wakes_all, .init = two_workers, .body = {push_and_end, work_1}, .bound = 2,
              .final = nobody_counted) /* covers: WKG-08/m */

/* The fiber that was pushed has run, and its runtime is over; the next one has
 * the object when the pusher comes to look for sleepers (I8). */
static cc__a32 anew;	/* the next one has begun */

static void take_and_begin_anew(void)
{
	const struct cc__idle *before = idle;

	mc_wait_while(&inbox[1].newest, NULL);
	work_then_hog(1);
	cc__idle_free(idle);
	idle = cc__idle_new();
	MC_ASSERT(idle == before);
	cc__store(&idle->count, 2, CC__RELEASE);
	cc__store(&anew, 1, CC__RELEASE);
	work(1);
}

static void push_anew(void)
{
	mc_wait_while(&anew, 0);
	push_to(1, 1);
}
IDLE_SCENARIO(idle_stray_wake_in_the_next_life, .init = two_workers_with_boxes,
              .body = {push_0_to_worker_1, take_and_begin_anew, push_anew}, .daemon = 2, .weak = 1,
              .final = two_taken)

/* The last one lets go of it only when it has left nothing to be done. */
static void end_life(void)
{
	cc__idle_free(idle);
}

static struct cc__idle *next;

static void begin_life(void)
{
	next = cc__idle_new();
	cc__store(&next->count, 1, CC__RELAXED);
}

static void still_one(void)
{
	mc_outcome(next == idle ? "same" : "other");
	MC_ASSERT(cc__peek(&next->count) == 1);
}
SCENARIO(idle_next_life_begins_after_the_last, .init = two_workers, .body = {end_life, begin_life},
         .final = still_one, .outcomes = "same other")

/* ---- holes: each must be found ---- */

static void hole_in_push(void)
{
	two_workers();
	hole = GENERATION_BEFORE_PUSH;
}

static void hole_in_snapshot(void)
{
	two_workers();
	hole = SNAPSHOT_AFTER_PROBE;
}

static void hole_in_announcement(void)
{
	two_workers();
	hole = ANNOUNCED_AFTER_CHECK;
}

static void hole_in_leaving(void)
{
	three_workers();
	hole = NOBODY_LOOKS_FOR_WHAT_IS_LEFT;
}
IDLE_SCENARIO(idle_generation_moved_before_the_push, .init = hole_in_push,
              .body = {push_and_hog, work_1}, .daemon = 2, .expect = "conservation")
IDLE_SCENARIO(idle_snapshot_after_the_probe, .init = hole_in_snapshot,
              .body = {push_and_hog, work_1}, .daemon = 2, .expect = "conservation")
IDLE_SCENARIO(idle_announced_after_the_check, .init = hole_in_announcement,
              .body = {push_and_hog, work_1}, .daemon = 2, .expect = "conservation")
IDLE_SCENARIO(idle_searcher_leaves_and_does_not_look, .init = hole_in_leaving,
              .body = {push_twice_and_hog, hog_1, hog_2}, .weak = MC_NONE,
              .expect = "conservation")
