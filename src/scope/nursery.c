/* nursery.c - children: counted in, run, counted out, joined. */
#include "scope/nursery.h"

#include <errno.h>
#include <stdio.h>

#include "os/fork.h"
#include "os/where.h"
#include "task/local.h"
#include "sched/spawn.h"
#include "wait/thread.h"

static struct cc__nursery *inside_of(CCNursery *n)
{
	return (struct cc__nursery *)(void *)n;
}

static bool is_open(CCNursery *n)
{
	return cc__nursery_open(n) != NULL;
}

/* ---- the tally ---- */

/* Sealed, and nobody is left (N2). */
static void be_over(struct cc__nursery *n, struct cc__tally *t)
{
	if (t == &n->children)
		cc__nursery_close_channels(n);
	CC_POINT("nursery.before_over", n);
	/* Release: all that the children did, to the acquire in wait_for.  The last touch
	 * of n. */
	cc__store(&t->over, 1, CC__RELEASE);
}

static void count_out(struct cc__nursery *n, struct cc__tally *t, uint64_t ended)
{
	struct cc__parker *owner = n->inside.who;
	/* Release: what these children did; acquire: what those before them did, whom the last
	 * one speaks for.  Seq_cst: the drawing at N5. */
	const uint64_t left = cc__sub(&t->word, ended * CC__TALLY_ONE, CC__SEQ_CST) -
	                      ended * CC__TALLY_ONE;

	if (__builtin_expect(left - 1 >= CC__TALLY_ONE - 1, 1))
		return;	/* others are, or it may have more */
	if (cc__watched())
		cc__happens_after(n);	/* the others' ends, for callers that see channels closed */
	if (left & CC__TALLY_SEALED)
		be_over(n, t);
	cc__unpark(owner);
}

/* Whoever calls is inside of n: it cannot end meanwhile. */
static bool is_inside(const struct cc__nursery *n)
{
	struct cc__parker *self = cc__self();
	const struct cc__member *m = self != NULL ? *cc__member_slot(self) : NULL;

	return m != NULL && cc__scope_within(m->scope, &n->scope);
}

int cc__nursery_count_in(struct cc__nursery *n, struct cc__tally *t)
{
	/* Relaxed, all: to become zero it has to be counted out again; who seals sees it, or
	 * is seen.  Not added and taken back: that would be a second end (N2). */
	uint64_t w = cc__load(&t->word, CC__RELAXED);

	do
		if ((w & CC__TALLY_SEALED) && (w < CC__TALLY_ONE || !is_inside(n)))
			return EINVAL;
	while (!cc__cas_weak(&t->word, &w, w + CC__TALLY_ONE, CC__RELAXED, CC__RELAXED));
	if (t == &n->daemons)
		cc__or(&n->marks, CC__HAD_DAEMONS, CC__RELAXED);	/* Relaxed: see is_empty */
	return 0;
}

/* By the owner, with what he has not counted yet. */
static void seal(struct cc__nursery *n, struct cc__tally *t, int64_t uncounted)
{
	const uint64_t more = (uint64_t)uncounted * CC__TALLY_ONE;

	/* Acquire: what the children did, from count_out.  Release: the channels to be
	 * closed, to the one who finds zero. */
	if (cc__add(&t->word, more + CC__TALLY_SEALED, CC__ACQ_REL) + more < CC__TALLY_ONE)
		be_over(n, t);
}

/* By the owner, who has counted all that he knows of.  True: nobody is there. */
static bool watch(struct cc__tally *t)
{
	/* Seq_cst: the drawing at N5. */
	return cc__or(&t->word, CC__TALLY_WATCHED, CC__SEQ_CST) < CC__TALLY_ONE;
}

/* (Who is inside an inner nursery may wait for that one's children.) */
static bool in_vain(struct cc__guard *g, struct cc__parker *who)
{
	struct cc__nursery *n =
	    (struct cc__nursery *)(void *)((char *)g - offsetof(struct cc__nursery, guard));
	bool children, daemons;

	if (who != n->inside.who || n->sealed || *cc__member_slot(who) != &n->inside)
		return false;
	/* Relaxed: in the order of the word; what is counted has been spawned by us. */
	cc__add(&n->children.word, (uint64_t)n->uncounted * CC__TALLY_ONE, CC__RELAXED);
	n->uncounted = 0;
	children = watch(&n->children);
	daemons = watch(&n->daemons);
	/* After the look: the last may have failed, and that is what ends the wait then. */
	return children && daemons && !cc__scope_cancelled(&n->scope);
}

