/* worker.h - one worker: its queue, its inboxes, its timers, its caches.
 *
 * A fiber's way through this layer: who spawns it fills a frame and queues it (spawn.h),
 * cc__schedule queues it when it is woken (ready.c); its worker comes to it
 * (pick.c) and puts a stack under it (bound.h); leave switches to it; when it yields,
 * parks or ends, leave switches on, and the side that arrives settles what was left
 * behind (switch.c).  A worker with nothing at hand searches everywhere, and sleeps
 * (search.c).
 *
 * D1  The caches are the worker's alone.  The run queue has a bias to it
 *     (runq.h), the inboxes are for others, the timers have a lock.
 * D2  A fiber is queued or committed only after the switch away from it, on the
 *     stack that the switch arrived on (settle).
 * D3  While a fiber is PARKING its worker takes only work at hand; with none it
 *     goes to its own stack, settles, and searches or sleeps there.
 * D4  At least every CC__FAIR_RUN picks a worker serves its timers, its inboxes,
 *     the global queue, now and then descriptors, and its oldest unstarted task, one
 *     of each.  Fibers whose time has come go before the others, but for every eighth
 *     pick.  So a started fiber runs after at most CC__FAIR_RUN + 9/8 of those in
 *     front of it, whose time comes meanwhile included, and CC__FAIR_RUN + 9 times
 *     those in front of it without; the nth unstarted one after n times CC__FAIR_RUN;
 *     unless somebody else takes it sooner.  A started one that is sent back to the worker
 *     it came from (T3 in steal.h) waits so long twice. */
#ifndef CC__SCHED_WORKER_H
#define CC__SCHED_WORKER_H

#include "base/carry.h"
#include "sched/counters.h"
#include "sched/idle.h"
#include "sched/inbox.h"
#include "sched/runq.h"
#include "sched/sched.h"
#include "sched/steal.h"
#include "wait/thread.h"

enum { CC__FAIR_RUN = 64 };

/* What was found stuck, and not again for so long, may have been held up by the machine:
 * the reserve may run it again. */
#define CC__STUCK_FADES (5 * CC_SEC)

/* What its thread does. */
enum cc__life {
	CC__LIFE_ACTIVE,
	CC__LIFE_SEARCH,	/* looks everywhere, for a moment */
	CC__LIFE_SLEEP,
	CC__LIFE_DRAINING,	/* hands over what it has and ends */
	CC__LIFE_DEAD,
};

/* What it is at when it wakes somebody, which says where that one goes. */
enum cc__waking {
	CC__WAKING,		/* runs a fiber: behind the others */
	CC__WAKING_EXPIRED,	/* runs timers: before them */
};

/* What the monitor knows of a worker's heartbeat (sysmon.c). */
struct cc__pulse {
	uint64_t beats;			/* picks and serves, when it last looked */
	cc_time since;			/* how long they have been that */
	bool stuck, told;		/* found so, and said so, since then */
	bool asked;			/* channels count for it (SYSMON-7), ... */
	uint64_t operations;		/* ... its operations before that, ... */
	int64_t waited;			/* ... and how long it had waited for a CPU */
	cc_time kept;			/* without known progress, in ticks of the monitor */
};

struct cc__worker {
	struct cc__sched *sched;	/* constant */
	struct cc__idle *idle;		/* constant; sched's */
	struct cc__nap *nap;		/* constant; in idle */
	unsigned id;			/* constant, 1-based */
	bool only_woken;		/* constant; the reserve: it starts no task (sysmon.h) */
	/* Whether there is a thread to join.  Who starts and stops the runtime, the
	 * monitor in between. */
	bool has_thread;
	struct cc__os_thread os;	/* likewise */
	struct cc__pulse pulse;		/* the monitor's */
	struct cc__thread *thread;	/* constant; its record */

