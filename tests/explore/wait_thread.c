/* wait_thread.c - the real word, wait queue and thread parker: flags, queues,
 * deadlines, cancellation, waitables.  All sleepers are OS threads; fibers are
 * in wait_fiber.c, waits for several in wait_group.c.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c */
#include <errno.h>

#include "shim_wait.h"

/* ---- park_if and unpark ---- */

static cc__a32 flag;
static const cc__a32 never;	/* stays 0 */

/* Until the flag has been raised twice, by whomever. */
static void park_until_two(void)
{
	uint32_t seen;

	be_thread();
	while ((seen = cc__load(&flag, CC__RELAXED)) < 2)
		cc__park_if(&flag, seen);
}

static void raise_and_unpark(void)
{
	cc__add(&flag, 1, CC__RELAXED);
	cc__unpark(thread_parker(0));
}

static void raise_twice(void)
{
	raise_and_unpark();
	raise_and_unpark();
}
/* covers: SCH-30/m, SCH-31/m, SCH-32/m, SCH-35/m, SCH-40/m, SCH-18/m, RES-01/m, RES-63/m
 * LIF-35/m, LIF-32/m */
SCENARIO(thread_park_if_one_waker_twice, .body = {park_until_two, raise_twice},
         .final = check_threads_at_rest)
SCENARIO(thread_park_if_two_wakers, .body = {park_until_two, raise_and_unpark, raise_and_unpark},
         .final = check_threads_at_rest)

/* A wake brings along what came before it, whether it meets PARKING or PARKED;
 * and the flag is none that changes, so only the wake ends the wait. */
static int brought[2];

static void be_woken_twice(void)
{
	be_thread();
	for (int i = 0; i < 2; i++) {
		cc__park_if(&never, 0);
		MC_ASSERT(brought[i] == 1);
	}
}

static void bring_and_wake(void)
{
	struct cc__parker *sleeper = thread_parker(0);
	const uint64_t first = CC__TICKET_ONE, thread = CC__THREAD_BIT;

	mc_wait_while(&sleeper->word, thread | CC__OWNED);
	brought[0] = 1;
	cc__fiber_wake(sleeper, first);
	mc_wait_while(&sleeper->word, first | thread | CC__NOTIFIED);
	mc_wait_while(&sleeper->word, first | thread | CC__OWNED);
	brought[1] = 1;
	cc__fiber_wake(sleeper, 2 * first);
}
SCENARIO(thread_wake_brings_data, .body = {be_woken_twice, bring_and_wake},
         .final = check_threads_at_rest) /* covers: LIF-35/m, LIF-36/m, SCH-15/m */

/* Somebody late knows the first wait only: it never ends the second. */
static cc__a32 second_is_due;

static void wait_twice_named(void)
{
	be_thread();
	cc__park_if(&never, 0);
	cc__park_if(&never, 0);
	MC_ASSERT(cc__load(&second_is_due, CC__ACQUIRE) == 1);
}

static void wake_first(void)
{
	mc_wait_while(&thread_parker(0)->word, CC__THREAD_BIT | CC__OWNED);
	cc__fiber_wake(thread_parker(0), CC__TICKET_ONE);
}

static void wake_first_and_second(void)
{
	uint64_t w;

	wake_first();
	while (cc__word_ticket(w = cc__load(&thread_parker(0)->word, CC__ACQUIRE)) ==
	       CC__TICKET_ONE)
		mc_wait_while(&thread_parker(0)->word, w);
	cc__store(&second_is_due, 1, CC__RELEASE);
	cc__fiber_wake(thread_parker(0), 2 * CC__TICKET_ONE);
}
SCENARIO(thread_late_waker_of_an_earlier_wait,
         .body = {wait_twice_named, wake_first_and_second, wake_first},
         .final = check_threads_at_rest)
/* covers: SCH-36/m, SCH-40/m, LIF-37/m, LIF-64/m, LIF-65/m, RES-27/m, RES-61/m */

/* ---- a queue and a condition under its lock ---- */

static struct cc__waitq queue;
static int tokens;	/* queue.lock */
static int data;	/* queue.lock */

