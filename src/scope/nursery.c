/* nursery.c - children: counted in, run, counted out, joined. */
#include "scope/nursery.h"

#include <errno.h>

#include "chan/settings.h"
#include "os/fork.h"
#include "sched/local.h"
#include "wait/thread.h"

static struct cc__nursery *inside_of(CCNursery *n)
{
	return (struct cc__nursery *)(void *)n;
}

static bool is_open(CCNursery *n)
{
	return cc__nursery_open(n) != NULL;
}

/* ---- channels that it closes ---- */

struct cc__closing {
	struct cc__closing *next;
	CCChan *chan;
};

int cc_nursery_autoclose(CCNursery *nursery, CCChan *chan)
{
	struct cc__nursery *n = inside_of(nursery);
	struct cc__closing *c;

	if (cc__forked())
		return ENOTSUP;
	if (!is_open(nursery) || chan == NULL)
		return EINVAL;
	c = cc__default_allocator.alloc(cc__default_allocator.context, sizeof *c);
	if (c == NULL)
		return ENOMEM;
	c->chan = chan;
	cc__chan_guard(chan, &n->guard);
	c->next = cc__load(&n->closing, CC__RELAXED);	/* Relaxed: the exchange decides */
	/* Release: c, to the acquire in close_channels. */
	while (!cc__cas_weak(&n->closing, &c->next, c, CC__RELEASE, CC__RELAXED))
		continue;
	return 0;
}

static void close_channels(struct cc__nursery *n)
{
	/* Acquire: pairs with the release above.  There is one end, so nobody else takes. */
	struct cc__closing *c = cc__load(&n->closing, CC__ACQUIRE), *next;

	for (; c != NULL; c = next) {
		next = c->next;
		cc__chan_unguard(c->chan, &n->guard);
		cc_chan_close(c->chan);
		cc__default_allocator.free(cc__default_allocator.context, c, sizeof *c);
	}
}

/* ---- the tally ---- */

/* Sealed, and nobody is left (N2). */
static void be_over(struct cc__nursery *n, struct cc__tally *t)
{
	if (t == &n->children)
		close_channels(n);
	CC_POINT("nursery.before_over", n);
	/* Release: all that the children did, to the acquire in wait_for.  The last touch
	 * of n. */
	cc__store(&t->over, 1, CC__RELEASE);
}