static void wait_for(struct cc__tally *t)
{
	/* Acquire: pairs with the release in be_over. */
	while (cc__load(&t->over, CC__ACQUIRE) == 0)
		cc__park_if(&t->over, 0);
}

/* ---- the end of a child ---- */

static void cancel(struct cc__nursery *n, int reason)
{
	cc__scope_cancel(&n->scope,
	                 CC__CANCEL | (uint32_t)reason << CC__CANCEL_REASON_SHIFT, n->lazy);
}

/* Its first error, unless there is one.  True: it is. */
static bool note_error(struct cc__nursery *n, int error)
{
	uint32_t none = 0;

	/* Relaxed: the tally orders it before the join. */
	return cc__cas(&n->error, &none, (uint32_t)error, CC__RELAXED, CC__RELAXED);
}

/* It ended because it was cancelled: what its wait returned is what it returns. */
static bool is_cut(const struct cc__nursery *n, int result)
{
	/* Relaxed: the child itself has seen it, or something of its own has failed. */
	const uint32_t flag = cc__load(&n->scope.flag, CC__RELAXED);

	return flag != 0 && (result == ECANCELED || (result == ETIMEDOUT && (flag & CC__CANCEL_LATE)));
}

static __attribute__((noinline)) void note_slowly(struct cc__nursery *n,
                                                  const struct cc__tally *t, int result)
{
	if (result == 0) {
		/* Relaxed: the tally orders it before the join. */
		if (t == &n->children &&
		    !(cc__or(&n->marks, CC__SUCCEEDED, CC__RELAXED) & CC__SUCCEEDED))
			cancel(n, 0);
	} else if (is_cut(n, result)) {
		if (t == &n->children)
			cc__or(&n->marks, CC__CUT, CC__RELAXED);	/* Relaxed: likewise */
	} else if (note_error(n, result) && n->policy == CC_NURSERY_FAIL_FAST) {
		cancel(n, result);
	}
}

static inline void note(struct cc__nursery *n, const struct cc__tally *t, int result)
{
	if (__builtin_expect(result != 0 || n->policy == CC_NURSERY_FIRST_SUCCESS, 0))
		note_slowly(n, t, result);
}

void cc__nursery_end(struct cc__nursery *n, struct cc__tally *t, int result)
{
	note(n, t, result);
	if (cc__watched())
		cc__happens_before(n);
	count_out(n, t, 1);
}

/* A caller that is neither inside nor counted in must not write to n, because n may end at any
 * time.  If n is sealed such a caller cannot be counted in, and its error is not kept. */
__attribute__((noinline, cold)) int cc__nursery_unstarted(CCNursery *nursery, int err)
{
	struct cc__nursery *n = cc__forked() ? NULL : cc__nursery_open(nursery);

	if (n == NULL)
		return err;
	if (!is_inside(n)) {
		if (cc__nursery_count_in(n, &n->children) == 0)
			cc__nursery_end(n, &n->children, err);
	} else if (cc__load(&n->children.over, CC__RELAXED) == 0 || err != ECANCELED) {
		/* Relaxed: end_daemons has seen `over` before it cancels, and the caller has
		 * seen that cancellation (acquire).  A daemon that is refused then has not
		 * been cut short: the nursery has come to its end. */
		note(n, &n->children, err);
	}
	return err;
}

/* ---- what a child runs ---- */

/* The child's function has returned, and something is left in its slot. */
static __attribute__((noinline)) void tidy(const struct cc__fiber *f, struct cc__member **slot,
                                           const struct cc__member *m)
{
	cc__locals_end(slot);
	if (*slot != m)
		cc__fiber_left_open(f);
}

/* What it was spawned for, as somebody inside of n. */
static int run(struct cc__nursery *n, struct cc__child *child)
{
	struct cc__fiber *f = cc__fiber_of_child(child);
	/* Relaxed: our own. */
	struct cc__member **slot = &cc__load(&f->stack, CC__RELAXED)->member;
	struct cc__member m;
	int result;

	cc__member_enter(&m, &n->scope, &f->parker, slot);
	result = child->main(child->arg);
	if (__builtin_expect(*slot != &m, 0))
		tidy(f, slot, &m);
	cc__member_leave(&m, slot);
	return result;
}

/* And those that follow it at once.  The last one counts them all out: while it is there the
 * nursery is. */
