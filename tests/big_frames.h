/* big_frames.h - a fiber with one frame that is larger than its stack and its guard together.
 *
 * Compiled into two tests: as users of the library are compiled (frame_test), and without
 * -fstack-clash-protection (frame_plain_test).
 *
 * The stacks of the child process lie in memory that it shares with the test, which therefore
 * sees afterwards what was overwritten:
 *
 *      unmapped (BELOW) | stack 0 | stack 1 | stack 2 | stack 3 | ...     each: guard, usable
 *
 * Fibers are parked on three of them, and the one with the large frame runs above those, on
 * stack 3 or 4 (the worker keeps one in reserve). */
#ifndef TEST_BIG_FRAMES_H
#define TEST_BIG_FRAMES_H

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ccc/ccc.h>

#include "environment.h"
#include "os/context.h"
#include "raw.h"
#include "tasks.h"

#define STACK ((size_t)256 * 1024)
#define GUARD (STACK / 4)
#define REGION (16 * STACK) /* the first that a pool maps */
#define BELOW REGION

enum { FRAME = 1536 * 1024, NEIGHBOURS = 3, HIGHEST = 4 };

/* What the large frame's one write hits. */
enum target { OWN_GUARD, OTHER_GUARD, OTHER_STACK, BELOW_ALL, TARGETS };

static char *stacks;	/* the region; below it nothing can be read or written */
static bool placing;
static struct test_death death;

void *__real_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap(void *, size_t, int, int, int, off_t);
RAW void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	if (!placing || size != REGION)
		return __real_mmap(at, size, prot, flags, fd, offset);
	placing = false;
	return stacks;
}

/* Fresh memory, all zero. */
static inline void reserve_stacks(void)
{
	char *p;

	if (stacks != NULL)
		munmap(stacks - BELOW, BELOW + REGION);
	p = mmap(NULL, BELOW + REGION, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
	         0);
	stacks = mmap(p + BELOW, REGION, PROT_READ | PROT_WRITE,
	              MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	CHECK(p != MAP_FAILED && stacks == p + BELOW);
}

static inline CCRuntime *runtime_on_those_stacks(void)
{
	CCConfig c = config();
	CCRuntime *rt;

	only_workers(&c, 1);
	c.stack_size = STACK;
	c.guard = CC_GUARD_SPLIT;
	placing = true;
	if (cc_runtime_new(&rt, &c) != 0)
		_exit(2);
	return rt;
}

/* The lowest address of the calling fiber's stack, its guard. */
static inline char *my_guard(void)
{
	char here;
	const size_t offset = (uintptr_t)&here - (uintptr_t)stacks;

	return offset < REGION ? stacks + offset / STACK * STACK : NULL;
}

static inline char *address_of(enum target target)
{
	switch (target) {
	case OWN_GUARD:
		return my_guard() + GUARD / 2;
	case OTHER_GUARD:
		return my_guard() - 2 * STACK + GUARD / 2;
	case OTHER_STACK:
		return my_guard() - STACK + GUARD + STACK / 8;
	default:
		return stacks - STACK / 4;
	}
}

RAW static __attribute__((noinline, no_sanitize("address"), no_sanitize("undefined"))) int
use_large_frame(const char *target)
{
	volatile char frame[FRAME];
	const size_t at = (uintptr_t)target - (uintptr_t)frame;

	frame[at] = 'x';
	return frame[at];
}

static inline int large_frame(void *arg)
{
	if (my_guard() < stacks + NEIGHBOURS * STACK || my_guard() > stacks + HIGHEST * STACK)
		_exit(4);
	use_large_frame(address_of(*(enum target *)arg));
	return 0;
}

/* Exit status 5: it survived. */
static inline void large_frame_child(void *target)
{
	static const CCTaskOptions big = {.name = "big"}, victim = {.name = "victim"};
	CCRuntime *rt = runtime_on_those_stacks();
	static struct gate gate;
	CCTask t;

	for (int i = 0; i < NEIGHBOURS; i++)
		if (cc_task_spawn(rt, NULL, &victim, wait_at, &gate) != 0)
			_exit(3);
	TEST_UNTIL(cc__load(&gate.arrived, CC__ACQUIRE) == NEIGHBOURS);
	if (cc_task_spawn(rt, &t, &big, large_frame, target) == 0)
		cc_ignore(cc_task_join(t, CC_FOREVER, NULL));
	_exit(5);
}

/* Nothing was written to the lower half of any stack, which no fiber comes to use. */
static inline bool victims_are_intact(void)
{
	for (int i = 0; i <= HIGHEST; i++)
		for (size_t at = 0; at < STACK / 2; at++)
			if (stacks[(size_t)i * STACK + at] != 0)
				return false;
	return true;
}

/* Runs it; whether it died of SIGSEGV. */
static inline bool dies_of_large_frame(enum target target)
{
	reserve_stacks();
	if (!CHECK_EQ(test_dies(large_frame_child, &target, &death), 0) || !CHECK(!death.timed_out))
		return false;
	if (WIFSIGNALED(death.status))
		return CHECK_EQ(WTERMSIG(death.status), SIGSEGV);
	CHECK_EQ(WEXITSTATUS(death.status), 5);
	CHECK_STR(death.text, "");
	return false;
}

#endif
