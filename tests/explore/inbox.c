/* inbox.c - what others push for one worker: whoever takes, every fiber comes out
 * once, or its push has failed because the worker has retired (N1, N2).
 *
 * sources: sched/inbox.c */
#include "shim_runq.h"
#include "sched/inbox.h"

static struct cc__inbox box;
static bool refused[SHIM_FIBERS];	/* each pusher's own */

static void take_all(struct cc__fiber *oldest)
{
	struct cc__fiber *f;

	while ((f = cc__chain_pop(&oldest)) != NULL)
		take(f);
}

static void push(int i)
{
	struct cc__fiber *f = fill(i);

	refused[i] = !cc__inbox_push(&box, f);
	if (refused[i])
		take(f);	/* it is still ours */
}

SHIM_PUSHERS(push)

static void take_once(void)
{
	take_all(cc__inbox_take(&box));
}

static void take_twice(void)
{
	take_once();
	take_once();
}

static void close_it(void)
{
	take_all(cc__inbox_close(&box));
}

static void take_and_close(void)
{
	take_once();
	close_it();
}

static void rest(void)
{
	take_once();
	all_taken(2);
	MC_ASSERT(!refused[0] && !refused[1] && !cc__inbox_any(&box));
}

/* Nothing is left in what is closed, and nothing more goes in. */
static void nothing_left(void)
{
	MC_ASSERT(!cc__inbox_any(&box) && cc__inbox_take(&box) == NULL);
	MC_ASSERT(!cc__inbox_push(&box, &fiber[2]));
	all_taken(2);
}

SCENARIO(inbox_pusher_and_owner, .body = {push_0_and_1, take_twice}, .final = rest)
SCENARIO(inbox_two_pushers, .body = {push_0, push_1, take_twice}, .final = rest)
SCENARIO(inbox_owner_and_thief, .body = {push_0_and_1, take_once, take_once}, .final = rest)
/* covers: RES-37/m, RES-52/m */
SCENARIO(inbox_close_against_pushers, .body = {push_0, push_1, take_and_close},
         .final = nothing_left) /* covers: RES-52/m */
SCENARIO(inbox_close_against_a_thief, .body = {push_0_and_1, close_it, take_once},
         .final = nothing_left)

/* Oldest first, whoever takes. */
static void oldest_first(void)
{
	struct cc__fiber *f = cc__inbox_take(&box);

	if (f != NULL && f->next != NULL)
		MC_ASSERT(f == &fiber[0] && f->next == &fiber[1]);
	take_all(f);
}
SCENARIO(inbox_in_order, .body = {push_0_and_1, oldest_first}, .final = rest)

/* The fiber has run, and worker and inbox are gone, before its pusher is back (N3). */
static struct cc__inbox *theirs;

static void make_inbox(void)
{
	theirs = mc_alloc(sizeof *theirs);
	*theirs = (struct cc__inbox){0};
}

static void push_and_come_back(void)
{
	MC_ASSERT(cc__inbox_push(theirs, fill(0)));
}

static void take_and_end(void)
{
	struct cc__fiber *f;

	mc_wait_while(&theirs->newest, NULL);
	f = cc__inbox_close(theirs);
	mc_free(theirs);
	take_all(f);
}

static void first_taken(void)
{
	all_taken(1);
}
SCENARIO(inbox_gone_after_the_push, .init = make_inbox, .body = {push_and_come_back, take_and_end},
         .final = first_taken, .leaks = true)
