/* sync.h - mutex, condition variable, read-write lock, semaphore, once, barrier and wait group,
 * for fibers and threads alike.
 *
 * A zeroed object is ready for use, and there is nothing to free.  A fiber that has to wait parks
 * while its worker runs other fibers.  Fibers and threads of any runtimes may share an object.
 * The objects do not work between processes.
 *
 * Every call that has to wait is a cancellation point and has a form with a deadline.  It returns
 * 0, or an error; after an error it has done nothing, so check the result.  A call that need not
 * wait succeeds even if its deadline has passed or the caller is cancelled.
 *
 * The memory of an object may be released once no further call on it will start, even if an
 * unlock, post or done of another thread has not returned yet. */
#ifndef CCC_SYNC_H
#define CCC_SYNC_H

#include <ccc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- mutex ---- */

/* A lock with one holder at a time.  Not recursive: the holder must not lock it again.  Barging is
 * allowed for one millisecond: a running caller may take the mutex ahead of a woken waiter, but a
 * waiter that has waited longer than that gets the mutex next.  The field is private. */
typedef struct CCMutex {
	uint32_t word;
} CCMutex;

/* Locks the mutex, waiting until `deadline` if it is locked.
 *
 * Returns 0, or
 *   ETIMEDOUT   the deadline passed (EAGAIN if it was CC_NOW), or the deadline of a nursery
 *               around the caller passed
 *   ECANCELED   the call would have to wait, and a nursery around the caller was cancelled or the
 *               calling fiber's runtime is ending
 *   ENOMEM      no memory for the first wait of a thread
 *   ENOTSUP     the call would have to wait in a child of fork (runtime.h)
 * After an error the caller does not hold the mutex.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_mutex_lock_until(CCMutex *m, cc_time deadline);

/* Locks the mutex: cc_mutex_lock_until without a deadline.
 *
 * Returns as cc_mutex_lock_until does.
 *
 * Any thread.  May park.  Cancellation point. */
static inline CC_MUST_CHECK CC_IN_CALLER int cc_mutex_lock(CCMutex *m)
{
	return cc_mutex_lock_until(m, CC_FOREVER);
}
/* Locks the mutex even if the caller is cancelled, for clean-up.  Aborts the program if it would
 * have to wait and there is no memory for the first wait of a thread, or in a child of fork.
 *
 * Any thread.  May park.  Not a cancellation point. */
CC_API void cc_mutex_lock_anyway(CCMutex *m);
/* Unlocks the mutex.  The caller need not be the fiber or thread that locked it.
 *
 * Returns 0, or
 *   EPERM       the mutex was not locked
 *
 * Any thread.  Never parks. */
CC_API int cc_mutex_unlock(CCMutex *m);

/* ---- condition ---- */

/* A condition variable: waits for a change of data that a mutex protects.
 *
 *      while (!ready && err == 0)
 *              err = cc_cond_wait(&changed, &m);
 *
 * The field is private. */
typedef struct CCCond {
	uint32_t word;
} CCCond;

/* Unlocks `m`, sleeps until a signal or `deadline`, and locks `m` again.  May return 0 spuriously,
 * so call it in a loop that checks the data.
 *
 * Returns 0, or
 *   ETIMEDOUT   the deadline passed (EAGAIN if it was CC_NOW), or the deadline of a nursery
 *               around the caller passed
 *   ECANCELED   a nursery around the caller was cancelled, or the calling fiber's runtime is
 *               ending
 *   ENOMEM      no memory for the first wait of a thread
 *   EPERM       `m` was not locked
 *   ENOTSUP     in a child of fork (runtime.h)
 * After an error other than EPERM the caller holds `m`.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_cond_wait_until(CCCond *c, CCMutex *m, cc_time deadline);

/* Waits for a signal: cc_cond_wait_until without a deadline.
 *
 * Returns as cc_cond_wait_until does.
 *
 * Any thread.  May park.  Cancellation point. */
static inline CC_MUST_CHECK CC_IN_CALLER int cc_cond_wait(CCCond *c, CCMutex *m)
{
	return cc_cond_wait_until(c, m, CC_FOREVER);
}
/* Wakes the waiter that has waited longest, if there is one.
 *
 * Any thread.  Never parks. */
CC_API void cc_cond_signal(CCCond *c);

/* Wakes all waiters.
 *
 * Any thread.  Never parks. */
CC_API void cc_cond_broadcast(CCCond *c);

/* ---- readers and writers ---- */

/* A lock with many readers or one writer at a time.  It is FIFO: no caller overtakes a waiter.
 * A reader must not read-lock it a second time: if a writer waits in between, the reader
 * deadlocks.  The field is private. */
typedef struct CCRwlock {
	uint32_t word;
} CCRwlock;

/* Locks for reading, waiting until `deadline` if a writer holds the lock or waits for it.
 *
 * Returns as cc_mutex_lock_until does.  After an error the caller does not hold the lock.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_rwlock_read_until(CCRwlock *l, cc_time deadline);

/* Locks for reading: cc_rwlock_read_until without a deadline.
 *
 * Returns as cc_mutex_lock_until does.
 *
 * Any thread.  May park.  Cancellation point. */
static inline CC_MUST_CHECK int cc_rwlock_read(CCRwlock *l)
{
	return cc_rwlock_read_until(l, CC_FOREVER);
}

