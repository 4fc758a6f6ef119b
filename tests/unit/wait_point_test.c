/* wait_point_test.c - the races of park and wake, one by one: a thread is held
 * at a race point while the other side does its worst. */
#include "test.h"

#include <errno.h>

#include "points.h"
#include "sched/worker.h"
#include "sleepers.h"
#include "waitables.h"

static CCRuntime *rt;

#define FOR_EACH_KIND(kind) \
	for (enum kind kind = (rt = test_runtime(), FIBER); \
	     kind < KINDS || (CHECK_EQ(cc_runtime_free(rt), 0), false); kind++)

/* A wait on a semaphore, and who it is that waits. */
struct wait {
	struct sem sem;
	struct cc__waiter w;
	cc_time deadline;
	cc__a32 cancel;
	cc__a32 returns;		/* from the wait */
};

static struct wait *init(struct wait *w)
{
	*w = (struct wait){.deadline = CC_FOREVER};
	return w;
}

static int wait_main(void *arg)
{
	struct wait *w = arg;
	int err;

	w->w = (struct cc__waiter){.cancel = &w->cancel};
	err = cc__fiber_wait(&w->sem, &sem_ops, &w->w, w->deadline);
	cc__add(&w->returns, 1, CC__ACQ_REL);
	return err;
}

/* A thread that posts, to be held on its way. */
struct poster {
	struct sem *sem;
	pthread_t thread;
};

static void *poster_main(void *arg)
{
	sem_post(((struct poster *)arg)->sem);
	return NULL;
}

static void post_start(struct poster *p, struct sem *sem)
{
	p->sem = sem;
	CHECK_EQ(pthread_create(&p->thread, NULL, poster_main, p), 0);
}

static void post_join(struct poster *p)
{
	CHECK_EQ(pthread_join(p->thread, NULL), 0);
}

/* ---- park ---- */

struct look {
	cc__a32 flag;
	enum cc__state state;		/* at the look */
	uint64_t before, after;
};

static void change_flag(const void *who, void *arg)
{
	struct look *l = arg;

	l->state = state_of(who);
	cc__store(&l->flag, 1, CC__SEQ_CST);
}

static int park_once(void *arg)
{
	struct look *l = arg;

	l->before = word_of(cc__self());
	cc__park_if(&l->flag, 0);
	l->after = word_of(cc__self());
	return 0;
}

TEST(flag_is_looked_at_after_parking)	/* covers: SCH-32/u, SCH-30/f */
{
	NEED_POINTS();
	FOR_EACH_KIND(kind) {
		struct look l = {0};
		struct point *look = point_call("park_if.before_look", NULL, change_flag, &l);
		struct point *commit = point_hold("park.before_commit", NULL);
		struct sleeper s;

		sleeper_start(&s, rt, kind, park_once, &l);
		/* Nobody will unpark it: it must see the change by itself. */
		TEST_UNTIL(cc__load(&look->state, CC__ACQUIRE) == POINT_OFF);
		TEST_UNTIL(state_of(sleeper_who(&s)) != CC__PARKING);
		CHECK(!point_passed(commit));
		CHECK_EQ(sleeper_join(&s), 0);
		CHECK_EQ(l.state, CC__PARKING);
		CHECK_EQ(l.after - l.before, CC__TICKET_ONE);
	}
}

struct place {
	const void *here;		/* the stack that the commit is made on */
	const void *bottom;		/* of the fiber's stack */
	size_t size;
};

static void note_place(const void *who, void *arg)
{
	struct place *p = arg;

	p->here = __builtin_frame_address(0);
	cc__sched_stack_of(cc__fiber_of((struct cc__parker *)(uintptr_t)who), &p->bottom, &p->size);
}

static int yield_a_lot(void *arg)
{
	while (cc__load((cc__a32 *)arg, CC__ACQUIRE) == 0)
		cc_yield();
	return 0;
}

