/* seeded.c - protocols with a known hole, in miniature, each beside its twin
 * without.  The explorer must find every hole and exhaust every twin.
 *
 * Here: a wake against a park, and stores against loads.  seeded_wake.c has
 * tickets and lifetimes, seeded_stack.c what needs fiber stacks. */
#include "engine.h"

enum { RUNNING, PARKING, PARKED, WAKING, RUNNABLE, NOTIFIED, QUEUED };

enum {
	RLX = CC__RELAXED,
	ACQ = CC__ACQUIRE,
	REL = CC__RELEASE,
	AR = CC__ACQ_REL,
	SC = CC__SEQ_CST
};

static cc__a32 state;     /* of the one sleeper */
static cc__a32 run_queue; /* 1: it has been enqueued */
static cc__a32 condition; /* what it waits for */

static void enqueue(void)
{
	MC_ASSERT(cc__xchg(&run_queue, 1, AR) == 0); /* one enqueue per wake */
}

/* ---- seed 000, 4.2 and 4.3: a wake flag beside the state ----
 * The waker reads PARKING; the parker commits and finds no flag; the waker sets
 * it and leaves. */

static cc__a32 wake_pending;
static int object_lock;
static bool listed; /* object_lock */

static bool publish(void)
{
	bool open;

	mc_lock(&object_lock);
	open = cc__load(&condition, RLX) == 0;
	listed = open;
	mc_unlock(&object_lock);
	return open;
}

static bool fulfil(void)
{
	bool waited;

	mc_lock(&object_lock);
	cc__store(&condition, 1, RLX);
	waited = listed;
	mc_unlock(&object_lock);
	return waited;
}

static void park_two_words(int order)
{
	uint32_t s = PARKING;

	cc__store(&wake_pending, 0, RLX);
	cc__store(&state, PARKING, REL);
	if (!publish()) {
		cc__store(&state, RUNNING, REL);
		return;
	}
	MC_ASSERT(cc__cas(&state, &s, PARKED, order, RLX));
	if (cc__xchg(&wake_pending, 0, order) == 1) {
		s = PARKED;
		if (cc__cas(&state, &s, WAKING, AR, ACQ)) {
			cc__store(&state, RUNNING, REL);
			return;
		}
	}
	mc_wait_while(&run_queue, 0);
}

static void wake_two_words(bool look_again, int order)
{
	uint32_t s = cc__load(&state, look_again ? order : ACQ);

	if (s == PARKING) {
		cc__store(&wake_pending, 1, look_again ? order : REL);
		if (!look_again)
			return;
		s = cc__load(&state, order == SC ? SC : ACQ);
	}
	if (s == PARKED && cc__cas(&state, &s, WAKING, AR, ACQ)) {
		cc__store(&state, RUNNABLE, REL);
		enqueue();
	}
}

static void park_as_written(void)
{
	park_two_words(AR);
}
static void wake_as_written(void)
{
	if (fulfil())
		wake_two_words(false, ACQ);
}
SCENARIO(seed_000_park_as_written, .body = {park_as_written, wake_as_written},
         .expect = "deadlock")

static void park_seq_cst(void)
{
	park_two_words(SC);
}
static void wake_looks_again(void)
{
	if (fulfil())
		wake_two_words(true, SC);
}
SCENARIO(seed_000_fixed_by_second_look, .body = {park_seq_cst, wake_looks_again})

static void park_release(void)
{
	uint32_t s = PARKING;

	cc__store(&state, PARKING, RLX);
	if (!publish())
		return;
	cc__cas(&state, &s, PARKED, REL, RLX);
	if (cc__load(&wake_pending, ACQ) == 0)
		mc_wait_while(&run_queue, 0);
}

static void wake_release(void)
{
	uint32_t s;

	if (!fulfil())
		return;
	cc__store(&wake_pending, 1, REL);
	s = cc__load(&state, ACQ);
	if (s == PARKED)
		enqueue();
}
SCENARIO(second_look_with_release_acquire, .body = {park_release, wake_release},
         .expect = "deadlock")

/* One word: the wake that comes first makes the commit fail. */
static void park_one_word(void)
{
	uint32_t s = PARKING;

	cc__store(&state, PARKING, RLX);
	if (!publish())
		return;
	if (cc__cas(&state, &s, PARKED, REL, ACQ))
		mc_wait_while(&run_queue, 0);
	else
		MC_ASSERT(s == NOTIFIED);
	MC_ASSERT(cc__load(&condition, RLX) == 1);
}

static void wake_one_word(void)
{
	uint32_t s;

	if (!fulfil())
		return;
	s = cc__load(&state, RLX);
	while (s == PARKING || s == PARKED)
		if (cc__cas_weak(&state, &s, s == PARKED ? QUEUED : NOTIFIED, AR, RLX)) {
			if (s == PARKED)
				enqueue();
			return;
		}
}
SCENARIO(one_word_park, .body = {park_one_word, wake_one_word})
SCENARIO(one_word_park_two_wakers, .body = {park_one_word, wake_one_word, wake_one_word})

/* ---- store, then load: not a pair without seq_cst on both sides ---- */

/* Waiter flag against ring. */
static cc__a32 slot, has_waiter, woken;

static void receive(int store, int load, bool fence)
{
	cc__store(&has_waiter, 1, store);
	if (fence)
		cc__fence(SC);
	if (cc__load(&slot, load) == 0)
		mc_wait_while(&woken, 0);
}

static void send(int store, int load, bool fence)
{
	cc__store(&slot, 1, store);
	if (fence)
		cc__fence(SC);
	if (cc__load(&has_waiter, load))
		cc__store(&woken, 1, REL);
}