static int run_child(void *arg)
{
	struct cc__child *child = arg, *next;
	struct cc__nursery *n = child->nursery;
	uint64_t ended = 1;
	int result;

	note(n, &n->children, result = run(n, child));
	for (; (next = cc__sched_child_next(n, result)) != NULL; ended++)
		note(n, &n->children, result = run(n, next));
	count_out(n, &n->children, ended);
	return result;
}

static int run_daemon(void *arg)
{
	struct cc__child *child = arg;
	/* Without the mark that keeps it from being run in place. */
	struct cc__nursery *n = (struct cc__nursery *)((uintptr_t)child->nursery & ~(uintptr_t)1);
	const int result = run(n, child);

	cc__nursery_end(n, &n->daemons, result);
	return result;
}

/* ---- spawn ---- */

/* What a child is spawned with where the nursery says how its children move, or that their
 * stacks are large. */
static CCTaskOptions as_nursery_says(const struct cc__nursery *n, const CCTaskOptions *options)
{
	const size_t size = n->sched->stacks.shelf[n->order].size;
	CCTaskOptions o = {0};

	if (options != NULL)
		o = *options;
	if (o.migration == CC_MIGRATE_FREE)
		o.migration = (CCMigration)n->migration;
	if (n->order != 0 && o.stack_size < size)
		o.stack_size = size < CC__STACK_MAX ? size : CC__STACK_MAX;	/* of that order, too */
	return o;
}

/* Where the handle of a child goes; `out` NULL: it has none. */
struct to {
	CCTask *out;
	struct cc__handles *keep;	/* and there, unless it is NULL */
};

/* By thread t: a frame that runs `entry`, and what that finds in it.  Its handle is written before
 * the child can run. */
static inline int start(struct cc__nursery *n, struct cc__thread *t, const struct to to,
                        const CCTaskOptions *options, cc_task_main *entry,
                        const struct cc__child child)
{
	struct cc__birth b;
	const int err = cc__spawn_begin(&b, n->sched, t, options, to.out == NULL);

	if (err != 0)
		return err;
	if (to.out != NULL)
		*to.out = (CCTask){.frame = b.f, .id = b.handle};
	if (to.keep != NULL)
		cc__handles_keep(to.keep, *to.out);
	b.f->run.main = entry;
	b.f->payload.arg = &b.f->payload.child.what;
	b.f->payload.child.what = child;
	cc__spawn_end(&b);
	return 0;
}

static int check_options(const struct cc__nursery *n, const CCTaskOptions *options)
{
	return options->start == 0 ? cc__task_options_check(n->sched, options) : EINVAL;
}

/* What keeps a child from being counted; 0: nothing. */
static inline int refusal(CCNursery *nursery, const CCTaskOptions *options, cc_task_main *main)
{
	int err;

	if (cc__forked())
		return ENOTSUP;
	if (!is_open(nursery) || main == NULL)
		return EINVAL;
	if (options != NULL && (err = check_options(inside_of(nursery), options)) != 0)
		return err;
	return cc__scope_cancelled(&inside_of(nursery)->scope) ? ECANCELED : 0;
}

/* The owner counts his children by himself, all others in the tally. */
static inline __attribute__((always_inline)) int
spawn(CCNursery *nursery, const struct to to, const CCTaskOptions *options, cc_task_main *entry,
      const struct cc__child child, bool daemon)
{
	struct cc__nursery *n = inside_of(nursery);
	struct cc__tally *tally = daemon ? &n->daemons : &n->children;
	struct cc__thread *t = cc__thread_here();
	int err = refusal(nursery, options, child.main);
	CCTaskOptions o;
	bool mine;

	if (err != 0 || t == NULL)
		return cc__nursery_unstarted(nursery, err != 0 ? err : ENOMEM);
	mine = !daemon && cc__running(t) == n->inside.who;
	if (mine ? n->sealed : cc__nursery_count_in(n, tally) != 0)
		return mine ? cc__nursery_unstarted(nursery, EINVAL) : EINVAL;
	if (__builtin_expect((n->migration | n->order) != 0, 0)) {
		o = as_nursery_says(n, options);
		options = &o;
	}
	err = start(n, t, to, options, entry, child);
	if (__builtin_expect(err != 0, 0)) {
		if (mine)
			note(n, tally, err);
		else
			cc__nursery_end(n, tally, err);
		return err;
	}
	if (mine)
		n->uncounted++;
	return 0;
}

