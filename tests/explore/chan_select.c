/* chan_select.c - select on the real channels: against a plain partner, against another
 * select in either order, against close, a deadline, a token.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c chan/ring.c chan/buffered.c chan/chan.c
 *          chan/locked.c chan/select.c chan/token.c */
#include "shim_wait.h"
#include "shim_chan.h"
#include "shim_select.h"

static CCToken *token;

/* ---- selects ---- */

/* What thread i chose in its nth select; 9: nothing. */
static int chose[MC_THREADS];

static int note(int err, size_t index, int value, bool sent)
{
	const int me = actor();

	chose[me] = err == 0 || err == EPIPE ? (int)index : 9;
	if (err != 0)
		did[me].refused = err;
	else if (sent)
		did[me].sent[did[me].sends++] = value;
	else
		did[me].got[did[me].recvs++] = value;
	return err;
}

/* Receive from either. */
static int recv_either(CCChan *a, CCChan *b, cc_time deadline)
{
	int v[2] = {-1, -1};
	size_t i;
	CCCase cases[2] = {cc_case_recv(a, &v[0], sizeof(int)),
	                   cc_case_recv(b, &v[1], sizeof(int))};
	const int err = cc_select_in_order(cases, 2, deadline, &i);

	MC_ASSERT(i == 0 || v[0] == -1);	/* nothing is written for a case that lost */
	MC_ASSERT(i == 1 || v[1] == -1);
	return note(err, i, i < 2 ? v[i] : 0, false);
}

static int send_either(CCChan *a, CCChan *b, cc_time deadline)
{
	const int v[2] = {10 * (actor() + 1) + 1, 10 * (actor() + 1) + 2};
	size_t i;
	CCCase cases[2] = {cc_case_send(a, &v[0], sizeof(int)),
	                   cc_case_send(b, &v[1], sizeof(int))};
	const int err = cc_select_in_order(cases, 2, deadline, &i);

	return note(err, i, i < 2 ? v[i] : 0, true);
}

/* Receive from one, or send to the other. */
static int recv_or_send(CCChan *in, CCChan *out, cc_time deadline)
{
	const int out_v = 10 * (actor() + 1) + 3;
	int v = -1;
	size_t i;
	CCCase cases[2] = {cc_case_recv(in, &v, sizeof v), cc_case_send(out, &out_v, sizeof v)};
	const int err = cc_select_in_order(cases, 2, deadline, &i);

	return note(err, i, i == 0 ? v : out_v, i == 1);
}

static void select_recv(void)
{
	begin_body();
	recv_either(chan, chan2, CC_FOREVER);
}

static void select_recv_twice(void)
{
	begin_body();
	recv_either(chan, chan2, CC_FOREVER);
	recv_either(chan, chan2, CC_FOREVER);
}

static void select_recv_other_order(void)
{
	begin_body();
	recv_either(chan2, chan, CC_FOREVER);
}

static void select_recv_a_second(void)
{
	begin_body();
	recv_either(chan, chan2, cc__now() + CC_SEC);
}

static void select_send(void)
{
	begin_body();
	send_either(chan, chan2, CC_FOREVER);
}

static void select_send_other_order(void)
{
	begin_body();
	send_either(chan2, chan, CC_FOREVER);
}

static void select_both_ways(void)
{
	begin_body();
	recv_or_send(chan, chan2, CC_FOREVER);
}

static void select_both_ways_other_order(void)
{
	begin_body();
	recv_or_send(chan2, chan, CC_FOREVER);
}

static void select_one_channel_both_ways(void)
{
	begin_body();
	recv_or_send(chan, chan, CC_FOREVER);
}

static void send_second(void)
{
	begin_body();
	send_to(chan2, CC_FOREVER);
}

static void recv_second(void)
{
	begin_body();
	recv_from(chan2, CC_FOREVER);
}

static void try_send_first(void)
{
	begin_body();
	send_to(chan, CC_NOW);
}

static void try_send_second(void)
{
	begin_body();
	send_to(chan2, CC_NOW);
}

static void close_second(void)
{
	MC_ASSERT(cc_chan_close(chan2) == 0);
}

/* ---- rendezvous ---- */

static void one_moved(void)
{
	check_at_rest();
	MC_ASSERT(total(true) == 1 && total(false) == 1);
	mc_outcome("%d", chose[0]);
}

