/* sync.c - locks and their kin on the park engine: two buckets, sleepers are threads.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c park/engine.c sync/mutex.c sync/cond.c
 *	sync/rwlock.c sync/semaphore.c sync/once.c sync/barrier.c sync/wait_group.c
 * defines: CC__MUTEX_SPINS=0 */
#include <errno.h>

#define SHIM_CANCEL
#include "shim_wait.h"
#include "sync/sync.h"

static struct cc__bucket buckets[2];
const struct cc__park_table cc__park_trusted = {buckets, 1};

static int got[4];	/* results, by thread */
static cc__a32 cancel;	/* of thread 0 */

const cc__a32 *shim_cancel_flag(struct cc__parker *who)
{
	return who == thread_parker(0) ? &cancel : NULL;
}

static void cancel_first(void)
{
	cc__store(&cancel, CC__CANCEL, CC__SEQ_CST);
	cc__unpark(thread_parker(0));
}

static void at_rest(void)
{
	MC_ASSERT(buckets[0].first == NULL && buckets[1].first == NULL);
	check_threads_at_rest();
}

/* ---- mutex ---- */

static CCMutex mutex;
static int inside;	/* plain: a second one inside is a race */

static void critical(void)
{
	inside++;
	MC_ASSERT(inside == 1);
	inside--;
	MC_ASSERT(cc_mutex_unlock(&mutex) == 0);
}

static void lock_until(cc_time deadline)
{
	be_thread();
	got[mc_self()] = cc_mutex_lock_until(&mutex, deadline);
	if (got[mc_self()] == 0)
		critical();
}

static void lock_once(void)
{
	lock_until(CC_FOREVER);
}

static void lock_twice(void)
{
	lock_once();
	lock_once();
}

static void lock_for_a_second(void)
{
	lock_until(cc__now() + CC_SEC);
}

static void try_lock(void)
{
	lock_until(CC_NOW);
}

/* Holds it for longer than anybody has patience. */
static void lock_for_long(void)
{
	be_thread();
	MC_ASSERT(cc_mutex_lock(&mutex) == 0);
	inside++;
	cc__futex_wait(&cancel, 0, cc__now() + CC_SEC);
	inside--;
	MC_ASSERT(cc_mutex_unlock(&mutex) == 0);
	lock_once();
}

static void mutex_free(void)
{
	at_rest();
	MC_ASSERT(inside == 0 && cc_mutex_unlock(&mutex) == EPERM);
	for (int i = 0; i < 4; i++)
		MC_ASSERT(got[i] == 0 || got[i] == ETIMEDOUT || got[i] == ECANCELED ||
		          got[i] == EAGAIN);
	mc_outcome("%d", got[0]);
}

static void mutex_had_by_all(void)
{
	mutex_free();
	for (int i = 0; i < 4; i++)
		MC_ASSERT(got[i] == 0);
}

SCENARIO(mutex_three, .body = {lock_once, lock_once, lock_once}, .final = mutex_had_by_all,
         .spurious = MC_NONE)
SCENARIO(mutex_two_twice, .body = {lock_twice, lock_twice}, .final = mutex_had_by_all,
         .spurious = MC_NONE)
SCENARIO(mutex_handed_over, .body = {lock_once, lock_once, lock_for_long},
         .final = mutex_had_by_all, .spurious = MC_NONE, .weak = 1, .timeouts = 1)
SCENARIO(mutex_deadline, .body = {lock_for_a_second, lock_once, lock_once}, .final = mutex_free,
         .spurious = MC_NONE, .timeouts = 1)
SCENARIO(mutex_canceled, .body = {lock_once, lock_once, cancel_first}, .final = mutex_free,
         .spurious = MC_NONE)
SCENARIO(mutex_tried, .body = {try_lock, lock_once, lock_once}, .final = mutex_free,
         .spurious = MC_NONE)

/* The last one to have used it frees it. */
static struct {
	CCMutex mutex;
	int users;
} *shared;

static void share_init(void)
{
	shared = mc_alloc(sizeof *shared);
	shared->mutex = (CCMutex){0};
	shared->users = 3;
}

static void use_and_leave(void)
{
	bool last;

	be_thread();
	MC_ASSERT(cc_mutex_lock(&shared->mutex) == 0);
	last = --shared->users == 0;
	MC_ASSERT(cc_mutex_unlock(&shared->mutex) == 0);
	if (last)
		mc_free(shared);
}

SCENARIO(mutex_freed_by_the_last, .init = share_init,
         .body = {use_and_leave, use_and_leave, use_and_leave}, .final = at_rest,
         .spurious = MC_NONE)

/* ---- condition ---- */

static CCCond changed;
static int ready;	/* mutex */

