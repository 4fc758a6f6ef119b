/* chan_ring.c - the ring by itself: exact capacity, one owner a slot, the close, and
 * the handshake of who moves with who is about to sleep (R1 to R3 in chan/ring.h).
 *
 * sources: chan/ring.c */
#include <errno.h>

#include "engine.h"
#include "chan/ring.h"

static struct cc__ring ring;
static uint64_t slots[8];
static int got[MC_THREADS], sent[MC_THREADS];	/* elements; answers + 100 */

static void capacity_1(void)
{
	cc__ring_init(&ring, slots, sizeof(int), 1);
}

static void capacity_2(void)
{
	cc__ring_init(&ring, slots, sizeof(int), 2);
}

static void try_send(void)
{
	const int v = mc_self() + 1;
	size_t n;

	sent[mc_self()] = 100 + (int)cc__ring_send(&ring, &v, sizeof(int), 1, &n);
}

static void try_recv(void)
{
	size_t n;
	int v = 0;
	const enum cc__ring_answer a = cc__ring_recv(&ring, &v, sizeof(int), 1, &n);

	got[mc_self()] = a == CC__RING_OK ? v : 100 + (int)a;
}

static void try_send_twice(void)
{
	const int v[2] = {10, 11};
	size_t n;

	sent[mc_self()] = cc__ring_send(&ring, v, sizeof(int), 2, &n) == CC__RING_OK ? (int)n : 0;
}

static void try_recv_twice(void)
{
	int v[2] = {0, 0};
	size_t n;

	got[mc_self()] = cc__ring_recv(&ring, v, sizeof(int), 2, &n) == CC__RING_OK ? (int)n : 0;
	for (size_t i = 0; i < n; i++)
		MC_ASSERT(v[i] == 10 + (int)i);
}

static void close_ring(void)
{
	MC_ASSERT(cc__ring_close(&ring));
	MC_ASSERT(!cc__ring_close(&ring) && cc__ring_closed(&ring));
}

/* What the closer wrote is there for who sees the end. */
static int why;

static void close_and_say_why(void)
{
	why = EPIPE;
	cc__ring_close(&ring);
}

static void look_for_the_end(void)
{
	if (cc__ring_closed(&ring))
		MC_ASSERT(why == EPIPE);
}

static void receive_the_end(void)
{
	try_recv();
	MC_ASSERT(got[mc_self()] != 100 + CC__RING_ENDED || why == EPIPE);
}

static int accepted(void)
{
	int n = 0;

	for (int i = 0; i < MC_THREADS; i++)
		n += sent[i] == 100 + CC__RING_OK;
	return n;
}

SCENARIO(ring_end_has_a_reason, .init = capacity_1,
         .body = {close_and_say_why, look_for_the_end, receive_the_end})

/* One fits, whoever it is. */
static void one_of_two(void)
{
	MC_ASSERT(accepted() == 1 && cc__ring_length(&ring) == 1);
	mc_outcome("%d", sent[0] == 100);
}
SCENARIO(ring_of_one_takes_one, .init = capacity_1, .body = {try_send, try_send},
         .final = one_of_two, .outcomes = "0 1") /* covers: RES-20/m, CHN-10/m */

/* What comes out was put in; what is left is there. */
static void none_lost(void)
{
	const int taken = (got[2] > 0 && got[2] < 100) + (got[3] > 0 && got[3] < 100);

	MC_ASSERT(accepted() == taken + (int)cc__ring_length(&ring));
	MC_ASSERT(got[2] >= 100 || sent[got[2] - 1] == 100);
	MC_ASSERT(got[3] == 0 || got[3] >= 100 || (got[3] != got[2] && sent[got[3] - 1] == 100));
}
SCENARIO(ring_of_one_loses_nothing, .init = capacity_1, .body = {try_send, try_send, try_recv},
         .final = none_lost)
SCENARIO(ring_of_two_loses_nothing, .init = capacity_2,
         .body = {try_send, try_send, try_recv, try_recv}, .final = none_lost)
/* covers: RES-20/m, RES-10/m */

/* The first try takes what the others take, or says who decides. */
static void try_send_first(void)
{
	const int v = mc_self() + 1;
	enum cc__ring_answer a = cc__ring_send_first(&ring, &v, sizeof(int));

	MC_ASSERT(a != CC__RING_ENDED);
	if (a == CC__RING_CONTENDED)
		try_send();
	else
		sent[mc_self()] = 100 + (int)a;
}

static void try_recv_first(void)
{
	int v = 0;
	enum cc__ring_answer a = cc__ring_recv_first(&ring, &v, sizeof(int));

	if (a == CC__RING_CONTENDED)
		try_recv();
	else
		got[mc_self()] = a == CC__RING_OK ? v : 100 + (int)a;
}
SCENARIO(ring_of_one_first_tries_lose_nothing, .init = capacity_1,
         .body = {try_send_first, try_send_first, try_recv_first}, .final = none_lost)
SCENARIO(ring_of_two_first_tries_among_others, .init = capacity_2,
         .body = {try_send_first, try_send, try_recv_first, try_recv}, .final = none_lost)
/* covers: RES-20/m, RES-10/m */

/* Several at once: contiguous, in order, never in part. */
static void as_many_as_fit(void)
{
	MC_ASSERT(sent[0] == 2 && (size_t)got[1] + cc__ring_length(&ring) == 2);
	mc_outcome("%d", got[1]);
}
SCENARIO(ring_moves_several, .init = capacity_2, .body = {try_send_twice, try_recv_twice},
         .final = as_many_as_fit, .outcomes = "0 1 2")

