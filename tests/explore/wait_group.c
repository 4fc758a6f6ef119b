/* wait_group.c - waits for the first of several, on the real group claim.
 *
 * A selector has one case on each of two queues.  Whoever wakes a queue, the
 * deadline and a cancel compete; one decides; nothing is lost with the losers.
 * Selector's memory is freed as soon as it returns: who touches it later is
 * found.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c */
#include <errno.h>

#include "shim_wait.h"

/* ---- what is selected on: a queue that gives away tokens ---- */

struct source {
	struct cc__waitq q;
	int tokens;	/* q.lock; above 0 only while nobody can be had */
};
static struct source source[2];
enum { FIRST = 1000, SECOND };	/* results: a token of that source */

static bool publish(void *object, struct cc__waiter *w)
{
	struct source *s = object;
	bool listed;

	cc__lock(&s->q.lock, CC__RANK_WAITQ);
	listed = w->next != NULL;
	cc__unlock(&s->q.lock);
	return listed;
}

static bool unpublish(void *object, struct cc__waiter *w)
{
	struct source *s = object;
	bool listed;

	cc__lock(&s->q.lock, CC__RANK_WAITQ);
	if ((listed = w->next != NULL))
		cc__waitq_remove(&s->q, w);
	cc__unlock(&s->q.lock);
	return listed;
}

static const struct cc__waitable_ops ops = {.publish = publish, .unpublish = unpublish};

/* A token for whoever can be had; it stays if there is nobody. */
static void give(struct source *s)
{
	struct cc__batch batch = {0};

	cc__lock(&s->q.lock, CC__RANK_WAITQ);
	if (!cc__waitq_take(&s->q, &batch, CC__REASON_DATA, FIRST + (int)(s - source)))
		s->tokens++;
	cc__unlock(&s->q.lock);
	cc__batch_flush(&batch);
}

/* ---- select ---- */

struct selector {
	struct cc__group group;
	struct cc__case cases[2];
};

static cc__a32 cancel;
static int took[MC_THREADS];	/* what a thread got: FIRST, SECOND, or an error */

static void lock_both(void)
{
	cc__lock(&source[0].q.lock, CC__RANK_WAITQ);
	mc_lock(&source[1].q.lock);	/* past the ranks: two of one rank, in address order */
}

static void unlock_both(void)
{
	mc_unlock(&source[1].q.lock);
	cc__unlock(&source[0].q.lock);
}

/* Take a token that is there, else list both cases: one hold of both locks. */
static int try_or_publish(struct selector *s)
{
	int tokens = -1;

	lock_both();
	for (int i = 0; i < 2 && tokens < 0; i++)
		if (source[i].tokens > 0) {
			source[i].tokens--;
			tokens = i;
		}
	for (int i = 0; i < 2 && tokens < 0; i++)
		cc__waitq_append(&source[i].q, &s->cases[i].w);
	unlock_both();
	return tokens;
}

static int select_until(cc_time deadline, bool give_up)
{
	struct selector *s = mc_alloc(sizeof *s);
	uint32_t winner;
	int result, ready;

	*s = (struct selector){0};
	for (int i = 0; i < 2; i++) {
		s->cases[i].object = &source[i];
		s->cases[i].ops = &ops;
	}
	s->group.cancel = &cancel;
	MC_ASSERT(cc__group_begin(&s->group, s->cases, 2) == 0);
	ready = try_or_publish(s);
	if (ready >= 0) {
		result = cc__group_give_up(&s->group, s->cases, 2, &winner);
		MC_ASSERT(result == EAGAIN && winner == 2);
		result = FIRST + ready;
	} else {
		result = give_up ? cc__group_give_up(&s->group, s->cases, 2, &winner)
		                 : cc__group_sleep(&s->group, s->cases, 2, deadline, &winner);
		MC_ASSERT((winner == 2) == (result < FIRST));
		MC_ASSERT(winner == 2 || result == FIRST + (int)winner);
	}
	for (int i = 0; i < 2; i++)
		MC_ASSERT(s->cases[i].w.next == NULL);
	mc_free(s);
	return result;
}

static void select_for_ever(void)
{
	be_thread();
	took[mc_self()] = select_until(CC_FOREVER, false);
}

static void select_a_second(void)
{
	be_thread();
	took[mc_self()] = select_until(cc__now() + CC_SEC, false);
}

static void select_but_give_up(void)
{
	be_thread();
	took[mc_self()] = select_until(CC_FOREVER, true);
}

static void select_twice(void)
{
	be_thread();
	took[0] = select_until(CC_FOREVER, false);
	took[1] = select_until(CC_FOREVER, false);
}

/* A plain waiter on the second source. */
static void wait_for_second(void)
{
	struct cc__waiter *w = waiter_new();
	int result = SECOND;

	be_thread();
	cc__lock(&source[1].q.lock, CC__RANK_WAITQ);
	if (source[1].tokens > 0) {
		source[1].tokens--;
		cc__unlock(&source[1].q.lock);
	} else {
		result = cc__wait(&source[1].q, w, CC_FOREVER);
	}
	mc_free(w);
	took[mc_self()] = result;
}

static void give_first(void)
{
	give(&source[0]);
}

