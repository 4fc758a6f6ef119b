/* test.h - a small test runner.
 *
 *	TEST(inbox_keeps_order)		// covers: SCH-04/d, RES-33/u
 *	{
 *		REQUIRE(setup() == 0);
 *		CHECK_EQ(pop(), 17);
 *	}
 *
 * A test registers itself; test_main.c holds main().  Checks may be made by any
 * thread or fiber.  A failed CHECK is printed and counted, and the test goes
 * on; a failed REQUIRE also leaves the function (a void one) that it stands in.
 *
 *	x_test [--list] [--repeat N] [pattern...]
 *
 * A pattern is a part of a name, or a glob if it has a `*`.  From the environment:
 * TEST_SEED=N repeats a random run, TEST_TIMEOUT=N makes the watchdog N times as
 * patient as its 30 seconds a test, TEST_TRACE=FILE writes the event log there
 * (tools/trace-check reads it).  The last line is `N passed, N failed`, with
 * `, N skipped` if there were any. */
#ifndef TEST_H
#define TEST_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEST(name) \
	static void test_##name(void); \
	static struct test_case test_case_##name = {#name, __FILE__, __LINE__, test_##name, NULL}; \
	__attribute__((constructor)) static void test_add_##name(void) \
	{ \
		test_add(&test_case_##name); \
	} \
	static void test_##name(void)

/* Each is an expression: true if the check held. */
#define CHECK(x) test_check((x) ? true : false, #x, __FILE__, __LINE__)
#define CHECK_EQ(a, b) test_check_eq((intmax_t)(a), (intmax_t)(b), #a, #b, __FILE__, __LINE__)
#define CHECK_STR(a, b) test_check_str((a), (b), #a, #b, __FILE__, __LINE__)

#define REQUIRE(x) \
	do { \
		if (!CHECK(x)) \
			return; \
	} while (0)
#define REQUIRE_EQ(a, b) \
	do { \
		if (!CHECK_EQ(a, b)) \
			return; \
	} while (0)

/* Ends the test without a verdict; says why.  Leaves a void function. */
#define SKIP(why) \
	do { \
		test_skip(why); \
		return; \
	} while (0)

/* Waits for a state, never for a time: the watchdog is the only limit. */
#define TEST_UNTIL(x) \
	do { \
		while (!(x)) \
			sched_yield(); \
	} while (0)

/* How a child process ended. */
struct test_death {
	int status;		/* from waitpid: WIFSIGNALED, WTERMSIG, ... */
	bool timed_out;		/* it had to be killed */
	size_t size;		/* characters in `text` */
	char text[64 * 1024];	/* what it wrote to stderr, with a final 0 */
};

/* Runs fn(arg) in a forked child, which exits with 0 if fn returns, and waits
 * for its end.  Returns 0 or an error number.  The child has only the calling
 * thread: start runtimes in fn.  Signal handlers of a sanitizer are taken out,
 * so that it dies as it would without one. */
int test_dies(void (*fn)(void *), void *arg, struct test_death *out);

/* The seed of this run, printed when a test first asks for it. */
uint64_t test_seed(void);
/* The next number of a sequence (splitmix64). */
uint64_t test_random(uint64_t *state);
/* How much slower than usual everything is (TEST_TIMEOUT; 1 or more). */
unsigned test_slowness(void);
/* How often a race of n rounds is to be run here: less often where everything is slow, or where
 * the same program runs in other builds as well (TEST_FEWER=4: a quarter). */
unsigned test_rounds(unsigned n);
/* For races that are run again and again: whether there is time for one more.  On a busy
 * machine a hand-over from thread to thread may cost a whole slice of time; a third of
 * what the watchdog allows has to do. */
bool test_has_time(void);

/* ---- behind the macros ---- */

struct test_case {
	const char *name;
	const char *file;
	int line;
	void (*run)(void);
	struct test_case *next;
};

void test_add(struct test_case *t);
bool test_check(bool ok, const char *text, const char *file, int line);
bool test_check_eq(intmax_t a, intmax_t b, const char *a_text, const char *b_text, const char *file,
                   int line);
bool test_check_str(const char *a, const char *b, const char *a_text, const char *b_text,
                    const char *file, int line);
void test_skip(const char *why);

#endif
