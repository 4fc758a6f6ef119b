/* check.h - tests of a program: one line each, and a status that says whether all held.
 *
 *      TEST(a_wait_ends_when_woken) { CHECK(...); CHECK_EQ(...); }
 *
 * They run in the order of their names' definition.  Each begins with no other thread and no
 * other process than its own, and has to leave it so. */
#ifndef KERNEL_USER_CHECK_H
#define KERNEL_USER_CHECK_H

#include "sys.h"

struct test {
	const char *name;
	void (*run)(void);
};

#define TEST(name) \
	static void name(void); \
	static const struct test test_##name \
	    __attribute__((used, section("tests"))) = {#name, name}; \
	static void name(void)

void check(bool held, const char *what, const char *file, int line);
void check_equal(int64_t a, int64_t b, const char *what, const char *file, int line);
#define CHECK(cond) check(cond, #cond, __FILE__, __LINE__)
#define CHECK_EQ(a, b) check_equal((int64_t)(a), (int64_t)(b), #a " == " #b, __FILE__, __LINE__)

/* In a role: a check of this process did not hold. */
bool check_failures(void);

/* By state, never by time: whatever it is, the others bring it about. */
#define UNTIL(cond) \
	do \
		sys_yield(); \
	while (!(cond))

/* Addresses that nothing is mapped at. */
enum { HERE = 0x20000000, THERE = 0x30000000, ELSEWHERE = 0x40000000 };

/* ---- threads of this process ---- */

typedef void thread_fn(uint64_t argument);

void thread_start(thread_fn *run, uint64_t argument);
/* All that were started have ended. */
void threads_join(void);
/* Or that many of them are left, the others have ended. */
unsigned threads_running(void);
/* That many threads of this process are parked. */
#define UNTIL_PARKED(count) UNTIL(sys_look(LOOK_WAITS) == (int64_t)(count))

/* ---- other processes: the same program, which begins with a function ---- */

typedef int role_fn(uint64_t argument);

/* With a copy of a capability, or 0. */
static inline int64_t process_start(role_fn *role, uint64_t argument, uint32_t cap)
{
	return sys_call(CALL_SPAWN, (uintptr_t)role, argument, cap, 0);
}

static inline int64_t process_wait(int64_t id)
{
	return sys_call(CALL_WAIT, (uint64_t)id, 0, 0, 0);
}

#endif
