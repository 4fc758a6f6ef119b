/* wait_semaphore.c - cc__fiber_wait on a waitable of its own: a counting
 * semaphore that hands its posts over, and can be closed.  Sleepers are threads.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c */
#include <errno.h>

#include "shim_wait.h"

static struct {
	struct cc__waitq q;
	int count;	/* q.lock; above 0 only while nobody is listed */
	bool closed;	/* q.lock */
} sem;

/* Under the lock: complete or refuse. */
static bool answer(struct cc__waiter *w)
{
	if (sem.count > 0) {
		sem.count--;
		w->result = 0;
		return true;
	}
	if (sem.closed) {
		w->result = EPIPE;
		return true;
	}
	return false;
}

static bool sem_try(void *object, struct cc__waiter *w)
{
	bool done;

	(void)object;
	cc__lock(&sem.q.lock, CC__RANK_WAITQ);
	done = answer(w);
	cc__unlock(&sem.q.lock);
	return done;
}

static bool sem_publish(void *object, struct cc__waiter *w)
{
	bool listed;

	(void)object;
	cc__lock(&sem.q.lock, CC__RANK_WAITQ);
	listed = w->next != NULL;
	/* Relaxed: written under this lock. */
	if (!listed && cc__load(&w->reason, CC__RELAXED) == CC__REASON_NONE && !answer(w)) {
		cc__waitq_append(&sem.q, w);
		listed = true;
	}
	cc__unlock(&sem.q.lock);
	return listed;
}

static bool sem_unpublish(void *object, struct cc__waiter *w)
{
	bool listed;

	(void)object;
	cc__lock(&sem.q.lock, CC__RANK_WAITQ);
	if ((listed = w->next != NULL))
		cc__waitq_remove(&sem.q, w);
	cc__unlock(&sem.q.lock);
	return listed;
}

static const struct cc__waitable_ops sem_ops = {sem_try, sem_publish, sem_unpublish};

static int got[3];	/* results of the waiters, by thread */

static int sem_wait(cc_time deadline)
{
	struct cc__waiter *w = waiter_new();
	int result = cc__fiber_wait(&sem, &sem_ops, w, deadline);

	/* Again, whatever the first answer was: no harm. */
	MC_ASSERT(!sem_unpublish(&sem, w));
	mc_free(w);
	return result;
}

static void post(void)
{
	struct cc__batch batch = {0};

	cc__lock(&sem.q.lock, CC__RANK_WAITQ);
	if (!cc__waitq_take(&sem.q, &batch, CC__REASON_DATA, 0))
		sem.count++;
	cc__unlock(&sem.q.lock);
	cc__batch_flush(&batch);
}

static void close_sem(void)
{
	struct cc__batch batch = {0};

	cc__lock(&sem.q.lock, CC__RANK_WAITQ);
	sem.closed = true;
	while (cc__waitq_take(&sem.q, &batch, CC__REASON_CLOSE, EPIPE))
		continue;
	cc__unlock(&sem.q.lock);
	cc__batch_flush(&batch);
}

static void wait_for_ever(void)
{
	be_thread();
	got[mc_self()] = sem_wait(CC_FOREVER);
}

static void wait_a_second(void)
{
	be_thread();
	got[mc_self()] = sem_wait(cc__now() + CC_SEC);
}

static void try_once(void)
{
	be_thread();
	got[mc_self()] = sem_wait(CC_NOW);
	MC_ASSERT(cc__word_ticket(cc__load(&thread_parker(mc_self())->word, CC__RELAXED)) == 0);
}

static void post_twice(void)
{
	post();
	post();
}

static void post_and_close(void)
{
	post();
	close_sem();
}

static void at_rest(void)
{
	MC_ASSERT(sem.q.head == NULL);
	check_threads_at_rest();
}

static void both_got_one(void)
{
	at_rest();
	MC_ASSERT(got[0] == 0 && got[1] == 0 && sem.count == 0);
}

/* No post is lost, none is used twice. */
static void two_posts(void)
{
	at_rest();
	MC_ASSERT((got[0] == 0) + (got[1] == 0) + sem.count == 2);
	for (int i = 0; i < 2; i++)
		MC_ASSERT(got[i] == 0 || got[i] == ETIMEDOUT || got[i] == EAGAIN);
	mc_outcome("%d", got[0] == 0);
}

static void one_post(void)
{
	at_rest();
	MC_ASSERT((got[0] == 0) + (got[1] == 0) + sem.count == 1);
	for (int i = 0; i < 2; i++)
		MC_ASSERT(got[i] == 0 || got[i] == EPIPE);
	mc_outcome("%d%d", got[0] == 0, got[1] == 0);
}
/* covers: LIF-20/m, LIF-21/m, LIF-22/m, SCH-37/m, RES-08/m */
SCENARIO(semaphore_two_waiters, .body = {wait_for_ever, wait_for_ever, post_twice},
         .final = both_got_one, .spurious = MC_NONE)
SCENARIO(semaphore_two_posters, .body = {wait_for_ever, wait_for_ever, post, post},
         .final = both_got_one, .spurious = MC_NONE)
SCENARIO(semaphore_deadline, .body = {wait_a_second, wait_for_ever, post_twice}, .final = two_posts,
         .spurious = MC_NONE, .timeouts = 1, .outcomes = "0 1")
/* covers: LIF-23/m, RES-08/m */
SCENARIO(semaphore_try, .body = {try_once, wait_for_ever, post_twice}, .final = two_posts,
         .spurious = MC_NONE, .outcomes = "0 1") /* covers: LIF-29/m, LIF-20/m */
SCENARIO(semaphore_closed, .body = {wait_for_ever, wait_for_ever, post_and_close},
         .final = one_post, .spurious = MC_NONE,
         .outcomes = "01 10") /* covers: LIF-31/m, LIF-23/m */

/* A wake that decides nothing, in the middle. */
static void unpark_first(void)
{
	cc__unpark(thread_parker(0));
}
SCENARIO(semaphore_undecided_wake, .body = {wait_for_ever, wait_for_ever, post_twice, unpark_first},
         .final = both_got_one, .spurious = MC_NONE, .weak = 1) /* covers: RES-61/m, SCH-31/m */