static void two_moved(void)
{
	check_at_rest();
	MC_ASSERT(total(true) == 2);
}
/* covers: SCH-58/m, CHN-35/m, RES-53/m, CHN-34/m, CHN-36/m */
SCENARIO(select_recv_two_senders, .init = rendezvous, .spurious = MC_NONE,
         .body = {select_recv, try_send_first, try_send_second}, .daemon = 1,
         .final = check_conservation)
SCENARIO(select_twice, .init = rendezvous, .spurious = MC_NONE,
         .body = {select_recv_twice, send_one, send_second}, .final = two_moved)

/* Two selects on the same channels, in either order: they meet on one of them. */
SCENARIO(select_meets_select, .init = rendezvous, .spurious = MC_NONE,
         .body = {select_recv, select_send}, .final = one_moved, .outcomes = "0 1")
SCENARIO(select_meets_select_other_order, .init = rendezvous, .spurious = MC_NONE,
         .body = {select_recv, select_send_other_order}, .final = one_moved)
SCENARIO(select_meets_select_both_ways, .init = rendezvous, .spurious = MC_NONE,
         .body = {select_both_ways, select_both_ways_other_order}, .final = one_moved)
/* covers: RES-53/m, SCH-58/m */

/* Two receivers that select, one sender that selects: one of them gets it. */
static void one_of_two(void)
{
	check_conservation();
	MC_ASSERT(total(true) == 1 && did[2].sends == 1);
}
SCENARIO(select_two_meet_one, .init = rendezvous, .spurious = MC_NONE, .daemon = 3, .bound = 1,
         .body = {select_recv, select_recv_other_order, select_send}, .final = one_of_two)
/* covers: RES-53/m, CHN-35/m */

/* Both directions of one channel: never itself, always somebody else. */
SCENARIO(select_never_meets_itself, .init = rendezvous, .spurious = MC_NONE,
         .body = {select_one_channel_both_ways, select_one_channel_both_ways},
         .final = one_moved) /* covers: RES-53/m */

/* ---- close and deadline ---- */

static void closed_or_moved(void)
{
	check_at_rest();
	MC_ASSERT(total(true) == total(false));
	mc_outcome("%d%d", chose[0], did[0].refused == EPIPE);
}
SCENARIO(select_close, .init = rendezvous, .spurious = MC_NONE,
         .body = {select_recv, try_send_first, close_second}, .final = closed_or_moved,
         .outcomes = "00 11") /* covers: RES-53/m, CHN-32/m, LIF-46/m */
SCENARIO(select_send_close, .init = rendezvous, .spurious = MC_NONE,
         .body = {select_send, close_second}, .final = closed_or_moved, .outcomes = "11")
/* covers: RES-11/m */

static void late_or_moved(void)
{
	check_at_rest();
	MC_ASSERT(total(true) == total(false));
	MC_ASSERT(did[0].recvs == 1 || did[0].refused == ETIMEDOUT);
	mc_outcome("%d", chose[0]);
}
SCENARIO(select_deadline, .init = rendezvous, .spurious = MC_NONE,
         .body = {select_recv_a_second, try_send_first, try_send_second}, .final = late_or_moved,
         .timeouts = 1, .outcomes = "0 1 9") /* covers: CHN-44/m, RES-53/m */

/* A time that comes is a case like another. */
static void select_recv_or_a_second(void)
{
	int v = -1;
	size_t i;
	CCCase cases[2] = {cc_case_recv(chan, &v, sizeof v), cc_case_timeout(cc__now() + CC_SEC)};

	begin_body();
	MC_ASSERT(cc_select_in_order(cases, 2, CC_FOREVER, &i) == 0);
	chose[mc_self()] = (int)i;
	if (i == 0)
		did[mc_self()].got[did[mc_self()].recvs++] = v;
}

static void time_or_element(void)
{
	check_at_rest();
	MC_ASSERT(did[0].recvs == 1 - chose[0]);
	mc_outcome("%d", chose[0]);
}
SCENARIO(select_time, .init = rendezvous, .spurious = MC_NONE,
         .body = {select_recv_or_a_second, try_send_first}, .final = time_or_element,
         .timeouts = 1, .outcomes = "0 1") /* covers: CHN-44/m */

/* ---- buffered: signals ---- */

static void received_or_left(void)
{
	check_at_rest();
	MC_ASSERT(did[0].recvs == 1);
	mc_outcome("%d", chose[0]);
}
SCENARIO(select_recv_buffered, .init = buffer_1, .spurious = MC_NONE,
         .body = {select_recv, send_one, send_second}, .final = received_or_left,
         .outcomes = "0 1") /* covers: RES-53/m, CHN-53/m, CHN-01/m */