/* R1, R2: what was accepted is received before the end; after the close nothing is. */
static void drain(void)
{
	size_t n;
	int v = 0, last;

	while ((last = (int)cc__ring_recv(&ring, &v, sizeof(int), 1, &n)) == CC__RING_NOT_NOW)
		cc__relax();
	got[mc_self()] = last == CC__RING_OK ? v : 0;
	if (last == CC__RING_OK)
		while ((last = (int)cc__ring_recv(&ring, &v, sizeof(int), 1, &n)) ==
		       CC__RING_NOT_NOW)
			cc__relax();
	MC_ASSERT(last == CC__RING_ENDED);
}

static void accepted_is_received(void)
{
	MC_ASSERT((sent[0] == 100) == (got[2] == 1));
	MC_ASSERT(sent[0] == 100 || sent[0] == 100 + CC__RING_ENDED);
	mc_outcome("%d", sent[0] == 100);
}
SCENARIO(ring_end_comes_after_what_was_reserved, .init = capacity_1,
         .body = {try_send, close_ring, drain}, .final = accepted_is_received, .outcomes = "0 1")
/* covers: RES-10/m, CHN-04/m, CHN-11/m, CHN-46/m, SCH-57/m, LIF-41/m */

/* ---- R3 ----
 * Whoever finds nothing with the mark raised may sleep: he who moves the other
 * position must see the mark then.  The hole looks without it. */
static cc__a32 asleep, signals;
static enum { NO_HOLE, LOOK_BEFORE_RAISING } hole;

static void sleeper(bool receives)
{
	enum cc__ring_answer a;

	if (hole == LOOK_BEFORE_RAISING) {
		a = receives && cc__ring_length(&ring) > 0 ? CC__RING_OK : CC__RING_NOT_NOW;
		cc__or(receives ? &ring.tail : &ring.head, CC__RING_WAITING, CC__RELAXED);
	} else {
		a = receives ? cc__ring_recv_look(&ring) : cc__ring_send_look(&ring);
	}
	if (a != CC__RING_NOT_NOW)
		return;
	cc__store(&asleep, 1, CC__RELAXED);
	mc_wait_while(&signals, 0);
}

static void sleep_to_receive(void)
{
	sleeper(true);
}

static void sleep_to_send(void)
{
	sleeper(false);
}

static void send_and_look(void)
{
	const int v = 1;
	size_t n;

	MC_ASSERT(cc__ring_send(&ring, &v, sizeof(int), 1, &n) == CC__RING_OK);
	if (cc__ring_others_wait(&ring.tail))
		cc__store(&signals, 1, CC__RELAXED);
}

static void recv_and_look(void)
{
	size_t n;
	int v;

	MC_ASSERT(cc__ring_recv(&ring, &v, sizeof(int), 1, &n) == CC__RING_OK);
	if (cc__ring_others_wait(&ring.head))
		cc__store(&signals, 1, CC__RELAXED);
}

static void send_first_and_look(void)
{
	const int v = 1;
	enum cc__ring_answer a;

	do
		a = cc__ring_send_first(&ring, &v, sizeof(int));
	while (a == CC__RING_CONTENDED);
	MC_ASSERT(a == CC__RING_OK);
	if (cc__ring_others_wait(&ring.tail))
		cc__store(&signals, 1, CC__RELAXED);
}

static void recv_first_and_look(void)
{
	enum cc__ring_answer a;
	int v;

	do
		a = cc__ring_recv_first(&ring, &v, sizeof(int));
	while (a == CC__RING_CONTENDED);
	MC_ASSERT(a == CC__RING_OK);
	if (cc__ring_others_wait(&ring.head))
		cc__store(&signals, 1, CC__RELAXED);
}

static void full_1(void)
{
	const int v = 7;
	size_t n;

	capacity_1();
	cc__ring_send(&ring, &v, sizeof(int), 1, &n);
}
SCENARIO(ring_sender_sees_who_sleeps, .init = capacity_1, .body = {sleep_to_receive, send_and_look},
         .weak = 4) /* covers: CHN-14/m, RES-09/m, CHN-01/m */
SCENARIO(ring_receiver_sees_who_sleeps, .init = full_1, .body = {sleep_to_send, recv_and_look},
         .weak = 4) /* covers: CHN-14/m, RES-09/m, CHN-01/m */
SCENARIO(ring_first_try_to_send_sees_who_sleeps, .init = capacity_1,
         .body = {sleep_to_receive, send_first_and_look}, .weak = 4) /* covers: CHN-14/m, RES-09/m */
SCENARIO(ring_first_try_to_receive_sees_who_sleeps, .init = full_1,
         .body = {sleep_to_send, recv_first_and_look}, .weak = 4) /* covers: CHN-14/m, RES-09/m */
SCENARIO(ring_one_of_two_sees_who_sleeps, .init = capacity_2,
         .body = {sleep_to_receive, send_and_look, send_and_look}) /* covers: CHN-14/m */

static void look_before_raising(void)
{
	capacity_1();
	hole = LOOK_BEFORE_RAISING;
}
SCENARIO(ring_look_before_raising, .init = look_before_raising,
         .body = {sleep_to_receive, send_and_look}, .expect = "deadlock")

/* The length of a ring that moves is never more than it holds. */
static void look_at_length(void)
{
	MC_ASSERT(cc__ring_length(&ring) <= 1);
}
SCENARIO(ring_length_is_within, .init = full_1, .body = {try_recv, try_send, look_at_length})