int cc__nursery_spawn(CCNursery *nursery, const CCTaskOptions *options, cc_task_main *main, void *arg,
                      uintptr_t place)
{
	return spawn(nursery, (struct to){0}, options, run_child,
	             (struct cc__child){main, arg, nursery, place}, false);
}

int cc_nursery_spawn(CCNursery *nursery, const CCTaskOptions *options, cc_task_main *main,
                     void *arg)
{
	return spawn(nursery, (struct to){0}, options, run_child,
	             (struct cc__child){main, arg, nursery, CC__PLACE_HERE()}, false);
}

int cc_spawn_at(CCNursery *nursery, const CCTaskOptions *options, cc_task_main *main, void *arg,
                const char *place)
{
	return cc__nursery_spawn(nursery, options, main, arg, cc__place_of(place));
}

int cc__nursery_spawn_joinable(CCNursery *nursery, CCTask *out, struct cc__handles *keep,
                               const CCTaskOptions *options, cc_task_main *main, void *arg,
                               uintptr_t place)
{
	return spawn(nursery, (struct to){out, keep}, options, run_child,
	             (struct cc__child){main, arg, nursery, place}, false);
}

int cc__nursery_spawn_daemon(CCNursery *nursery, const CCTaskOptions *options, cc_task_main *main,
                             void *arg, uintptr_t place)
{
	void *marked = (void *)((uintptr_t)nursery | 1);

	return spawn(nursery, (struct to){0}, options, run_daemon,
	             (struct cc__child){main, arg, marked, place}, true);
}

int cc_nursery_spawn_daemon(CCNursery *nursery, const CCTaskOptions *options, cc_task_main *main,
                            void *arg)
{
	return cc__nursery_spawn_daemon(nursery, options, main, arg, CC__PLACE_HERE());
}

int cc_spawn_daemon_at(CCNursery *nursery, const CCTaskOptions *options, cc_task_main *main, void *arg,
                       const char *place)
{
	return cc__nursery_spawn_daemon(nursery, options, main, arg, cc__place_of(place));
}

/* ---- from open to joined ---- */

static struct cc__sched *sched_of(CCRuntime *rt)
{
	return (struct cc__sched *)(void *)rt;	/* as cc__sched_runtime says */
}

static bool options_good(const CCNurseryOptions *o)
{
	return (unsigned)o->policy <= CC_NURSERY_FIRST_SUCCESS &&
	       (unsigned)o->migration <= CC_MIGRATE_PINNED;
}

static void close(struct cc__nursery *n, struct cc__member **slot)
{
	cc__member_leave(&n->inside, slot);
	cc__scope_close(&n->scope);
	/* Relaxed, both: after the tally. */
	if (__builtin_expect(((uintptr_t)cc__load(&n->arena, CC__RELAXED) |
	                      (uintptr_t)cc__load(&n->handles, CC__RELAXED)) != 0,
	                     0)) {
		cc__nursery_drop_handles(n);
		cc__nursery_free_arena(n);
	}
	n->inside.who = NULL;
}

/* One is made at once: children that no stack can be had for would never run. */
static int choose_stacks(struct cc__nursery *n, size_t size)
{
	struct cc__stack_pool *stacks = &n->sched->stacks;
	unsigned order;

	if (size <= stacks->shelf[0].size)
		return 0;
	if ((order = cc__stack_order_for(stacks, size)) == CC__STACK_ORDERS)
		return EINVAL;
	n->order = (uint8_t)order;
	return cc__stack_pool_stock(stacks, order) ? 0 : ENOMEM;
}

/* All of n is zero but for its place. */
static int open_for(struct cc__nursery *n, const CCNurseryOptions *o)
{
	struct cc__parker *self = cc__self();
	struct cc__member **slot;
	struct cc__sched *home;
	int err;

	if (self == NULL)
		return ENOMEM;
	/* Relaxed: a parker is a thread or a fiber for ever. */
	if (!cc__word_is_thread(cc__load(&self->word, CC__RELAXED)))
		home = cc__fiber_home(cc__fiber_of(self));
	else if ((home = sched_of(o->runtime != NULL ? o->runtime : cc_runtime_current())) == NULL)
		return ENOMEM;
	n->sched = o->runtime != NULL ? sched_of(o->runtime) : home;
	if ((err = choose_stacks(n, o->stack_size)) != 0)
		return err;
	n->policy = (uint8_t)o->policy;
	n->migration = (uint8_t)o->migration;
	n->lazy = o->lazy != 0;
	n->guard.in_vain = in_vain;
	n->scope.shield = o->shield != 0;
	slot = cc__member_slot(self);
	cc__scope_open(&n->scope, *slot != NULL ? (*slot)->scope : &home->root.scope);
	cc__member_enter(&n->inside, &n->scope, self, slot);
	if ((err = cc__nursery_set_alarm(n, o->deadline)) != 0)
		close(n, slot);
	return err;
}