static void take_token(void)
{
	cc__lock(&queue.lock, CC__RANK_WAITQ);
	while (tokens == 0) {
		struct cc__waiter *w = waiter_new();

		MC_ASSERT(cc__wait(&queue, w, CC_FOREVER) == 5);
		mc_free(w);
		cc__lock(&queue.lock, CC__RANK_WAITQ);
	}
	tokens--;
	MC_ASSERT(data > 0);
	cc__unlock(&queue.lock);
}

static void take_one_token(void)
{
	be_thread();
	take_token();
}

static void take_two_tokens(void)
{
	be_thread();
	take_token();
	take_token();
}

static void put_tokens(int n)
{
	cc__lock(&queue.lock, CC__RANK_WAITQ);
	tokens += n;
	data = 1;
	cc__unlock(&queue.lock);
}

static void put_one_wake_one(void)
{
	put_tokens(1);
	cc__wake_one(&queue, CC__REASON_SIGNAL, 5);
}

static void put_one_wake_one_twice(void)
{
	put_one_wake_one();
	put_one_wake_one();
}

static void put_two_wake_all(void)
{
	put_tokens(2);
	cc__wake_all(&queue, CC__REASON_SIGNAL, 5);
}

static void queue_at_rest(void)
{
	MC_ASSERT(queue.head == NULL && tokens == 0);
	check_threads_at_rest();
}
/* covers: SCH-37/m, SCH-38/m, SCH-39/m, LIF-21/m, LIF-22/m, RES-08/m, RES-22/m */
SCENARIO(thread_queue_wake_all, .body = {take_one_token, take_one_token, put_two_wake_all},
         .final = queue_at_rest)
SCENARIO(thread_queue_wake_one, .body = {take_one_token, take_one_token, put_one_wake_one_twice},
         .final = queue_at_rest) /* covers: RES-56/m */
SCENARIO(thread_queue_two_wakers, .body = {take_two_tokens, put_one_wake_one, put_one_wake_one},
         .final = queue_at_rest)

/* What the waker did before it took the waiter off is the sleeper's, without
 * another lock: result and reason are the hand-over. */
static int moved;

static void wait_for_hand_over(void)
{
	struct cc__waiter w = {0};

	be_thread();
	for (int i = 1; i <= 2; i++) {
		cc__lock(&queue.lock, CC__RANK_WAITQ);
		if (tokens >= i) {
			cc__unlock(&queue.lock);
			continue;
		}
		w = (struct cc__waiter){0};
		MC_ASSERT(cc__wait(&queue, &w, CC_FOREVER) == i);
		MC_ASSERT(moved == i);
	}
}

static void hand_over_twice(void)
{
	struct cc__batch batch = {0};

	for (int i = 1; i <= 2; i++) {
		cc__lock(&queue.lock, CC__RANK_WAITQ);
		if (queue.head != NULL) {
			moved = i;
			MC_ASSERT(cc__waitq_take(&queue, &batch, CC__REASON_DATA, i));
		}
		tokens = i;
		cc__unlock(&queue.lock);
		cc__batch_flush(&batch);
	}
}
SCENARIO(thread_result_is_handed_over, .body = {wait_for_hand_over, hand_over_twice})
/* covers: SCH-39/m, RES-08/m */

/* The woken one frees the object, lock included: the waker has touched it for
 * the last time before it wakes. */
struct object {
	struct cc__waitq q;
	bool done;	/* q.lock */
	cc__a32 users;
};
static struct object *object;

static void make_object(void)
{
	object = mc_alloc(sizeof *object);
	*object = (struct object){.users.raw = 2};
}

static void make_object_for_one(void)
{
	make_object();
	cc__init(&object->users, 1);
}

static void wait_then_free(void)
{
	struct cc__waiter *w = waiter_new();

	be_thread();
	cc__lock(&object->q.lock, CC__RANK_WAITQ);
	if (object->done)
		cc__unlock(&object->q.lock);
	else
		MC_ASSERT(cc__wait(&object->q, w, CC_FOREVER) == 0);
	mc_free(w);
	if (cc__sub(&object->users, 1, CC__ACQ_REL) == 1)
		mc_free(object);
}

