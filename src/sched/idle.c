/* idle.c - the wake generation of idle.h. */
#include "sched/idle.h"

#include <errno.h>

#include "os/trace.h"
#include "sched/counters.h"
#include "io/poll.h"
#include "base/slab.h"

static struct cc__slab objects = CC__SLAB_INIT(struct cc__idle, next);

/* How long a queue may be under a watch before somebody is woken for it: doubles
 * with every wake that was for nothing. */
enum { PATIENCE_LEAST = 4, PATIENCE_MOST = 1024 };

struct cc__idle *cc__idle_new(void)
{
	struct cc__idle *i = cc__slab_get(&objects);

	/* Relaxed: a stray caller of the former life (I8) may look, whatever it
	 * sees.  The rest is as its last owner left it: nobody asleep. */
	if (i != NULL) {
		/* mutant: swap survives: nobody looks yet whom it concerns. */
		cc__store(&i->patience, PATIENCE_LEAST, CC__RELAXED);
		/* mutant: swap survives: as above. */
		cc__store(&i->ending, 0, CC__RELAXED);
		cc__store(&i->reserve, 0, CC__RELAXED);
		cc__store(&i->unkept, 0, CC__RELAXED);
		i->late = 0;
	}
	return i;
}

void cc__idle_free(struct cc__idle *i)
{
	cc__store(&i->count, 0, CC__RELAXED);	/* Relaxed: as above */
	cc__slab_put(&objects, i);
}

static bool is_reserve(const struct cc__idle *i, unsigned number)
{
	/* Relaxed: its own, or a preference. */
	return cc__load(&i->reserve, CC__RELAXED) == number + 1;
}

/* ---- the ends of a sleep ---- */

/* To the one who ends it (I4): how it slept; to others CC__AWAKE. */
static uint32_t end_sleep(struct cc__idle *i, struct cc__nap *n)
{
	/* Seq_cst: what was before a wake, to who was woken; and before its look at the
	 * monitor (M6 in sysmon.h). */
	const uint32_t how = cc__xchg(&n->asleep, CC__AWAKE, CC__SEQ_CST);

	if (how == CC__AWAKE)
		return how;
	CC_POINT("idle.before_count", n);
	/* Relaxed, both: a push that sees the one as it was wakes somebody for nothing, and
	 * one that relies on the other is seen when the searcher stops.
	 * mutant: swap survives: it is the same for nothing. */
	cc__add(&i->searching, 1, CC__RELAXED);
	cc__sub(&i->sleepers, 1, CC__RELAXED);
	return how;
}

bool cc__idle_wake(struct cc__idle *i, unsigned number)
{
	struct cc__nap *n = &i->nap[number];
	uint32_t how;

	/* Seq_cst: after what the caller has pushed. */
	if (cc__load(&n->asleep, CC__SEQ_CST) == CC__AWAKE ||
	    (how = end_sleep(i, n)) == CC__AWAKE)
		return false;
	CC__EVENT(CC__EV_POKE, i, number + 1, 0);
	if (how == CC__POLLING)
		/* Acquire: the bell's memory, from in_poller.  It may be a later bell than
		 * the one that end_sleep has ordered, of the next runtime that has this nap
		 * even (I8); that one rings for nothing. */
		cc__poll_ring(cc__load(&n->bell, CC__ACQUIRE));
	else
		cc__futex_wake(&n->asleep, 1);
	return true;
}

/* One that takes whatever there is.  Keeper and poller last: their roles would have to be
 * taken over. */
static bool wake_able(struct cc__idle *i)
{
	/* Relaxed: a worker that is not in the count does not sleep yet. */
	const uint32_t count = cc__load(&i->count, CC__RELAXED);
	/* Relaxed: a preference. */
	const uint32_t keeper = cc__load(&i->keeper, CC__RELAXED) & ~CC__WATCHING;

	for (uint32_t k = 0; k < count; k++)
		/* Relaxed: a preference. */
		if (k + 1 != keeper && cc__load(&i->nap[k].asleep, CC__RELAXED) != CC__POLLING &&
		    !is_reserve(i, k) && cc__idle_wake(i, k))
			return true;
	for (uint32_t k = 0; k < count; k++)
		if (!is_reserve(i, k) && cc__idle_wake(i, k))
			return true;
	return false;
}

void cc__idle_wake_one(struct cc__idle *i)
{
	/* Relaxed: there is none whom it could concern before. */
	const uint32_t reserve = cc__load(&i->reserve, CC__RELAXED);

	if (!wake_able(i) && reserve != 0)
		cc__idle_wake(i, reserve - 1);
}

