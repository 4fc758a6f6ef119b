/* ring_point_test.c - the races of the ring door one by one: somebody is held at a race point
 * while the other side does its worst. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "domains.h"
#include "points.h"

#include "os/trace.h"

static CCRuntime *rt;

struct scene {
	struct world w;
	CCStrand *s;
	struct waiting x;
};

static void scene_open(struct scene *o)
{
	rt = test_runtime_of(2);
	world_open(&o->w);
	o->s = joined(o->w.d);
}

static void scene_close(struct scene *o)
{
	CHECK_EQ(cc_domain_leave(o->s), 0);
	world_close(&o->w);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

static CCCapSubmission park_here(const struct scene *o)
{
	return park_entry(o->w.space, o->s, o->w.word, 0, CC_CAP_NEVER);
}

static struct cc__node *node_of(struct scene *o)
{
	return &o->x.strand->strand->node;
}

/* ---- something in a thread of its own, to be held on its way ---- */

struct helper {
	void (*call)(struct scene *o);
	struct scene *o;
	cc__a32 done;
	pthread_t thread;
};

static void *helper_main(void *arg)
{
	struct helper *h = arg;

	h->call(h->o);
	cc__store(&h->done, 1, CC__RELEASE);
	return NULL;
}

static void help(struct helper *h, struct scene *o, void (*call)(struct scene *o))
{
	*h = (struct helper){.call = call, .o = o};
	CHECK_EQ(pthread_create(&h->thread, NULL, helper_main, h), 0);
}

static void help_join(struct helper *h)
{
	CHECK_EQ(pthread_join(h->thread, NULL), 0);
}

static void do_unmap(struct scene *o)
{
	CHECK_EQ(cc_domain_unmap(o->w.d, o->w.word), 0);
}

static void do_renew(struct scene *o)
{
	CHECK_EQ(cc_domain_renew(o->w.d), 0);
}

static void do_end(struct scene *o)
{
	CHECK_EQ(cc_domain_end(o->w.d, o->x.entry.owner), 0);
}

/* One that is to be counted; and one that must not be. */
static void do_wake(struct scene *o)
{
	CHECK_EQ(cc__space_wake(&o->w.d->space, NULL, 0, (uintptr_t)o->w.word, 9), 1);
}

static void do_wake_in_vain(struct scene *o)
{
	CHECK_EQ(cc__space_wake(&o->w.d->space, NULL, 0, (uintptr_t)o->w.word, 9), 0);
}

/* ---- mappings ---- */

/* Between the check of the mapping and the read of the word nobody takes it away. */
TEST(unmap_waits_for_a_wait_that_has_been_checked)	/* covers: PRK-49/f, PRK-112/f */
{
	struct scene o;
	struct helper h;
	struct point *p;

	NEED_POINTS();
	scene_open(&o);
	p = point_hold("space.checked_under_lock", NULL);
	o.x = (struct waiting){.d = o.w.d, .entry = park_here(&o)};
	sleeper_start(&o.x.s, rt, THREAD, waiting_main, &o.x);
	point_until_held(p);
	help(&h, &o, do_unmap);
	for (int i = 0; i < 100; i++) {
		CHECK_EQ(cc__load(&h.done, CC__ACQUIRE), 0);
		sched_yield();
	}
	point_release(p);
	help_join(&h);
	/* It was listed under the mapping that it was checked for, and went with it. */
	CHECK_EQ(pop(o.w.d, NULL), CC_PARK_INTERRUPTED);
	sleeper_join(&o.x.s);
	scene_close(&o);
}

/* The generation has changed, the old waiter is still listed: the new one does not reach it,
 * and its address is not to be had. */
