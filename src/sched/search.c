/* search.c - a worker with nothing at hand: it looks everywhere, then sleeps; and the frame of
 * its life.  docs/idle.md has the policy and its figures.
 *
 *      at hand       its own queue, inboxes, a share of the global one (pick.c)
 *      timers        anybody's, whose time has come
 *      queues        others', from a random one on: half of what has waited
 *      branches      the oldest one that a fiber has forked there and nobody has begun
 *      inboxes       others', whole, when nothing else is left or their owner
 *                    stands still
 *
 * Descriptors are not among them: the sleep itself is a wait for them, and a worker that looks for
 * longer asks the kernel once.  What its owner is about to run is left to it (steal.h). */
#include <errno.h>

#include "os/trace.h"
#include "os/usage.h"
#include "sched/bound.h"
#include "wait/thread.h"

/* How long is looked for work before sleep, while another worker runs something: halved by a
 * look for nothing, doubled by a sleep that was over sooner than it cost. */
#define SPIN_LEAST (2 * CC_USEC)
#define SPIN_MOST (30 * CC_USEC)
#define SLEEP_COST (150 * CC_USEC)
/* A worker that picks fibers less often than that is away: a worker that is woken for what it leaves
 * in its queue comes sooner. */
#define AWAY (50 * CC_USEC)
/* From one look to the next. */
#define LOOK_EVERY (1 * CC_USEC)
/* On watch: the first sleep, doubled each time up to the last, or to config.idle_wait. */
#define WATCH_FIRST (100 * CC_USEC)
#define WATCH_LAST (2 * CC_MSEC)

/* Each worker there is. */
static unsigned workers_of(const struct cc__sched *s)
{
	return cc__load(&s->workers, CC__ACQUIRE);	/* Acquire: the worker, from make_worker */
}