void cc__idle_wake_all(struct cc__idle *i)
{
	const uint32_t count = cc__load(&i->count, CC__RELAXED);	/* Relaxed: as above */

	for (uint32_t k = 0; k < count; k++)
		cc__idle_wake(i, k);
}

/* ---- pushers ---- */

static bool on_watch(const struct cc__idle *i)
{
	/* Relaxed: as above, or after the exchange in cc__idle_found. */
	return cc__load(&i->keeper, CC__RELAXED) & CC__WATCHING;
}

/* True: a searcher will see what the caller has pushed, or wake a worker for it (I3). */
static bool left_to_searcher(const struct cc__idle *i)
{
	if (!cc__idle_hungry(i))
		return false;
	cc__fence(CC__SEQ_CST);		/* the push before the look: against cc__idle_found's */
	return cc__idle_hungry(i);
}

bool cc__idle_watched(const struct cc__idle *i, uint32_t left)
{
	/* Relaxed: a heuristic. */
	return on_watch(i) && left < cc__load(&i->patience, CC__RELAXED);
}

void cc__idle_call(struct cc__idle *i)
{
	if (!left_to_searcher(i))
		cc__idle_wake_one(i);
}

void cc__idle_pushed_outside(struct cc__idle *i, int target)
{
	/* Release, light fence, relaxed: as in cc__idle_pushed. */
	cc__add(&i->outside, 1, CC__RELEASE);
	cc__fence_light();
	if (cc__load(&i->sleepers, CC__RELAXED) == 0)
		return;
	cc__add(&i->outside_calls, 1, CC__RELAXED);	/* Relaxed: for people */
	if ((target != CC__ANY && cc__idle_wake(i, (unsigned)target)) || left_to_searcher(i))
		return;
	/* The target runs, and perhaps for long.  A watch sees whether it comes by;
	 * without one, somebody has to. */
	if (target == CC__ANY || !on_watch(i))
		cc__idle_wake_one(i);
}

/* There is no keeper, and a timer has this deadline.  True: nor does the second keeper check
 * soon after it (I10).  After a full fence. */
static bool unkept(struct cc__idle *i, cc_time deadline)
{
	/* Acquire: its `until`, from become_second.
	 * mutant: acquire -> relaxed survives: a sleeper whose `until` is still the old one has its
	 * fence before it, and sees after it that there is no keeper. */
	const uint32_t second = cc__load(&i->second, CC__ACQUIRE);

	cc__store(&i->unkept, 1, CC__RELAXED);	/* Relaxed: it decides how others sleep */
	/* Relaxed: what the second keeper wrote after it had seen the timers, or what it wrote
	 * before it was that, CC_FOREVER. */
	return second == 0 || deadline < cc__load(&i->nap[second - 1].until, CC__RELAXED);
}

void cc__idle_timer(struct cc__idle *i, cc_time deadline)
{
	uint32_t keeper;

	cc__fence_light();	/* the timer before the look: against cc__idle_sleep's */
	/* Relaxed, all: after the fence. */
	if (cc__load(&i->sleepers, CC__RELAXED) == 0)
		return;
	/* The timer before the look at the keeper, which may be about to run something: against
	 * cc__idle_found's. */
	cc__fence(CC__SEQ_CST);
	keeper = cc__load(&i->keeper, CC__RELAXED) & ~CC__WATCHING;
	if (keeper == 0 && unkept(i, deadline))
		cc__idle_wake_one(i);
	/* What the keeper wrote after it had seen the timers, or what it wrote before it
	 * was the keeper, CC_FOREVER. */
	else if (keeper != 0 && deadline < cc__load(&i->nap[keeper - 1].until, CC__RELAXED))
		cc__idle_wake(i, keeper - 1);
}

void cc__idle_poll(struct cc__idle *i)
{
	cc__fence_light();	/* the wait before the look: against cc__idle_sleep's */
	/* Relaxed: after the fence.  Who searches falls asleep in the poller, or comes to
	 * cc__idle_found; a watch is over soon. */
	if (cc__load(&i->sleepers, CC__RELAXED) != 0 && !on_watch(i) && !left_to_searcher(i))
		cc__idle_wake_one(i);
}

void cc__idle_wake_was(struct cc__idle *i, bool worth_it)
{
	/* Relaxed, both: a heuristic; a lost update does no harm. */
	const uint32_t was = cc__load(&i->patience, CC__RELAXED);

	if (worth_it ? was > PATIENCE_LEAST : was < PATIENCE_MOST)
		cc__store(&i->patience, worth_it ? was / 2 : was * 2, CC__RELAXED);
}

/* ---- the worker ---- */