static const CCNurseryOptions no_options;

int cc_nursery_init(CCNursery *nursery, const CCNurseryOptions *options)
{
	struct cc__nursery *n = inside_of(nursery);
	const CCNurseryOptions *o = options != NULL ? options : &no_options;

	if (cc__forked())
		return ENOTSUP;
	if (nursery == NULL || !options_good(o))
		return EINVAL;
	*n = (struct cc__nursery){.place = CC__PLACE_HERE()};
	return open_for(n, o);
}

static int check_owner(CCNursery *nursery)
{
	if (cc__forked())
		return ENOTSUP;
	if (!is_open(nursery))
		return EINVAL;
	return cc__self() == inside_of(nursery)->inside.who ? 0 : EPERM;
}

static void seal_children(struct cc__nursery *n)
{
	if (n->sealed)
		return;
	n->sealed = true;
	seal(n, &n->children, n->uncounted);
}

int cc_nursery_seal(CCNursery *nursery)
{
	const int err = check_owner(nursery);

	if (err == 0)
		seal_children(inside_of(nursery));
	return err;
}

int cc_nursery_deadline(CCNursery *nursery, cc_time when)
{
	const int err = check_owner(nursery);

	return err != 0 ? err : cc__nursery_move_alarm(inside_of(nursery), when);
}

int cc_nursery_cancel(CCNursery *nursery, int reason)
{
	struct cc__nursery *n = inside_of(nursery);

	if (cc__forked())
		return ENOTSUP;
	if (!is_open(nursery) || reason < 0)
		return EINVAL;
	if (reason != 0)
		note_error(n, reason);
	cancel(n, reason);
	return 0;
}

/* Children that are at hand, on the stack of who waits for them; those he counted or
 * others, the sum is the same (N1).  Not so many that nobody else has a turn, and none whose
 * nursery asked for larger stacks. */
static void run_some_here(struct cc__nursery *n)
{
	enum { MOST = 64 };

	struct cc__child *child;
	struct cc__below below;

	if (n->order != 0)
		return;
	for (unsigned i = 0; i < MOST && n->uncounted > 0; i++) {
		int result;

		if ((child = cc__sched_child_here(n, &below)) == NULL)
			return;
		note(n, &n->children, result = run(n, child));
		cc__sched_child_ended(&below, child, result);
		n->uncounted--;
	}
}

static int verdict(const struct cc__nursery *n)
{
	/* Relaxed, all: after the tally. */
	const uint32_t marks = cc__load(&n->marks, CC__RELAXED);
	const int error = (int)cc__load(&n->error, CC__RELAXED);

	if (marks & CC__SUCCEEDED)
		return 0;
	if (error != 0 || !(marks & CC__CUT))
		return error;
	return cc__load(&n->scope.flag, CC__RELAXED) & CC__CANCEL_LATE ? ETIMEDOUT : ECANCELED;
}

/* The others have ended: those that would not by themselves. */
static void end_daemons(struct cc__nursery *n)
{
	/* Acquire: what those did that have ended, from count_out.  Only who is inside counts
	 * more in, and that is daemons. */
	if (cc__load(&n->daemons.word, CC__ACQUIRE) < CC__TALLY_ONE)
		return;
	cancel(n, 0);
	seal(n, &n->daemons, 0);
	wait_for(&n->daemons);
}

static __attribute__((noinline)) void end_all(struct cc__nursery *n)
{
	seal_children(n);
	wait_for(&n->children);
	cc__nursery_stop_alarm(n);
	end_daemons(n);
}

/* Nobody is inside but the owner, who leaves: nobody can come in any more, and there is
 * nothing to seal.  (A daemon could have had children while we look.) */
static bool is_empty(const struct cc__nursery *n)
{
	/* Acquire: what the children did, from count_out, and that they spawned daemons. */
	const uint64_t counted = cc__load(&n->children.word, CC__ACQUIRE);

	/* Relaxed: after that. */
	return counted + (uint64_t)n->uncounted * CC__TALLY_ONE == 0 &&
	       !(cc__load(&n->marks, CC__RELAXED) & CC__HAD_DAEMONS);
}

