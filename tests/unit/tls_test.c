/* tls_test.c - a context that two OS threads resume in turn: after each switch
 * the thread-local storage is that of the thread it is on now.
 * link-lto */
#include "test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "os/atomic.h"
#include "base/lock.h"
#include "os/context.h"
#include "os/pages.h"

enum { STACK = 256 * 1024, HOPS = 100000 };

/* One of the two threads. */
struct carrier {
	struct cc__context context;
	struct cc__lock_stack *locks;	/* its own, asked for before any switch */
	uint32_t number;
};

/* What travels. */
static struct {
	struct cc__context context;
	struct cc__stack_tools tools;
	char *stack;
	cc__a32 turn;	/* whose it is; the other waits.  2: it has ended */
	unsigned hops;	/* the traveller's */
	unsigned wrong_record, wrong_locks, wrong_depth;
	unsigned stale;	/* reads of `plain` through an old address */
} the;

static _Thread_local struct carrier *plain;

static unsigned hops_wanted(void)
{
	return test_rounds(HOPS);
}

/* Everything in one loop of one function, so that the compiler may keep what it
 * believes to be constant: it knows nothing of threads that change under it. */
static void travel(void *worker, uintptr_t after)
{
	const unsigned wanted = hops_wanted();
	struct carrier *on = worker;

	(void)after;
	cc__tools_arrive(NULL);
	while (the.hops < wanted && (the.hops % 64 != 63 || test_has_time())) {
		struct carrier **address = &plain;
		struct cc__arrival a;

		__asm__("" : "+r"(address)); /* wanted as such, as in code that is less plain */
		if (cc__tls_get() != on)
			the.wrong_record++;
		if (cc__lock_stack() != on->locks)
			the.wrong_locks++;
		if (cc__lock_stack()->depth != on->number)
			the.wrong_depth++;
		if (*address != on)
			the.stale++;
		the.hops++;
		a = cc__context_switch_told(&the.context, on->context.sp, NULL, 0, false, NULL, NULL);
		on = a.worker;
	}
	cc__context_switch_told(&the.context, on->context.sp, NULL, 1, true, NULL, NULL);
	abort();
}

/* Resume the traveller whenever it is our turn. */
static void *carry(void *arg)
{
	struct carrier *c = arg;
	uintptr_t ended = 0;

	cc__context_adopt(&c->context);
	CHECK_EQ(cc__tls_set(c, NULL), 0);
	plain = c;
	c->locks = cc__lock_stack();
	c->locks->depth = c->number;
	while (ended == 0) {
		uint32_t turn;

		/* Acquire: the traveller's stack, from the other thread's release. */
		while ((turn = cc__load(&the.turn, CC__ACQUIRE)) != c->number && turn != 2)
			sched_yield();
		if (turn == 2)
			break;
		ended = cc__context_switch_told(&c->context, the.context.sp, c, 0, false, the.stack,
		                                the.stack + STACK).after;
		if (cc__tls_get() != c)
			the.wrong_record++;
		cc__store(&the.turn, ended != 0 ? 2 : 1 - c->number, CC__RELEASE);
	}
	c->locks->depth = 0;
	cc__tls_set(NULL, NULL);
	return NULL;
}

TEST(context_sees_the_storage_of_the_thread_it_is_on)
{
	static struct carrier c[2];
	pthread_t t[2];

	the.stack = cc__pages_map(STACK);
	cc__stack_tools_init(&the.tools, the.stack, STACK);
	cc__context_make(&the.context, the.stack, the.stack + STACK, travel);
	for (unsigned i = 0; i < 2; i++) {
		c[i].number = i;
		REQUIRE_EQ(pthread_create(&t[i], NULL, carry, &c[i]), 0);
	}
	for (unsigned i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	CHECK(the.hops >= 63);
	CHECK_EQ(the.wrong_record, 0);
	CHECK_EQ(the.wrong_locks, 0);
	CHECK_EQ(the.wrong_depth, 0);
	/* Not ours to promise: what a plain thread-local would have read. */
	printf("      %u of %u reads of a plain _Thread_local were of the other thread\n",
	       the.stale, the.hops);
	cc__tools_ended(the.stack, the.stack + STACK, false);
	cc__stack_tools_fini(&the.tools, the.stack, STACK);
	cc__pages_unmap(the.stack, STACK);
}

/* ---- the end of a thread ---- */

static void *seen_at_exit;
static pthread_key_t late_key;

static void late(void *arg)
{
	(void)arg;
	seen_at_exit = cc__tls_get();
}

static void *dropped;

static void drop(void *record)
{
	dropped = record;
}

static void *end_with_record(void *arg)
{
	CHECK_EQ(cc__tls_set(arg, drop), 0);
	/* A key made after ours: its destructor runs after ours. */
	CHECK_EQ(pthread_key_create(&late_key, late), 0);
	CHECK_EQ(pthread_setspecific(late_key, arg), 0);
	return NULL;
}

TEST(thread_that_ends_drops_its_record_and_forgets_it)
{
	char record;
	pthread_t t;

	dropped = NULL;
	seen_at_exit = &record;
	REQUIRE_EQ(pthread_create(&t, NULL, end_with_record, &record), 0);
	pthread_join(t, NULL);
	CHECK(dropped == &record);
	/* It is somebody else's by now: whoever comes later must not find it. */
	CHECK(seen_at_exit == NULL);
	pthread_key_delete(late_key);
}