uint64_t cc__idle_generations(const struct cc__idle *i)
{
	/* Relaxed: what a worker that was added has pushed, the look after the fence has. */
	const uint32_t count = cc__load(&i->count, CC__RELAXED);
	/* Acquire, all: what was queued before, for the probe that follows. */
	uint64_t sum = cc__load(&i->outside, CC__ACQUIRE);

	for (uint32_t k = 0; k < count; k++)
		sum += cc__load(&i->nap[k].generation, CC__ACQUIRE);
	return sum;
}

void cc__idle_search(struct cc__idle *i)
{
	cc__add(&i->searching, 1, CC__RELAXED);	/* Relaxed: as in end_sleep */
}

/* Deadlines or descriptors that nobody looks after (I7). */
static bool unattended(struct cc__idle *i, const struct cc__idle_ops *ops, void *arg)
{
	cc_time deadline;

	if (ops->poller != NULL && ops->poller->unattended(arg))
		return true;
	/* Relaxed: after the fence. */
	return cc__load(&i->keeper, CC__RELAXED) == 0 &&
	       (deadline = ops->deadline(arg)) != CC_FOREVER && unkept(i, deadline);
}

/* What was left to us, or to a watch that has ended, we see after it (I3, I9). */
static void fence_after_search(struct cc__idle *i)
{
	/* Relaxed, both: written before its writer stopped searching, which the caller's
	 * decrement has acquired.  Another worker may stop last meanwhile and miss the mark: this
	 * one sees what is left. */
	if (cc__load(&i->watch_ended, CC__RELAXED) != 0) {
		cc__store(&i->watch_ended, 0, CC__RELAXED);
		cc__fence_heavy();	/* against the light fence of a push */
	} else {
		/* Against those in left_to_searcher and cc__idle_timer. */
		cc__fence(CC__SEQ_CST);
	}
}

void cc__idle_found(struct cc__idle *i, const struct cc__idle_ops *ops, void *arg)
{
	/* Acquire: who has stopped before us, to sleep or from a watch.  Release: the same to
	 * who comes after us.  Relaxed: after it. */
	if ((int32_t)cc__sub(&i->searching, 1, CC__ACQ_REL) > 1 ||
	    cc__load(&i->sleepers, CC__RELAXED) == 0 || on_watch(i))
		return;
	fence_after_search(i);
	/* unattended() first, because it notes timers that lack a keeper: the worker that is woken
	 * may be the second keeper, and falls asleep as that again. */
	if (unattended(i, ops, arg) || ops->left(arg))
		cc__idle_wake_one(i);
}

void cc__idle_give_up(struct cc__idle *i)
{
	cc__sub(&i->searching, 1, CC__RELAXED);	/* Relaxed: the fence follows */
	/* Seq_cst: not searching, nor the keeper, before the caller looks for sleepers:
	 * against the fence in cc__idle_sleep. */
	cc__fence(CC__SEQ_CST);
}

/* The keeper's word if we are it; else 0.  A watch takes the role from a keeper
 * that is on none. */
static uint32_t become_keeper(struct cc__idle *i, unsigned number, bool watching)
{
	const uint32_t mine = (number + 1) | (watching ? CC__WATCHING : 0);
	/* Relaxed, all: the fence in cc__idle_sleep comes before our look at the timers. */
	uint32_t keeper = cc__load(&i->keeper, CC__RELAXED);

	cc__store(&i->nap[number].until, CC_FOREVER, CC__RELAXED);
	do
		if (keeper != 0 && (!watching || (keeper & CC__WATCHING)))
			return 0;
	while (!cc__cas_weak(&i->keeper, &keeper, mine, CC__RELAXED, CC__RELAXED));
	return mine;
}

/* Beside a keeper, if timers lacked one (I10).  Its `until` is CC_FOREVER, from become_keeper. */
static bool become_second(struct cc__idle *i, unsigned number)
{
	uint32_t none = 0;

	/* Relaxed: it decides how we sleep. */
	if (i->late == 0 || cc__load(&i->unkept, CC__RELAXED) == 0)
		return false;
	/* Release: `until`, to the acquire in unkept.
	 * mutant: release -> relaxed survives: as there. */
	if (!cc__cas(&i->second, &none, number + 1, CC__RELEASE, CC__RELAXED))
		return false;
	cc__store(&i->unkept, 0, CC__RELAXED);	/* Relaxed: as above */
	return true;
}

/* When a keeper looks next, the second one if `late` is not 0, and which timers rely on it. */
static cc_time keep_timers(struct cc__nap *mine, cc_time deadline, cc_time first, cc_time late)
{
	const cc_time until = late == 0 ? cc__earlier(deadline, first) : first;

	cc__store(&mine->until, until, CC__RELAXED);	/* Relaxed: see cc__idle_timer */
	return first > CC_FOREVER - late ? deadline : cc__earlier(deadline, first + late);
}