static void receive_release(void)
{
	receive(REL, ACQ, false);
}
static void send_release(void)
{
	send(REL, ACQ, false);
}
static void receive_seq_cst(void)
{
	receive(SC, SC, false);
}
static void send_seq_cst(void)
{
	send(SC, SC, false);
}
static void receive_fence(void)
{
	receive(RLX, ACQ, true);
}
static void send_fence(void)
{
	send(REL, RLX, true);
}
SCENARIO(waiter_flag_release_acquire, .body = {receive_release, send_release},
         .expect = "deadlock")
SCENARIO(waiter_flag_seq_cst_at_receiver_only, .body = {receive_fence, send_release},
         .expect = "deadlock")
SCENARIO(waiter_flag_seq_cst_at_sender_only, .body = {receive_release, send_fence},
         .expect = "deadlock")
SCENARIO(waiter_flag_seq_cst, .body = {receive_seq_cst, send_seq_cst})
SCENARIO(waiter_flag_fences, .body = {receive_fence, send_fence})

/* Sleeper announcement against queue: the worker announces, probes once more and
 * sleeps; the pusher pushes and looks for sleepers. */
static cc__a32 queue, sleeper;

static bool take_one(int order)
{
	uint32_t n = cc__load(&queue, order);

	while (n > 0)
		if (cc__cas_weak(&queue, &n, n - 1, AR, ACQ))
			return true;
	return false;
}

static void work(int order_store, int order_load)
{
	while (!take_one(ACQ)) {
		cc__store(&sleeper, 1, order_store);
		if (take_one(order_load))
			return;
		cc__futex_wait(&sleeper, 1, CC_FOREVER);
	}
}

static void push(int order_rmw, int order_load)
{
	cc__add(&queue, 1, order_rmw);
	if (cc__load(&sleeper, order_load)) {
		cc__store(&sleeper, 0, RLX);
		cc__futex_wake(&sleeper, 1);
	}
}

static bool queue_empty(void)
{
	return cc__peek(&queue) == 0;
}
static void work_release(void)
{
	work(REL, ACQ);
}
static void push_release(void)
{
	push(AR, ACQ);
}
static void work_seq_cst(void)
{
	work(SC, SC);
}
static void push_seq_cst(void)
{
	push(SC, SC);
}
SCENARIO(sleeper_announced_release_acquire, .body = {work_release, push_release}, .daemon = 1,
         .spurious = MC_NONE, .conserve = queue_empty, .expect = "conservation")
SCENARIO(sleeper_announced_seq_cst_at_worker_only, .body = {work_seq_cst, push_release},
         .daemon = 1, .spurious = MC_NONE, .conserve = queue_empty, .expect = "conservation")
SCENARIO(sleeper_announced_seq_cst, .body = {work_seq_cst, push_seq_cst}, .daemon = 1,
         .conserve = queue_empty)

/* The same with the asymmetric pair: nothing but a compiler barrier where work
 * is pushed. */
static void work_heavy(void)
{
	while (!take_one(ACQ)) {
		cc__store(&sleeper, 1, RLX);
		cc__fence_heavy();
		if (take_one(ACQ))
			return;
		cc__futex_wait(&sleeper, 1, CC_FOREVER);
	}
}

static void push_light(void)
{
	cc__add(&queue, 1, REL);
	cc__fence_light();
	if (cc__load(&sleeper, RLX)) {
		cc__store(&sleeper, 0, RLX);
		cc__futex_wake(&sleeper, 1);
	}
}
SCENARIO(sleeper_announced_asymmetric, .body = {work_heavy, push_light}, .daemon = 1,
         .conserve = queue_empty)
SCENARIO(sleeper_announced_light_on_both_sides, .body = {work_release, push_light}, .daemon = 1,
         .spurious = MC_NONE, .conserve = queue_empty, .expect = "conservation")

/* Cancel flag against PARKING; the second hole is to look before PARKING. */
static cc__a32 cancelled;

static void sleep_cancellable(int store, int load, bool look_first)
{
	uint32_t s = PARKING;

	if (look_first && cc__load(&cancelled, load))
		return;
	cc__store(&state, PARKING, store);
	if (!look_first && cc__load(&cancelled, load)) {
		cc__xchg(&state, RUNNING, ACQ);
		return;
	}
	if (cc__cas(&state, &s, PARKED, REL, ACQ))
		mc_wait_while(&run_queue, 0);
}

static void cancel(int store, int load)
{
	uint32_t s;

	cc__store(&cancelled, 1, store);
	s = cc__load(&state, load);
	while (s == PARKING || s == PARKED)
		if (cc__cas_weak(&state, &s, s == PARKED ? QUEUED : NOTIFIED, AR, RLX)) {
			if (s == PARKED)
				enqueue();
			return;
		}
}

static void sleep_release(void)
{
	sleep_cancellable(REL, ACQ, false);
}
static void sleep_seq_cst(void)
{
	sleep_cancellable(SC, SC, false);
}
static void sleep_looks_first(void)
{
	sleep_cancellable(SC, SC, true);
}
static void cancel_release(void)
{
	cancel(REL, ACQ);
}
static void cancel_seq_cst(void)
{
	cancel(SC, SC);
}
SCENARIO(cancel_release_acquire, .body = {sleep_release, cancel_release}, .expect = "deadlock")
SCENARIO(cancel_seq_cst_at_sleeper_only, .body = {sleep_seq_cst, cancel_release},
         .expect = "deadlock")
SCENARIO(cancel_looked_at_before_parking, .body = {sleep_looks_first, cancel_seq_cst},
         .expect = "deadlock")
SCENARIO(cancel_seq_cst_after_parking, .body = {sleep_seq_cst, cancel_seq_cst})
SCENARIO(cancel_two_cancellers, .body = {sleep_seq_cst, cancel_seq_cst, cancel_seq_cst})
