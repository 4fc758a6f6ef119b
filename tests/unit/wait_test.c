/* wait_test.c - sleeping and waking, in fibers and in OS threads: waitables,
 * bare queues, deadlines, cancellation, groups, flags and joins.
 * ctest-label: valgrind */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sleepers.h"
#include "waitables.h"

static CCRuntime *rt;

#define FOR_EACH_KIND(kind) \
	for (enum kind kind = (rt = test_runtime(), FIBER); \
	     kind < KINDS || (CHECK_EQ(cc_runtime_free(rt), 0), false); kind++)

/* A wait of one sleeper on one object. */
struct one {
	struct sem sem;
	struct cc__waitq q;
	struct cc__waiter w;
	const struct cc__waitable_ops *ops;	/* sem_ops if NULL */
	cc_time deadline;
	cc__a32 cancel;
	bool can_cancel;
	uint64_t before, word;			/* its own, before and after the wait */
	enum cc__state state;
};

static int wait_on_sem(void *arg)
{
	struct one *o = arg;
	int err;

	o->w = (struct cc__waiter){.cancel = o->can_cancel ? &o->cancel : NULL};
	o->before = word_of(cc__self());
	err = cc__fiber_wait(&o->sem, o->ops != NULL ? o->ops : &sem_ops, &o->w, o->deadline);
	o->word = word_of(cc__self());
	return err;
}

static int wait_on_queue(void *arg)
{
	struct one *o = arg;
	int err;

	o->w = (struct cc__waiter){.cancel = o->can_cancel ? &o->cancel : NULL};
	cc__lock(&o->q.lock, CC__RANK_WAITQ);
	err = cc__wait(&o->q, &o->w, o->deadline);
	o->word = word_of(cc__self());
	return err;
}

static struct one *one(struct one *o)
{
	*o = (struct one){.deadline = CC_FOREVER};
	return o;
}

static void check_owned(const struct one *o)
{
	CHECK_EQ(cc__word_state(o->word), CC__OWNED);
}

/* ---- waitables ---- */

TEST(what_can_be_completed_is_not_waited_for)	/* covers: LIF-20/u, LIF-29/u, LIF-78/u */
{
	FOR_EACH_KIND(kind) {
		struct one o;
		struct sleeper s;

		one(&o)->sem.count = 1;
		sleeper_start(&s, rt, kind, wait_on_sem, &o);
		CHECK_EQ(sleeper_join(&s), 0);
		CHECK_EQ(counted(&o.sem.tries), 1);
		CHECK_EQ(counted(&o.sem.publications), 0);
		CHECK_EQ(o.sem.count, 0);
		CHECK_EQ(cc__word_ticket(o.word), cc__word_ticket(o.before));	/* no wait has begun */
		check_owned(&o);
	}
}

static bool try_alone(void *object, struct cc__waiter *w)
{
	const struct cc__parker *self = cc__self();

	/* Never PARKING while it tries. */
	CHECK_EQ(state_of(self), CC__OWNED);
	return sem_try(object, w);
}

TEST(try_complete_runs_before_the_park_begins)	/* covers: LIF-20/u */
{
	static const struct cc__waitable_ops ops = {try_alone, sem_publish, sem_unpublish};

	FOR_EACH_KIND(kind) {
		struct one o;
		struct sleeper s;

		one(&o)->ops = &ops;
		sleeper_start(&s, rt, kind, wait_on_sem, &o);
		until_parked(&s);
		sem_post(&o.sem);
		CHECK_EQ(sleeper_join(&s), 0);
		CHECK_EQ(counted(&o.sem.tries), 1);
	}
}

TEST(wait_without_time_does_not_park)
{
	FOR_EACH_KIND(kind) {
		struct one o;
		struct sleeper s;

		one(&o)->deadline = CC_NOW;
		sleeper_start(&s, rt, kind, wait_on_sem, &o);
		CHECK_EQ(sleeper_join(&s), EAGAIN);
		CHECK_EQ(counted(&o.sem.publications), 0);
		check_owned(&o);
		sleeper_start(&s, rt, kind, wait_on_queue, &o);
		CHECK_EQ(sleeper_join(&s), EAGAIN);
		CHECK(!on_list(&o.q));
		check_owned(&o);
	}
}

