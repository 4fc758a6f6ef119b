/* sync.h - locks and their kin, for fibers and threads alike.
 *
 * All zero is ready for use, and there is nothing to free.  A fiber that has to wait parks,
 * its worker runs others.  Fibers and threads, of one runtime or of several, may share
 * them; between processes they do not work.
 *
 * Whatever has to wait is a cancel point and has a form with a deadline.  It returns 0, or
 * has not done what it says: ECANCELED; ETIMEDOUT, also if it was the deadline of a
 * nursery; EAGAIN for CC_NOW; ENOMEM; ENOTSUP in a child of fork.  So the result has to be
 * looked at.  What need not wait succeeds, cancelled or not.
 *
 * Memory may be given back by whoever knows that nobody will use it any more, even if
 * another one's unlock, post or done has yet to return. */
#ifndef CCC_SYNC_H
#define CCC_SYNC_H

#include <ccc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Even without optimization: what locks is known by where it was called (CC_DEBUG_HOLD). */
#define CC_IN_CALLER __attribute__((always_inline))

/* ---- mutex ---- */

/* One holder at a time.  Whoever runs may get it before who has been woken for it, but only
 * for a millisecond: who has waited for that long is next.  Not to be locked again by who
 * holds it. */
typedef struct CCMutex {
	uint32_t word;
} CCMutex;

CC_API CC_MUST_CHECK int cc_mutex_lock_until(CCMutex *m, cc_time deadline);
static inline CC_MUST_CHECK CC_IN_CALLER int cc_mutex_lock(CCMutex *m)
{
	return cc_mutex_lock_until(m, CC_FOREVER);
}
/* Whatever happens, cancelled or not: for clean-up. */
CC_API void cc_mutex_lock_anyway(CCMutex *m);
/* By any fiber or thread.  EPERM: it was not locked. */
CC_API int cc_mutex_unlock(CCMutex *m);

/* ---- condition ---- */

/* Wait for something that a mutex guards.
 *
 *      while (!ready && err == 0)
 *              err = cc_cond_wait(&changed, &m); */
typedef struct CCCond {
	uint32_t word;
} CCCond;

/* Unlock m, sleep until a signal, and lock m again, whatever ended the sleep.  May return 0
 * for no reason. */
CC_API CC_MUST_CHECK int cc_cond_wait_until(CCCond *c, CCMutex *m, cc_time deadline);
static inline CC_MUST_CHECK CC_IN_CALLER int cc_cond_wait(CCCond *c, CCMutex *m)
{
	return cc_cond_wait_until(c, m, CC_FOREVER);
}
/* Wake one, the first that came; wake all. */
CC_API void cc_cond_signal(CCCond *c);
CC_API void cc_cond_broadcast(CCCond *c);

/* ---- readers and writers ---- */

/* Many readers or one writer, in the order of their coming: nobody is overtaken.  So who
 * reads must not read again before he is done, a writer may wait in between. */
typedef struct CCRwlock {
	uint32_t word;
} CCRwlock;

CC_API CC_MUST_CHECK int cc_rwlock_read_until(CCRwlock *l, cc_time deadline);
static inline CC_MUST_CHECK int cc_rwlock_read(CCRwlock *l)
{
	return cc_rwlock_read_until(l, CC_FOREVER);
}
CC_API CC_MUST_CHECK int cc_rwlock_write_until(CCRwlock *l, cc_time deadline);
static inline CC_MUST_CHECK CC_IN_CALLER int cc_rwlock_write(CCRwlock *l)
{
	return cc_rwlock_write_until(l, CC_FOREVER);
}
/* Of either kind.  EPERM: it was not locked. */
CC_API int cc_rwlock_unlock(CCRwlock *l);

/* ---- semaphore ---- */

/* So many permits, handed to whoever came first. */
typedef struct CCSemaphore {
	uint32_t word;
} CCSemaphore;

#define CC_SEMAPHORE_MAX (UINT32_MAX >> 1)
#define CC_SEMAPHORE_INIT(permits) {(uint32_t)(permits) << 1}

CC_API CC_MUST_CHECK int cc_semaphore_wait_until(CCSemaphore *s, cc_time deadline);
static inline CC_MUST_CHECK int cc_semaphore_wait(CCSemaphore *s)
{
	return cc_semaphore_wait_until(s, CC_FOREVER);
}
/* EOVERFLOW, and nothing is done: more than CC_SEMAPHORE_MAX. */
CC_API CC_MUST_CHECK int cc_semaphore_post(CCSemaphore *s, uint32_t permits);

/* ---- once ---- */

typedef struct CCOnce {
	uint32_t word;
} CCOnce;

/* 0: `first` has been called once with success, by this call or another, and what it did
 * is seen.  Its error, if it was called here and failed; the next call tries again. */
CC_API CC_MUST_CHECK int cc_once(CCOnce *o, int (*first)(void *arg), void *arg);

/* ---- barrier ---- */

/* Nobody goes on until all have come; then it is ready for the next time. */
typedef struct CCBarrier {
	uint32_t parties, come, round;
} CCBarrier;

#define CC_BARRIER_INIT(parties) {(parties), 0, 0}

/* *last, unless NULL, is 1 for one of them and 0 for the others.  Who gives up has not
 * come.  EINVAL: no parties. */
CC_API CC_MUST_CHECK int cc_barrier_wait_until(CCBarrier *b, int *last, cc_time deadline);
static inline CC_MUST_CHECK int cc_barrier_wait(CCBarrier *b, int *last)
{
	return cc_barrier_wait_until(b, last, CC_FOREVER);
}

/* ---- wait group ---- */

/* So many things to be done; wait until none is left.  Whatever adds comes before the wait
 * that is to see it. */
typedef struct CCWaitGroup {
	uint32_t word;
} CCWaitGroup;

/* EOVERFLOW, and nothing is done: more than UINT32_MAX >> 1. */
CC_API CC_MUST_CHECK int cc_wait_group_add(CCWaitGroup *g, uint32_t things);
/* EPERM: there was none. */
CC_API int cc_wait_group_done(CCWaitGroup *g);
CC_API CC_MUST_CHECK int cc_wait_group_wait_until(CCWaitGroup *g, cc_time deadline);
static inline CC_MUST_CHECK int cc_wait_group_wait(CCWaitGroup *g)
{
	return cc_wait_group_wait_until(g, CC_FOREVER);
}

#ifdef __cplusplus
}
#endif
#endif