static uint64_t next_random(struct cc__worker *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

static void lives(struct cc__worker *w, enum cc__life life)
{
	CC__EVENT(CC__EV_LIFE, w, w->id, life);
	cc__store(&w->life, life, CC__RELAXED);	/* Relaxed: for people; its thread is joined */
}

/* ---- others' work ---- */

static bool steal(struct cc__worker *w, cc_time now, bool eager)
{
	struct cc__sched *s = w->sched;
	const unsigned n = workers_of(s), first = (unsigned)(next_random(w) % n);

	for (unsigned i = 0; i < n; i++) {
		struct cc__worker *v = s->worker[(first + i) % n];

		if (v != w && (cc__steal(w, v, now, eager) || cc__steal_branch(w, v, now, eager)))
			return true;
	}
	for (unsigned i = 0; i < n; i++)
		if (cc__steal_inbox(w, s->worker[(first + i) % n], now, eager))
			return true;
	return false;
}

static bool run_all_timers(struct cc__worker *w, cc_time now)
{
	struct cc__sched *s = w->sched;
	bool any = false;

	for (unsigned i = 0; i < workers_of(s); i++)
		if (cc__timers_earliest(&s->worker[i]->timers) <= now)
			any |= cc__worker_run_timers(w, &s->worker[i]->timers, now);
	return any;
}

/* One look everywhere.  True: there is something in w's queue.  (Not inline: it is counted,
 * tests/bench/idle_path.) */
static __attribute__((noinline)) bool probe(struct cc__worker *w, cc_time now, bool eager)
{
	cc__count(&w->counters.looks);
	cc__worker_take_in(w);
	run_all_timers(w, now);
	return cc__runq_length(&w->queue) > 0 || steal(w, now, eager);
}

/* ---- what idle.c asks ---- */

/* But for the one that the worker itself is about to run. */
static bool left(void *arg)
{
	const struct cc__worker *w = arg, *v;
	const struct cc__sched *s = w->sched;

	for (unsigned i = 0; i < workers_of(s); i++) {
		v = s->worker[i];
		if (cc__runq_length(&v->queue) > (v == w) || cc__inbox_any(&v->inbox) ||
		    cc__worker_has_branches(v))
			return true;
	}
	return cc__global_length(&s->global) > 0 || cc__inbox_any(&s->woken);
}

/* The number under which the runtime was asked to stop (enum cc__stopping), if
 * every task has ended; else 0. */
static uint32_t over(const struct cc__sched *s)
{
	/* Seq_cst: pairs with the store in cc__sched_stop, which then wakes. */
	const uint32_t asked = cc__load(&s->stopping, CC__SEQ_CST);

	return asked != CC__RUNNING && cc__sched_at_rest(s) ? asked : 0;
}

/* Beside a watch the generations do not count, and what others push to us they
 * leave to us. */
static bool stay(void *arg)
{
	const struct cc__worker *w = arg;

	return cc__inbox_any(&w->own) || cc__inbox_any(&w->inbox) || over(w->sched) != 0;
}

static cc_time earliest_timer(void *arg)
{
	struct cc__sched *s = ((struct cc__worker *)arg)->sched;
	cc_time first = cc__starved_deadline(&s->starved);

	for (unsigned i = 0; i < workers_of(s); i++)
		first = cc__earlier(first, cc__timers_earliest(&s->worker[i]->timers));
	return first;
}

/* ---- descriptors ---- */

static struct cc__poll *poll_of(void *worker)
{
	return &((struct cc__worker *)worker)->sched->poll;
}

static bool unattended(void *arg)
{
	return cc__poll_unattended(poll_of(arg));
}

static struct cc__bell *claim_poll(void *arg)
{
	struct cc__poll *p = poll_of(arg);

	return cc__poll_unattended(p) && cc__poll_claim(p) ? p->bell : NULL;
}

static void release_poll(void *arg)
{
	cc__poll_release(poll_of(arg));
}

/* Whom it concerns is told when we are awake (doze): a worker that pushes while it
 * is announced as asleep would wake somebody for it, or itself. */
static bool sleep_in_poll(void *arg, cc_time deadline)
{
	struct cc__worker *w = arg;

	cc__poll_sleep(&w->sched->poll, deadline, &w->found);
	return w->found.count > 0;
}

static const struct cc__idle_poller poller = {unattended, claim_poll, release_poll, sleep_in_poll};

/* With nothing else in the queue its worker soon looks, or serve() finds more. */
void cc__worker_unattended(struct cc__poll *p)
{
	struct cc__worker *w = cc__worker_here();

	(void)p;
	if (cc__runq_length(&w->queue) > 0)
		cc__idle_poll(w->sched->idle);
}

static const struct cc__idle_ops ops = {
    .left = left, .stay = stay, .deadline = earliest_timer, .poller = &poller};

/* ---- search and sleep ---- */

/* Another worker runs something, or a thread runs a blocking call for a fiber. */
static bool others_run(const struct cc__worker *w)
{
	const struct cc__idle *i = w->sched->idle;

	/* Relaxed, all: it decides how we sleep, not whether. */
	return cc__load(&w->sched->blocking.callers, CC__RELAXED) > 0 ||
	       (int32_t)(cc__load(&i->sleepers, CC__RELAXED) + cc__load(&i->searching, CC__RELAXED)) <
	       (int32_t)cc__load(&w->sched->live, CC__RELAXED);
}

/* Looks again whenever something was pushed, or was left to its owner, until `end`. */
static bool look_until(struct cc__worker *w, cc_time now, cc_time end)
{
	struct cc__idle *idle = w->sched->idle;
	uint64_t seen = 0;
	cc_time looked = now;

	while (now < end) {
		for (unsigned n = 0; n < 8; n++)
			cc__relax();
		now = cc__now();
		if (now - looked < LOOK_EVERY ||
		    (!w->doubt && cc__idle_generations(idle) == seen))
			continue;
		seen = cc__idle_generations(idle);
		looked = now;
		if (probe(w, now, false))
			return true;
	}
	return false;
}

/* While others run something that may push: a look, and some more.  (Else the last
 * look, before the sleep, is enough.)  True: w's queue has something. */
static bool spin(struct cc__worker *w)
{
	struct cc__poll *p = &w->sched->poll;
	const cc_time now = cc__now();

	if (!others_run(w))
		return false;
	if (probe(w, now, false))
		return true;
	if ((cc__poll_unattended(p) && cc__worker_poll(w)) || look_until(w, now, now + w->spin)) {
		w->spin = cc__earlier(2 * w->spin, SPIN_MOST);
		return true;
	}
	w->spin = w->spin / 2 > SPIN_LEAST ? w->spin / 2 : SPIN_LEAST;
	return false;
}

/* At the end of a watch.  What made us doubt is forgotten, unless this look says so again: then
 * there is another one, because what has come since the last watch may have to be taken (T1). */
static bool look_briefly(struct cc__worker *w)
{
	const cc_time now = cc__now();

	w->doubt = false;
	return probe(w, now, false) || (w->doubt && look_until(w, now, now + SPIN_LEAST));
}

/* `how` the last sleep ended. */
static bool look_around(struct cc__worker *w, enum cc__awake how)
{
	const bool found = cc__runq_length(&w->queue) > 0 ||	/* by descriptors */
	                   (how == CC__TIMED_OUT ? look_briefly(w) : spin(w));

	if (found)
		cc__count(&w->counters.spin_hits);
	return found;
}

/* How long to sleep on watch; CC_FOREVER: no watch.  Only if there is doubt whether a wake would
 * be worth it: something is left to its owner, or the last wake found nothing, or what we took
 * was sent back. */
static cc_time watch_of(const struct cc__worker *w)
{
	cc_time watch = WATCH_FIRST;

	if (!w->doubt)
		return CC_FOREVER;
	for (unsigned n = w->fruitless; n > 0 && watch < WATCH_LAST; n--)
		watch *= 2;
	return cc__earlier(cc__earlier(watch, WATCH_LAST), w->sched->config.idle_wait);
}

/* A wait in the kernel has ended, not by itself: had a generation moved, or was there
 * something for this worker without that (descriptors)? */
static void count_end(struct cc__worker *w, uint64_t snapshot)
{
	if (cc__idle_generations(w->sched->idle) != snapshot)
		cc__count(&w->counters.ends_generation);
	else if (w->found.count > 0 || stay(w))
		cc__count(&w->counters.ends_ready);
}

static void count_sleep(struct cc__worker *w, uint64_t snapshot, enum cc__awake how)
{
	struct cc__counters *c = &w->counters;
	cc__a64 *const ends[] = {[CC__WOKEN] = &c->woken,
	                         [CC__TIMED_OUT] = &c->timed_out,
	                         [CC__NOT_SLEPT] = &c->stale,
	                         [CC__POLLED] = &c->polled};

	cc__count(ends[how]);
	if (how == CC__WOKEN || how == CC__POLLED)
		count_end(w, snapshot);
}

static enum cc__awake doze(struct cc__worker *w, uint64_t snapshot, cc_time watch)
{
	const cc_time until = cc__earlier(cc__worker_age_stacks(w), w->retire_at);
	const cc_time begin = w->slept_at = cc__now();
	enum cc__awake how;
	cc_time now;

	cc__runq_trim(&w->queue);
	lives(w, CC__LIFE_SLEEP);
	cc__count(&w->counters.sleeps);
	CC__EVENT(CC__EV_SLEEP, w, w->id, 0);
	CC_POINT("worker.before_sleep", w);
	how = cc__idle_sleep(w->sched->idle, w->id - 1, snapshot, &ops, w, watch,
	                     until == CC_FOREVER ? CC_FOREVER : until - begin);
	CC_POINT("worker.awake", w);
	cc__coarse_set(now = cc__now());	/* the monitor may have slept, too */
	cc__sysmon_poke(&w->sched->sysmon);
	CC__EVENT(CC__EV_AWAKE, w, w->id, how);
	count_sleep(w, snapshot, how);
	cc__poll_wake(&w->sched->poll, &w->found);
	w->found.count = 0;
	lives(w, CC__LIFE_SEARCH);
	if (how == CC__TIMED_OUT)
		w->fruitless += watch != CC_FOREVER;
	else if (now - begin < SLEEP_COST)
		w->spin = cc__earlier(2 * w->spin, SPIN_MOST);
	return how;
}

static void give_away_all(struct cc__worker *w, struct cc__fiber *oldest)
{
	struct cc__fiber *f;

	while ((f = cc__chain_pop(&oldest)) != NULL)
		cc__worker_give_away(w, f);
}

/* One of us makes the end known; false: whoever wanted it has lost its patience. */
static bool agree_to_end(struct cc__sched *s)
{
	uint32_t asked = over(s);

	/* Relaxed: one word, two sides; the other is in cc__sched_stop. */
	if (asked <= CC__ENDING ||
	    !cc__cas(&s->stopping, &asked, CC__ENDING, CC__RELAXED, CC__RELAXED))
		return false;
	cc__fence_light();	/* the end before the look for sleepers: against cc__idle_sleep's */
	cc__idle_wake_all(s->idle);
	return true;
}

static bool ended(struct cc__sched *s)
{
	/* Acquire: at rest, as the one saw who agreed. */
	return cc__load(&s->stopping, CC__ACQUIRE) == CC__ENDING || agree_to_end(s);
}

/* The worker that has woken w, as far as w can tell: the last that woke one since w fell asleep;
 * NULL: it was not for a push. */
static const struct cc__worker *caller_of(const struct cc__worker *w)
{
	const struct cc__sched *s = w->sched;
	const struct cc__worker *last = NULL;
	cc_time at, latest = w->slept_at;

	for (unsigned i = 0; i < workers_of(s); i++)
		/* Relaxed: a hint. */
		if (s->worker[i] != w &&
		    (at = cc__load(&s->worker[i]->called_at, CC__RELAXED)) > latest) {
			latest = at;
			last = s->worker[i];
		}
	return last;
}

/* The system took long to run w, and the worker that has woken it was away for most of that time: it
 * cannot be told from that what w would have found in time. */
static bool came_too_late(const struct cc__worker *w, cc_time now)
{
	const struct cc__worker *caller = caller_of(w);
	cc_time late;
	uint64_t picks;

	if (caller == NULL)
		return false;
	/* Relaxed, all: hints. */
	late = now - cc__load(&caller->called_at, CC__RELAXED);
	picks = cc__load(&caller->picks, CC__RELAXED) -
	        cc__load(&caller->called_picks, CC__RELAXED);
	return late >= SLEEP_COST && (cc_time)picks * AWAY < late;
}

static void woken_in_vain(struct cc__worker *w)
{
	cc__count(&w->counters.vain);
	if (came_too_late(w, cc__now()))
		return;
	cc__idle_wake_was(w->sched->idle, false);
	w->doubt = true;
}

/* A temporary worker was idle for long enough: what others have for it goes to
 * all, and it is not searching any more (I3).  It may have been the keeper: so
 * somebody looks at the timers, whether there is work or not. */
static void retire(struct cc__worker *w)
{
	struct cc__idle *idle = w->sched->idle;
	struct cc__fiber *f;

	lives(w, CC__LIFE_DRAINING);
	CC_POINT("worker.retires", w);
	give_away_all(w, cc__inbox_close(&w->own));
	give_away_all(w, cc__inbox_close(&w->inbox));
	if ((f = cc__runq_take_offer(&w->queue)) != NULL)
		cc__worker_give_away(w, f);
	for (enum cc__kind kind = 0; kind < CC__KINDS; kind++)
		while ((f = cc__runq_pop_kind(&w->queue, kind)) != NULL)
			cc__worker_give_away(w, f);
	cc__idle_give_up(idle);
	cc__idle_wake_one(idle);
}

bool cc__worker_search(struct cc__worker *w)
{
	struct cc__idle *idle = w->sched->idle;
	enum cc__awake how = CC__NOT_SLEPT;
	bool stale = false;

	cc__count(&w->counters.searches);
	lives(w, CC__LIFE_SEARCH);
	w->retire_at = cc__worker_temporary(w) ? cc__from_now(w->sched->config.worker_idle)
	                                       : CC_FOREVER;
	cc__lesson_end(w);
	cc__idle_search(idle);
	while (!look_around(w, how)) {
		/* Without a watch nothing is left to anybody. */
		const bool eager = w->sched->config.idle_wait == CC_FOREVER || !others_run(w);
		/* Before the last full probe (I2). */
		const uint64_t snapshot = cc__idle_generations(idle);

		if (ended(w->sched)) {
			cc__idle_give_up(idle);
			return false;
		}
		CC_POINT("worker.before_last_look", w);
		if (probe(w, cc__now(), eager)) {
			cc__count(&w->counters.no_wait);
			break;
		}
		if (w->retire_at != CC_FOREVER && cc__now() >= w->retire_at) {
			retire(w);
			return false;
		}
		if (how == CC__WOKEN)
			woken_in_vain(w);
		how = doze(w, snapshot, eager ? CC_FOREVER : watch_of(w));
		stale = how == CC__NOT_SLEPT;
	}
	if (how == CC__WOKEN)
		cc__idle_wake_was(idle, true);
	if (stale)
		cc__count(&w->counters.post_announce_hits);
	w->fruitless = 0;
	w->doubt = false;
	cc__idle_found(idle, &ops, w);
	lives(w, CC__LIFE_ACTIVE);
	return true;
}

static void end_life(struct cc__worker *w)
{
	struct cc__sched *s = w->sched;
	/* Relaxed: our own. */
	const bool retired = cc__load(&w->life, CC__RELAXED) == CC__LIFE_DRAINING;

	/* Before it counts as dead: a wake that goes to an open inbox now waits for ever. */
	CC__ASSERT(!retired || (cc__inbox_closed(&w->inbox) && cc__inbox_closed(&w->own)),
	           "worker: it retires and leaves an inbox open (N2)");
	lives(w, CC__LIFE_DEAD);
	if (retired) {
		/* Seq_cst: before the look in cc__sysmon_poke, as a worker that wakes. */
		cc__sub(&s->live, 1, CC__SEQ_CST);
		cc__sysmon_poke(&s->sysmon);
		return;
	}
	/* Release: the worker's life, to the acquire in cc__sched_stop. */
	cc__store(&s->stopped, 1, CC__RELEASE);
	cc__futex_wake(&s->stopped, INT32_MAX);
}

void cc__worker_main(void *arg)
{
	struct cc__worker *w = arg;
	struct cc__sched *s = w->sched;

	if (cc__worker_temporary(w)) {	/* the last one here has closed them */
		cc__inbox_open(&w->own);
		cc__inbox_open(&w->inbox);
	}
	w->spin = SPIN_MOST;
	lives(w, CC__LIFE_ACTIVE);
	w->thread->worker = w;
	cc__carry_check_init(&w->carry);
	cc__tls_set(w->thread, NULL);
	cc__context_adopt(&w->context);
	cc__thread_prompt();
	cc__store(&w->number, cc__thread_number(), CC__RELAXED);	/* Relaxed: a number */
	do
		cc__worker_run(w);
	while (cc__worker_search(w));
	cc__worker_drop_branches(w);
	cc__frame_cache_flush(&w->frames);
	cc__stack_put_list(&s->stacks, &w->stacks);
	if (w->reserve != NULL)
		cc__stack_put(&s->stacks, w->reserve);
	w->reserve = NULL;
	cc__carry_check_fini(&w->carry);
	if (cc__tools != 0)
		cc__tools_disown();
	cc__thread_end(w->thread);
	cc__tls_set(NULL, NULL);
	end_life(w);
}
