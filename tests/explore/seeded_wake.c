/* seeded_wake.c - holes around a wake that has been claimed: which wait it ends,
 * and who may free what it touched.  Each beside its twin, as in seeded.c. */
#include "engine.h"

enum { PARKING = 1, PARKED, NOTIFIED, QUEUED };

enum {
	RLX = CC__RELAXED,
	ACQ = CC__ACQUIRE,
	REL = CC__RELEASE,
	AR = CC__ACQ_REL,
	SC = CC__SEQ_CST
};

static cc__a32 state;     /* of the one sleeper */
static cc__a32 run_queue; /* 1: it has been enqueued */
static int object_lock;

static void enqueue(void)
{
	MC_ASSERT(cc__xchg(&run_queue, 1, AR) == 0); /* one enqueue per wake */
}

/* ---- tickets ---- */

/* Two waits of one sleeper, one after the other; two wakers know the first.  A
 * late claim of the first must not end the second.  The hole keeps the ticket
 * beside the state and looks at it before the claim; the twin names it in the
 * claim. */
static cc__a32 ticket;
static cc__a32 word; /* ticket << 4 | state */
static cc__a32 waits_begun, second_is_due;

static void sleep_under(bool named, uint32_t t)
{
	if (named) {
		cc__store(&word, t << 4 | PARKED, REL);
	} else {
		cc__store(&ticket, t, REL);
		cc__store(&state, PARKED, REL);
	}
	cc__store(&waits_begun, t, REL);
	mc_wait_while(&run_queue, 0);
	cc__store(&run_queue, 0, RLX);
}

static void claim(bool named, uint32_t t)
{
	uint32_t parked = named ? t << 4 | PARKED : PARKED;

	if (named ? cc__cas(&word, &parked, t << 4 | QUEUED, AR, RLX)
	          : cc__load(&ticket, ACQ) == t && cc__cas(&state, &parked, QUEUED, AR, RLX))
		enqueue();
}

static void wake_first(bool named)
{
	mc_wait_while(&waits_begun, 0);
	claim(named, 1);
}

static void wake_first_and_second(bool named)
{
	wake_first(named);
	mc_wait_while(&waits_begun, 1);
	cc__store(&second_is_due, 1, REL);
	claim(named, 2);
}

static void wait_twice(bool named)
{
	sleep_under(named, 1);
	sleep_under(named, 2);
	MC_ASSERT(cc__load(&second_is_due, ACQ));
}

static void wait_twice_beside(void)
{
	wait_twice(false);
}
static void wake_both_beside(void)
{
	wake_first_and_second(false);
}
static void wake_late_beside(void)
{
	wake_first(false);
}
static void wait_twice_named(void)
{
	wait_twice(true);
}
static void wake_both_named(void)
{
	wake_first_and_second(true);
}
static void wake_late_named(void)
{
	wake_first(true);
}
SCENARIO(ticket_checked_before_the_claim,
         .body = {wait_twice_beside, wake_both_beside, wake_late_beside},
         .expect = "second_is_due")
SCENARIO(ticket_named_in_the_claim, .body = {wait_twice_named, wake_both_named, wake_late_named})

/* A wake that decides nothing (a cancel met by shielded code) leads back to
 * sleep, and the node stays listed.  Under a fresh ticket nobody finds it. */
static uint32_t node_ticket; /* object_lock; 0: not listed */

static bool park_under(uint32_t t)
{
	uint32_t parking = t << 4 | PARKING;

	if (!cc__cas(&word, &parking, t << 4 | PARKED, REL, ACQ))
		return false;
	mc_wait_while(&run_queue, 0);
	cc__store(&run_queue, 0, RLX);
	return true;
}

static bool decided(void)
{
	bool gone;

	mc_lock(&object_lock);
	gone = node_ticket == 0;
	mc_unlock(&object_lock);
	return gone;
}

static void wait_shielded(bool fresh)
{
	uint32_t t = 1;

	cc__store(&word, t << 4 | PARKING, SC);
	mc_lock(&object_lock);
	node_ticket = t;
	mc_unlock(&object_lock);
	park_under(t);
	while (!decided()) {
		t += fresh;
		cc__store(&word, t << 4 | PARKING, SC);
		if (decided())
			break;
		park_under(t);
	}
}

static void wake_under(uint32_t t)
{
	uint32_t w = cc__load(&word, RLX);

	while (w >> 4 == t && ((w & 15) == PARKING || (w & 15) == PARKED)) {
		uint32_t next = (w & 15) == PARKED ? QUEUED : NOTIFIED;

		if (cc__cas_weak(&word, &w, t << 4 | next, AR, RLX)) {
			if (next == QUEUED)
				enqueue();
			return;
		}
	}
}

static void cancel_in_vain(void)
{
	wake_under(cc__load(&word, SC) >> 4);
}

static void take_and_wake(void)
{
	uint32_t t = 0;

	while (t == 0) {
		mc_wait_while(&word, 0);
		mc_lock(&object_lock);
		t = node_ticket;
		node_ticket = 0;
		mc_unlock(&object_lock);
		if (t == 0)
			cc__relax();
	}
	wake_under(t);
}

static void wait_shielded_fresh(void)
{
	wait_shielded(true);
}
static void wait_shielded_same(void)
{
	wait_shielded(false);
}
SCENARIO(fresh_ticket_after_undecided_wake,
         .body = {wait_shielded_fresh, cancel_in_vain, take_and_wake},
         .expect = "deadlock")
SCENARIO(same_ticket_after_undecided_wake,
         .body = {wait_shielded_same, cancel_in_vain, take_and_wake})