static void count_out(struct cc__nursery *n, struct cc__tally *t)
{
	struct cc__parker *owner = n->owner;
	/* Release: what this child did; acquire: what those before it did, whom the last
	 * one speaks for.  Seq_cst: the drawing at N5. */
	const uint64_t left = cc__sub(&t->word, CC__TALLY_ONE, CC__SEQ_CST) - CC__TALLY_ONE;

	if (__builtin_expect(left - 1 >= CC__TALLY_ONE - 1, 1))
		return;	/* others are, or it may have more */
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

/* By somebody else than the owner, or for a daemon.  EINVAL: it is sealed, and the caller
 * outside; or nobody is left, and it is too late. */
static int count_in(struct cc__nursery *n, struct cc__tally *t)
{
	/* Relaxed, all: to become zero it has to be counted out again; who seals sees it, or
	 * is seen.  Not added and taken back: that would be a second end (N2). */
	uint64_t w = cc__load(&t->word, CC__RELAXED);

	do
		if ((w & CC__TALLY_SEALED) && (w < CC__TALLY_ONE || !is_inside(n)))
			return EINVAL;
	while (!cc__cas_weak(&t->word, &w, w + CC__TALLY_ONE, CC__RELAXED, CC__RELAXED));
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

	if (who != n->owner || n->sealed || *cc__member_slot(who) != &n->inside)
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

void cc__nursery_note(struct cc__nursery *n, int result)
{
	note(n, &n->children, result);
}

void cc__nursery_end(struct cc__nursery *n, struct cc__tally *t, int result)
{
	note(n, t, result);
	count_out(n, t);
}

/* ---- what a child runs ---- */

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
		cc__locals_end(slot);
	cc__member_leave(&m, slot);
	return result;
}

static int run_child(void *arg)
{
	struct cc__child *child = arg;
	struct cc__nursery *n = child->nursery;
	const int result = run(n, child);

	/* Relaxed, both: written by who lies below us on this stack, or not about us.  It is
	 * cleared while the frame is still ours, or else the next child in it were meant. */
	if (cc__load(&n->in_place, CC__RELAXED) == child) {
		cc__store(&n->in_place, NULL, CC__RELAXED);
		note(n, &n->children, result);
	} else {
		cc__nursery_end(n, &n->children, result);
	}
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

static int start(struct cc__nursery *n, const CCTaskOptions *options, cc_task_main *main,
                 const struct cc__child *child)
{
	CCTaskOptions o = {0};

	if (child->main == NULL || (options != NULL && options->start != 0))
		return EINVAL;
	if (__builtin_expect(n->migration != CC_MIGRATE_FREE, 0)) {
		if (options != NULL)
			o = *options;
		if (o.migration == CC_MIGRATE_FREE)
			o.migration = (CCMigration)n->migration;
		options = &o;
	}
	return cc__sched_spawn_child(n->sched, n->order, options, main, child);
}

/* What keeps a child from being counted; 0: nothing. */
static int refusal(CCNursery *nursery)
{
	if (cc__forked())
		return ENOTSUP;
	if (!is_open(nursery))
		return EINVAL;
	return cc__scope_cancelled(&inside_of(nursery)->scope) ? ECANCELED : 0;
}

int cc_nursery_spawn(CCNursery *nursery, const CCTaskOptions *options, cc_task_main *main,
                     void *arg)
{
	struct cc__nursery *n = inside_of(nursery);
	const struct cc__child child = {.main = main, .arg = arg, .nursery = n};
	int err = refusal(nursery);

	if (err != 0)
		return err;
	if (cc__self() == n->owner) {
		if (n->sealed)
			return EINVAL;
		n->uncounted++;
		if ((err = start(n, options, run_child, &child)) != 0)
			n->uncounted--;
		return err;
	}
	if ((err = count_in(n, &n->children)) == 0 &&
	    (err = start(n, options, run_child, &child)) != 0)
		count_out(n, &n->children);
	return err;
}

int cc_nursery_spawn_daemon(CCNursery *nursery, const CCTaskOptions *options, cc_task_main *main,
                            void *arg)
{
	struct cc__nursery *n = inside_of(nursery);
	const struct cc__child child = {
	    .main = main, .arg = arg, .nursery = (void *)((uintptr_t)n | 1)};
	int err = refusal(nursery);

	if (err == 0 && (err = count_in(n, &n->daemons)) == 0 &&
	    (err = start(n, options, run_daemon, &child)) != 0)
		count_out(n, &n->daemons);
	return err;
}

/* ---- its deadline ---- */

static void be_late(struct cc__nursery *n)
{
	/* Behind a shield it is the cancellation outside that is let in again. */
	cc__scope_cancel(&n->scope,
	                 CC__CANCEL | (n->scope.shield ? 0 : CC__CANCEL_LATE) |
	                     (uint32_t)ETIMEDOUT << CC__CANCEL_REASON_SHIFT,
	                 n->lazy);
}

static int ring(void *arg)
{
	struct cc__nursery *n = arg;

	be_late(n);
	cc__nursery_end(n, &n->daemons, 0);
	return 0;
}

/* A runtime that is ending has no time left for anybody. */
static int set_alarm(struct cc__nursery *n, cc_time deadline)
{
	const CCTaskOptions at = {.start = deadline};
	int err = ECANCELED;

	if (deadline == 0 || deadline == CC_FOREVER)
		return 0;
	if (deadline > cc__now()) {
		count_in(n, &n->daemons);
		if ((err = cc__sched_spawn(n->sched, &n->alarm, &at, ring, n)) != 0)
			count_out(n, &n->daemons);
	}
	if (err != ECANCELED)
		return err;
	be_late(n);
	return 0;
}

/* It never comes, or it is about to and is waited for like any daemon. */
static void stop_alarm(struct cc__nursery *n)
{
	if (n->alarm.id == 0)
		return;
	if (cc_task_recall(n->alarm) == 0)
		count_out(n, &n->daemons);
	else
		cc_task_detach(n->alarm);
	n->alarm = (CCTask){0};
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
	cc__nursery_free_arena(n);
	n->owner = NULL;
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

/* All of n is zero. */
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
	n->owner = self;
	n->policy = (uint8_t)o->policy;
	n->migration = (uint8_t)o->migration;
	n->lazy = o->lazy != 0;
	n->guard.in_vain = in_vain;
	n->scope.shield = o->shield != 0;
	slot = cc__member_slot(self);
	cc__scope_open(&n->scope, *slot != NULL ? (*slot)->scope : &home->root.scope);
	cc__member_enter(&n->inside, &n->scope, self, slot);
	if ((err = set_alarm(n, o->deadline)) != 0)
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
	*n = (struct cc__nursery){0};
	return open_for(n, o);
}

static int check_owner(CCNursery *nursery)
{
	if (cc__forked())
		return ENOTSUP;
	if (!is_open(nursery))
		return EINVAL;
	return cc__self() == inside_of(nursery)->owner ? 0 : EPERM;
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

	if (n->order != 0)
		return;
	for (unsigned i = 0; i < MOST && n->uncounted > 0; i++) {
		if ((child = cc__sched_take_child(n)) == NULL)
			return;
		/* Relaxed: for the child itself. */
		cc__store(&n->in_place, child, CC__RELAXED);
		cc__sched_run_taken(child);
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

int cc_nursery_join(CCNursery *nursery)
{
	struct cc__nursery *n = inside_of(nursery);
	struct cc__member **slot;
	int err = check_owner(nursery);

	if (err != 0)
		return err;
	slot = cc__member_slot(n->owner);
	if (*slot != &n->inside)
		return EBUSY;
	if (!n->sealed)
		run_some_here(n);
	seal_children(n);
	wait_for(&n->children);
	stop_alarm(n);
	end_daemons(n);
	close(n, slot);
	return verdict(n);
}

void cc_nursery_fini(CCNursery *nursery)
{
	CC__CHECK(!is_open(nursery), "nursery: destroyed while it is open; join it first");
}

/* ---- the scope form ---- */

int cc_nursery_scope_begin(CCNursery *nursery, int *error, const CCNurseryOptions *options)
{
	struct cc__nursery *n = inside_of(nursery);
	const CCNurseryOptions *o = options != NULL ? options : &no_options;
	int err;

	if (n->begun)
		return 0;
	n->begun = true;
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

void cc_nursery_scope_end(CCNursery (*nursery)[1])
{
	struct cc__nursery *n = inside_of(*nursery);
	int *out = n->error_out, err;

	if (n->owner == NULL)
		return;		/* it was never open, or the body has joined it */
	err = cc_nursery_join(*nursery);
	CC__CHECK(n->owner == NULL, "nursery: a scope was left with an inner one open");
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