/* Once from the worker's own stack, once with a successor at hand. */
TEST(commit_is_made_on_another_stack)	/* covers: SCH-33/f, RES-57/f */
{
	NEED_POINTS();
	rt = test_runtime();
	for (int successor = 0; successor < 2; successor++) {
		struct wait w;
		struct place p = {0};
		struct sleeper s, other;
		cc__a32 stop = {0};

		if (successor)
			sleeper_start(&other, rt, FIBER, yield_a_lot, &stop);
		point_call("park.before_commit", NULL, note_place, &p);
		sleeper_start(&s, rt, FIBER, wait_main, init(&w));
		until_parked(&s);
		sem_post(&w.sem);
		CHECK_EQ(sleeper_join(&s), 0);
		CHECK(p.size > 0);
		CHECK((const char *)p.here < (const char *)p.bottom ||
		      (const char *)p.here >= (const char *)p.bottom + p.size);
		cc__store(&stop, 1, CC__RELEASE);
		if (successor)
			sleeper_join(&other);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(wake_before_the_commit_resumes_once)	/* covers: SCH-33/f, SCH-34/f, LIF-33/f, LIF-35/f */
{
	NEED_POINTS();
	FOR_EACH_KIND(kind) {
		struct wait w;
		struct point *commit = point_hold("park.before_commit", NULL);
		struct sleeper s;
		struct cc__parker *who;

		sleeper_start(&s, rt, kind, wait_main, init(&w));
		point_until_held(commit);
		who = sleeper_who(&s);
		CHECK_EQ(state_of(who), CC__PARKING);
		sem_post(&w.sem);
		CHECK_EQ(state_of(who), CC__NOTIFIED);
		for (int i = 0; i < 10; i++)
			cc__unpark(who);
		/* Whoever sees PARKING or NOTIFIED enqueues nothing. */
		CHECK_EQ(state_of(who), CC__NOTIFIED);
		CHECK_EQ(cc__load(&w.returns, CC__ACQUIRE), 0);
		point_release(commit);
		CHECK_EQ(sleeper_join(&s), 0);
		CHECK_EQ(cc__load(&w.returns, CC__ACQUIRE), 1);
	}
}

TEST(waker_that_saw_parking_wakes_one_who_has_committed_since)	/* covers: RES-01/f */
{
	NEED_POINTS();
	FOR_EACH_KIND(kind) {
		struct wait w;
		struct point *commit = point_hold("park.before_commit", NULL), *claim;
		struct sleeper s;
		struct poster p;

		sleeper_start(&s, rt, kind, wait_main, init(&w));
		point_until_held(commit);
		claim = point_hold("wake.before_claim", sleeper_who(&s));
		post_start(&p, &w.sem);
		point_until_held(claim);	/* it has read PARKING */
		point_release(commit);
		until_state(sleeper_who(&s), CC__PARKED);
		point_release(claim);
		CHECK_EQ(sleeper_join(&s), 0);
		post_join(&p);
	}
}

static void wake_from_here(const void *who, void *arg)
{
	CHECK_EQ(state_of(who), CC__PARKED);
	sem_post(arg);
}

TEST(parked_fiber_may_be_resumed_at_once)	/* covers: SCH-11/f */
{
	NEED_POINTS();
	FOR_EACH_KIND(kind)
		for (int by_itself = 0; by_itself < 2; by_itself++) {
			struct wait w;
			struct sleeper s;
			struct point *after;

			/* By the very thread that committed, before it does
			 * anything else; or by another, while that one stands. */
			init(&w);
			after = by_itself
			            ? point_call("park.after_commit", NULL, wake_from_here, &w.sem)
			            : point_hold("park.after_commit", NULL);
			sleeper_start(&s, rt, kind, wait_main, &w);
			if (!by_itself) {
				point_until_held(after);
				sem_post(&w.sem);
				/* Queued, or even run by another worker. */
				CHECK(state_of(sleeper_who(&s)) != CC__PARKED);
				point_release(after);
			}
			CHECK_EQ(sleeper_join(&s), 0);
			CHECK_EQ(cc__load(&w.returns, CC__ACQUIRE), 1);
		}
}

/* ---- wake ---- */

TEST(waker_takes_off_then_tells_then_wakes)	/* covers: SCH-39/f, RES-08/f, RES-56/f */
{
	NEED_POINTS();
	FOR_EACH_KIND(kind) {
		struct wait w;
		struct sleeper s;
		struct poster p;
		struct point *taken, *flush, *claimed;
		const struct cc__waiter *node;
		struct cc__parker *who;

		sleeper_start(&s, rt, kind, wait_main, init(&w));
		who = until_parked(&s);
		node = w.sem.q.head;
		taken = point_hold("wake.taken_under_lock", node);
		flush = point_hold("wake.before_flush", NULL);
		claimed = point_hold("wake.claimed", who);
		post_start(&p, &w.sem);
		point_until_held(taken);
		CHECK(w.sem.q.head == NULL && node->next == NULL);	/* off the list */
		CHECK_EQ(cc__load(&node->reason, CC__ACQUIRE), CC__REASON_NONE);
		CHECK_EQ(state_of(who), CC__PARKED);
		point_release(taken);
		point_until_held(flush);
		CHECK_EQ(cc__load(&node->reason, CC__ACQUIRE), CC__REASON_DATA);	/* told */
		CHECK_EQ(state_of(who), CC__PARKED);
		CHECK_EQ(cc__load(&w.sem.q.lock.word, CC__ACQUIRE), 0);
		point_release(flush);
		point_until_held(claimed);
		CHECK_EQ(state_of(who), CC__QUEUED);	/* claimed, not yet enqueued */
		CHECK_EQ(cc__load(&w.returns, CC__ACQUIRE), 0);
		point_release(claimed);
		CHECK_EQ(sleeper_join(&s), 0);
		post_join(&p);
	}
}

#ifdef CC__DEBUG
static void note_depth(const void *who, void *arg)
{
	(void)who;
	*(unsigned *)arg = cc__lock_stack()->depth;
}

static void wake_one(struct sem *s)
{
	CHECK(cc__wake_one(&s->q, CC__REASON_DATA, 0));
}

static void wake_all(struct sem *s)
{
	cc__wake_all(&s->q, CC__REASON_DATA, 0);
}
#endif

TEST(wakes_are_claimed_with_no_lock_held)	/* covers: SCH-41/u */
{
#ifdef CC__DEBUG
	static void (*const wakers[])(struct sem *) = {sem_post, wake_one, wake_all};

	NEED_POINTS();
	FOR_EACH_KIND(kind)
		for (int i = 0; i < 3; i++) {
			struct wait w;
			unsigned depth = 99;
			struct sleeper s;

			sleeper_start(&s, rt, kind, wait_main, init(&w));
			point_call("wake.before_claim", until_parked(&s), note_depth, &depth);
			wakers[i](&w.sem);
			CHECK_EQ(sleeper_join(&s), 0);
			CHECK_EQ(depth, 0);
		}
#else
	SKIP("no internal checks in this build");
#endif
}

/* The sleeper wants to leave while a waker has its node in hand: it waits for
 * the lock, and then for nothing: the waker was first. */
TEST(sleeper_does_not_leave_while_a_waker_holds_its_node)	/* covers: LIF-66/fz, LIF-23/f */
{
	NEED_POINTS();
	FOR_EACH_KIND(kind) {
		struct wait w;
		struct sleeper s;
		struct poster p;
		struct point *taken;
		struct cc__parker *who;

		sleeper_start(&s, rt, kind, wait_main, init(&w));
		who = until_parked(&s);
		taken = point_hold("wake.taken_under_lock", w.sem.q.head);
		post_start(&p, &w.sem);
		point_until_held(taken);
		cc__store(&w.cancel, 1, CC__SEQ_CST);
		cc__unpark(who);
		/* It has looked, nobody has decided, it wants to withdraw. */
		TEST_UNTIL(cc__load(&w.sem.q.lock.word, CC__ACQUIRE) == 2);
		CHECK_EQ(cc__load(&w.returns, CC__ACQUIRE), 0);
		point_release(taken);
		CHECK_EQ(sleeper_join(&s), 0);	/* not ECANCELED */
		CHECK_EQ(cc__load(&w.w.reason, CC__ACQUIRE), CC__REASON_DATA);
		CHECK_EQ(w.sem.count, 0);
		post_join(&p);
	}
}

/* Told, and awake for another reason; the waker is still inside: whoever has
 * waited may free the object, so it does not return yet. */
TEST(sleeper_does_not_leave_while_a_waker_holds_the_lock)	/* covers: RES-56/f, LIF-66/f */
{
	NEED_POINTS();
	FOR_EACH_KIND(kind) {
		struct wait w;
		struct sleeper s;
		struct poster p;
		struct point *told, *after;
		struct cc__parker *who;

		sleeper_start(&s, rt, kind, wait_main, init(&w));
		who = until_parked(&s);
		told = point_hold("wake.told_under_lock", &w.sem.q);
		after = point_hold("wait.after_park", w.sem.q.head);
		post_start(&p, &w.sem);
		point_until_held(told);
		cc__unpark(who);
		point_until_held(after);
		point_release(after);		/* it sees that it has been told */
		TEST_UNTIL(cc__load(&w.sem.q.lock.word, CC__ACQUIRE) == 2);
		CHECK_EQ(cc__load(&w.returns, CC__ACQUIRE), 0);
		point_release(told);
		CHECK_EQ(sleeper_join(&s), 0);
		post_join(&p);
	}
}

TEST(decision_that_came_before_the_deadline_counts)
{
	NEED_POINTS();
	FOR_EACH_KIND(kind) {
		struct wait w;
		struct sleeper s;
		struct poster p;
		struct point *flush;
		struct point *park = point_hold("park.before_commit", NULL);

		init(&w)->deadline = cc_now() + CC_MSEC;
		sleeper_start(&s, rt, kind, wait_main, &w);
		point_until_held(park);
		flush = point_hold("wake.before_flush", NULL);
		post_start(&p, &w.sem);
		point_until_held(flush);	/* decided; the wake is still to come */
		point_release(park);
		CHECK_EQ(sleeper_join(&s), 0);	/* woken by its deadline */
		CHECK(cc_now() >= w.deadline);
		point_release(flush);		/* for a wait that is over */
		post_join(&p);
	}
}

/* A thread whose deadline passes after it was claimed waits for its release:
 * the waker still has to touch it. */
TEST(claimed_thread_does_not_leave_before_its_release)	/* covers: RES-56/f */
{
	struct wait w;
	struct sleeper s;
	struct poster p;
	struct point *claimed;
	struct cc__parker *who;

	NEED_POINTS();
	rt = test_runtime();
	init(&w)->deadline = cc_now() + 500 * CC_MSEC;	/* before that it is claimed */
	sleeper_start(&s, rt, THREAD, wait_main, &w);
	who = until_parked(&s);
	claimed = point_hold("wake.claimed", who);
	post_start(&p, &w.sem);
	point_until_held(claimed);
	TEST_UNTIL(cc_now() > w.deadline + 10 * CC_MSEC);
	CHECK_EQ(state_of(who), CC__QUEUED);
	CHECK_EQ(cc__load(&w.returns, CC__ACQUIRE), 0);
	point_release(claimed);
	CHECK_EQ(sleeper_join(&s), 0);
	post_join(&p);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- wakes that come after the end ---- */

/* Until the result is there for whoever joins: DONE alone comes before that, and a joiner
 * that comes between leaves the frame to the worker. */
static void until_over(CCTask t)
{
	struct cc__fiber *f = t.frame;

	TEST_UNTIL(cc__load(&f->handle, CC__ACQUIRE) & CC__HANDLE_DONE);
}

/* Ends the wait of `s` by other means and sees its parker recycled into the
 * next sleeper, which waits on `next`. */
static void recycle(struct sleeper *s, struct wait *w, struct sleeper *fresh, struct wait *next)
{
	struct cc__parker *who = sleeper_who(s);
	const enum kind kind = s->kind;

	cc__unpark(who);		/* it finds that it has been decided */
	TEST_UNTIL(cc__load(&w->returns, CC__ACQUIRE) == 1);
	if (kind == FIBER)		/* so that we free the frame */
		until_over(s->task);
	CHECK_EQ(sleeper_join(s), 0);
	sleeper_start(fresh, rt, kind, wait_main, next);
	CHECK(until_parked(fresh) == who);
}

/* Held with the pair (who, ticket) in hand; or with the word just read. */
TEST(claim_meets_a_parker_that_has_been_recycled)	/* covers: LIF-64/f, LIF-65/f, LIF-37/f */
{
	static const char *const places[] = {"wake.before_flush", "wake.before_claim"};

	NEED_POINTS();
	FOR_EACH_KIND(kind)
		for (int i = 0; i < 2; i++) {
			struct wait w, next;
			struct sleeper s, fresh;
			struct poster p;
			struct point *held;
			struct cc__parker *who;
			uint64_t old, asleep;

			sleeper_start(&s, rt, kind, wait_main, init(&w));
			who = until_parked(&s);
			old = cc__word_ticket(word_of(who));
			held = point_hold(places[i], i == 0 ? NULL : who);
			post_start(&p, &w.sem);
			point_until_held(held);
			recycle(&s, &w, &fresh, init(&next));
			asleep = word_of(who);
			CHECK(cc__word_ticket(asleep) != old);
			point_release(held);
			post_join(&p);
			/* Nothing was claimed, nothing enqueued. */
			CHECK_EQ(word_of(who), asleep);
			CHECK_EQ(counted(&next.sem.publications), 1);
			sem_post(&next.sem);
			CHECK_EQ(sleeper_join(&fresh), 0);
		}
}

/* ---- begin and end of a task ---- */

/* The only one of rt. */
static struct cc__worker *worker(void)
{
	return ((struct cc__sched *)(void *)rt)->worker[0];
}

static int give_back(void *arg)
{
	return *(int *)arg;
}

struct spawn {
	int value;
	CCTask task;
};

static void *spawn_main(void *arg)
{
	struct spawn *s = arg;

	CHECK_EQ(cc_task_spawn(rt, &s->task, NULL, give_back, &s->value), 0);
	return NULL;
}

TEST(task_is_queued_when_its_frame_is_complete)	/* covers: SCH-28/fz */
{
	struct spawn s = {.value = 17};
	struct point *publish;
	struct cc__fiber *f;
	pthread_t thread;
	int result;

	NEED_POINTS();
	rt = test_runtime_of(1);
	publish = point_hold("spawn.before_publish", NULL);
	CHECK_EQ(pthread_create(&thread, NULL, spawn_main, &s), 0);
	point_until_held(publish);
	/* Nothing can be found yet, and everything is written. */
	f = s.task.frame;
	CHECK_EQ(state_of(&f->parker), CC__ASSIGNED);
	CHECK(!cc__inbox_any(&worker()->inbox) && cc__runq_length(&worker()->queue) == 0);
	CHECK(f->run.main == give_back && f->payload.arg == &s.value);
	CHECK_EQ(cc__load(&f->handle, CC__ACQUIRE) & CC__HANDLE_ID, 0);
	point_release(publish);
	pthread_join(thread, NULL);
	CHECK_EQ(cc_task_join(s.task, CC_FOREVER, &result), 0);
	CHECK_EQ(result, 17);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

static int nothing(void *arg)
{
	(void)arg;
	return 0;
}

static bool has(const struct cc__frame_stock *s, const struct cc__fiber *f)
{
	for (unsigned i = 0; i < s->count; i++)
		if (s->frame[i] == f)
			return true;
	return false;
}

TEST(frame_is_not_reused_before_its_task_is_done)	/* covers: SCH-09/f, SCH-66/f, RES-24/f */
{
	enum { MANY = 300 };
	static CCTask many[MANY];
	struct point *ended;
	int value = 5, result;
	CCTask task;

	NEED_POINTS();
	rt = test_runtime_of(1);
	ended = point_hold("task.ended", NULL);
	CHECK_EQ(cc_task_spawn(rt, &task, NULL, give_back, &value), 0);
	point_until_held(ended);
	/* The thunk is over, and the worker still stands on its stack. */
	CHECK_EQ(state_of(task.frame), CC__OWNED);
	CHECK_EQ(cc_task_join(task, CC_NOW, NULL), EAGAIN);
	for (int i = 0; i < MANY; i++) {
		CHECK_EQ(cc_task_spawn(rt, &many[i], NULL, nothing, NULL), 0);
		CHECK(many[i].frame != task.frame);
	}
	CHECK(!has(&worker()->frames.stock, task.frame));
	point_release(ended);
	CHECK_EQ(cc_task_join(task, CC_FOREVER, &result), 0);
	CHECK_EQ(result, 5);
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(cc_task_join(many[i], CC_FOREVER, NULL), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

struct join {
	CCTask task;
	int result;
};

static int join_main(void *arg)
{
	struct join *j = arg;

	return cc_task_join(j->task, CC_FOREVER, &j->result);
}

static int wait_and_end(void *arg)
{
	return sem_wait(arg, CC_FOREVER);
}

TEST(done_is_published_before_a_joiner_is_woken)	/* covers: RES-13/f, RES-60/f */
{
	NEED_POINTS();
	FOR_EACH_KIND(kind) {
		CCRuntime *other = test_runtime();
		struct sem sem = {0};
		struct join j = {.result = -1};
		struct sleeper s;
		struct point *ended = point_hold("task.ended", NULL), *flush;

		CHECK_EQ(cc_task_spawn(rt, &j.task, NULL, wait_and_end, &sem), 0);
		sleeper_start(&s, other, kind, join_main, &j);
		until_parked(&s);
		until_state(j.task.frame, CC__PARKED);
		sem_post(&sem);
		point_until_held(ended);
		flush = point_hold("wake.before_flush", NULL);
		point_release(ended);
		point_until_held(flush);
		CHECK_EQ(state_of(j.task.frame), CC__DONE);
		CHECK_EQ(state_of(sleeper_who(&s)), CC__PARKED);
		CHECK_EQ(j.result, 0);		/* written for it */
		/* No new joiner finds the handle good. */
		CHECK_EQ(cc_task_join(j.task, CC_FOREVER, NULL), EINVAL);
		point_release(flush);
		CHECK_EQ(sleeper_join(&s), 0);
		CHECK_EQ(cc_runtime_free(other), 0);
	}
}

/* ---- the worker's sleep ---- */

TEST(work_that_comes_before_the_sleep_is_seen)
{
	struct spawn s = {.value = 23};
	struct point *sleep;
	pthread_t thread;
	int result;

	NEED_POINTS();
	sleep = point_hold("worker.before_sleep", NULL);
	rt = test_runtime_of(1);
	point_until_held(sleep);	/* it has found nothing */
	CHECK_EQ(pthread_create(&thread, NULL, spawn_main, &s), 0);
	pthread_join(thread, NULL);
	point_release(sleep);
	CHECK_EQ(cc_task_join(s.task, CC_FOREVER, &result), 0);
	CHECK_EQ(result, 23);
	CHECK_EQ(cc_runtime_free(rt), 0);
}