static void wait_until_ready(cc_time deadline)
{
	int err = 0;

	be_thread();
	cc_mutex_lock_anyway(&mutex);
	while (ready == 0 && err == 0)
		err = cc_cond_wait_until(&changed, &mutex, deadline);
	got[mc_self()] = ready > 0 ? 0 : err;
	if (ready > 0)
		ready--;
	MC_ASSERT(cc_mutex_unlock(&mutex) == 0);
}

static void cond_wait_one(void)
{
	wait_until_ready(CC_FOREVER);
}

static void cond_wait_a_second(void)
{
	wait_until_ready(cc__now() + CC_SEC);
}

static void make_ready(int count, void (*tell)(CCCond *c))
{
	be_thread();
	cc_mutex_lock_anyway(&mutex);
	ready += count;
	MC_ASSERT(cc_mutex_unlock(&mutex) == 0);
	tell(&changed);
}

static void cond_signal(void)
{
	make_ready(1, cc_cond_signal);
}

static void cond_signal_twice(void)
{
	cond_signal();
	cond_signal();
}

static void cond_broadcast(void)
{
	make_ready(2, cc_cond_broadcast);
}

static void none_missed(void)
{
	mutex_free();
	MC_ASSERT(ready == 0 && got[0] == 0 && got[1] == 0);
}

static void one_maybe_late(void)
{
	mutex_free();
	MC_ASSERT(ready == (got[0] != 0) && got[1] == 0);
}

SCENARIO(cond_two_signals, .body = {cond_wait_one, cond_wait_one, cond_signal_twice},
         .final = none_missed, .spurious = MC_NONE, .weak = 1)
SCENARIO(cond_all, .body = {cond_wait_one, cond_wait_one, cond_broadcast}, .final = none_missed,
         .spurious = MC_NONE, .weak = 1)
/* A signal that one who gives up may have had is not the only one. */
SCENARIO(cond_deadline, .body = {cond_wait_a_second, cond_wait_one, cond_broadcast},
         .final = one_maybe_late, .spurious = MC_NONE, .weak = 1, .timeouts = 1)
SCENARIO(cond_canceled, .body = {cond_wait_one, cond_wait_one, cond_broadcast, cancel_first},
         .final = one_maybe_late, .spurious = MC_NONE, .bound = 1)

/* ---- readers and writers ---- */

static CCRwlock rwlock;
static int written;	/* plain: a reader beside a writer is a race */

static void read_it(void)
{
	be_thread();
	MC_ASSERT(cc_rwlock_read(&rwlock) == 0);
	got[mc_self()] = written;
	MC_ASSERT(cc_rwlock_unlock(&rwlock) == 0);
}

static void write_until(cc_time deadline)
{
	be_thread();
	got[mc_self()] = cc_rwlock_write_until(&rwlock, deadline);
	if (got[mc_self()] == 0) {
		written++;
		MC_ASSERT(cc_rwlock_unlock(&rwlock) == 0);
	}
}

static void write_it(void)
{
	write_until(CC_FOREVER);
}

static void write_for_a_second(void)
{
	write_until(cc__now() + CC_SEC);
}

static void read_and_write(void)
{
	read_it();
	write_it();
}

static void rwlock_free(void)
{
	at_rest();
	MC_ASSERT(cc_rwlock_unlock(&rwlock) == EPERM);
	MC_ASSERT(cc_rwlock_write_until(&rwlock, CC_NOW) == 0);
}

SCENARIO(rwlock_two_readers, .body = {read_it, write_it, read_it}, .final = rwlock_free,
         .spurious = MC_NONE)
SCENARIO(rwlock_two_writers, .body = {write_it, write_it, read_it}, .final = rwlock_free,
         .spurious = MC_NONE)
SCENARIO(rwlock_both, .body = {read_and_write, read_and_write}, .final = rwlock_free,
         .spurious = MC_NONE)
SCENARIO(rwlock_writer_gives_up, .body = {write_for_a_second, read_it, read_it},
         .final = rwlock_free, .spurious = MC_NONE, .weak = 1, .timeouts = 1)
SCENARIO(rwlock_writer_canceled, .body = {write_it, read_it, read_it, cancel_first},
         .final = rwlock_free, .spurious = MC_NONE, .bound = 1)

/* ---- semaphore ---- */

static CCSemaphore semaphore;

static void sem_wait_one(void)
{
	be_thread();
	got[mc_self()] = cc_semaphore_wait(&semaphore);
}

static void sem_wait_a_second(void)
{
	be_thread();
	got[mc_self()] = cc_semaphore_wait_until(&semaphore, cc__now() + CC_SEC);
}

static void sem_post_one(void)
{
	MC_ASSERT(cc_semaphore_post(&semaphore, 1) == 0);
}

static void sem_post_two(void)
{
	MC_ASSERT(cc_semaphore_post(&semaphore, 2) == 0);
}

/* Two were posted, two waited. */
static void no_permit_lost(void)
{
	at_rest();
	MC_ASSERT((got[0] == 0) + (got[1] == 0) + (int)(semaphore.word >> 1) == 2);
	MC_ASSERT(got[1] == 0);
	mc_outcome("%d", got[0]);
}