TEST(stale_waiter_sees_nothing_of_what_comes_later)	/* covers: PRK-23/f */
{
	struct scene o;
	struct helper h;
	struct point *p;

	NEED_POINTS();
	scene_open(&o);
	start_waiting(&o.x, rt, FIBER, o.w.d, park_here(&o));
	p = point_hold("space.before_drain", &o.w.d->space);
	help(&h, &o, do_renew);
	point_until_held(p);
	do_wake_in_vain(&o);
	CHECK_EQ(cc_domain_map(o.w.d, o.w.word, 4, CC_CAP_READ), EEXIST);
	CHECK_EQ(result_of(o.s, park_entry(o.w.space, o.s, o.w.word, 0, 0)), CC_CAP_E_FAULT);
	CHECK_EQ(ledger(o.w.d).waits, 1);
	point_release(p);
	help_join(&h);
	CHECK_EQ(pop(o.w.d, NULL), CC_PARK_INTERRUPTED);
	CHECK_EQ(cc_domain_map(o.w.d, o.w.word, 4, CC_CAP_READ), 0);
	sleeper_join(&o.x.s);
	scene_close(&o);
}

/* ---- strands ---- */

/* Gone, but not taken off yet: a wake drops him without a word and does not count him. */
TEST(stale_waiter_is_dropped_by_a_wake)	/* covers: PRK-60/f */
{
	struct scene o;
	struct helper h;
	struct point *p;

	NEED_POINTS();
	scene_open(&o);
	start_waiting(&o.x, rt, FIBER, o.w.d, park_here(&o));
	p = point_hold("node.closed_under_lock", node_of(&o));
	help(&h, &o, do_end);
	point_until_held(p);
	CHECK_EQ(ledger_promised(o.w.d), 1);
	do_wake_in_vain(&o);
	CHECK_EQ(ledger_promised(o.w.d), 0);
	point_release(p);
	help_join(&h);
	sleeper_join(&o.x.s);
	CHECK_EQ(o.x.entered, CC_CAP_E_GONE);
	CHECK_EQ(pop(o.w.d, NULL), NOTHING);
	scene_close(&o);
}

/* When the end of a strand has been told, its waiter is off, though its record is kept and
 * its thread has not run yet. */
TEST(ended_strand_is_on_no_list)	/* covers: PRK-66/f */
{
	struct scene o;
	struct point *p;

	NEED_POINTS();
	scene_open(&o);
	start_waiting(&o.x, rt, FIBER, o.w.d, park_here(&o));
	p = point_hold("wait.after_park", NULL);
	do_end(&o);
	point_until_held(p);
	CHECK(!node_of(&o)->sleeper.listed);
	CHECK_EQ(ledger_promised(o.w.d), 0);
	CHECK_EQ(ledger(o.w.d).strands, 2);
	do_wake_in_vain(&o);
	point_release(p);
	sleeper_join(&o.x.s);
	scene_close(&o);
}

struct twice {
	struct scene *o;
	CCStrand *strand;
	cc__a32 first, id;
	int results[2];
	struct sleeper s;
};

/* The same thread, twice a strand in the same place. */
static int twice_main(void *arg)
{
	struct twice *t = arg;

	for (int i = 0; i < 2; i++) {
		CCStrand *s = joined(t->o->w.d);
		CCCapSubmission e = park_here(t->o);

		t->o->x.strand = s;
		e.owner = cc_strand_id(s);
		push(t->o->w.d, e);
		cc__store(i == 0 ? &t->first : &t->id, e.owner, CC__RELEASE);
		t->results[i] = cc_cap_enter(s, 1, CC_CAP_NEVER);
		cc_domain_leave(s);
	}
	return 0;
}

static void count_call(const void *object, void *arg)
{
	(void)object;
	cc__add((cc__a32 *)arg, 1, CC__ACQ_REL);
}

/* Taken off, but not woken yet; it wakes by itself, goes, and waits again as another: the old
 * wake does not end the new wait. */
