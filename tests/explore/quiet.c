/* quiet.c - the sums of monitor/quiet.h on the real word and thread parker: a wake that is on its
 * way is never called a deadlock, and a deadlock is found.
 *
 * The scenario's two looks are those of count_thread: words of all threads, summed, each PARKED;
 * the kernel's count is between them, and equal by itself.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c */
#include "shim_wait.h"

static struct cc__waitq first_queue, second_queue;
static cc__a32 woken, ended;

static void wait_on(struct cc__waitq *q)
{
	struct cc__waiter w = {.what = CC__FOR_SEMAPHORE};

	cc__lock(&q->lock, CC__RANK_WAITQ);
	MC_ASSERT(cc__wait(q, &w, CC_FOREVER) == 0);
}

struct sums {
	uint64_t sum;
	bool awake;
};

static bool add_thread(void *object, void *arg)
{
	const struct cc__thread *t = object;
	struct sums *s = arg;
	const uint64_t word = cc__load(&t->parker.word, CC__ACQUIRE);

	s->sum += word;
	s->awake = cc__word_state(word) != CC__PARKED;
	return !s->awake;
}

/* The first two threads; the third is the monitor. */
static bool look(struct sums *s)
{
	*s = (struct sums){0};
	return add_thread(&record[0], s) && add_thread(&record[1], s);
}

static bool is_quiet(void)
{
	struct sums first, second;

	return look(&first) && look(&second) && first.sum == second.sum;
}

/* Waits, is woken, wakes the other one and ends. */
static void pass_on(void)
{
	be_thread();
	wait_on(&first_queue);
	cc__store(&woken, 1, CC__RELAXED);
	while (!cc__wake_one(&second_queue, CC__REASON_SIGNAL, 0))
		cc__relax();
	cc__store(&ended, 1, CC__RELAXED);
}

/* Wakes the first one, and only then waits for it. */
static void wake_and_wait(void)
{
	be_thread();
	while (!cc__wake_one(&first_queue, CC__REASON_SIGNAL, 0))
		cc__relax();
	wait_on(&second_queue);
}

/* At every moment one of them is on its way. */
static void judge(void)
{
	MC_ASSERT(!is_quiet());
}
SCENARIO(quiet_never_while_a_wake_is_on_its_way, .body = {pass_on, wake_and_wait, judge},
         .final = check_threads_at_rest) /* covers: SCH-83/m, RES-70/m */

/* One look instead of two: the first thread is seen before it is woken, the second after it has
 * fallen asleep. */
static void judge_once(void)
{
	struct sums s;

	MC_ASSERT(!look(&s));
}
SCENARIO(quiet_by_one_look, .body = {pass_on, wake_and_wait, judge_once}, .expect = "assert")
