/* idle.h - how workers fall asleep and are woken: the wake generation.
 *
 *      pusher                           worker that finds nothing
 *      1 queue the fiber                1 searching + 1
 *      2 its generation + 1             2 snapshot of all generations
 *        light fence                    3 probe everything, other queues too
 *      3 anybody asleep, nobody         4 asleep = 1, sleepers + 1, searching - 1
 *        searching, and no watch?         heavy fence
 *        wake one                       5 generations as in the snapshot? sleep
 *
 * I1  Every enqueue moves a generation that each snapshot includes, before it
 *     looks for sleepers.  Nothing skips that.
 * I2  Without a watch, a worker sleeps only if no generation has moved since
 *     before its last full probe.  So what was queued before the snapshot was
 *     probed for, and what was queued after it keeps the worker awake, or finds
 *     it announced.
 * I3  A push leaves the wake to a searcher; both pass a full fence then.  So whoever stops
 *     searching, last, and does not sleep, looks for what is left and wakes one for it.  So does the
 *     reserve, which starts no task, when it falls asleep; and it is woken last.
 * I4  Each worker sleeps on a word of its own.  Whoever clears it takes it off the
 *     count and counts it as searching: one announcement, one end.
 * I5  One sleeper is the keeper: it holds the earliest deadline of all timers, and
 *     an earlier one wakes it.  After a wake that was for nothing it may be on watch too
 *     (docs/idle.md): it sleeps for 2 ms at most, and short queues wake no worker
 *     meanwhile.  Without a watch, every push wakes one unless a worker is searching.
 * I6  One sleeper may sleep in the poller (poll.h) instead of on its word: the first
 *     that falls asleep while fibers wait for descriptors.  Whoever ends its sleep
 *     rings its bell, and it is woken last, as the keeper is; mostly it is both.
 * I7  Deadlines want a keeper and descriptors somebody in the poller, as a queue
 *     wants a worker: who stops searching, last, to run something, and a worker
 *     that is about to run something while a descriptor is waited for, wake a
 *     sleeper for them if they are unattended.
 * I8  The object is process-wide and type-stable: whoever has queued a fiber
 *     from outside comes here afterwards, when the fiber may have run and its
 *     runtime ended.  A stray wake makes the next owner look around, no more.
 *
 * I9  A push that relies on a watch passes a light fence only.  So the last worker that stops
 *     searching after a watch has ended pays for a heavy fence before it looks for what is
 *     left; in all other cases a full fence of its own is enough (I3).
 *
 * I10 The keeper that wakes for a timer runs its fiber and is mostly back before the next
 *     timer expires.  So no worker is woken to keep the timers meanwhile if there is a second
 *     keeper: a sleeper that checks by itself `late` after the earliest deadline.  A worker that
 *     has relied on the second keeper was ordered by a full fence, as in I3, so a second keeper
 *     that leaves sees the timers, or is seen to have left.  A worker becomes the second keeper only if
 *     timers were without a keeper since the last one fell asleep.
 *
 * Generations have one writer each, a worker; threads outside share one.  The
 * sleeper pays for the order (heavy fence), the pusher does not.  Whoever has stopped
 * searching is seen by who stops after it: both write the one count. */
#ifndef CC__SCHED_IDLE_H
#define CC__SCHED_IDLE_H

#include "os/atomic.h"

struct cc__bell;

enum { CC__WORKERS_MAX = 513 };	/* the largest workers_max, and the reserve (sysmon.h) */

/* How a worker sleeps: on its word, or in the poller. */
enum cc__asleep { CC__AWAKE, CC__ASLEEP, CC__POLLING };

/* A worker's part. */
struct cc__nap {
	_Alignas(64) cc__a64 generation;	/* its pushes; written by it alone */
	_Alignas(64) cc__a32 asleep;		/* enum cc__asleep; cleared by whoever ends it */
	CC__ATOMIC(struct cc__bell *) bell;	/* of the poller; written before POLLING */
	CC__ATOMIC(cc_time) until;		/* the keeper's next look; of the second keeper, the
						 * deadline after which it looks.  Written by it alone */
	cc__a64 wakes;				/* that ended its sleeps; written by it alone */
};

#define CC__WATCHING 0x80000000u

struct cc__idle {
	_Alignas(64) cc__a32 count;		/* workers there ever were; naps in use */
	cc__a32 sleepers;			/* announced */
	cc__a32 searching;
	cc__a32 keeper;				/* its number + 1, with CC__WATCHING; 0: none */
	cc__a32 second;				/* the second keeper's number + 1; 0: none (I10) */
	cc__a32 unkept;				/* 1: timers were without a keeper since the last
						 * second keeper fell asleep */
	cc__a32 reserve;			/* its number + 1; 0: none */
	cc__a32 patience;			/* shorter queues do not end a watch */
	cc__a32 watch_ended;			/* 1: one has, and pushes may still rely on it (I9) */
	_Alignas(64) cc__a64 outside;		/* generation of everybody who is no worker */
	cc__a64 outside_calls;			/* of these, pushes that saw somebody asleep */
	cc__a32 ending;				/* 1: somebody waits for the end, or did; for
						 * cc__idle_one_less */
	cc_time late;				/* how long a timer may be without a keeper (I10); 0:
						 * never.  Set before its workers start */
	struct cc__idle *next;			/* the slab's */
	struct cc__nap nap[CC__WORKERS_MAX];
};