	/* The worker's own (D1). */
	struct cc__context context;	/* its own stack, while a fiber runs */
	struct cc__carry_check carry;	/* what its switches test; others write it, too */
	/* The picks at which there is more to look at than the queue's end, and at
	 * which everything else has its turn (D4). */
	uint64_t fair_at, serve_at;
	cc_time clock;			/* when it last looked, for the timers' sake; while there
					 * are any, not long ago */
	uint64_t slice_picks;		/* when its fiber first asked whether it should yield: the
					 * pick that it came by ... */
	cc_time slice_from;		/* ... and the time, or the monitor's ticks */
	unsigned favours;		/* picks of urgent fibers */
	enum cc__waking waking;
	struct cc__frame_cache frames;
	struct cc__stack_list stacks;	/* of order 0, as is the next */
	struct cc__stack *reserve;	/* for the day there are no others */
	cc_time age_at;			/* when idle stacks are looked at again */
	cc_time look_at;		/* when descriptors are, at the earliest */
	uint64_t random;
	cc_time spin;			/* how long it looks for work before it sleeps */
	unsigned fruitless;		/* watches since it last found something */
	cc_time slept_at;		/* when it last fell asleep */
	cc_time retire_at;		/* if it finds nothing until then; CC_FOREVER: never */
	struct cc__sample *seen;	/* of each worker */
	struct cc__lesson lesson;	/* but for its `from` */
	struct cc__loot loot;
	struct cc__branches *spare_branches;	/* for the next fiber that forks; or NULL */
	bool doubt;			/* a wake may find nothing to take: sleep on watch */
	struct cc__poll_found found;	/* from a sleep in the poller to its wakes */

	/* Written by the worker, read by anyone: no decision hangs on the
	 * difference of two of them but at rest. */
	cc__a64 picks;			/* fibers it claimed */
	cc__a64 serves;			/* times that it looked what others have for it */
	cc__a64 moved;			/* queued here, but from another queue */
	cc__a32 number;			/* of its thread in the kernel; 0: not known yet */
	cc__a64 spawned, finished;
	CC__ATOMIC(cc_time) called_at;	/* when it last woke a worker for what it had pushed ... */
	cc__a64 called_picks;		/* ... and its picks at that time */
	cc__a32 life;			/* enum cc__life */
	/* The array of a fiber that forks here, or did: where thieves look.  NULL: none. */
	CC__ATOMIC(struct cc__branches *) branches;

	struct cc__runq queue;
	struct cc__timers timers;
	uint64_t born;			/* constant; its nap's generation at the beginning */
	struct cc__counters counters;	/* written by the worker */
	char apart[64];			/* from the cache lines above; the hook aligns by 16 */
	struct cc__inbox inbox;		/* anybody's */
	struct cc__inbox own;		/* for fibers that stay here: only the worker takes */
	cc__a32 stuck;			/* 1: it does not come by.  The monitor sets it, the
					 * worker clears it, who pushes reads it as a hint */
};

/* It ends when it is not needed. */
static inline bool cc__worker_temporary(const struct cc__worker *w)
{
	return w->id > w->sched->config.workers;
}

/* The calling thread's worker; NULL: it is none.  Ask again after a switch.  (caller.c) */
struct cc__worker *cc__worker_here(void);

/* By w itself: the fiber that runs on it; NULL: none does, or w is none. */
static inline struct cc__fiber *cc__worker_fiber(const struct cc__worker *w)
{
	return w == NULL || cc__running(w->thread) == &w->thread->parker
	           ? NULL
	           : cc__fiber_of(cc__running(w->thread));
}

/* f, QUEUED and in no queue any more, is w's to run, by w. */
static inline struct cc__fiber *cc__worker_claim(struct cc__worker *w, struct cc__fiber *f)
{
	cc__count(&w->picks);
	cc__word_claim(&f->parker, w->id);
	return f;
}

/* ---- ready.c ---- */

/* A worker that never retires, in turn: for a task that is pinned, or begins later.
 * Any thread. */
struct cc__worker *cc__worker_in_turn(struct cc__sched *s);

/* For what w has pushed or forked, unless a worker searches. */
void cc__worker_wake_another(struct cc__worker *w);
/* After cc__idle_pushed has said that a worker sleeps: so many have been put into w's queue, by w. */
void cc__worker_call_others(struct cc__worker *w, unsigned n);