static void give_second(void)
{
	give(&source[1]);
}

static void give_second_twice(void)
{
	give(&source[1]);
	give(&source[1]);
}

static void give_both(void)
{
	give(&source[0]);
	give(&source[1]);
}

static void cancel_first_thread(void)
{
	cc__store(&cancel, 1, CC__RELAXED);
	cc__unpark(thread_parker(0));
}

static void unpark_first_thread(void)
{
	cc__unpark(thread_parker(0));
}

/* ---- what must hold at the end ---- */

static int tokens_taken(int of)
{
	int n = 0;

	for (int i = 0; i < MC_THREADS; i++)
		n += took[i] == FIRST + of;
	return n;
}

static void given(int first, int second)
{
	MC_ASSERT(tokens_taken(0) + source[0].tokens == first);
	MC_ASSERT(tokens_taken(1) + source[1].tokens == second);
}

static void nobody_waits(void)
{
	for (int i = 0; i < 2; i++)
		MC_ASSERT(source[i].q.head == NULL);
	check_threads_at_rest();
}

static const char *name_of(int result)
{
	switch (result) {
	case FIRST:
		return "first";
	case SECOND:
		return "second";
	case ETIMEDOUT:
		return "late";
	case ECANCELED:
		return "cancelled";
	case EAGAIN:
		return "none";
	default:
		return "?";
	}
}

static void one_each(void)
{
	given(1, 1);
	nobody_waits();
	mc_outcome("%s", name_of(took[0]));
}

/* Nobody waits beside a token. */
static void one_each_and_none_idle(void)
{
	given(1, 1);
	for (int i = 0; i < 2; i++)
		MC_ASSERT(source[i].q.head == NULL || source[i].tokens == 0);
}

static void two_of_second(void)
{
	given(0, 2);
	nobody_waits();
}

static void one_result(void)
{
	given(1, 0);
	nobody_waits();
	mc_outcome("%s", name_of(took[0]));
}

static void cancelled_alone(void)
{
	given(0, 0);
	nobody_waits();
	MC_ASSERT(took[0] == ECANCELED);
}

/* ---- one selector ---- */

/* covers: SCH-45/m, SCH-46/m */
SCENARIO(group_two_wakers, .body = {select_for_ever, give_first, give_second}, .final = one_each,
         .outcomes = "first second")
SCENARIO(group_twice, .body = {select_twice, give_both}, .final = one_each)
SCENARIO(group_undecided_wake, .body = {select_for_ever, give_both, unpark_first_thread},
         .final = one_each, .outcomes = "first") /* covers: RES-61/m */
SCENARIO(group_undecided_wake_second,
         .body = {select_for_ever, give_second_twice, unpark_first_thread},
         .final = two_of_second) /* covers: RES-61/m, SCH-31/m */

/* ---- a waiter behind it ----
 * The loser's wake goes on to the waiter, in the same hold. */
SCENARIO(group_loser_passes_the_wake_on, .spurious = MC_NONE,
         .body = {select_for_ever, wait_for_second, give_both}, .final = one_each,
         .outcomes = "first") /* covers: SCH-45/m, SCH-46/m */
SCENARIO(group_loser_passes_the_wake_on_two_wakers, .spurious = MC_NONE,
         .body = {select_for_ever, wait_for_second, give_first, give_second}, .daemon = 1u << 1,
         .final = one_each_and_none_idle) /* covers: SCH-45/m */
SCENARIO(group_and_waiter_one_waker, .body = {select_for_ever, wait_for_second, give_second_twice},
         .final = two_of_second) /* covers: SCH-46/m */

/* ---- deadline, cancel, giving up ---- */

SCENARIO(group_deadline, .body = {select_a_second, give_first, give_second}, .timeouts = 1,
         .final = one_each, .outcomes = "first second late")
/* covers: SCH-45/m, SCH-46/m */
SCENARIO(group_cancel, .body = {select_for_ever, give_first, cancel_first_thread},
         .final = one_result, .outcomes = "first cancelled")
/* covers: RES-54/m, SCH-45/m */
SCENARIO(group_cancel_alone, .body = {select_for_ever, cancel_first_thread, unpark_first_thread},
         .final = cancelled_alone) /* covers: RES-54/m, LIF-30/m */
SCENARIO(group_deadline_cancel, .body = {select_a_second, give_first, cancel_first_thread},
         .timeouts = 1, .final = one_result,
         .outcomes = "first late cancelled") /* covers: RES-54/m, SCH-45/m */
SCENARIO(group_given_up, .body = {select_but_give_up, give_first, give_second}, .final = one_each,
         .outcomes = "first second none") /* covers: SCH-45/m, SCH-46/m */

/* ---- two selectors ---- */

SCENARIO(group_two_selectors, .body = {select_for_ever, select_for_ever, give_both},
         .final = one_each, .outcomes = "first second") /* covers: SCH-45/m, SCH-46/m */
SCENARIO(group_two_selectors_one_leaves, .spurious = MC_NONE,
         .body = {select_a_second, select_for_ever, give_both}, .timeouts = 1, .final = one_each,
         .outcomes = "first second late") /* covers: SCH-45/m, SCH-46/m */
