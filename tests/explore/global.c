/* global.c - the queue that belongs to no worker, with a ring of two, so that pushes
 * go round it and over its edge.  What is pushed comes out once, and nothing stays
 * behind in the list or in a slot (G1 to G3).
 *
 * The queue itself is included, for the size of its ring.
 *
 * sources: base/lock.c */
#define CC_FIBER_QUEUE_INITIAL 2
#include "shim_runq.h"
#include "sched/global.c"

static struct cc__global queue;

void cc__say_all(const char *first, ...)
{
	(void)first;
}

static void empty(void)
{
	cc__global_init(&queue);
}

static void push(int i)
{
	cc__global_push(&queue, fill(i));
}

static void pop(void)
{
	struct cc__fiber *f = cc__global_pop(&queue);

	if (f != NULL)
		take(f);
}

SHIM_PUSHERS(push)

static void push_2_and_3(void)
{
	push(2);
	push(3);
}

static void pop_twice(void)
{
	pop();
	pop();
}

static void drain(int n)
{
	struct cc__fiber *f;

	while ((f = cc__global_pop(&queue)) != NULL)
		take(f);
	all_taken(n);
	MC_ASSERT(cc__global_length(&queue) == 0 && queue.first == NULL);
}

static void two_once(void)
{
	drain(2);
}

static void three_once(void)
{
	drain(3);
}

static void four_once(void)
{
	drain(4);
}

SCENARIO(global_pusher_and_popper, .init = empty, .body = {push_0_and_1, pop_twice},
         .final = two_once)
SCENARIO(global_two_pushers, .init = empty, .body = {push_0, push_1, pop_twice},
         .final = two_once) /* covers: SCH-22/m */

/* The ring is full and has been round: slots are free or not, as the other side
 * says. */
static void full(void)
{
	empty();
	push(0);
	push(1);
}

static void push_2_pop(void)
{
	push(2);
	pop();
}
SCENARIO(global_overflow, .init = full, .body = {push_2_and_3, pop_twice}, .final = four_once)
/* covers: SCH-22/m, SCH-23/m */
SCENARIO(global_overflow_and_two_poppers, .init = full, .body = {push_2_pop, pop, pop},
         .final = three_once)

static void push_2(void)
{
	push(2);
}

static void push_3(void)
{
	push(3);
}

static void four_once_two_listed(void)
{
	MC_ASSERT(cc__global_length(&queue) == 4 && cc__peek(&queue.overflows) == 2);
	drain(4);
}
SCENARIO(global_two_overflow, .init = full, .body = {push_2, push_3}, .final = four_once_two_listed)
SCENARIO(global_two_pushers_two_poppers, .init = empty, .body = {push_0, push_1, pop, pop},
         .weak = 1, .final = two_once)