/* Somebody closes, or posts, between the try and the publication. */
static bool publish_after_close(void *object, struct cc__waiter *w)
{
	struct sem *s = object;

	CHECK(state_of(w->who) == CC__PARKING || state_of(w->who) == CC__NOTIFIED);
	cc__lock(&s->q.lock, CC__RANK_WAITQ);
	s->closed = true;
	cc__unlock(&s->q.lock);
	return sem_publish(object, w);
}

static bool publish_after_post(void *object, struct cc__waiter *w)
{
	sem_post(object);
	return sem_publish(object, w);
}

TEST(publication_that_is_refused_leaves_the_sleeper_running)	/* covers: LIF-31/u, LIF-78/u */
{
	static const struct cc__waitable_ops closed = {sem_try, publish_after_close, sem_unpublish};
	static const struct cc__waitable_ops posted = {sem_try, publish_after_post, sem_unpublish};

	FOR_EACH_KIND(kind) {
		struct one o;
		struct sleeper s;

		one(&o)->ops = &closed;
		sleeper_start(&s, rt, kind, wait_on_sem, &o);
		CHECK_EQ(sleeper_join(&s), EPIPE);
		check_owned(&o);
		CHECK(!on_list(&o.sem.q));
		one(&o)->ops = &posted;
		sleeper_start(&s, rt, kind, wait_on_sem, &o);
		CHECK_EQ(sleeper_join(&s), 0);
		CHECK_EQ(o.sem.count, 0);
		check_owned(&o);
	}
}

TEST(post_wakes_and_the_reason_says_data)	/* covers: LIF-36/u */
{
	FOR_EACH_KIND(kind) {
		struct one o;
		struct sleeper s;

		sleeper_start(&s, rt, kind, wait_on_sem, one(&o));
		until_parked(&s);
		sem_post(&o.sem);
		CHECK_EQ(sleeper_join(&s), 0);
		CHECK_EQ(cc__load(&o.w.reason, CC__ACQUIRE), CC__REASON_DATA);
		CHECK_EQ(o.sem.count, 0);
		check_owned(&o);
	}
}

TEST(close_wakes_with_its_own_reason)	/* covers: SCH-38/u */
{
	FOR_EACH_KIND(kind) {
		struct one o;
		struct sleeper s;

		sleeper_start(&s, rt, kind, wait_on_sem, one(&o));
		until_parked(&s);
		sem_close(&o.sem);
		CHECK_EQ(sleeper_join(&s), EPIPE);
		CHECK_EQ(cc__load(&o.w.reason, CC__ACQUIRE), CC__REASON_CLOSE);
		/* Acted upon, not withdrawn. */
		CHECK_EQ(counted(&o.sem.withdrawals), 0);
	}
}

TEST(unpublish_may_be_repeated)	/* covers: LIF-23/u */
{
	struct sem s = {0};
	struct cc__waiter a = {.who = cc__self()}, b = {.who = cc__self()};

	CHECK(sem_publish(&s, &a));
	CHECK(sem_publish(&s, &b));
	CHECK(sem_publish(&s, &a));	/* listed already: stays where it is */
	CHECK(s.q.head == &a);
	CHECK(sem_unpublish(&s, &a));
	CHECK(!sem_unpublish(&s, &a));
	CHECK(s.q.head == &b);
	CHECK(sem_unpublish(&s, &b));
	CHECK(!sem_unpublish(&s, &b));
	CHECK(s.q.head == NULL);
}

/* ---- the queue ---- */

enum { CROWD = 40 };

struct crowd {
	struct cc__waitq q;
	struct sleeper s[CROWD];
	struct cc__waiter w[CROWD];
	cc__a32 next;			/* of the order in which they wake */
	uint32_t order[CROWD];
};