/* Locks for writing, waiting until `deadline` if the lock is held.
 *
 * Returns as cc_mutex_lock_until does.  After an error the caller does not hold the lock.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_rwlock_write_until(CCRwlock *l, cc_time deadline);

/* Locks for writing: cc_rwlock_write_until without a deadline.
 *
 * Returns as cc_mutex_lock_until does.
 *
 * Any thread.  May park.  Cancellation point. */
static inline CC_MUST_CHECK CC_IN_CALLER int cc_rwlock_write(CCRwlock *l)
{
	return cc_rwlock_write_until(l, CC_FOREVER);
}
/* Unlocks what a reader or a writer has locked.
 *
 * Returns 0, or
 *   EPERM       the lock was not locked
 *
 * Any thread.  Never parks. */
CC_API int cc_rwlock_unlock(CCRwlock *l);

/* ---- semaphore ---- */

/* A number of permits, given to waiters in the order of their arrival.  A zeroed semaphore has no
 * permits; CC_SEMAPHORE_INIT sets their number.  The field is private. */
typedef struct CCSemaphore {
	uint32_t word;
} CCSemaphore;

/* The largest number of permits. */
#define CC_SEMAPHORE_MAX (UINT32_MAX >> 1)
#define CC_SEMAPHORE_INIT(permits) {(uint32_t)(permits) << 1}

/* Takes one permit, waiting until `deadline` if there is none.
 *
 * Returns as cc_mutex_lock_until does.  After an error no permit was taken.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_semaphore_wait_until(CCSemaphore *s, cc_time deadline);

/* Takes one permit: cc_semaphore_wait_until without a deadline.
 *
 * Returns as cc_mutex_lock_until does.
 *
 * Any thread.  May park.  Cancellation point. */
static inline CC_MUST_CHECK int cc_semaphore_wait(CCSemaphore *s)
{
	return cc_semaphore_wait_until(s, CC_FOREVER);
}
/* Adds `permits` permits and wakes waiters that can take them.
 *
 * Returns 0, or
 *   EOVERFLOW   there would be more than CC_SEMAPHORE_MAX permits
 *   ENOTSUP     waiters would have to be woken in a child of fork (runtime.h)
 * After an error no permit was added.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_semaphore_post(CCSemaphore *s, uint32_t permits);

/* ---- once ---- */

/* Makes a function succeed exactly once.  The field is private. */
typedef struct CCOnce {
	uint32_t word;
} CCOnce;

/* Calls `first(arg)` unless an earlier call has succeeded; waits while another caller runs it.
 * After 0, `first` has succeeded once, in this call or in another, and its writes are visible.
 *
 * Returns 0, or
 *   (error)     the error that `first` returned to this call; the next call tries again
 *   ETIMEDOUT   the deadline of a nursery around the caller passed
 *   ECANCELED   the call would have to wait, and a nursery around the caller was cancelled or the
 *               calling fiber's runtime is ending
 *   ENOMEM      no memory for the first wait of a thread
 *   ENOTSUP     the call would have to wait in a child of fork (runtime.h)
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_once(CCOnce *o, int (*first)(void *arg), void *arg);

/* ---- barrier ---- */

/* Holds callers back until `parties` of them have arrived, then starts again.  The fields are
 * private; CC_BARRIER_INIT sets the number of parties. */
typedef struct CCBarrier {
	uint32_t parties, come, round;
} CCBarrier;

#define CC_BARRIER_INIT(parties) {(parties), 0, 0}

/* Arrives at the barrier and waits until all parties have arrived, at most until `deadline`.  If
 * `last` is not NULL, *last is 1 for one of the parties and 0 for the others.
 *
 * Returns 0, or
 *   EINVAL      the barrier has no parties
 *   (other)     the errors of cc_mutex_lock_until
 * After an error the caller has not arrived.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_barrier_wait_until(CCBarrier *b, int *last, cc_time deadline);

/* Arrives at the barrier: cc_barrier_wait_until without a deadline.
 *
 * Returns as cc_barrier_wait_until does.
 *
 * Any thread.  May park.  Cancellation point. */
static inline CC_MUST_CHECK int cc_barrier_wait(CCBarrier *b, int *last)
{
	return cc_barrier_wait_until(b, last, CC_FOREVER);
}

/* ---- wait group ---- */

/* Counts things to be done; waiters wait until none is left.  An add must happen before the wait
 * that is meant to see it.  The field is private. */
typedef struct CCWaitGroup {
	uint32_t word;
} CCWaitGroup;

/* Adds `things` to the count.
 *
 * Returns 0, or
 *   EOVERFLOW   the count would be more than UINT32_MAX >> 1
 * After an error the count is unchanged.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_wait_group_add(CCWaitGroup *g, uint32_t things);
/* Takes one from the count.  If it becomes 0, wakes all waiters.
 *
 * Returns 0, or
 *   EPERM       the count was 0
 *
 * Any thread.  Never parks. */
CC_API int cc_wait_group_done(CCWaitGroup *g);

/* Waits until the count is 0, at most until `deadline`.
 *
 * Returns as cc_mutex_lock_until does.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_wait_group_wait_until(CCWaitGroup *g, cc_time deadline);

/* Waits until the count is 0: cc_wait_group_wait_until without a deadline.
 *
 * Returns as cc_mutex_lock_until does.
 *
 * Any thread.  May park.  Cancellation point. */
static inline CC_MUST_CHECK int cc_wait_group_wait(CCWaitGroup *g)
{
	return cc_wait_group_wait_until(g, CC_FOREVER);
}

#ifdef __cplusplus
}
#endif
#endif