/* A select that loses leaves the signal to the next who waits. */
SCENARIO(select_passes_the_signal_on, .init = buffer_1, .spurious = MC_NONE,
         .body = {select_recv, recv_one, send_two}, .final = two_moved, .bound = 1)
/* covers: CHN-53/m, RES-53/m */
SCENARIO(select_meets_select_buffered, .init = buffer_1, .spurious = MC_NONE,
         .body = {select_recv, select_send_other_order}, .final = one_moved)
SCENARIO(select_close_buffered, .init = buffer_1, .spurious = MC_NONE,
         .body = {select_recv, send_one, close_second}, .final = check_at_rest, .bound = 1)
/* covers: RES-53/m */

/* ---- a token ---- */

static void with_token(void)
{
	rendezvous();
	token = cc_token_new();
}

static int before_token;	/* written before it is set, seen by who sees it set */
static cc__a32 token_was_set;

static void wait_for_token(void)
{
	begin_body();
	did[mc_self()].refused = cc_token_wait(token, CC_FOREVER);
	MC_ASSERT(before_token == 1);
}

static void set_token(void)
{
	before_token = 1;
	MC_ASSERT(cc_token_set(token) == 0);
	cc__store(&token_was_set, 1, CC__RELAXED);
}

/* By who may have heard of it, and has seen nothing yet. */
static void set_token_again(void)
{
	if (cc__load(&token_was_set, CC__RELAXED) == 0)
		return;
	MC_ASSERT(cc_token_set(token) == 0 && before_token == 1);
}

static void select_with_token(void)
{
	int v = -1;
	size_t i;
	CCCase cases[2] = {cc_case_recv(chan, &v, sizeof v), cc_case_token(token)};
	int err;

	begin_body();
	err = cc_select_in_order(cases, 2, CC_FOREVER, &i);
	MC_ASSERT(err == 0);
	chose[mc_self()] = (int)i;
	if (i == 0)
		did[mc_self()].got[did[mc_self()].recvs++] = v;
}

static void token_or_element(void)
{
	check_at_rest();
	MC_ASSERT(total(true) == total(false) && (chose[0] == 0) == (total(true) == 1));
	MC_ASSERT(cc_token_is_set(token) && cc_token_free(token) == 0);
	mc_outcome("%d", chose[0]);
}

/* Who waited for it frees it, while whoever set it is still on his way out. */
static void wait_for_token_and_free(void)
{
	wait_for_token();
	MC_ASSERT(did[mc_self()].refused == 0 && cc_token_free(token) == 0);
}

static void look_for_token_and_free(void)
{
	begin_body();
	if (cc_token_is_set(token))
		MC_ASSERT(before_token == 1 && cc_token_free(token) == 0);
}

static void both_woken(void)
{
	check_threads_at_rest();
	MC_ASSERT(cc_token_is_set(token) && cc_token_free(token) == 0);
}
SCENARIO(token_wakes_everybody, .init = with_token, .leaks = true,
         .body = {wait_for_token, wait_for_token, set_token}, .final = both_woken)

/* Who is woken for nothing is still listed, or has been taken off. */
static void unpark_first(void)
{
	cc__unpark(thread_parker(0));
}

SCENARIO(token_undecided_wake, .init = with_token, .leaks = true, .spurious = MC_NONE, .bound = 1,
         .body = {wait_for_token, set_token, unpark_first}, .final = both_woken)
SCENARIO(token_set_twice, .init = with_token, .leaks = true,
         .body = {set_token, set_token_again}, .final = both_woken)
SCENARIO(select_token, .init = with_token, .spurious = MC_NONE, .leaks = true,
         .body = {select_with_token, try_send_first, set_token}, .final = token_or_element,
         .outcomes = "0 1") /* covers: RES-53/m, SCH-58/m */
SCENARIO(token_freed_by_who_waited, .init = with_token, .leaks = true, .bound = 2,
         .spurious = MC_NONE, .body = {wait_for_token_and_free, set_token},
         .final = check_threads_at_rest)
SCENARIO(token_freed_by_who_saw_it_set, .init = with_token,
         .body = {look_for_token_and_free, set_token}, .final = check_threads_at_rest)
/* covers: CHN-52/m */