TEST(a_late_wake_does_not_reach_who_came_after)	/* covers: PRK-58/f */
{
	struct scene o;
	struct helper h;
	struct twice t = {.o = &o};
	struct point *p, *claimed;
	cc__a32 claims = {0};
	uint32_t id;

	NEED_POINTS();
	scene_open(&o);
	sleeper_start(&t.s, rt, THREAD, twice_main, &t);
	TEST_UNTIL((id = cc__load(&t.first, CC__ACQUIRE)) != 0 && is_waiting(o.w.d, id));
	p = point_hold("wake.before_flush", NULL);
	help(&h, &o, do_wake);
	point_until_held(p);
	CHECK_EQ(pop(o.w.d, NULL), CC_PARK_WOKEN);
	until_parked(&t.s);
	cc__unpark(sleeper_who(&t.s));
	TEST_UNTIL((id = cc__load(&t.id, CC__ACQUIRE)) != 0 && is_waiting(o.w.d, id));
	CHECK_EQ((id - cc__load(&t.first, CC__ACQUIRE)) % CC__SLOTS_MAX, 0);
	CHECK(id != cc__load(&t.first, CC__ACQUIRE));
	until_parked(&t.s);
	claimed = point_call("wake.claimed", sleeper_who(&t.s), count_call, &claims);
	point_release(p);
	help_join(&h);
	CHECK(!point_passed(claimed));	/* not even to look and sleep on */
	CHECK_EQ(cc__load(&claims, CC__ACQUIRE), 0);
	for (int i = 0; i < 100; i++) {
		CHECK(is_waiting(o.w.d, id));
		sched_yield();
	}
	CHECK_EQ(pop(o.w.d, NULL), NOTHING);
	do_wake(&o);
	sleeper_join(&t.s);
	CHECK_EQ(pop(o.w.d, NULL), CC_PARK_WOKEN);
	scene_close(&o);
}

/* ---- authority ---- */

/* A wake that has found its space goes through with it, though the handle is gone. */
TEST(resolved_wake_outlives_the_handle)	/* covers: PRK-77/f */
{
	struct scene o;
	struct helper h;
	struct point *p;
	CCCapSubmission e;

	NEED_POINTS();
	scene_open(&o);
	start_waiting(&o.x, rt, FIBER, o.w.d, park_here(&o));
	p = point_hold("space.wake_resolved", NULL);
	help(&h, &o, do_wake);
	point_until_held(p);
	CHECK_EQ(cc_domain_release(o.w.d, o.w.space), 0);
	CHECK_EQ(result_of(o.s, unpark_entry(o.w.space, o.w.word, 1)), CC_CAP_E_CAP);
	point_release(p);
	help_join(&h);
	sleeper_join(&o.x.s);
	CHECK_EQ(pop(o.w.d, NULL), CC_PARK_WOKEN);
	scene_close(&o);

	/* Its time comes all the same; the wait is held before it sleeps. */
	scene_open(&o);
	e = park_here(&o);
	e.dependency = CC_MSEC;
	p = point_hold("space.checked_under_lock", NULL);
	o.x = (struct waiting){.d = o.w.d, .entry = e};
	sleeper_start(&o.x.s, rt, THREAD, waiting_main, &o.x);
	point_until_held(p);
	CHECK_EQ(cc_domain_release(o.w.d, o.w.space), 0);
	point_release(p);
	sleeper_join(&o.x.s);
	CHECK_EQ(pop(o.w.d, NULL), CC_PARK_TIMED_OUT);
	scene_close(&o);
}

/* ---- entries ---- */

struct forger {
	CCCapRing *ring;
	CCCapSubmission forged;
	uint32_t entry;
};

static void forge(const void *ring, void *arg)
{
	struct forger *f = arg;

	(void)ring;
	cc_cap_submissions(f->ring)[f->entry] = f->forged;
}

