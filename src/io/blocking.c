/* blocking.c - jobs, the threads that run them, and how these come and go. */
#include "io/blocking.h"

#include <ccc/blocking.h>

#include <errno.h>
#include <stdio.h>

#include "os/fork.h"
#include "wait/host.h"
#include "base/slab.h"
#include "wait/thread.h"

/* Pauses in a turn of a watch.  (The explorer has fewer.) */
#ifndef TURN
#define TURN 8
#endif

/* done.user: what became of a job. */
enum { JOB_WAITS, JOB_RUN, JOB_REFUSED };

struct cc__blocking_job {
	int (*fn)(void *arg);		/* constant */
	void *arg;			/* constant */
	struct cc__blocking_job *next;	/* the pool's lock */
	struct cc__waitq done;		/* its caller */
	int value;			/* done.lock; fn's, once JOB_RUN */
};

struct cc__blocking_thread {
	struct cc__blocking *pool;		/* constant, as is the next */
	struct cc__thread *record;		/* its own, made by who starts it */
	struct cc__blocking_thread *next;	/* of the list it is on; the slab's when free */
	/* Below: the pool's lock. */
	struct cc__os_thread os;	/* once it is named */
	bool named;			/* the one who started it has its handle */
	bool over;			/* counted out */
	bool awake;			/* it is one of pool->awake */
	bool watches;			/* it is the one that makes pool->watched true */
	/* Its own: jobs that it runs before the next watch, and after a watch that fails. */
	unsigned pause, penalty;
	/* Both are the waker's while it is idle, its own otherwise. */
	struct cc__blocking_job *job;		/* for it */
	struct cc__blocking_thread *before;	/* those it joins when it ends */
};

static struct cc__slab threads = CC__SLAB_INIT(struct cc__blocking_thread, next);

/* ---- jobs ---- */

static uint32_t jobs_waiting(const struct cc__blocking *p)
{
	return cc__load(&p->waiting, CC__RELAXED);	/* Relaxed: the lock, or a hint */
}

/* Under the pool's lock. */
static void set_waiting(struct cc__blocking *p, uint32_t n)
{
	cc__store(&p->waiting, n, CC__RELAXED);	/* Relaxed: the reader locks before it acts */
}

/* Under the pool's lock. */
static void push_job(struct cc__blocking *p, struct cc__blocking_job *j)
{
	if (p->first == NULL)
		p->first = j;
	else
		p->last->next = j;
	p->last = j;
	set_waiting(p, jobs_waiting(p) + 1);
}

static struct cc__blocking_job *pop_job(struct cc__blocking *p)
{
	struct cc__blocking_job *j = p->first;

	if (j != NULL) {
		p->first = j->next;
		set_waiting(p, jobs_waiting(p) - 1);
	}
	return j;
}

/* The last touch of j (B4). */
static void tell(struct cc__blocking_job *j, uint32_t what, int value)
{
	struct cc__wake wake;

	cc__lock(&j->done.lock, CC__RANK_WAITQ);
	j->done.user = what;
	j->value = value;
	wake = cc__waitq_tell_first(&j->done, CC__REASON_DATA, 0);
	cc__unlock(&j->done.lock);
	cc__wake(wake);
}

/* Takes j off the queue if it has to wait for the end of another job (B6).  False: a thread has
 * it, or is about to. */
static bool withdraw(struct cc__blocking *p, struct cc__blocking_job *j)
{
	struct cc__blocking_job *before = NULL, *at;
	unsigned place = 0;

	cc__lock(&p->idle.lock, CC__RANK_WAITQ);
	for (at = p->first; at != NULL && at != j; at = at->next) {
		before = at;
		place++;
	}
	if (at != NULL && place >= p->looking) {
		*(before != NULL ? &before->next : &p->first) = j->next;
		if (p->last == j)
			p->last = before;
		set_waiting(p, jobs_waiting(p) - 1);
	} else {
		at = NULL;
	}
	cc__unlock(&p->idle.lock);
	return at != NULL;
}

/* Until j is told its end; `cancel` as of a waiter. */
static int until_told(struct cc__blocking_job *j, const cc__a32 *cancel)
{
	struct cc__waiter w = {.cancel = cancel, .what = CC__FOR_CALL};

	cc__lock(&j->done.lock, CC__RANK_WAITQ);
	if (j->done.user == JOB_WAITS)
		return cc__wait(&j->done, &w, CC_FOREVER);
	cc__unlock(&j->done.lock);
	return 0;
}

