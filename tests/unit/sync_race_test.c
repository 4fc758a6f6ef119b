/* sync_race_test.c - many fibers and threads at one lock, with deadlines that pass: what is
 * guarded stays whole, and nobody is left asleep. */
#include <errno.h>

#include "sleepers.h"

enum { FIBERS = 12, THREADS = 3, ALL = FIBERS + THREADS };

static int rounds(void)
{
	const char *text = getenv("SYNC_ROUNDS");

	return text != NULL ? atoi(text) : 300;
}

struct crowd {
	int (*round)(struct crowd *c, uint32_t random);
	int rounds;
	cc__a32 who;	/* numbers them */
	CCMutex mutex;
	CCRwlock rwlock;
	CCSemaphore permits;
	CCCond changed;
	long whole[2];		/* what is guarded: equal */
	cc__a32 within, successes;
	long stock;		/* mutex */
};

/* Once in a while no patience at all, or little. */
static cc_time patience(uint32_t random)
{
	switch (random % 8) {
	case 0:
		return CC_NOW;
	case 1:
		return cc_after(random / 8 % 50 * CC_USEC);
	default:
		return CC_FOREVER;
	}
}

static int crowd_main(void *arg)
{
	struct crowd *c = arg;
	uint32_t random = cc__add(&c->who, 1, CC__RELAXED) * 2654435761u + 1;
	int err = 0;

	for (int i = 0; i < c->rounds && err == 0; i++) {
		random = random * 1664525 + 1013904223;
		err = c->round(c, random >> 8);
		if (err == EAGAIN || err == ETIMEDOUT)
			err = 0;
		else
			cc__add(&c->successes, 1, CC__RELAXED);
		if (random >> 29 == 0)
			cc_yield();
	}
	return err;
}

static void run_crowd(struct crowd *c)
{
	CCRuntime *rt = test_runtime_of(2);
	struct sleeper s[ALL];

	c->rounds = rounds();
	for (int i = 0; i < ALL; i++)
		sleeper_start(&s[i], rt, i < FIBERS ? FIBER : THREAD, crowd_main, c);
	for (int i = 0; i < ALL; i++)
		CHECK_EQ(sleeper_join(&s[i]), 0);
	CHECK_EQ(c->whole[0], c->whole[1]);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* Inside it others get a chance to do wrong. */
static void change(struct crowd *c, uint32_t random)
{
	c->whole[0]++;
	if (random % 16 == 3)
		cc_yield();
	c->whole[1]++;
}

static int mutex_round(struct crowd *c, uint32_t random)
{
	const int err = cc_mutex_lock_until(&c->mutex, patience(random));

	if (err != 0)
		return err;
	CHECK_EQ(c->whole[0], c->whole[1]);
	change(c, random);
	return cc_mutex_unlock(&c->mutex);
}

TEST(mutex_race)	/* covers: PRK-113/z */
{
	struct crowd c = {.round = mutex_round};

	run_crowd(&c);
	CHECK_EQ(c.whole[0], cc__load(&c.successes, CC__RELAXED));
	CHECK_EQ(c.mutex.word & 1, 0);
}

static int rwlock_round(struct crowd *c, uint32_t random)
{
	const bool writer = random / 512 % 4 == 0;
	const int err = writer ? cc_rwlock_write_until(&c->rwlock, patience(random))
	                       : cc_rwlock_read_until(&c->rwlock, patience(random));

	if (err != 0)
		return err;
	CHECK_EQ(c->whole[0], c->whole[1]);
	if (writer)
		change(c, random);
	return cc_rwlock_unlock(&c->rwlock);
}

TEST(rwlock_race)
{
	struct crowd c = {.round = rwlock_round};

	run_crowd(&c);
	CHECK_EQ(c.rwlock.word >> 2, 0);
	CHECK_EQ(cc_rwlock_write_until(&c.rwlock, CC_NOW), 0);
}

enum { PERMITS = 3 };

static int semaphore_round(struct crowd *c, uint32_t random)
{
	const int err = cc_semaphore_wait_until(&c->permits, patience(random));

	if (err != 0)
		return err;
	CHECK(cc__add(&c->within, 1, CC__RELAXED) < PERMITS);
	if (random % 16 == 3)
		cc_yield();
	cc__sub(&c->within, 1, CC__RELAXED);
	return cc_semaphore_post(&c->permits, 1);
}

TEST(semaphore_race)
{
	struct crowd c = {.round = semaphore_round, .permits = CC_SEMAPHORE_INIT(PERMITS)};

	run_crowd(&c);
	CHECK_EQ(c.permits.word >> 1, PERMITS);
}

/* Each round puts two and takes two: nobody waits for ever, whoever gives up. */
static int cond_round(struct crowd *c, uint32_t random)
{
	const cc_time deadline = patience(random);
	int err;

	cc_mutex_lock_anyway(&c->mutex);
	c->stock += 2;
	CHECK_EQ(cc_mutex_unlock(&c->mutex), 0);
	if (random % 2 == 0)
		cc_cond_broadcast(&c->changed);
	else
		for (int i = 0; i < 2; i++)
			cc_cond_signal(&c->changed);
	for (int taken = 0; taken < 2; taken++) {
		cc_mutex_lock_anyway(&c->mutex);
		for (err = 0; c->stock == 0 && err == 0;)
			err = cc_cond_wait_until(&c->changed, &c->mutex, deadline);
		if (c->stock == 0) {
			CHECK_EQ(cc_mutex_unlock(&c->mutex), 0);
			return err;
		}
		c->stock--;
		CHECK_EQ(cc_mutex_unlock(&c->mutex), 0);
	}
	return 0;
}

TEST(cond_race)
{
	struct crowd c = {.round = cond_round};

	run_crowd(&c);
	CHECK(c.stock >= 0);
}
