/* backtrace_test.c - an unwinder that walks a fiber meets the user's functions,
 * the fiber's entry, and then the end.  gdb/backtrace.sh stops in here too. */
#include "test.h"

#include <ccc/ccc.h>

#include <string.h>

/* Both are glibc's: Debian's libgcc wants it, so a musl program cannot unwind. */
#if __has_include(<execinfo.h>)
#include <execinfo.h>
#include <unwind.h>
#define HAVE_UNWINDER 1
#endif

extern const char cc__context_base[];	/* where the stack of a fiber begins */

enum { MOST = 64, BASE_SIZE = 32 };

struct trace {
	int (*walk)(struct trace *t);	/* fills at, returns how many */
	void *at[MOST];
	int n;
	void *level[4];	/* where each function returns to, innermost first */
};

/* ---- two unwinders ---- */

#ifdef HAVE_UNWINDER

struct walk {
	struct trace *t;
	int n;
};

static _Unwind_Reason_Code step(struct _Unwind_Context *c, void *arg)
{
	struct walk *w = arg;
	void *ip = (void *)_Unwind_GetIP(c);

	if (ip != NULL && w->n < MOST)	/* the end of the stack is shown as NULL */
		w->t->at[w->n++] = ip;
	return w->n < MOST ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

static __attribute__((noinline)) int walk_unwind(struct trace *t)
{
	struct walk w = {.t = t};

	CHECK_EQ(_Unwind_Backtrace(step, &w), _URC_END_OF_STACK);
	return w.n;
}

static __attribute__((noinline)) int walk_backtrace(struct trace *t)
{
	int n = backtrace(t->at, MOST);

	__asm__ volatile("" : : "r"(n)); /* no tail call */
	return n;
}
#endif

/* ---- three levels deep ---- */

/* Not static: gdb knows them by these names, and stops in bt_stop. */
int bt_stop(struct trace *t);
int bt_level_3(struct trace *t);
int bt_level_2(struct trace *t);
int bt_level_1(struct trace *t);
int bt_task(void *arg);

/* Nothing is inlined, and each does something after its call. */
#define A_FRAME_OF_ITS_OWN __attribute__((noinline, used))
#define AFTERWARDS(x) __asm__ volatile("" : "+r"(x))

A_FRAME_OF_ITS_OWN int bt_stop(struct trace *t)
{
	int n = t->n;

	AFTERWARDS(n);
	return n;
}

A_FRAME_OF_ITS_OWN int bt_level_3(struct trace *t)
{
	int n;

	t->level[0] = __builtin_return_address(0);
	n = t->n = t->walk(t);
	AFTERWARDS(n);
	return n;
}

A_FRAME_OF_ITS_OWN int bt_level_2(struct trace *t)
{
	int n;

	t->level[1] = __builtin_return_address(0);
	n = bt_level_3(t);
	AFTERWARDS(n);
	return n;
}

A_FRAME_OF_ITS_OWN int bt_level_1(struct trace *t)
{
	int n;

	t->level[2] = __builtin_return_address(0);
	n = bt_level_2(t);
	AFTERWARDS(n);
	return n;
}

A_FRAME_OF_ITS_OWN int bt_task(void *arg)
{
	struct trace *t = arg;
	int n;

	t->level[3] = __builtin_return_address(0);
	n = bt_level_1(t);
	AFTERWARDS(n);
	return n;
}

/* ---- what it must look like ---- */

static int yields(void *arg)
{
	(void)arg;
	cc_yield();
	return 0;
}

/* Away and back: by a yield, a join and a sleep. */
static void switch_away_and_back(void)
{
	CCTask other;

	CHECK_EQ(cc_task_spawn(NULL, &other, NULL, yields, NULL), 0);
	cc_yield();
	CHECK_EQ(cc_task_join(other, CC_FOREVER, NULL), 0);
	CHECK_EQ(cc_sleep_until(cc_now() + CC_MSEC), 0);
}

static void run_in_fiber(struct trace *t, cc_task_main *main)
{
	CCTask task;

	CHECK_EQ(cc_task_spawn(NULL, &task, NULL, main, t), 0);
	CHECK_EQ(cc_task_join(task, CC_FOREVER, NULL), 0);
}

static int stop_switch_stop(struct trace *t)
{
	int n = bt_stop(t);

	switch_away_and_back();
	return n + bt_stop(t);
}

TEST(three_calls_deep)
{
	struct trace t = {.walk = stop_switch_stop};

	run_in_fiber(&t, bt_task);
	for (int i = 0; i < 4; i++)
		CHECK(t.level[i] != NULL);
	CHECK_EQ(cc_shutdown(), 0);
}

#ifdef HAVE_UNWINDER

/* The walker, level 3, and where 3, 2, 1 and the task return to; the last is in
 * the entry, which returns into the base, and there it ends. */
static void check_trace(const struct trace *t)
{
	const char *base;
	int i = 0;

	while (i < t->n && t->at[i] != t->level[0])
		i++;
	REQUIRE(i > 0);
	REQUIRE_EQ(t->n, i + 5);
	for (int k = 0; k < 4; k++)
		CHECK(t->at[i + k] == t->level[k]);
	base = t->at[i + 4];
	CHECK(base > cc__context_base && base < cc__context_base + BASE_SIZE);
}

static int (*walker)(struct trace *t);

static int walk_switch_walk(struct trace *t)
{
	struct trace before = *t;

	before.n = walker(&before);
	check_trace(&before);
	switch_away_and_back();
	return walker(t);
}

static int second_on_the_stack(void *arg)
{
	const cc_time late = cc_now() + 3600 * CC_SEC;	/* without end they might run in our place */
	CCTask a, b;

	/* Two tasks in a row, which share a stack: the second walks it. */
	CHECK_EQ(cc_task_spawn(NULL, &a, NULL, yields, NULL), 0);
	CHECK_EQ(cc_task_spawn(NULL, &b, NULL, bt_task, arg), 0);
	CHECK_EQ(cc_task_join(a, late, NULL), 0);
	CHECK_EQ(cc_task_join(b, late, NULL), 0);
	return 0;
}

static void check_all(int (*walk)(struct trace *t))
{
	struct trace t = {.walk = walk};

	run_in_fiber(&t, bt_task);
	check_trace(&t);
	run_in_fiber(&t, second_on_the_stack);
	check_trace(&t);
	walker = walk;
	t.walk = walk_switch_walk;
	run_in_fiber(&t, bt_task);
	check_trace(&t);
	CHECK_EQ(cc_shutdown(), 0);
}

TEST(unwinder_stops_at_the_base_of_a_fiber)
{
	check_all(walk_unwind);
}

TEST(backtrace_stops_at_the_base_of_a_fiber)
{
	check_all(walk_backtrace);
}

#else

TEST(backtrace_stops_at_the_base_of_a_fiber)
{
	SKIP("no unwinder with this C library");
}

#endif
