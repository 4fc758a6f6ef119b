/* check.c - runs the tests of a program, as its first process; as another one, a role. */
#include "check.h"

#include "os/atomic.h"

/* ---- judging ---- */

static bool failed;		/* the test that runs */

void check(bool held, const char *what, const char *file, int line)
{
	if (held)
		return;
	failed = true;
	print("%s:%u: failed: %s\n", file, (uint64_t)line, what);
}

void check_equal(int64_t a, int64_t b, const char *what, const char *file, int line)
{
	if (a != b)
		print("%d is not %d\n", a, b);
	check(a == b, what, file, line);
}

bool check_failures(void)
{
	return failed;
}

/* ---- threads ---- */

enum { THREADS = 40, STACK = 4096 };

static struct task {
	_Alignas(16) char stack[STACK];
	thread_fn *run;
	uint64_t argument;
	cc__a32 state;		/* 0 unused, 1 runs, 2 has ended */
} tasks[THREADS];

static void thread_main(struct task *t)
{
	t->run(t->argument);
	cc__store(&t->state, 2, CC__RELEASE);	/* Release: all it did, to the acquire in running */
	sys_call(CALL_THREAD_EXIT, 0, 0, 0, 0);
}

unsigned threads_running(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < THREADS; i++)
		count += cc__load(&tasks[i].state, CC__ACQUIRE) == 1;	/* Acquire: as said there */
	return count;
}

void thread_start(thread_fn *run, uint64_t argument)
{
	struct task *t = tasks;

	while (cc__peek(&t->state) != 0)
		t++;
	t->run = run;
	t->argument = argument;
	cc__init(&t->state, 1);
	/* As after a call: the stack's end is 8 off. */
	CHECK(sys_call(CALL_THREAD, (uintptr_t)thread_main, (uintptr_t)(t->stack + STACK - 8),
	               (uintptr_t)t, 0) > 0);
}

void threads_join(void)
{
	UNTIL(threads_running() == 0 && sys_look(LOOK_THREADS) == 1);
	for (unsigned i = 0; i < THREADS; i++)
		cc__init(&tasks[i].state, 0);
}

/* ---- the tests ---- */

extern const struct test tests_begin[], tests_end[];

static bool holds(const struct test *t)
{
	const int64_t pages = sys_look(LOOK_PAGES);

	failed = false;
	t->run();
	threads_join();
	CHECK_EQ(sys_look(LOOK_PROCESSES), 1);
	CHECK_EQ(sys_look(LOOK_PAGES), pages);
	print("%s %s\n", failed ? "FAIL" : "ok  ", t->name);
	return !failed;
}

int user_main(uint64_t role, uint64_t argument)
{
	uint64_t count = 0, held = 0;

	if (role != 0)
		return ((role_fn *)(uintptr_t)role)(argument);
	for (const struct test *t = tests_begin; t < tests_end; t++, count++)
		held += holds(t);
	print("%u of %u checks passed\n", held, count);
	sys_call(CALL_STOP, held != count, 0, 0, 0);
	return 1;
}