/* 0: j has run, or is the caller's to run.  ECANCELED, ETIMEDOUT: it never will. */
static int wait_for(struct cc__blocking *p, struct cc__blocking_job *j)
{
	int err;

	CC__EVENT(CC__EV_FOR, cc__self(), CC__FOR_CALL, 0);
	if ((err = until_told(j, NULL)) == 0)
		return 0;
	CC_POINT("blocking.cancelled", j);
	if (withdraw(p, j))
		return err;
	until_told(j, &cc__uncancelled);
	return 0;
}

/* ---- the end of a thread ---- */

/* Under the pool's lock: t ends, and joins those that ended before it (B5).  One
 * whose handle is not known yet cannot be joined; who started it sees to that. */
static void count_out(struct cc__blocking *p, struct cc__blocking_thread *t)
{
	p->live--;
	t->over = true;
	t->before = p->ended;
	t->next = NULL;
	p->ended = t->named ? t : NULL;
}

static void join_all(struct cc__blocking_thread *t)
{
	while (t != NULL) {
		struct cc__blocking_thread *next = t->next;

		cc__thread_join(t->os);
		cc__slab_put(&threads, t);
		t = next;
	}
}

/* ---- a thread waits for a job ---- */

/* Under the lock: t has looked. */
static void looked(struct cc__blocking_thread *t)
{
	struct cc__blocking *p = t->pool;

	p->looking--;
	p->awake -= t->awake;
	if (t->watches)
		p->watched = false;
	t->awake = t->watches = false;
}

/* Under the lock. */
static bool take_job(struct cc__blocking_thread *t)
{
	if ((t->job = pop_job(t->pool)) == NULL)
		return false;
	cc__add(&t->pool->taken, 1, CC__RELAXED);	/* Relaxed: a count */
	looked(t);
	return true;
}

static bool job_try(void *object, struct cc__waiter *w)
{
	struct cc__blocking_thread *t = object;
	bool taken;

	cc__lock(&t->pool->idle.lock, CC__RANK_WAITQ);
	taken = take_job(t);
	cc__unlock(&t->pool->idle.lock);
	w->result = 0;
	return taken;
}

/* Under the lock: t takes a job, or the pool closes and it is counted out, or it
 * becomes idle: true. */
static bool look(struct cc__blocking_thread *t, struct cc__waiter *w, struct cc__batch *batch)
{
	struct cc__blocking *p = t->pool;

	if (take_job(t))
		return false;
	looked(t);
	if (!p->closing) {
		cc__waitq_prepend(&p->idle, w);
		return true;
	}
	count_out(p, t);
	/* Fini waits where the idle did. */
	if (p->live == 0)
		cc__waitq_take(&p->idle, batch, CC__REASON_CLOSE, 0);
	return false;
}

static bool job_publish(void *object, struct cc__waiter *w)
{
	struct cc__blocking_thread *t = object;
	struct cc__waitq *q = &t->pool->idle;
	struct cc__batch batch;
	bool listed;

	cc__batch_init(&batch);
	cc__lock(&q->lock, CC__RANK_WAITQ);
	listed = w->next != NULL;
	/* Relaxed: written under this lock. */
	if (!listed && cc__load(&w->reason, CC__RELAXED) == CC__REASON_NONE)
		listed = look(t, w, &batch);
	cc__unlock(&q->lock);
	cc__batch_flush(&batch);
	return listed;
}

static bool job_unpublish(void *object, struct cc__waiter *w)
{
	struct cc__blocking_thread *t = object;
	struct cc__waitq *q = &t->pool->idle;
	bool listed;

	cc__lock(&q->lock, CC__RANK_WAITQ);
	if ((listed = w->next != NULL)) {
		cc__waitq_remove(q, w);
		count_out(t->pool, t);
	}
	cc__unlock(&q->lock);
	return listed;
}

static const struct cc__waitable_ops job_ops = {job_try, job_publish, job_unpublish};

/* How many jobs pass without a watch after one that saw none. */
enum { PENALTY_MOST = 64 };