int cc_nursery_join(CCNursery *nursery)
{
	struct cc__nursery *n = inside_of(nursery);
	struct cc__member **slot;
	int err = check_owner(nursery);

	if (err != 0)
		return err;
	slot = cc__member_slot(n->inside.who);
	if (*slot != &n->inside)
		return EBUSY;
	if (!n->sealed)
		run_some_here(n);
	if (!n->sealed && is_empty(n))
		cc__nursery_close_channels(n);
	else
		end_all(n);
	if (cc__watched())
		cc__happens_after(n);	/* what the children did */
	close(n, slot);
	return verdict(n);
}

void cc_nursery_fini(CCNursery *nursery)
{
	CC__CHECK(!is_open(nursery), "nursery: destroyed while it is open; join it first");
}

/* ---- the scope form ---- */

static inline __attribute__((always_inline)) int
begin_scope(struct cc__nursery *n, int *error, const CCNurseryOptions *options, uintptr_t place)
{
	const CCNurseryOptions *o = options != NULL ? options : &no_options;
	int err;

	if (n->begun)
		return 0;
	n->begun = true;
	n->place = place;
	if (cc__forked())
		err = ENOTSUP;
	else
		err = options_good(o) ? open_for(n, o) : EINVAL;
	if (err == 0)
		n->error_out = error;
	else if (error != NULL)
		*error = err;
	return err == 0;
}

int cc_nursery_scope_begin(CCNursery *nursery, int *error, const CCNurseryOptions *options)
{
	return begin_scope(inside_of(nursery), error, options, CC__PLACE_HERE());
}

int cc_nursery_scope_at(CCNursery *nursery, int *error, const CCNurseryOptions *options,
                        const char *place)
{
	return begin_scope(inside_of(nursery), error, options, cc__place_of(place));
}

void cc_nursery_scope_end(CCNursery (*nursery)[1])
{
	struct cc__nursery *n = inside_of(*nursery);
	int *out = n->error_out, err;

	if (n->inside.who == NULL)
		return;		/* it was never open, or the body has joined it */
	err = cc_nursery_join(*nursery);
	CC__CHECK(n->inside.who == NULL, "nursery: a scope was left with an inner one open");
	if (out != NULL)
		*out = err;
}

/* ---- why ---- */

int cc_cancel_reason(void)
{
	struct cc__parker *self = cc__forked() ? NULL : cc__self();
	struct cc__member *m = self != NULL ? *cc__member_slot(self) : NULL;
	uint32_t flag;

	if (m == NULL || !cc__scope_cancelled(m->scope))
		return 0;
	flag = cc__load(&m->scope->flag, CC__RELAXED);	/* Relaxed: seen to be set */
	if (flag >> CC__CANCEL_REASON_SHIFT != 0)
		return (int)(flag >> CC__CANCEL_REASON_SHIFT);
	return flag & CC__CANCEL_LATE ? ETIMEDOUT : ECANCELED;
}

/* ---- the end of the process ---- */

#ifndef CC__EXPLORE
/* It holds what an open nursery of that owner holds. */
static __attribute__((noinline)) bool is_intact(const struct cc__nursery *n,
                                                const struct cc__parker *owner)
{
	return n->inside.who == owner && n->inside.scope == &n->scope &&
	       n->scope.root != NULL && n->sched != NULL && n->guard.in_vain == in_vain;
}

/* Runs in exit(), after main has returned or in the thread that called it.  A nursery of this
 * thread may be open for two reasons.  exit() was called inside of it: that is the program's
 * right, and the nursery is intact.  Or the function that opened it has returned without joining
 * it, main for example: then it lies below our frame, or under the frames of exit() itself, which
 * have overwritten it. */
__attribute__((destructor)) static void check_open_at_exit(void)
{
	struct cc__thread *t = cc__forked() ? NULL : cc__tls_get();
	const struct cc__member *m = t != NULL ? *cc__past_locals(&t->member) : NULL;
	const struct cc__nursery *n;
	char text[200];

	if (m == NULL)
		return;
	n = (const struct cc__nursery *)(const void *)((const char *)m -
	                                               offsetof(struct cc__nursery, inside));
	if (!cc__frame_returned(m) && is_intact(n, &t->parker))
		return;
	snprintf(text, sizeof text,
	         "nursery: the program ends with the nursery at %p open, and the function that "
	         "opened it has returned; join it there (cc_nursery_join, cc_nursery_scope)",
	         (const void *)n);
	cc__panic(__FILE__, __LINE__, text);
}
#endif