/* ---- the woken one frees the object ---- */

struct object {
	int lock;
	bool waited; /* lock */
};
static struct object *object;

static void make_object(void)
{
	object = mc_alloc(sizeof *object);
	*object = (struct object){.waited = true};
	cc__init(&state, PARKED);
}

static void claim_sleeper(void)
{
	uint32_t parked = PARKED;

	if (cc__cas(&state, &parked, QUEUED, AR, RLX))
		enqueue();
}

static void wake_under_lock(void)
{
	mc_lock(&object->lock);
	if (object->waited)
		claim_sleeper();
	mc_unlock(&object->lock);
}

static void wake_after_lock(void)
{
	bool waited;

	mc_lock(&object->lock);
	waited = object->waited;
	mc_unlock(&object->lock);
	if (waited)
		claim_sleeper();
}

static void wait_then_free(void)
{
	mc_wait_while(&run_queue, 0);
	mc_free(object);
}
SCENARIO(claimed_under_the_objects_lock, .init = make_object,
         .body = {wait_then_free, wake_under_lock},
         .expect = "race|use after free")
SCENARIO(claimed_after_the_objects_lock, .init = make_object,
         .body = {wait_then_free, wake_after_lock}, .leaks = true)

/* ---- signal in place ----
 * Two items, two signals, both to the first receiver in the list. */

static cc__a32 items, notified[2];
static bool in_list[2]; /* object_lock */

static bool take_item(void)
{
	uint32_t n = cc__load(&items, ACQ);

	while (n > 0)
		if (cc__cas_weak(&items, &n, n - 1, AR, ACQ))
			return true;
	return false;
}

static bool list_unless_item(int self)
{
	bool wait;

	mc_lock(&object_lock);
	wait = cc__load(&items, ACQ) == 0;
	if (wait) {
		cc__store(&notified[self], 0, RLX);
		in_list[self] = true;
	}
	mc_unlock(&object_lock);
	return wait;
}

static void receive_item(void)
{
	int self = mc_self();

	while (!take_item()) {
		if (!list_unless_item(self))
			continue;
		mc_wait_while(&notified[self], 0);
		mc_lock(&object_lock);
		in_list[self] = false;
		mc_unlock(&object_lock);
	}
}

static void send_item(bool pop)
{
	mc_lock(&object_lock);
	cc__add(&items, 1, REL);
	for (int i = 0; i < 2; i++)
		if (in_list[i]) {
			in_list[i] = !pop;
			cc__store(&notified[i], 1, REL);
			break;
		}
	mc_unlock(&object_lock);
}

static void send_in_place(void)
{
	send_item(false);
}
static void send_and_pop(void)
{
	send_item(true);
}
SCENARIO(signal_in_place_drops_the_second,
         .body = {receive_item, receive_item, send_in_place, send_in_place}, .spurious = MC_NONE,
         .weak = 1, .expect = "deadlock")
SCENARIO(signal_pops, .body = {receive_item, receive_item, send_and_pop, send_and_pop},
         .spurious = MC_NONE, .weak = 1)

/* ---- the end of a fiber ---- */

/* A joiner woken before DONE looks, sees nothing and sleeps again. */
static cc__a32 done, registered, latch;

static void join_fiber(void)
{
	while (cc__load(&done, SC) == 0) {
		cc__store(&registered, 1, SC);
		if (cc__load(&done, SC))
			return;
		mc_wait_while(&latch, 0);
		cc__store(&latch, 0, RLX);
	}
}

static void wake_joiner(void)
{
	if (cc__load(&registered, SC))
		cc__store(&latch, 1, REL);
}

static void end_wakes_first(void)
{
	wake_joiner();
	cc__store(&done, 1, SC);
}

static void end_done_first(void)
{
	cc__store(&done, 1, SC);
	wake_joiner();
}
SCENARIO(joiner_woken_before_done, .body = {join_fiber, end_wakes_first},
         .expect = "deadlock")
SCENARIO(joiner_woken_after_done, .body = {join_fiber, end_done_first})

/* A poller recycles the frame as soon as it sees DONE. */
struct frame {
	int lock;
	cc__a32 done;
	cc__a32 *joiner; /* lock: its latch, or NULL */
};
static struct frame *frame;

static void make_frame(void)
{
	frame = mc_alloc(sizeof *frame);
	*frame = (struct frame){.joiner = &latch};
}

static void end_then_walk(void)
{
	cc__store(&frame->done, 1, REL);
	if (frame->joiner != NULL)
		cc__store(frame->joiner, 1, REL);
}

static void end_detached(void)
{
	cc__a32 *joiner;

	mc_lock(&frame->lock);
	joiner = frame->joiner;
	cc__store(&frame->done, 1, REL);
	mc_unlock(&frame->lock);
	if (joiner != NULL)
		cc__store(joiner, 1, REL);
}

static void poll_then_free(void)
{
	mc_wait_while(&frame->done, 0);
	mc_free(frame);
}

static void poll_pass_lock_then_free(void)
{
	mc_wait_while(&frame->done, 0);
	mc_lock(&frame->lock);
	mc_unlock(&frame->lock);
	mc_free(frame);
}
SCENARIO(frame_touched_after_done, .init = make_frame, .body = {poll_then_free, end_then_walk},
         .expect = "race|use after free")
SCENARIO(frame_freed_without_passing_its_lock, .init = make_frame,
         .body = {poll_then_free, end_detached},
         .expect = "race|use after free")
SCENARIO(frame_freed_after_passing_its_lock, .init = make_frame,
         .body = {poll_pass_lock_then_free, end_detached}, .leaks = true)