/* Sleepers that have come by now are woken, later ones see `done`. */
static void finish(void)
{
	struct cc__batch batch = {0};

	cc__lock(&object->q.lock, CC__RANK_WAITQ);
	object->done = true;
	while (cc__waitq_take(&object->q, &batch, CC__REASON_DATA, 0))
		continue;
	cc__unlock(&object->q.lock);
	cc__batch_flush(&batch);
}

/* A waiter that is there already, so that cc__wake_one and cc__wake_all meet
 * somebody who frees. */
static void wait_be_woken_then_free(void)
{
	struct cc__waiter *w = waiter_new();

	be_thread();
	cc__lock(&object->q.lock, CC__RANK_WAITQ);
	object->done = true;	/* here: somebody is listed */
	MC_ASSERT(cc__wait(&object->q, w, CC_FOREVER) == 3);
	mc_free(w);
	mc_free(object);
}

static void wait_for_listed(void)
{
	bool listed = false;

	while (!listed) {
		cc__lock(&object->q.lock, CC__RANK_WAITQ);
		listed = object->done;
		cc__unlock(&object->q.lock);
		if (!listed)
			cc__relax();
	}
}

static void wake_one_listed(void)
{
	wait_for_listed();
	cc__wake_one(&object->q, CC__REASON_DATA, 3);
}

static void wake_all_listed(void)
{
	wait_for_listed();
	cc__wake_all(&object->q, CC__REASON_DATA, 3);
}

/* No harm: it names the parker, which is never unmapped. */
static void unpark_sleeper(void)
{
	cc__unpark(thread_parker(0));
}

static void wait_timed_then_free(void)
{
	struct cc__waiter *w = waiter_new();
	int err;

	be_thread();
	cc__lock(&object->q.lock, CC__RANK_WAITQ);
	object->done = true;
	err = cc__wait(&object->q, w, cc__now() + CC_SEC);
	MC_ASSERT(err == 3 || err == ETIMEDOUT);
	mc_free(w);
	if (err == 3)
		mc_free(object);
}
/* covers: RES-56/m, RES-22/m, LIF-66/m, SCH-41/m */
SCENARIO(thread_woken_at_its_deadline_frees, .init = make_object,
         .body = {wait_timed_then_free, wake_one_listed})
SCENARIO(thread_woken_one_frees, .init = make_object,
         .body = {wait_then_free, wait_then_free, finish}, .leaks = true)
SCENARIO(thread_woken_one_frees_unparked_too, .init = make_object_for_one,
         .body = {wait_then_free, finish, unpark_sleeper}, .leaks = true)
SCENARIO(thread_wake_one_touches_no_more, .init = make_object,
         .body = {wait_be_woken_then_free, wake_one_listed, unpark_sleeper}, .leaks = true)
SCENARIO(thread_wake_all_touches_no_more, .init = make_object,
         .body = {wait_be_woken_then_free, wake_all_listed, unpark_sleeper}, .leaks = true)

/* ---- a wake that decides nothing ---- */

/* It leads back to sleep under the same ticket, and the real one still comes. */
SCENARIO(thread_undecided_wake, .body = {take_one_token, unpark_sleeper, put_one_wake_one},
         .final = queue_at_rest) /* covers: RES-61/m, SCH-40/m, LIF-22/m, SCH-31/m */

static void unpark_sleeper_twice(void)
{
	unpark_sleeper();
	unpark_sleeper();
}
SCENARIO(thread_undecided_wakes_two_rounds,
         .body = {take_two_tokens, unpark_sleeper_twice, put_one_wake_one_twice}, .bound = 2,
         .final = queue_at_rest) /* covers: RES-61/m */

/* ---- wake, deadline, cancel: one result ---- */

static cc__a32 cancel;
static bool taken;	/* the waker's */
static int result;

static void wait_cancellable(void)
{
	struct cc__waiter *w = waiter_new();

	be_thread();
	w->cancel = &cancel;
	cc__lock(&queue.lock, CC__RANK_WAITQ);
	result = cc__wait(&queue, w, cc__now() + CC_SEC);
	mc_free(w);
}