/* Announced, and no longer searching: sleep in the poller if that is needed and nobody
 * else does (I6).  Not before: a wait that begins relies on who searches. */
static bool in_poller(struct cc__nap *n, const struct cc__idle_ops *ops, void *arg)
{
	struct cc__bell *bell = ops->poller != NULL ? ops->poller->claim(arg) : NULL;
	uint32_t asleep = CC__ASLEEP;

	if (bell == NULL)
		return false;
	cc__store(&n->bell, bell, CC__RELEASE);	/* Release: to the acquire in cc__idle_wake */
	/* Release: that there is one, to the exchange in end_sleep.  Failed: somebody has
	 * woken us already. */
	if (cc__cas(&n->asleep, &asleep, CC__POLLING, CC__RELEASE, CC__RELAXED))
		return true;
	ops->poller->release(arg);
	return false;
}

static enum cc__awake sleep_on_word(struct cc__nap *n, cc_time deadline)
{
	/* Relaxed: end_sleep follows. */
	while (cc__load(&n->asleep, CC__RELAXED) != CC__AWAKE)
		if (cc__futex_wait(&n->asleep, CC__ASLEEP, deadline) == ETIMEDOUT)
			return CC__TIMED_OUT;
	return CC__WOKEN;
}

static enum cc__awake sleep_in_poller(struct cc__nap *n, const struct cc__idle_poller *poller,
                                      void *arg, cc_time deadline)
{
	if (poller->await(arg, deadline))
		return CC__POLLED;
	/* Relaxed: as above. */
	return cc__load(&n->asleep, CC__RELAXED) == CC__AWAKE ? CC__WOKEN : CC__TIMED_OUT;
}

enum cc__awake cc__idle_sleep(struct cc__idle *i, unsigned number, uint64_t snapshot,
                              const struct cc__idle_ops *ops, void *arg, cc_time watch,
                              cc_time most)
{
	struct cc__nap *mine = &i->nap[number];
	uint32_t keeper = become_keeper(i, number, watch != CC_FOREVER);
	const bool second = keeper == 0 && become_second(i, number);
	enum cc__awake how = CC__NOT_SLEPT;
	bool polls, moved;

	cc__add(&i->sleepers, 1, CC__RELAXED);	/* Relaxed: the fence follows */
	/* Release: counted before we can be woken, so that the count is never low.
	 * mutant: release -> relaxed survives: the explorer has no load buffering.
	 * mutant: swap cc__sub survives: who misses us then has moved a generation, or the
	 * keeper, which we see after the fence. */
	cc__store(&mine->asleep, CC__ASLEEP, CC__RELEASE);
	/* Release: announced before we stop searching, to who stops after us. */
	cc__sub(&i->searching, 1, CC__RELEASE);
	cc__fence_heavy();
	if (is_reserve(i, number) && ops->left(arg))	/* I3 */
		wake_able(i);
	polls = in_poller(mine, ops, arg);
	/* Also what orders `stay` after a push that did not find us announced.  Relaxed: after
	 * the fence; the keeper whom we relied on may have left, and did not find us announced
	 * (cc__idle_give_up). */
	moved = cc__idle_generations(i) != snapshot ||
	        (keeper == 0 && cc__load(&i->keeper, CC__RELAXED) == 0);
	if ((!moved || on_watch(i)) && !ops->stay(arg)) {
		cc_time deadline = cc__from_now(keeper != 0 ? cc__earlier(watch, most) : most);

		if (keeper != 0 || second)
			deadline = keep_timers(mine, deadline, ops->deadline(arg), second ? i->late : 0);
		how = polls ? sleep_in_poller(mine, ops->poller, arg, deadline)
		            : sleep_on_word(mine, deadline);
	} else if (polls) {
		ops->poller->release(arg);
	}
	if (end_sleep(i, mine) == CC__AWAKE)
		cc__count(&mine->wakes);
	/* Relaxed, all: before we stop searching.  The keeper may have been taken from us. */
	if (second)
		cc__store(&i->second, 0, CC__RELAXED);
	if (keeper & CC__WATCHING)
		cc__store(&i->watch_ended, 1, CC__RELAXED);
	cc__cas(&i->keeper, &keeper, 0, CC__RELAXED, CC__RELAXED);
	return how;
}

/* ---- the end ---- */

void cc__idle_ending(struct cc__idle *i)
{
	/* Seq_cst: before the workers are woken to see who is left; pairs with
	 * cc__idle_one_less, after its caller has counted. */
	cc__store(&i->ending, 1, CC__SEQ_CST);
}

void cc__idle_one_less(struct cc__idle *i)
{
	if (cc__load(&i->ending, CC__SEQ_CST) != 0)	/* Seq_cst: see above */
		cc__idle_wake_all(i);
}