/* What the user writes after the copy was made is not seen. */
TEST(entries_are_copied_once)	/* covers: PRK-95/f */
{
	struct scene o;

	NEED_POINTS();
	scene_open(&o);
	for (uint32_t i = 0; i < 8; i++) {
		struct forger f = {.ring = cc_domain_ring(o.w.d), .entry = i};
		CCCapSubmission e = park_entry(o.w.space, o.s, o.w.word, 0, 0);

		/* All of it, or one field. */
		f.forged = e;
		if (i == 0)
			memset(&f.forged, 0xff, sizeof f.forged);
		else if (i == 1)
			f.forged.length = 1;
		else if (i == 2)
			f.forged.dependency = CC_CAP_NEVER;
		else if (i == 3)
			f.forged.address = 4;
		else if (i == 4)
			f.forged.cap = 0;
		else if (i == 5)
			f.forged.owner = 0;
		else if (i == 6)
			f.forged.opcode = CC_CAP_OP_NOP;
		else
			f.forged.user_data = 0;
		point_call("ring.copied_under_lock", NULL, forge, &f);
		CHECK_EQ(result_of(o.s, e), CC_PARK_TIMED_OUT);
	}
	scene_close(&o);
}

/* ---- what is held when ---- */

static cc__a32 reads, wrong;

/* Steps 4 to 6: the space is locked, then the node, then the bucket; and then it reads. */
static void look_at_locks(const void *node, void *arg)
{
	const struct cc__lock_stack *l = cc__lock_stack();
	const struct cc__node *n = node;

	(void)arg;
	cc__add(&reads, 1, CC__RELAXED);
	if (l->depth != 3 || l->held[0].lock != &n->space->lock || l->held[1].lock != &n->lock ||
	    l->held[2].rank != CC__RANK_WAITQ)
		cc__add(&wrong, 1, CC__RELAXED);
}

TEST(word_is_read_with_space_and_bucket_held)	/* covers: PRK-50/t, PRK-49/f */
{
	struct scene o;

	NEED_POINTS();
#ifndef CC__DEBUG
	SKIP("no lock stack in this build");
#endif
	scene_open(&o);
	for (int i = 0; i < 3; i++) {
		point_call("node.before_read_under_lock", NULL, look_at_locks, NULL);
		CHECK_EQ(result_of(o.s, park_entry(o.w.space, o.s, o.w.word, i == 2, i == 0 ? 0 : 1)),
		         i == 2 ? CC_PARK_VALUE_MISMATCH : CC_PARK_TIMED_OUT);
	}
	CHECK_EQ(cc__load(&reads, CC__RELAXED), 3);
	CHECK_EQ(cc__load(&wrong, CC__RELAXED), 0);
	scene_close(&o);
}

/* The event log of who is listed, and of what is held when somebody is made runnable. */
static struct {
	CC__ATOMIC(const void *) listed;
	cc__a32 lists, parks, enqueues, under_lock;
} seen;

static void on_event(enum cc__event kind, const void *who, uint64_t a, uint64_t b)
{
	if (kind == CC__EV_LIST) {
		cc__store(&seen.listed, who, CC__RELAXED);
		cc__add(&seen.lists, 1, CC__RELAXED);
	} else if (kind == CC__EV_MOVE && cc__word_state(b) == CC__PARKED) {
		if (who == cc__load(&seen.listed, CC__RELAXED))
			cc__add(&seen.parks, 1, CC__RELAXED);
	} else if (kind == CC__EV_ENQUEUE) {
		cc__add(&seen.enqueues, 1, CC__RELAXED);
		if (a >> 8 != 0)
			cc__add(&seen.under_lock, 1, CC__RELAXED);
	}
}

/* Step 10: what is recorded of the wait, and that this thread alone sleeps; and the wake comes
 * when no lock is held. */
TEST(one_strand_is_listed_and_woken_with_nothing_held)	/* covers: PRK-53/t, PRK-102/t */
{
	struct scene o;
	const struct cc__node *n;

	scene_open(&o);
	memset(&seen, 0, sizeof seen);
	cc__watch_log(on_event);
	cc__watch(CC__WATCH_LOG);
	start_waiting(&o.x, rt, FIBER, o.w.d, park_here(&o));
	until_parked(&o.x.s);
	n = node_of(&o);
	TEST_UNTIL(cc__load(&seen.parks, CC__RELAXED) == 1);	/* logged after the move */
	CHECK_EQ(cc__load(&seen.lists, CC__RELAXED), 1);
	CHECK(cc__load(&seen.listed, CC__RELAXED) == sleeper_who(&o.x.s));
	CHECK(n->sleeper.waiter->who == sleeper_who(&o.x.s));
	CHECK(n->sleeper.key.place == (uintptr_t)o.w.word && n->id == o.x.entry.owner);
	CHECK(o.x.strand->strand->user_data == o.x.entry.user_data);
	do_wake(&o);
	sleeper_join(&o.x.s);
	cc__watch(0);
	CHECK(cc__load(&seen.enqueues, CC__RELAXED) > 0);
	CHECK_EQ(cc__load(&seen.under_lock, CC__RELAXED), 0);
	CHECK_EQ(pop(o.w.d, NULL), CC_PARK_WOKEN);
	scene_close(&o);
}

