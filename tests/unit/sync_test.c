/* sync_test.c - what locks and their kin promise, to fibers and to threads. */
#include <errno.h>

#include "sleepers.h"

#include "sync/sync.h"

/* So many sleep on that word, or on that barrier. */
static int sleeping(const void *word)
{
	const struct cc__park_key key = cc__park_trusted_key(word);
	struct cc__bucket *b = cc__park_hold(&cc__park_trusted, &key);
	const struct cc__sleeper *s = cc__park_first(b, &key);
	const struct cc__waiter *w = s != NULL ? s->waiter : NULL;
	int n = 0;

	if (w != NULL)
		do
			n++;
		while ((w = w->next) != s->waiter);
	cc__park_drop(b);
	return n;
}

/* One call in a fiber or a thread. */
struct call {
	int (*make)(void *object, cc_time deadline);
	void *object;
	cc_time deadline;
	struct sleeper s;
};

static int call_main(void *arg)
{
	struct call *c = arg;

	return c->make(c->object, c->deadline);
}

static void start(struct call *c, CCRuntime *rt, enum kind kind,
                  int (*make)(void *object, cc_time deadline), void *object)
{
	*c = (struct call){.make = make, .object = object, .deadline = CC_FOREVER};
	sleeper_start(&c->s, rt, kind, call_main, c);
}

static int finish(struct call *c)
{
	return sleeper_join(&c->s);
}

/* ---- mutex ---- */

static int lock_and_leave(void *m, cc_time deadline)
{
	int err = cc_mutex_lock_until(m, deadline);

	return err != 0 ? err : cc_mutex_unlock(m);
}

TEST(mutex_is_four_bytes_and_ready_when_zero)
{
	CCMutex m = {0};

	CHECK_EQ(sizeof m, 4);
	CHECK_EQ(cc_mutex_lock(&m), 0);
	CHECK_EQ(cc_mutex_lock_until(&m, CC_NOW), EAGAIN);
	CHECK_EQ(cc_mutex_unlock(&m), 0);
	CHECK_EQ(cc_mutex_unlock(&m), EPERM);
	cc_mutex_lock_anyway(&m);
	CHECK_EQ(cc_mutex_lock_until(&m, cc_after(CC_MSEC)), ETIMEDOUT);
	CHECK_EQ(cc_mutex_unlock(&m), 0);
	CHECK_EQ(cc_mutex_lock(&m), 0);	/* whatever the one who gave up left behind */
	CHECK_EQ(cc_mutex_unlock(&m), 0);
}