static void relax_for_a_turn(void)
{
	for (unsigned n = 0; n < TURN; n++)
		cc__relax();
}

/* t watches the queue.  (A job that comes goes to any thread that looks.) */
static void watch(struct cc__blocking_thread *t)
{
	const struct cc__blocking *p = t->pool;
	unsigned turns = 0;

	while (jobs_waiting(p) == 0 && turns++ < p->watch)
		relax_for_a_turn();
	if (jobs_waiting(p) != 0)
		t->penalty = 0;
	else if (t->penalty < PENALTY_MOST)
		t->penalty = t->penalty == 0 ? 1 : 2 * t->penalty;
	t->pause = t->penalty;
}

/* NULL: t is counted out. */
static struct cc__blocking_job *next_job(struct cc__blocking_thread *t)
{
	struct cc__waiter w = {.io = t, .what = CC__FOR_JOB};

	if (t->watches)
		watch(t);
	cc__fiber_wait(t, &job_ops, &w, cc__from_now(t->pool->idle_time));
	return t->job;
}

/* Before the caller knows that its job is done: should it have another, this thread is
 * there for it. */
static void look_again(struct cc__blocking_thread *t)
{
	struct cc__blocking *p = t->pool;
	const bool due = p->watch > 0 && t->pause == 0;

	cc__lock(&p->idle.lock, CC__RANK_WAITQ);
	p->looking++;
	p->awake++;
	t->awake = true;
	t->watches = due && !p->watched;
	p->watched |= t->watches;
	cc__unlock(&p->idle.lock);
	if (t->pause > 0)
		t->pause--;
}

static void thread_main(void *arg)
{
	struct cc__blocking_thread *t = arg;
	struct cc__blocking_job *j;

	t->record->pool = t->pool;
	cc__tls_set(t->record, NULL);
	while ((j = next_job(t)) != NULL) {
		int value;

		if (cc__watched())
			cc__happens_after(j);
		value = j->fn(j->arg);
		if (cc__watched())
			cc__happens_before(j);
		look_again(t);
		tell(j, JOB_RUN, value);
	}
	cc__thread_end(t->record);
	cc__tls_set(NULL, NULL);
	cc__thread_drop(t->record);
	join_all(t->before);
}

/* ---- a job looks for a thread ---- */

static struct cc__blocking_thread *thread_new(struct cc__blocking *p)
{
	struct cc__blocking_thread *t = cc__slab_get(&threads);

	if (t == NULL)
		return NULL;
	*t = (struct cc__blocking_thread){.pool = p, .record = cc__thread_make()};
	if (t->record == NULL) {
		cc__slab_put(&threads, t);
		t = NULL;
	}
	return t;
}

/* Its handle is known: somebody can join it. */
static void name(struct cc__blocking_thread *t, struct cc__os_thread os)
{
	struct cc__blocking *p = t->pool;

	cc__lock(&p->idle.lock, CC__RANK_WAITQ);
	t->os = os;
	t->named = true;
	if (t->over) {
		t->next = p->ended;
		p->ended = t;
	}
	cc__unlock(&p->idle.lock);
}

/* A thread that is counted already. */
static bool start(struct cc__blocking *p, unsigned number)
{
	struct cc__blocking_thread *t = thread_new(p);
	struct cc__os_thread os;
	char text[16];

	if (t == NULL)
		return false;
	snprintf(text, sizeof text, "cc-block-%u", number % 1000000);
	if (cc__thread_start(&os, thread_main, t, text) != 0) {
		cc__thread_drop(t->record);
		cc__slab_put(&threads, t);
		return false;
	}
	name(t, os);
	return true;
}

/* One that was counted did not start.  Without any other nobody will come for the
 * jobs that wait: each caller runs its own. */
static void start_failed(struct cc__blocking *p)
{
	struct cc__blocking_job *j = NULL, *next;

	cc__lock(&p->idle.lock, CC__RANK_WAITQ);
	p->looking--;
	if (--p->live == 0) {
		j = p->first;
		p->first = NULL;
		set_waiting(p, 0);
	}
	cc__unlock(&p->idle.lock);
	for (; j != NULL; j = next) {
		next = j->next;
		tell(j, JOB_REFUSED, 0);
	}
}