struct member {
	struct crowd *c;
	unsigned number;
};

static int join_crowd(void *arg)
{
	struct member *m = arg;
	struct crowd *c = m->c;
	int result;

	cc__lock(&c->q.lock, CC__RANK_WAITQ);
	result = cc__wait(&c->q, &c->w[m->number], CC_FOREVER);
	c->order[m->number] = cc__add(&c->next, 1, CC__ACQ_REL);
	return result;
}

/* n sleepers in the order of their numbers; kind KINDS: in turns. */
static void gather(struct crowd *c, struct member *m, unsigned n, enum kind kind)
{
	*c = (struct crowd){0};
	for (unsigned i = 0; i < n; i++) {
		m[i] = (struct member){c, i};
		sleeper_start(&c->s[i], rt, kind < KINDS ? kind : (enum kind)(i % KINDS),
		              join_crowd, &m[i]);
		until_parked(&c->s[i]);
	}
}

TEST(first_in_is_first_out)
{
	FOR_EACH_KIND(kind) {
		struct crowd c;
		struct member m[5];

		gather(&c, m, 5, kind);
		for (unsigned i = 0; i < 5; i++) {
			CHECK(cc__wake_one(&c.q, CC__REASON_DATA, 100 + (int)i));
			CHECK_EQ(sleeper_join(&c.s[i]), 100 + (int)i);
			CHECK_EQ(c.order[i], i);
		}
		CHECK(!cc__wake_one(&c.q, CC__REASON_DATA, 0));
	}
}

TEST(who_goes_back_to_the_front_is_woken_first)
{
	struct cc__waitq q = {0};
	struct cc__waiter w[4] = {{0}};

	cc__waitq_append(&q, &w[0]);
	cc__waitq_append(&q, &w[1]);
	cc__waitq_prepend(&q, &w[2]);
	cc__waitq_append(&q, &w[3]);
	CHECK(q.head == &w[2] && w[2].next == &w[0] && w[0].next == &w[1] && w[1].next == &w[3]);
	CHECK(q.head->prev == &w[3] && w[3].prev == &w[1] && w[3].next == &w[2]);
	cc__waitq_remove(&q, &w[0]);
	cc__waitq_remove(&q, &w[2]);
	CHECK(q.head == &w[1] && w[1].next == &w[3] && w[3].next == &w[1] && w[1].prev == &w[3]);
	cc__waitq_remove(&q, &w[3]);
	cc__waitq_remove(&q, &w[1]);
	CHECK(q.head == NULL);
	for (int i = 0; i < 4; i++)
		CHECK(w[i].next == NULL && w[i].prev == NULL);
	cc__waitq_prepend(&q, &w[0]);
	CHECK(q.head == &w[0] && w[0].next == &w[0] && w[0].prev == &w[0]);
}