TEST(mutex_wakes_whoever_waits)
{
	CCRuntime *rt = test_runtime_of(2);
	CCMutex m = {0};
	struct call c[KINDS];

	CHECK_EQ(cc_mutex_lock(&m), 0);
	for (int k = 0; k < KINDS; k++)
		start(&c[k], rt, (enum kind)k, lock_and_leave, &m);
	TEST_UNTIL(sleeping(&m) == KINDS);
	CHECK_EQ(cc_mutex_unlock(&m), 0);
	for (int k = 0; k < KINDS; k++)
		CHECK_EQ(finish(&c[k]), 0);
	CHECK_EQ(m.word, 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* Who has waited for long finds it locked, by himself: a loop of unlock and lock does not
 * come in between. */
TEST(mutex_is_handed_to_who_waited_long)
{
	CCRuntime *rt = test_runtime_of(2);

	for (int k = 0; k < KINDS; k++) {
		CCMutex m = {0};
		struct call c;

		CHECK_EQ(cc_mutex_lock(&m), 0);
		start(&c, rt, (enum kind)k, lock_and_leave, &m);
		TEST_UNTIL(sleeping(&m) == 1);
		CHECK_EQ(cc_sleep_ms(2), 0);
		CHECK_EQ(cc_mutex_unlock(&m), 0);
		CHECK_EQ(cc_mutex_lock(&m), 0);	/* behind him */
		CHECK_EQ(sleeping(&m), 0);
		CHECK_EQ(finish(&c), 0);
		CHECK_EQ(cc_mutex_unlock(&m), 0);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- cancellation: whatever waits ends, and has not got what it waited for ---- */

static CCMutex held_mutex, cond_mutex;
static CCCond no_cond;
static CCRwlock held_rwlock, read_rwlock;
static CCSemaphore no_permits;
static CCBarrier lonely = CC_BARRIER_INIT(2);
static CCWaitGroup busy_group;
static CCOnce running_once;
static cc__a32 once_goes_on;

static int wait_mutex(void *arg)
{
	(void)arg;
	return cc_mutex_lock(&held_mutex);
}

static int wait_cond(void *arg)
{
	int err;

	(void)arg;
	if ((err = cc_mutex_lock(&cond_mutex)) != 0)
		return err;
	err = cc_cond_wait(&no_cond, &cond_mutex);
	CHECK_EQ(cc_mutex_unlock(&cond_mutex), 0);	/* he has it again */
	return err;
}

static int wait_read(void *arg)
{
	(void)arg;
	return cc_rwlock_read(&held_rwlock);
}

static int wait_write(void *arg)
{
	(void)arg;
	return cc_rwlock_write(&read_rwlock);
}

static int wait_semaphore(void *arg)
{
	(void)arg;
	return cc_semaphore_wait(&no_permits);
}

static int wait_barrier(void *arg)
{
	(void)arg;
	return cc_barrier_wait(&lonely, NULL);
}

static int wait_group(void *arg)
{
	(void)arg;
	return cc_wait_group_wait(&busy_group);
}

static int slow_first(void *arg)
{
	TEST_UNTIL(cc__load(&once_goes_on, CC__ACQUIRE) != 0);
	return arg == NULL ? 0 : EIO;
}

static int wait_once(void *arg)
{
	return cc_once(&running_once, slow_first, arg);
}

static const struct {
	const void *word;
	cc_task_main *wait;
} waits[] = {
    {&held_mutex, wait_mutex},     {&no_cond, wait_cond},     {&held_rwlock, wait_read},
    {&read_rwlock, wait_write},    {&no_permits, wait_semaphore}, {&lonely, wait_barrier},
    {&busy_group, wait_group},     {&running_once, wait_once},
};

static void *run_once_thread(void *arg)
{
	CHECK_EQ(wait_once(NULL), 0);
	return arg;
}

TEST(sync_every_wait_is_a_cancel_point)
{
	pthread_t runs_once;
	int err = 0;

	running_once = (CCOnce){0};
	cc__store(&once_goes_on, 0, CC__RELEASE);
	CHECK_EQ(cc_mutex_lock(&held_mutex), 0);
	CHECK_EQ(cc_rwlock_write(&held_rwlock), 0);
	CHECK_EQ(cc_rwlock_read(&read_rwlock), 0);
	CHECK_EQ(cc_wait_group_add(&busy_group, 1), 0);
	CHECK_EQ(pthread_create(&runs_once, NULL, run_once_thread, NULL), 0);
	TEST_UNTIL(cc__load(cc__sync_word(&running_once.word), CC__ACQUIRE) != 0);
	for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
		cc_nursery_scope(n, &err)
		{
			CHECK_EQ(cc_nursery_spawn(n, NULL, waits[i].wait, NULL), 0);
			TEST_UNTIL(sleeping(waits[i].word) == 1);
			CHECK_EQ(cc_nursery_cancel(n, 0), 0);
		}
		CHECK_EQ(err, ECANCELED);
		CHECK_EQ(sleeping(waits[i].word), 0);
	}
	cc__store(&once_goes_on, 1, CC__RELEASE);
	CHECK_EQ(pthread_join(runs_once, NULL), 0);
	CHECK_EQ(lonely.come, 0);
	CHECK_EQ(cc_mutex_unlock(&held_mutex), 0);
	CHECK_EQ(cc_rwlock_unlock(&held_rwlock), 0);
	CHECK_EQ(cc_rwlock_unlock(&read_rwlock), 0);
	CHECK_EQ(cc_rwlock_write_until(&read_rwlock, CC_NOW), 0);
	CHECK_EQ(cc_rwlock_unlock(&read_rwlock), 0);
	CHECK_EQ(cc_wait_group_done(&busy_group), 0);
	CHECK_EQ(cc_wait_group_wait(&busy_group), 0);
}

/* ---- condition ---- */

struct box {
	CCMutex m;
	CCCond changed;
	int full;
};

static int take_one(void *arg, cc_time deadline)
{
	struct box *b = arg;
	int err = cc_mutex_lock(&b->m);

	if (err != 0)
		return err;
	while (b->full == 0 && err == 0)
		err = cc_cond_wait_until(&b->changed, &b->m, deadline);
	if (err == 0)
		b->full--;
	CHECK_EQ(cc_mutex_unlock(&b->m), 0);
	return err;
}

static void fill(struct box *b, int n)
{
	cc_mutex_lock_anyway(&b->m);
	b->full += n;
	CHECK_EQ(cc_mutex_unlock(&b->m), 0);
}

TEST(cond_signal_wakes_one_and_broadcast_all)
{
	enum { WAITERS = 40 };
	CCRuntime *rt = test_runtime_of(2);
	struct box b = {0};
	struct call c[WAITERS];

	for (int i = 0; i < WAITERS; i++)
		start(&c[i], rt, i % 8 == 0 ? THREAD : FIBER, take_one, &b);
	TEST_UNTIL(sleeping(&b.changed) == WAITERS);
	fill(&b, 1);
	cc_cond_signal(&b.changed);
	TEST_UNTIL(sleeping(&b.changed) == WAITERS - 1);
	fill(&b, WAITERS - 1);
	CHECK_EQ(sleeping(&b.changed), WAITERS - 1);
	cc_cond_broadcast(&b.changed);
	for (int i = 0; i < WAITERS; i++)
		CHECK_EQ(finish(&c[i]), 0);
	CHECK_EQ(b.full, 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(cond_wait_has_the_mutex_again_when_late)
{
	struct box b = {0};

	CHECK_EQ(take_one(&b, cc_after(CC_MSEC)), ETIMEDOUT);
	CHECK_EQ(take_one(&b, CC_NOW), EAGAIN);
	CHECK_EQ(cc_cond_wait(&b.changed, &b.m), EPERM);	/* not locked */
	cc_cond_signal(&b.changed);	/* nobody: forgotten */
	CHECK_EQ(take_one(&b, cc_after(CC_MSEC)), ETIMEDOUT);
}

/* ---- readers and writers ---- */

static int read_lock(void *l, cc_time deadline)
{
	return cc_rwlock_read_until(l, deadline);
}

static int write_lock(void *l, cc_time deadline)
{
	return cc_rwlock_write_until(l, deadline);
}

TEST(rwlock_many_readers_or_one_writer)
{
	CCRwlock l = {0};

	CHECK_EQ(sizeof l, 4);
	CHECK_EQ(cc_rwlock_unlock(&l), EPERM);
	CHECK_EQ(cc_rwlock_read(&l), 0);
	CHECK_EQ(cc_rwlock_read(&l), 0);
	CHECK_EQ(cc_rwlock_write_until(&l, CC_NOW), EAGAIN);
	CHECK_EQ(cc_rwlock_unlock(&l), 0);
	CHECK_EQ(cc_rwlock_write_until(&l, cc_after(CC_MSEC)), ETIMEDOUT);
	CHECK_EQ(cc_rwlock_read_until(&l, CC_NOW), 0);	/* nobody waits any more */
	CHECK_EQ(cc_rwlock_unlock(&l), 0);
	CHECK_EQ(cc_rwlock_unlock(&l), 0);
	CHECK_EQ(cc_rwlock_write(&l), 0);
	CHECK_EQ(cc_rwlock_read_until(&l, CC_NOW), EAGAIN);
	CHECK_EQ(cc_rwlock_write_until(&l, CC_NOW), EAGAIN);
	CHECK_EQ(cc_rwlock_unlock(&l), 0);
	CHECK_EQ(cc_rwlock_unlock(&l), EPERM);
}

/* r | W, then 20 readers, then a writer: the first writer, all the readers, the second. */
TEST(rwlock_is_had_in_the_order_of_coming)
{
	enum { READERS = 20 };
	CCRuntime *rt = test_runtime_of(2);
	CCRwlock l = {0};
	struct call writer[2], reader[READERS];

	CHECK_EQ(cc_rwlock_read(&l), 0);
	start(&writer[0], rt, FIBER, write_lock, &l);
	TEST_UNTIL(sleeping(&l) == 1);
	CHECK_EQ(cc_rwlock_read_until(&l, CC_NOW), EAGAIN);	/* behind the writer */
	for (int i = 0; i < READERS; i++)
		start(&reader[i], rt, i % 4 == 0 ? THREAD : FIBER, read_lock, &l);
	TEST_UNTIL(sleeping(&l) == 1 + READERS);
	start(&writer[1], rt, THREAD, write_lock, &l);
	TEST_UNTIL(sleeping(&l) == 2 + READERS);
	CHECK_EQ(cc_rwlock_unlock(&l), 0);
	CHECK_EQ(finish(&writer[0]), 0);
	CHECK_EQ(sleeping(&l), 1 + READERS);
	CHECK_EQ(cc_rwlock_unlock(&l), 0);
	for (int i = 0; i < READERS; i++)
		CHECK_EQ(finish(&reader[i]), 0);
	CHECK_EQ(sleeping(&l), 1);
	for (int i = 0; i < READERS; i++)
		CHECK_EQ(cc_rwlock_unlock(&l), 0);
	CHECK_EQ(finish(&writer[1]), 0);
	CHECK_EQ(cc_rwlock_unlock(&l), 0);
	CHECK_EQ(l.word, 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

static int write_lock_in_time(void *l, cc_time deadline)
{
	(void)deadline;
	return cc_rwlock_write_until(l, cc_after(20 * CC_MSEC));
}

/* The reader behind it would wait for the one who reads, and need not. */
TEST(rwlock_a_writer_that_gives_up_lets_readers_in)
{
	CCRuntime *rt = test_runtime_of(2);
	CCRwlock l = {0};
	struct call writer, reader;

	CHECK_EQ(cc_rwlock_read(&l), 0);
	start(&writer, rt, FIBER, write_lock_in_time, &l);
	start(&reader, rt, THREAD, read_lock, &l);
	CHECK_EQ(finish(&writer), ETIMEDOUT);
	CHECK_EQ(finish(&reader), 0);
	CHECK_EQ(cc_rwlock_unlock(&l), 0);
	CHECK_EQ(cc_rwlock_unlock(&l), 0);
	CHECK_EQ(cc_rwlock_write(&l), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- semaphore ---- */

static int take_permit(void *s, cc_time deadline)
{
	return cc_semaphore_wait_until(s, deadline);
}

TEST(semaphore_counts)
{
	CCSemaphore s = CC_SEMAPHORE_INIT(2);

	CHECK_EQ(sizeof s, 4);
	CHECK_EQ(cc_semaphore_wait(&s), 0);
	CHECK_EQ(cc_semaphore_wait_until(&s, CC_NOW), 0);
	CHECK_EQ(cc_semaphore_wait_until(&s, CC_NOW), EAGAIN);
	CHECK_EQ(cc_semaphore_wait_until(&s, cc_after(CC_MSEC)), ETIMEDOUT);
	CHECK_EQ(cc_semaphore_post(&s, 0), 0);
	CHECK_EQ(cc_semaphore_post(&s, CC_SEMAPHORE_MAX), 0);
	CHECK_EQ(cc_semaphore_post(&s, 1), EOVERFLOW);
	CHECK_EQ(cc_semaphore_post(&s, UINT32_MAX), EOVERFLOW);
	CHECK_EQ(cc_semaphore_wait(&s), 0);
	CHECK_EQ(cc_semaphore_post(&s, 1), 0);
}

TEST(semaphore_hands_permits_to_those_who_wait)
{
	enum { WAITERS = 50 };
	CCRuntime *rt = test_runtime_of(2);
	CCSemaphore s = {0};
	struct call c[WAITERS];

	for (int i = 0; i < WAITERS; i++) {
		start(&c[i], rt, i % 8 == 0 ? THREAD : FIBER, take_permit, &s);
		TEST_UNTIL(sleeping(&s) == i + 1);
	}
	CHECK_EQ(cc_semaphore_post(&s, 1), 0);
	CHECK_EQ(cc_semaphore_wait_until(&s, CC_NOW), EAGAIN);	/* it was not for us */
	CHECK_EQ(finish(&c[0]), 0);
	CHECK_EQ(cc_semaphore_post(&s, WAITERS + 2), 0);
	for (int i = 1; i < WAITERS; i++)
		CHECK_EQ(finish(&c[i]), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(cc_semaphore_wait_until(&s, CC_NOW), 0);
	CHECK_EQ(cc_semaphore_wait_until(&s, CC_NOW), EAGAIN);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- once ---- */

static int calls;

static int count_calls(void *arg)
{
	return ++calls == 1 ? *(int *)arg : 0;
}

TEST(once_is_done_once_and_tried_again_after_an_error)
{
	CCOnce o = {0};
	int err = EIO;

	calls = 0;
	CHECK_EQ(cc_once(&o, count_calls, &err), EIO);
	CHECK_EQ(cc_once(&o, count_calls, &err), 0);
	CHECK_EQ(cc_once(&o, count_calls, &err), 0);
	CHECK_EQ(calls, 2);
}

/* ---- barrier ---- */

enum { PARTIES = 36 };
static CCBarrier all = CC_BARRIER_INIT(PARTIES);
static cc__a32 rounds, lasts;

static int goes_round(void *arg, cc_time deadline)
{
	(void)arg;
	for (int i = 0; i < 20; i++) {
		int last, err;

		cc__add(&rounds, 1, CC__RELAXED);
		if ((err = cc_barrier_wait_until(&all, &last, deadline)) != 0)
			return err;
		CHECK(cc__load(&rounds, CC__RELAXED) >= (uint32_t)(i + 1) * PARTIES);
		cc__add(&lasts, (uint32_t)last, CC__RELAXED);
		if ((err = cc_barrier_wait_until(&all, NULL, deadline)) != 0)
			return err;
	}
	return 0;
}

TEST(barrier_nobody_goes_on_before_all_have_come)
{
	CCRuntime *rt = test_runtime_of(2);
	struct call c[PARTIES];

	cc__store(&rounds, 0, CC__RELAXED);
	cc__store(&lasts, 0, CC__RELAXED);
	for (int i = 0; i < PARTIES; i++)
		start(&c[i], rt, i % 8 == 0 ? THREAD : FIBER, goes_round, NULL);
	for (int i = 0; i < PARTIES; i++)
		CHECK_EQ(finish(&c[i]), 0);
	CHECK_EQ(cc__load(&lasts, CC__RELAXED), 20);
	CHECK_EQ(all.come, 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(barrier_who_gives_up_has_not_come)
{
	CCBarrier b = CC_BARRIER_INIT(2), none = {0}, one = CC_BARRIER_INIT(1);
	int last = 7;

	CHECK_EQ(cc_barrier_wait_until(&b, &last, CC_NOW), EAGAIN);
	CHECK_EQ(cc_barrier_wait_until(&b, NULL, cc_after(CC_MSEC)), ETIMEDOUT);
	CHECK_EQ(b.come, 0);
	CHECK_EQ(cc_barrier_wait(&none, NULL), EINVAL);
	CHECK_EQ(cc_barrier_wait(&one, &last), 0);
	CHECK_EQ(last, 1);
}

/* ---- wait group ---- */

static int done_main(void *g, cc_time deadline)
{
	(void)deadline;
	return cc_wait_group_done(g);
}

TEST(wait_group_waits_for_all)
{
	enum { THINGS = 50 };
	CCRuntime *rt = test_runtime_of(2);
	CCWaitGroup g = {0};
	struct call c[THINGS];

	CHECK_EQ(cc_wait_group_done(&g), EPERM);
	CHECK_EQ(cc_wait_group_wait(&g), 0);
	CHECK_EQ(cc_wait_group_add(&g, THINGS), 0);
	CHECK_EQ(cc_wait_group_wait_until(&g, CC_NOW), EAGAIN);
	CHECK_EQ(cc_wait_group_wait_until(&g, cc_after(CC_MSEC)), ETIMEDOUT);
	for (int i = 0; i < THINGS; i++)
		start(&c[i], rt, i % 8 == 0 ? THREAD : FIBER, done_main, &g);
	CHECK_EQ(cc_wait_group_wait(&g), 0);
	CHECK_EQ(g.word, 0);
	for (int i = 0; i < THINGS; i++)
		CHECK_EQ(finish(&c[i]), 0);
	CHECK_EQ(cc_wait_group_add(&g, UINT32_MAX >> 1), 0);
	CHECK_EQ(cc_wait_group_add(&g, 1), EOVERFLOW);
	CHECK_EQ(cc_runtime_free(rt), 0);
}
