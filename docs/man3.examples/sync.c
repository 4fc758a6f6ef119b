/* Locks and meeting points: <ccc/sync.h>. */
#include <assert.h>

#include <ccc/ccc.h>

static CCMutex lock;	/* zeroed: ready for use */
static CCCond changed;
static int ready;
static int count;

static int add_1000(void *arg)
{
	(void)arg;
	for (int i = 0; i < 1000; i++) {
		cc_try(cc_mutex_lock(&lock));
		count++;
		cc_mutex_unlock(&lock);
	}
	return 0;
}

static void protect_a_counter(void)
{
	CCJob jobs[] = {{.main = add_1000}, {.main = add_1000}};

	assert(cc_block_all(jobs, 2, NULL) == 0);
	assert(count == 2000);
}

static void lock_with_a_deadline(void)
{
	assert(cc_mutex_lock_until(&lock, CC_NOW) == 0);
	assert(cc_mutex_lock_until(&lock, cc_after(CC_MSEC)) == ETIMEDOUT);
	assert(cc_mutex_unlock(&lock) == 0);
	cc_mutex_lock_anyway(&lock);	/* clean-up: also if the caller is cancelled */
	assert(cc_mutex_unlock(&lock) == 0);
	assert(cc_mutex_unlock(&lock) == EPERM);
}

static int announce(void *arg)
{
	(void)arg;
	cc_try(cc_mutex_lock(&lock));
	ready = 1;
	cc_cond_broadcast(&changed);	/* all waiters; cc_cond_signal wakes one */
	return cc_mutex_unlock(&lock);
}

static void wait_for_a_change(void)
{
	int err = 0, late = 0;

	ready = 0;
	cc_nursery_scope(n, &err) {
		cc_nursery_spawn(n, NULL, announce, NULL);
		assert(cc_mutex_lock(&lock) == 0);
		while (!ready && late == 0)
			late = cc_cond_wait(&changed, &lock);
		assert(cc_mutex_unlock(&lock) == 0);
	}
	assert(err == 0 && late == 0 && ready);
}

static int announce_to_one(void *arg)
{
	(void)arg;
	cc_try(cc_mutex_lock(&lock));
	ready = 1;
	cc_cond_signal(&changed);
	return cc_mutex_unlock(&lock);
}

static void wait_until_a_deadline(void)
{
	const cc_time deadline = cc_after(10 * CC_SEC);
	int err = 0, late = 0;

	ready = 0;
	cc_nursery_scope(n, &err) {
		cc_nursery_spawn(n, NULL, announce_to_one, NULL);
		assert(cc_mutex_lock(&lock) == 0);
		while (!ready && late == 0)
			late = cc_cond_wait_until(&changed, &lock, deadline);
		assert(cc_mutex_unlock(&lock) == 0);
	}
	assert(err == 0 && late == 0 && ready);
}

/* Many readers, or one writer. */
static void read_and_write(void)
{
	CCRwlock table = {0};

	assert(cc_rwlock_read(&table) == 0);
	assert(cc_rwlock_read_until(&table, CC_NOW) == 0);	/* another reader may enter */
	assert(cc_rwlock_write_until(&table, CC_NOW) == EAGAIN);
	assert(cc_rwlock_unlock(&table) == 0);
	assert(cc_rwlock_unlock(&table) == 0);
	assert(cc_rwlock_write(&table) == 0);
	assert(cc_rwlock_unlock(&table) == 0);
}

/* At most two at a time. */
static void limit(void)
{
	CCSemaphore two = CC_SEMAPHORE_INIT(2);

	assert(cc_semaphore_wait(&two) == 0);
	assert(cc_semaphore_wait(&two) == 0);
	assert(cc_semaphore_wait_until(&two, CC_NOW) == EAGAIN);
	assert(cc_semaphore_post(&two, 2) == 0);
}

static int load(void *arg)
{
	++*(int *)arg;
	return 0;
}

static void load_once(void)
{
	CCOnce once = {0};
	int loads = 0;

	assert(cc_once(&once, load, &loads) == 0);
	assert(cc_once(&once, load, &loads) == 0);
	assert(loads == 1);
}

static CCBarrier both = CC_BARRIER_INIT(2);

static int arrive(void *arg)
{
	int last;

	cc_try(cc_barrier_wait(&both, &last));
	*(int *)arg += last;
	return cc_barrier_wait_until(&both, NULL, cc_after(10 * CC_SEC));
}

/* Both tasks wait for each other, twice. */
static void meet(void)
{
	int last[2] = {0, 0};
	CCJob jobs[] = {{.main = arrive, .arg = &last[0]}, {.main = arrive, .arg = &last[1]}};

	assert(cc_block_all(jobs, 2, NULL) == 0);
	assert(last[0] + last[1] == 1);
}

static CCWaitGroup left;

static int do_one(void *arg)
{
	(void)arg;
	return cc_wait_group_done(&left);
}

static void wait_for_a_group(void)
{
	int err = 0;

	assert(cc_wait_group_add(&left, 3) == 0);
	cc_nursery_scope(n, &err) {
		for (int i = 0; i < 3; i++)
			cc_nursery_spawn(n, NULL, do_one, NULL);
		assert(cc_wait_group_wait(&left) == 0);
		assert(cc_wait_group_wait_until(&left, CC_NOW) == 0);	/* none is left */
	}
	assert(err == 0);
}

int main(void)
{
	protect_a_counter();
	lock_with_a_deadline();
	wait_for_a_change();
	wait_until_a_deadline();
	read_and_write();
	limit();
	load_once();
	meet();
	wait_for_a_group();
	return 0;
}