/* However often its thread is woken for no reason. */
TEST(woken_means_woken_in_the_ring)	/* covers: PRK-100/f, RES-28/f */
{
	struct scene o;

	scene_open(&o);
	ghost_begin();
	for (int i = 0; i < 100; i++) {
		start_waiting(&o.x, rt, i % 2 == 0 ? FIBER : THREAD, o.w.d, park_here(&o));
		for (int k = 0; k < 20; k++)
			CHECK(is_waiting(o.w.d, o.x.entry.owner));
		CHECK_EQ(pop(o.w.d, NULL), NOTHING);
		do_wake(&o);
		sleeper_join(&o.x.s);
		CHECK_EQ(pop(o.w.d, NULL), CC_PARK_WOKEN);
	}
	ghost_end();
	scene_close(&o);
}

/* ---- broken invariants ---- */

static struct scene doomed;

static void wait_twice(void *arg)
{
	const struct cc__node_wait w = {
	    .address = (uintptr_t)doomed.w.word, .deadline = CC_FOREVER};

	(void)arg;
	scene_open(&doomed);
	start_waiting(&doomed.x, rt, FIBER, doomed.w.d, park_here(&doomed));
	cc__node_wait(node_of(&doomed), &w);
}

static void wake_without_credit(void *arg)
{
	(void)arg;
	scene_open(&doomed);
	start_waiting(&doomed.x, rt, FIBER, doomed.w.d, park_here(&doomed));
	doomed.w.d->ring.promised = 0;
	cc__space_wake(&doomed.w.d->space, NULL, 0, (uintptr_t)doomed.w.word, 1);
}

static void dies_with(void (*fn)(void *), const char *words)
{
	static struct test_death death;

	CHECK_EQ(test_dies(fn, NULL, &death), 0);
	if (!CHECK(WIFSIGNALED(death.status) && WTERMSIG(death.status) == SIGABRT &&
	           strstr(death.text, words) != NULL))
		printf("%s\n", death.text);
}

TEST(a_strand_waits_for_one_thing)	/* covers: PRK-69/d */
{
	dies_with(wait_twice, "one wait at a time");
}

TEST(no_waiter_goes_without_its_credit)	/* covers: PRK-85/d */
{
	dies_with(wake_without_credit, "a completion that was not promised");
}

/* ---- the order of locks ---- */

static struct cc__lock pair[2];
static enum cc__rank ranks[2];

static void take_both(void *arg)
{
	(void)arg;
	cc__lock(&pair[0], ranks[0]);
	cc__lock(&pair[1], ranks[1]);
}

/* Every pair the wrong way round dies.  The right way round is what all these tests run
 * with, with the same checks on. */
TEST(locks_are_taken_in_one_order)	/* covers: PRK-106/l */
{
	static const enum cc__rank order[] = {CC__RANK_RING,  CC__RANK_CAPS, CC__RANK_SPACE,
	                                      CC__RANK_NODE,  CC__RANK_WAITQ, CC__RANK_DONE,
	                                      CC__RANK_TIMER, CC__RANK_POOL};

#ifndef CC__DEBUG
	SKIP("no lock stack in this build");
#endif
	for (size_t i = 0; i + 1 < sizeof order / sizeof *order; i++) {
		ranks[0] = order[i + 1];
		ranks[1] = order[i];
		dies_with(take_both, "LOCK-ORDER");
	}
}