/* f has just become QUEUED: into w's queue, by w. */
void cc__worker_make_ready(struct cc__worker *w, struct cc__fiber *f, enum cc__kind kind);
/* The same for one that is unstarted and not pinned. */
void cc__worker_push(struct cc__worker *w, struct cc__fiber *f);
/* f, unstarted, has just become QUEUED: to where it begins.  Any thread. */
void cc__worker_schedule_new(struct cc__fiber *f);
/* A QUEUED fiber that was in another queue into w's, by w. */
void cc__worker_move_in(struct cc__worker *w, struct cc__fiber *f);
/* Several, oldest first; urgent: before others.  Of the unstarted ones the oldest goes
 * in last, since the newest in a queue runs first.  The array is used up. */
void cc__worker_move_in_many(struct cc__worker *w, struct cc__fiber **f, unsigned n, bool urgent);
/* Those that w has stolen: unstarted ones in one visit, unseen. */
void cc__worker_move_in_loot(struct cc__worker *w, struct cc__loot *loot);
/* All that an inbox had, oldest first, chained through next. */
void cc__worker_move_in_inbox(struct cc__worker *w, struct cc__fiber *oldest);
/* A QUEUED fiber that w has to whoever may run it, by w. */
void cc__worker_give_away(struct cc__worker *w, struct cc__fiber *f);
/* To that worker, unless it is one that stays. */
void cc__worker_send(struct cc__worker *w, struct cc__worker *to, struct cc__fiber *f);
/* The reserve (sysmon.h) may run f, which is the caller's. */
bool cc__worker_is_for_reserve(const struct cc__fiber *f);

/* ---- sleep.c ---- */

/* Some timers of h that have expired: who waits is queued before others. */
bool cc__worker_run_timers(struct cc__worker *w, struct cc__timers *h, cc_time now);
/* What a worker's timers call: somebody waits (value is the ticket), or begins. */
void cc__worker_fire(void *object, uint64_t value);

/* ---- pick.c ---- */

/* Its inboxes, and a share of the global queue, into w's queue. */
void cc__worker_take_in(struct cc__worker *w);
/* Asks the kernel for descriptors that are ready.  True: it woke a fiber or a thread. */
bool cc__worker_poll(struct cc__worker *w);
/* The next in w's queue, when there is more to look at than its end.  NULL: nothing is at
 * hand. */
struct cc__fiber *cc__worker_pick_slowly(struct cc__worker *w);

/* ---- switch.c ---- */

/* The next fiber at hand, claimed by w (OWNED) and with a stack to run on.  NULL: nothing is at
 * hand, so w searches and sleeps (search.c).  By w. */
struct cc__fiber *cc__worker_next(struct cc__worker *w);
/* Run fibers until nothing is at hand.  On the worker's own stack. */
void cc__worker_run(struct cc__worker *w);

/* ---- branch_task.c ---- */

/* The array in that place, which is a fiber's `member`; NULL: the fiber does not fork. */
struct cc__branches *cc__branches_in(struct cc__member **place);
/* f, which runs on w, is about to leave it: its unstarted branches become tasks (BRANCH-3).
 * Returns its array, for cc__branches_resume when it is back; NULL: it has none. */
struct cc__branches *cc__branches_leave(struct cc__worker *w, struct cc__fiber *f);
void cc__branches_resume(struct cc__branches *p);
/* Whether f, which runs, has an array. */
static inline bool cc__branches_of_fiber(const struct cc__fiber *f)
{
	struct cc__stack *s = cc__load(&f->stack, CC__RELAXED);	/* Relaxed: f is the caller's */

	/* The low bits are marks (local.h, CC__BRANCHES_MARK). */
	return ((uintptr_t)s->member & 3) != 0 && cc__branches_in(&s->member) != NULL;
}
/* A branch of a fiber that forks on v becomes a task in w's queue, by w. */
bool cc__steal_branch(struct cc__worker *w, struct cc__worker *v, cc_time now, bool eager);
/* v has branches that could be stolen; a hint. */
bool cc__worker_has_branches(const struct cc__worker *v);
/* w ends: it gives back what it keeps. */
void cc__worker_drop_branches(struct cc__worker *w);

/* ---- search.c ---- */

/* What s->poll calls when a fiber is about to wait, unattended. */
void cc__worker_unattended(struct cc__poll *p);

/* Nothing is at hand.  False: the runtime has ended, or the worker has retired. */
bool cc__worker_search(struct cc__worker *w);

/* The thread's main function; arg is the worker. */
void cc__worker_main(void *arg);

#endif