struct cc__idle *cc__idle_new(void);		/* NULL: no memory */
void cc__idle_free(struct cc__idle *i);

/* After so many enqueues by the worker of `mine` (I1).  True: a worker sleeps, and the
 * caller calls cc__idle_call unless what it leaves behind is left to a watch. */
static inline bool cc__idle_pushed(struct cc__idle *i, struct cc__nap *mine, unsigned n)
{
	/* Relaxed: ours alone.  Release: what was queued, to the acquire in
	 * cc__idle_generations. */
	cc__store(&mine->generation, cc__load(&mine->generation, CC__RELAXED) + n, CC__RELEASE);
	cc__fence_light();	/* against the heavy one in cc__idle_sleep */
	/* Relaxed: after the fence; see the drawing. */
	return __builtin_expect(cc__load(&i->sleepers, CC__RELAXED) != 0, 0);
}
/* A worker is on watch, and a queue of this length does not end that. */
bool cc__idle_watched(const struct cc__idle *i, uint32_t left);
void cc__idle_call(struct cc__idle *i);

/* After an enqueue by anybody else.  `target` is the worker that looks there
 * first; CC__ANY: all do. */
enum { CC__ANY = -1 };
void cc__idle_pushed_outside(struct cc__idle *i, int target);

/* Somebody waits for the last task.  Before it says so to the workers, and wakes them. */
void cc__idle_ending(struct cc__idle *i);
/* A task has gone that no worker had: whoever waits for the last one must know.  The
 * runtime may be gone, too (I8). */
void cc__idle_one_less(struct cc__idle *i);

/* After a timer was set: the keeper must know. */
void cc__idle_timer(struct cc__idle *i, cc_time deadline);

/* Descriptors are unattended, and the calling worker has something else to do. */
void cc__idle_poll(struct cc__idle *i);

/* Somebody searches, or has just done so.  Whoever is woken may run, and stop searching,
 * before its waker has counted it: the count may be low for a moment, below zero even, and
 * is never high. */
static inline bool cc__idle_hungry(const struct cc__idle *i)
{
	/* Relaxed: after the caller's fence (see the drawing); or it decides where a fiber is
	 * queued, not whether it is found. */
	return (int32_t)cc__load(&i->searching, CC__RELAXED) > 0;
}

/* Begin to search: searching + 1.  cc__idle_sleep returns searching too. */
void cc__idle_search(struct cc__idle *i);
/* Before a full probe. */
uint64_t cc__idle_generations(const struct cc__idle *i);

/* How it sleeps in the poller. */
struct cc__idle_poller {
	bool (*unattended)(void *arg);		/* somebody waits, nobody is there */
	/* Unattended: the right to sleep there; what ends that sleep, or NULL. */
	struct cc__bell *(*claim)(void *arg);
	void (*release)(void *arg);		/* instead of: */
	/* Sleep, and release.  True: there was something. */
	bool (*await)(void *arg, cc_time deadline);
};

/* What the sleeper's worker knows. */
struct cc__idle_ops {
	bool (*left)(void *arg);		/* anything queued anywhere? */
	bool (*stay)(void *arg);		/* last look at what no generation covers, and
						 * at what no watch does: pushed to us alone */
	cc_time (*deadline)(void *arg);		/* of the earliest timer of all */
	const struct cc__idle_poller *poller;	/* NULL: no descriptors */
};

/* It found something: no longer searching (I3, I7). */
void cc__idle_found(struct cc__idle *i, const struct cc__idle_ops *ops, void *arg);

/* It ends instead. */
void cc__idle_give_up(struct cc__idle *i);

/* How a sleep ended; CC__POLLED: descriptors became ready; CC__NOT_SLEPT: it never began. */
enum cc__awake { CC__WOKEN, CC__TIMED_OUT, CC__NOT_SLEPT, CC__POLLED };

/* It found nothing: sleep, unless something was pushed since `snapshot`.
 * `watch`: how long to sleep at most when on watch; CC_FOREVER: no watch.
 * `most`: how long in any case.  Both are spans. */
enum cc__awake cc__idle_sleep(struct cc__idle *i, unsigned number, uint64_t snapshot,
                              const struct cc__idle_ops *ops, void *arg, cc_time watch,
                              cc_time most);

/* Whether a wake was worth it: more, or less, is left to the watch. */
void cc__idle_wake_was(struct cc__idle *i, bool worth_it);

/* Wake one sleeper, if there is any; all; that one. */
void cc__idle_wake_one(struct cc__idle *i);
void cc__idle_wake_all(struct cc__idle *i);
bool cc__idle_wake(struct cc__idle *i, unsigned number);

#endif