static void wait_cancellable_for_ever(void)
{
	struct cc__waiter *w = waiter_new();

	be_thread();
	w->cancel = &cancel;
	cc__lock(&queue.lock, CC__RANK_WAITQ);
	result = cc__wait(&queue, w, CC_FOREVER);
	mc_free(w);
}

static void wake_with_seven(void)
{
	taken = cc__wake_one(&queue, CC__REASON_DATA, 7);
}

static void cancel_sleeper(void)
{
	cc__store(&cancel, 1, CC__RELAXED);
	cc__unpark(thread_parker(0));
}

static void one_result(void)
{
	MC_ASSERT(queue.head == NULL);
	MC_ASSERT((result == 7) == taken);
	MC_ASSERT(result != ECANCELED || cc__peek(&cancel) == 1);
	MC_ASSERT(cc__word_ticket(cc__peek(&thread_parker(0)->word)) == CC__TICKET_ONE);
	check_threads_at_rest();
	if (result == ETIMEDOUT || result == ECANCELED)
		mc_outcome(result == ETIMEDOUT ? "late" : "cancelled");
	else
		mc_outcome(result == 7 ? "woken" : "?");
}
SCENARIO(thread_deadline_wake_cancel, .body = {wait_cancellable, wake_with_seven, cancel_sleeper},
         .final = one_result, .timeouts = 1,
         .outcomes = "woken late cancelled") /* covers: RES-54/m, RES-18/m, LIF-30/m, LIF-22/m */
SCENARIO(thread_deadline_wake, .body = {wait_cancellable, wake_with_seven}, .final = one_result,
         .outcomes = "woken late") /* covers: LIF-22/m */
SCENARIO(thread_cancel_wakes, .body = {wait_cancellable_for_ever, wake_with_seven, cancel_sleeper},
         .final = one_result,
         .outcomes = "woken cancelled") /* covers: RES-54/m, LIF-30/m, LIF-35/m */

/* The wait that follows knows nothing of whoever came late to the first. */
static void wait_then_wait_again(void)
{
	wait_cancellable();
	cc__store(&cancel, 0, CC__RELAXED);
	cc__park_if(&never, 0);
	MC_ASSERT(cc__load(&second_is_due, CC__ACQUIRE) == 1);
}

static void wake_second_wait(void)
{
	uint64_t w;

	while (cc__word_ticket(w = cc__load(&thread_parker(0)->word, CC__ACQUIRE)) <
	       2 * CC__TICKET_ONE)
		mc_wait_while(&thread_parker(0)->word, w);
	cc__store(&second_is_due, 1, CC__RELEASE);
	cc__fiber_wake(thread_parker(0), 2 * CC__TICKET_ONE);
}
SCENARIO(thread_late_waker_after_the_deadline, .spurious = MC_NONE,
         .body = {wait_then_wait_again, wake_with_seven, wake_second_wait},
         .timeouts = 1) /* covers: SCH-36/m, LIF-64/m, LIF-65/m, LIF-37/m */

/* ---- a signal that is not used goes to the next ---- */

static void wait_but_leave(void)
{
	struct cc__waiter *w = waiter_new();

	be_thread();
	cc__lock(&queue.lock, CC__RANK_WAITQ);
	cc__wait(&queue, w, cc__now() + CC_SEC);
	cc__pass_on(&queue, w);
	mc_free(w);
}

/* The result of a signal that was passed on is 0. */
static void take_token_passed_on(void)
{
	be_thread();
	cc__lock(&queue.lock, CC__RANK_WAITQ);
	while (tokens == 0) {
		struct cc__waiter *w = waiter_new();

		cc__wait(&queue, w, CC_FOREVER);
		mc_free(w);
		cc__lock(&queue.lock, CC__RANK_WAITQ);
	}
	tokens--;
	cc__unlock(&queue.lock);
}
SCENARIO(thread_unused_signal_is_passed_on,
         .body = {wait_but_leave, take_token_passed_on, put_one_wake_one}, .timeouts = 1,
         .final = queue_at_rest) /* covers: CHN-53/m */