/* Under the pool's lock: the oldest job to the newest idle thread. */
static bool hand_over(struct cc__blocking *p, struct cc__batch *batch)
{
	if (p->idle.head == NULL)
		return false;
	((struct cc__blocking_thread *)p->idle.head->io)->job = pop_job(p);
	return cc__waitq_take(&p->idle, batch, CC__REASON_DATA, 0);
}

/* Under the pool's lock: so many threads that are about to look take all jobs. */
static bool enough(const struct cc__blocking *p, unsigned lookers)
{
	return jobs_waiting(p) <= lookers;
}

static void submit(struct cc__blocking *p, struct cc__blocking_job *j)
{
	struct cc__batch batch;
	unsigned number = 0;	/* of a thread to be started */

	cc__batch_init(&batch);
	if (cc__watched())
		cc__happens_before(j);
	cc__lock(&p->idle.lock, CC__RANK_WAITQ);
	push_job(p, j);
	if (!enough(p, p->awake) && !hand_over(p, &batch) && !enough(p, p->looking) &&
	    p->live < p->max) {
		p->live++;
		p->looking++;
		number = ++p->started;
	}
	cc__unlock(&p->idle.lock);
	cc__batch_flush(&batch);
	if (number != 0 && !start(p, number))
		start_failed(p);
}

int cc__blocking_run(struct cc__blocking *p, int (*fn)(void *arg), void *arg, int *result)
{
	struct cc__blocking_job job = {.fn = fn, .arg = arg};
	int err;

	/* A caller that cannot wait has no record yet: a thread. */
	if (p->max == 0 || cc__self() == NULL)
		job.done.user = JOB_REFUSED;
	else
		submit(p, &job);
	cc__add(&p->callers, 1, CC__RELAXED);	/* Relaxed, both: a hint to idle workers */
	err = wait_for(p, &job);
	cc__sub(&p->callers, 1, CC__RELAXED);
	if (err != 0)
		return err;
	if (job.done.user != JOB_RUN)
		job.value = fn(arg);
	if (cc__watched())
		cc__happens_after(&job);
	if (result != NULL)
		*result = job.value;
	return 0;
}

const struct cc__blocking *cc__blocking_here(void)
{
	const struct cc__thread *t = cc__tls_get();

	return t != NULL ? t->pool : NULL;
}

int cc_blocking(int (*fn)(void *arg), void *arg, int *result)
{
	struct cc__blocking *pool;
	int value;

	if (cc__forked())
		return ENOTSUP;
	if (fn == NULL)
		return EINVAL;
	if ((pool = cc__blocking_of_caller()) != NULL)
		return cc__blocking_run(pool, fn, arg, result);
	value = fn(arg);
	if (result != NULL)
		*result = value;
	return 0;
}

/* ---- init and fini ---- */

void cc__blocking_init(struct cc__blocking *p, unsigned max, cc_time idle_time,
                       unsigned watch_turns)
{
	*p = (struct cc__blocking){.max = max, .idle_time = idle_time, .watch = watch_turns};
}

/* Idle threads end.  Those that are busy find out by themselves. */
static void dismiss_idle(struct cc__blocking *p)
{
	struct cc__batch batch;
	bool more;

	cc__batch_init(&batch);
	do {
		cc__lock(&p->idle.lock, CC__RANK_WAITQ);
		p->closing = true;
		while (p->idle.head != NULL && !cc__batch_full(&batch)) {
			count_out(p, p->idle.head->io);
			cc__waitq_take(&p->idle, &batch, CC__REASON_CLOSE, 0);
		}
		more = p->idle.head != NULL;
		cc__unlock(&p->idle.lock);
		cc__batch_flush(&batch);
	} while (more);
}

void cc__blocking_fini(struct cc__blocking *p)
{
	struct cc__waiter w = {.cancel = &cc__uncancelled};

	CC__ASSERT(p->first == NULL, "B3: a job is left behind");
	dismiss_idle(p);
	cc__lock(&p->idle.lock, CC__RANK_WAITQ);
	while (p->live > 0) {
		if (cc__wait(&p->idle, &w, CC_FOREVER) != 0)
			cc__thread_yield();	/* no memory to wait with: look again */
		cc__lock(&p->idle.lock, CC__RANK_WAITQ);
	}
	cc__unlock(&p->idle.lock);
	join_all(p->ended);
}