TEST(wake_all_wakes_more_than_a_batch)	/* covers: RES-22/u */
{
	_Static_assert(CROWD > 2 * CC__BATCH_MAX, "several batches");
	struct crowd c;
	struct member m[CROWD];

	rt = test_runtime();
	gather(&c, m, CROWD, KINDS);
	cc__wake_all(&c.q, CC__REASON_CLOSE, EPIPE);
	for (int i = 0; i < CROWD; i++) {
		CHECK_EQ(sleeper_join(&c.s[i]), EPIPE);
		CHECK_EQ(cc__load(&c.w[i].reason, CC__ACQUIRE), CC__REASON_CLOSE);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(wakes_are_made_after_unlock)	/* covers: SCH-41/u, RES-22/u, RES-56/u */
{
	FOR_EACH_KIND(kind) {
		struct cc__batch batch = {0};
		struct crowd c;
		struct member m[3];

		gather(&c, m, 3, kind);
		cc__lock(&c.q.lock, CC__RANK_WAITQ);
		while (cc__waitq_take(&c.q, &batch, CC__REASON_DATA, 7))
			continue;
		/* Decided, copied, off the list, and all still asleep. */
		CHECK_EQ(batch.count, 3);
		CHECK(c.q.head == NULL);
		for (int i = 0; i < 3; i++) {
			CHECK(batch.wake[i].who == sleeper_who(&c.s[i]));
			CHECK_EQ(batch.wake[i].ticket, cc__word_ticket(word_of(batch.wake[i].who)));
			CHECK_EQ(state_of(batch.wake[i].who), CC__PARKED);
		}
		cc__unlock(&c.q.lock);
		for (int i = 0; i < 3; i++)
			CHECK_EQ(state_of(batch.wake[i].who), CC__PARKED);
		cc__batch_flush(&batch);
		CHECK_EQ(batch.count, 0);
		for (int i = 0; i < 3; i++)
			CHECK_EQ(sleeper_join(&c.s[i]), 7);
	}
}

TEST(signal_that_is_not_used_goes_to_the_next)
{
	FOR_EACH_KIND(kind) {
		struct crowd c;
		struct member m[3];

		gather(&c, m, 3, kind);
		CHECK(cc__wake_one(&c.q, CC__REASON_SIGNAL, 0));
		CHECK_EQ(sleeper_join(&c.s[0]), 0);
		cc__pass_on(&c.q, &c.w[0]);
		CHECK_EQ(sleeper_join(&c.s[1]), 0);
		CHECK_EQ(cc__load(&c.w[1].reason, CC__ACQUIRE), CC__REASON_SIGNAL);
		/* What is no signal is not passed on. */
		CHECK(cc__wake_one(&c.q, CC__REASON_DATA, 3));
		CHECK_EQ(sleeper_join(&c.s[2]), 3);
		c.w[0] = (struct cc__waiter){.who = cc__self()};
		cc__waitq_append(&c.q, &c.w[0]);
		cc__pass_on(&c.q, &c.w[2]);
		CHECK(c.q.head == &c.w[0]);
	}
}

/* ---- the end of a wait that nobody decides ---- */

TEST(deadline_ends_a_wait_and_takes_the_waiter_off)	/* covers: SCH-38/u */
{
	FOR_EACH_KIND(kind) {
		struct one o;
		struct sleeper s;

		one(&o)->deadline = cc_now() + CC_MSEC;
		sleeper_start(&s, rt, kind, wait_on_sem, &o);
		CHECK_EQ(sleeper_join(&s), ETIMEDOUT);
		CHECK(cc_now() >= o.deadline);
		CHECK(!on_list(&o.sem.q));
		CHECK_EQ(cc__load(&o.w.reason, CC__ACQUIRE), CC__REASON_NONE);
		CHECK_EQ(counted(&o.sem.withdrawals), 1);
		check_owned(&o);
		one(&o)->deadline = cc_now() + CC_MSEC;
		sleeper_start(&s, rt, kind, wait_on_queue, &o);
		CHECK_EQ(sleeper_join(&s), ETIMEDOUT);
		CHECK(!on_list(&o.q));
	}
}

TEST(deadline_in_the_past_ends_the_wait)
{
	FOR_EACH_KIND(kind) {
		struct one o;
		struct sleeper s;

		one(&o)->deadline = cc_now() - CC_SEC;
		sleeper_start(&s, rt, kind, wait_on_sem, &o);
		CHECK_EQ(sleeper_join(&s), ETIMEDOUT);
		CHECK(!on_list(&o.sem.q));
	}
}

TEST(cancel_ends_a_wait)	/* covers: SCH-38/u */
{
	FOR_EACH_KIND(kind) {
		struct one o;
		struct sleeper s;
		struct cc__parker *who;

		one(&o)->can_cancel = true;
		sleeper_start(&s, rt, kind, wait_on_sem, &o);
		who = until_parked(&s);
		cc__store(&o.cancel, 1, CC__SEQ_CST);
		cc__unpark(who);
		CHECK_EQ(sleeper_join(&s), ECANCELED);
		CHECK(!on_list(&o.sem.q));
		check_owned(&o);
	}
}

TEST(cancel_before_the_wait_ends_it_at_once)
{
	FOR_EACH_KIND(kind) {
		struct one o;
		struct sleeper s;

		one(&o)->can_cancel = true;
		cc__init(&o.cancel, 1);
		sleeper_start(&s, rt, kind, wait_on_queue, &o);
		CHECK_EQ(sleeper_join(&s), ECANCELED);
		CHECK(!on_list(&o.q));
		check_owned(&o);
	}
}

TEST(unpark_alone_decides_nothing)	/* covers: SCH-31/f, SCH-40/u */
{
	FOR_EACH_KIND(kind) {
		struct one o;
		struct sleeper s;
		struct cc__parker *who;
		uint64_t ticket;

		sleeper_start(&s, rt, kind, wait_on_sem, one(&o));
		who = until_parked(&s);
		ticket = cc__word_ticket(word_of(who));
		for (unsigned i = 1; i <= 20; i++) {
			cc__unpark(who);
			/* It has looked again, and sleeps under the same ticket. */
			TEST_UNTIL(counted(&o.sem.publications) == i + 1);
			until_state(who, CC__PARKED);
			CHECK_EQ(cc__word_ticket(word_of(who)), ticket);
		}
		sem_post(&o.sem);
		CHECK_EQ(sleeper_join(&s), 0);
		CHECK_EQ(counted(&o.sem.withdrawals), 0);
	}
}

/* ---- wakes for another wait ---- */

struct twice {
	struct sem sem[2];
	uint64_t ticket[2];
	CC__ATOMIC(struct cc__parker *) who;
};

static int wait_twice(void *arg)
{
	struct twice *t = arg;
	int err = 0;

	for (int i = 0; i < 2 && err == 0; i++) {
		struct cc__waiter w = {0};

		err = cc__fiber_wait(&t->sem[i], &sem_ops, &w, CC_FOREVER);
		t->ticket[i] = cc__word_ticket(word_of(cc__self()));
	}
	return err;
}

TEST(wake_for_an_earlier_wait_is_not_heard)	/* covers: LIF-37/u, SCH-36/u, RES-27/u, RES-61/u */
{
	FOR_EACH_KIND(kind) {
		struct twice t = {0};
		struct sleeper s;
		struct cc__parker *who;
		uint64_t old, asleep;

		sleeper_start(&s, rt, kind, wait_twice, &t);
		who = until_parked(&s);
		old = cc__word_ticket(word_of(who));
		sem_post(&t.sem[0]);
		TEST_UNTIL(counted(&t.sem[1].publications) == 1);
		until_state(who, CC__PARKED);
		asleep = word_of(who);
		for (int i = 0; i < 1000; i++)
			cc__fiber_wake(who, old);
		CHECK_EQ(word_of(who), asleep);
		CHECK_EQ(counted(&t.sem[1].publications), 1);
		sem_post(&t.sem[1]);
		CHECK_EQ(sleeper_join(&s), 0);
		CHECK_EQ(t.ticket[0], old);
		CHECK_EQ(t.ticket[1] - t.ticket[0], CC__TICKET_ONE);
	}
}

/* ---- a flag ---- */

struct flag {
	cc__a32 flag;
	cc__a32 go;			/* main lets the sleeper go on */
	unsigned parks;
};

static int park_on_changed_flag(void *arg)
{
	struct flag *f = arg;
	const uint64_t before = word_of(cc__self());

	cc__park_if(&f->flag, 0);
	/* It was PARKING, it is not any more, and it has not slept. */
	CHECK_EQ(word_of(cc__self()) - before, CC__TICKET_ONE);
	return 0;
}

TEST(park_if_sees_a_flag_that_has_changed)	/* covers: SCH-32/u */
{
	FOR_EACH_KIND(kind) {
		struct flag f = {{1}, {0}, 0};
		struct sleeper s;

		sleeper_start(&s, rt, kind, park_on_changed_flag, &f);
		CHECK_EQ(sleeper_join(&s), 0);
	}
}

static int park_after_the_wake(void *arg)
{
	struct flag *f = arg;

	cc__store(&f->go, 1, CC__SEQ_CST);
	TEST_UNTIL(cc__load(&f->go, CC__SEQ_CST) == 2);
	while (cc__load(&f->flag, CC__SEQ_CST) == 0 || f->parks == 0) {
		f->parks++;
		cc__park_if(&f->flag, 0);
	}
	return 0;
}

TEST(unpark_of_one_who_runs_keeps_its_effect)	/* covers: SCH-35/u, SCH-40/u */
{
	FOR_EACH_KIND(kind) {
		struct flag f = {{0}, {0}, 0};
		struct sleeper s;
		struct cc__parker *who;

		sleeper_start(&s, rt, kind, park_after_the_wake, &f);
		who = sleeper_who(&s);
		TEST_UNTIL(cc__load(&f.go, CC__SEQ_CST) == 1);
		CHECK_EQ(state_of(who), CC__OWNED);
		cc__store(&f.flag, 1, CC__SEQ_CST);
		for (int i = 0; i < 3; i++)
			cc__unpark(who);	/* harmless, however often */
		CHECK_EQ(state_of(who), CC__OWNED);
		cc__store(&f.go, 2, CC__SEQ_CST);
		CHECK_EQ(sleeper_join(&s), 0);
		CHECK_EQ(f.parks, 1);
	}
}

static int park_until_changed(void *arg)
{
	struct flag *f = arg;

	while (cc__load(&f->flag, CC__SEQ_CST) == 0) {
		f->parks++;
		cc__park_if(&f->flag, 0);
	}
	return 0;
}

TEST(change_and_unpark_wake_the_sleeper)	/* covers: SCH-30/u */
{
	FOR_EACH_KIND(kind) {
		struct flag f = {{0}, {0}, 0};
		struct sleeper s;
		struct cc__parker *who;

		sleeper_start(&s, rt, kind, park_until_changed, &f);
		who = until_parked(&s);
		cc__store(&f.flag, 1, CC__SEQ_CST);
		cc__unpark(who);
		CHECK_EQ(sleeper_join(&s), 0);
		CHECK_EQ(f.parks, 1);
	}
}

/* ---- join ---- */

struct join {
	CCTask task;
	int result;
};

static int join_it(void *arg)
{
	struct join *j = arg;

	return cc_task_join(j->task, CC_FOREVER, &j->result);
}

static int until_go(void *arg)
{
	struct flag *f = arg;

	while (cc__load(&f->flag, CC__SEQ_CST) == 0)
		cc__park_if(&f->flag, 0);
	return 42;
}

static void go(struct flag *f, struct cc__parker *who)
{
	cc__store(&f->flag, 1, CC__SEQ_CST);
	cc__unpark(who);
}

static struct cc__parker *parker_of(CCTask t)
{
	return t.frame;		/* the frame begins with it */
}

TEST(nothing_but_the_end_satisfies_a_joiner)	/* covers: SCH-47/u */
{
	FOR_EACH_KIND(kind) {
		struct flag f = {{0}, {0}, 0};
		struct join j = {.result = -1};
		struct sleeper s;
		struct cc__parker *who;

		CHECK_EQ(cc_task_spawn(rt, &j.task, NULL, until_go, &f), 0);
		until_state(parker_of(j.task), CC__PARKED);	/* else a joiner may run it */
		sleeper_start(&s, rt, kind, join_it, &j);
		who = until_parked(&s);
		for (int i = 0; i < 20; i++) {
			/* The task is parked, then runs a little; its joiner is
			 * woken for no reason; neither is an end. */
			cc__unpark(parker_of(j.task));
			cc__unpark(who);
			until_state(parker_of(j.task), CC__PARKED);
			until_state(who, CC__PARKED);
			CHECK_EQ(s.result, -1);
		}
		go(&f, parker_of(j.task));
		CHECK_EQ(sleeper_join(&s), 0);
		CHECK_EQ(j.result, 42);
	}
}

TEST(every_joiner_gets_the_result)	/* covers: RES-14/u, SCH-50/u */
{
	struct flag f = {{0}, {0}, 0};
	struct join j[CROWD];
	struct sleeper s[CROWD];
	CCTask task;

	rt = test_runtime();
	CHECK_EQ(cc_task_spawn(rt, &task, NULL, until_go, &f), 0);
	until_state(parker_of(task), CC__PARKED);	/* else a joiner may run it */
	for (int i = 0; i < CROWD; i++) {
		j[i] = (struct join){task, -1};
		sleeper_start(&s[i], rt, (enum kind)(i % KINDS), join_it, &j[i]);
		until_parked(&s[i]);
	}
	go(&f, parker_of(task));
	for (int i = 0; i < CROWD; i++) {
		CHECK_EQ(sleeper_join(&s[i]), 0);
		CHECK_EQ(j[i].result, 42);
	}
	CHECK_EQ(cc_task_join(task, CC_FOREVER, NULL), EINVAL);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

struct cpu {
	struct join join;
	int64_t used;			/* ns of CPU time in the join */
};

static int64_t cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * CC_SEC + t.tv_nsec;
}

static int join_and_measure(void *arg)
{
	struct cpu *c = arg;
	const int64_t before = cpu_time();
	int err = join_it(&c->join);

	c->used = cpu_time() - before;
	return err;
}

/* Ends WAIT after `begin` is set: when all joiners wait. */
enum { WAIT = 200 };	/* ms */

static int end_later(void *arg)
{
	CCToken *begin = arg;

	CHECK_EQ(cc_token_wait(begin, CC_FOREVER), 0);
	cc_sleep_until(cc_now() + WAIT * CC_MSEC);
	return 42;
}

TEST(thread_that_joins_does_not_spin)	/* covers: SCH-49/sb */
{
	enum { JOINERS = 8 };
	CCToken *begin = cc_token_new();
	struct cpu c[JOINERS];
	struct sleeper s[JOINERS];
	CCTask task;
	int64_t most = 0;

	rt = test_runtime();
	CHECK_EQ(cc_task_spawn(rt, &task, NULL, end_later, begin), 0);
	for (int i = 0; i < JOINERS; i++) {
		c[i] = (struct cpu){{task, -1}, 0};
		sleeper_start(&s[i], rt, THREAD, join_and_measure, &c[i]);
	}
	for (int i = 0; i < JOINERS; i++)
		until_parked(&s[i]);	/* a joiner that comes after the end finds no task */
	CHECK_EQ(cc_token_set(begin), 0);
	for (int i = 0; i < JOINERS; i++) {
		CHECK_EQ(sleeper_join(&s[i]), 0);
		CHECK_EQ(c[i].join.result, 42);
		most = c[i].used > most ? c[i].used : most;
	}
	printf("      joined %d ms, CPU time at most %.3f ms\n", WAIT, (double)most / 1e6);
	CHECK(most < WAIT * CC_MSEC / 20 * test_slowness());
	CHECK_EQ(cc_token_free(begin), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- wakes for no reason ---- */

static int sleep_a_while(void *arg)
{
	const cc_time end = cc_now() + 2 * CC_MSEC;
	int err = cc_sleep_until(end);

	(void)arg;
	CHECK(cc_now() >= end);
	return err;
}

TEST(sleep_lasts_until_its_time)
{
	FOR_EACH_KIND(kind) {
		struct sleeper s;

		sleeper_start(&s, rt, kind, sleep_a_while, NULL);
		CHECK_EQ(sleeper_join(&s), 0);
	}
}

TEST(wakes_for_no_reason_change_no_result)	/* covers: SCH-31/f */
{
	static void (*const tests[])(void) = {
	    test_post_wakes_and_the_reason_says_data,
	    test_close_wakes_with_its_own_reason,
	    test_publication_that_is_refused_leaves_the_sleeper_running,
	    test_first_in_is_first_out,
	    test_wake_all_wakes_more_than_a_batch,
	    test_signal_that_is_not_used_goes_to_the_next,
	    test_deadline_ends_a_wait_and_takes_the_waiter_off,
	    test_deadline_in_the_past_ends_the_wait,
	    test_cancel_ends_a_wait,
	    test_cancel_before_the_wait_ends_it_at_once,
	    test_every_joiner_gets_the_result,
	    test_sleep_lasts_until_its_time,
	};

	ghost_begin();
	for (unsigned i = 0; i < sizeof tests / sizeof *tests; i++)
		tests[i]();
	ghost_end();
	printf("      the ghost went round %llu times\n",
	       (unsigned long long)cc__load(&ghost.wakes, CC__RELAXED));
	CHECK(cc__load(&ghost.wakes, CC__RELAXED) > 0);
}

/* ---- locks ---- */

#ifdef CC__DEBUG
#define CHECK_DEPTH(call) \
	do { \
		(void)!(call); \
		if (!CHECK_EQ(cc__lock_stack()->depth, 0)) \
			printf("\tafter %s\n", #call); \
	} while (0)

static int look(const CCFiberInfo *info, void *arg)
{
	(void)info, (void)arg;
	return 0;
}

static int zero(void *arg)
{
	(void)arg;
	return 0;
}

static int every_public_call(void *arg)
{
	CCRuntime *other;
	CCConfig config;
	struct flag over = {{1}, {0}, 0};
	CCTask t = {0}, gone;
	char name[16];
	int result;

	(void)arg;
	CHECK_DEPTH(cc_config_init(&config));
	CHECK_DEPTH(cc_runtime_new(&other, &config));
	CHECK_DEPTH(cc_runtime_current());
	CHECK_DEPTH(cc_task_spawn(other, &t, NULL, zero, NULL));
	CHECK_DEPTH(cc_task_join(t, CC_FOREVER, &result));
	CHECK_DEPTH(cc_task_join(t, CC_FOREVER, &result));	/* EINVAL */
	gone = t;
	CHECK_DEPTH(cc_task_spawn(other, &t, NULL, until_go, &over));
	CHECK_DEPTH(cc_task_join(t, CC_NOW, NULL));
	CHECK_DEPTH(cc_task_join(t, cc_now() + CC_MSEC, NULL));
	CHECK_DEPTH(cc_task_detach(t));
	CHECK_DEPTH(cc_task_detach(t));			/* EINVAL or gone */
	CHECK_DEPTH(cc_task_detach(gone));
	CHECK_DEPTH(cc_task_spawn(other, NULL, NULL, zero, NULL));
	CHECK_DEPTH(cc_task_spawn(other, NULL, NULL, NULL, NULL));	/* EINVAL */
	CHECK_DEPTH((cc_yield(), 0));
	CHECK_DEPTH(cc_sleep_until(cc_now() + CC_MSEC));
	CHECK_DEPTH(cc_fiber_id());
	CHECK_DEPTH((cc_fiber_name(name), 0));
	CHECK_DEPTH(cc_fiber_each(look, NULL));
	CHECK_DEPTH(cc_runtime_free(other));
	CHECK_DEPTH(cc_runtime_free(NULL));
	return 0;
}
#endif

TEST(no_lock_is_held_after_any_public_call)	/* covers: SCH-44/u */
{
#ifdef CC__DEBUG
	FOR_EACH_KIND(kind) {
		struct sleeper s;

		sleeper_start(&s, rt, kind, every_public_call, NULL);
		CHECK_EQ(sleeper_join(&s), 0);
	}
	CHECK_DEPTH(cc_task_join((CCTask){0}, CC_FOREVER, NULL));
	CHECK_DEPTH(cc_shutdown());
#else
	SKIP("no internal checks in this build");
#endif
}