SCENARIO(sync_semaphore_post_two, .body = {sem_wait_one, sem_wait_one, sem_post_two},
         .final = no_permit_lost, .spurious = MC_NONE) /* covers: SCH-37/m, LIF-21/m */
SCENARIO(sync_semaphore_two_posts,
         .body = {sem_wait_one, sem_wait_one, sem_post_one, sem_post_one},
         .final = no_permit_lost, .spurious = MC_NONE, .bound = 1)
SCENARIO(sync_semaphore_deadline, .body = {sem_wait_a_second, sem_wait_one, sem_post_two},
         .final = no_permit_lost, .spurious = MC_NONE, .weak = 1, .timeouts = 1)
SCENARIO(sync_semaphore_canceled,
         .body = {sem_wait_one, sem_wait_one, sem_post_two, cancel_first},
         .final = no_permit_lost, .spurious = MC_NONE, .bound = 1)

/* ---- once ---- */

static CCOnce once;
static int firsts;	/* plain: two at a time are a race */

static int first(void *arg)
{
	(void)arg;
	return ++firsts == 1 && got[3] != 0 ? got[3] : 0;
}

static void do_once(void)
{
	be_thread();
	got[mc_self()] = cc_once(&once, first, NULL);
	if (got[mc_self()] == 0)
		MC_ASSERT(firsts == (got[3] == 0 ? 1 : 2));
}

static void fail_at_first(void)
{
	got[3] = EIO;
}

static void done_once(void)
{
	at_rest();
	MC_ASSERT((got[0] != 0) + (got[1] != 0) + (got[2] != 0) == (got[3] != 0));
}

SCENARIO(once_three, .body = {do_once, do_once, do_once}, .final = done_once,
         .spurious = MC_NONE)
SCENARIO(once_fails_at_first, .init = fail_at_first, .body = {do_once, do_once, do_once},
         .final = done_once, .spurious = MC_NONE)

/* ---- barrier ---- */

static CCBarrier barrier = CC_BARRIER_INIT(2);
static int lasts;
static cc__a32 come;

static void meet(cc_time deadline)
{
	int last = 0;

	be_thread();
	cc__add(&come, 1, CC__RELAXED);
	got[mc_self()] = cc_barrier_wait_until(&barrier, &last, deadline);
	if (got[mc_self()] == 0)
		MC_ASSERT(cc__load(&come, CC__RELAXED) >= 2);
	if (got[mc_self()] == 0 && last)
		lasts++;
}

static void meet_once(void)
{
	meet(CC_FOREVER);
}

static void meet_twice(void)
{
	meet(CC_FOREVER);
	meet(CC_FOREVER);
}

static void meet_a_second(void)
{
	meet(cc__now() + CC_SEC);
}

static void met_twice(void)
{
	at_rest();
	MC_ASSERT(lasts == 2 && barrier.come == 0 && barrier.round == 2);
}

/* Two have met, or nobody has. */
static void met(void)
{
	const int successes = (got[0] == 0) + (got[1] == 0) + (got[2] == 0);

	at_rest();
	MC_ASSERT(barrier.come == 0 && lasts * 2 == successes);
	mc_outcome("%d", successes);
}

SCENARIO(barrier_two_rounds, .body = {meet_twice, meet_twice}, .final = met_twice,
         .spurious = MC_NONE)
SCENARIO(barrier_somebody_gives_up, .body = {meet_a_second, meet_a_second, meet_a_second},
         .final = met, .spurious = MC_NONE, .weak = 1, .timeouts = 1, .outcomes = "0 2")

/* ---- wait group ---- */

static CCWaitGroup *group;

static void group_init(void)
{
	group = mc_alloc(sizeof *group);
	*group = (CCWaitGroup){0};
	MC_ASSERT(cc_wait_group_add(group, 2) == 0);
	got[1] = got[2] = 0;
}

static void work_done(void)
{
	got[mc_self()] = 1;	/* plain: seen by who has waited */
	MC_ASSERT(cc_wait_group_done(group) == 0);
}

static void wait_and_free(void)
{
	be_thread();
	MC_ASSERT(cc_wait_group_wait(group) == 0);
	MC_ASSERT(got[1] == 1 && got[2] == 1);
	mc_free(group);
}

static void wait_a_second_and_free(void)
{
	be_thread();
	if (cc_wait_group_wait_until(group, cc__now() + CC_SEC) != 0)
		MC_ASSERT(cc_wait_group_wait(group) == 0);
	mc_free(group);
}

SCENARIO(wait_group_freed, .init = group_init, .body = {wait_and_free, work_done, work_done},
         .final = at_rest, .spurious = MC_NONE)
SCENARIO(wait_group_deadline, .init = group_init,
         .body = {wait_a_second_and_free, work_done, work_done}, .final = at_rest,
         .spurious = MC_NONE, .timeouts = 1)
