/* smoke_kernel.c - the ground: processes are apart, faults end one of them, threads take turns. */
#include <errno.h>

#include "check.h"
#include "ring.h"

/* ---- faults ---- */

static cc__a32 own;		/* at the same address in each process */

static int write_to_kernel(uint64_t argument)
{
	(void)argument;
	*(volatile char *)0xffffffff80100000 = 1;
	return 0;
}

static int write_to_text(uint64_t argument)
{
	*(volatile char *)(uintptr_t)argument = 1;
	return 0;
}

static int run_data(uint64_t argument)
{
	static char code[] = {(char)0xc3};	/* ret */

	(void)argument;
	((void (*)(void))(uintptr_t)code)();
	return 0;
}

static int halt(uint64_t argument)
{
	(void)argument;
	__asm__ volatile("hlt");
	return 0;
}

TEST(a_fault_ends_its_process_and_no_other)
{
	enum { PROTECTION = 13, PAGE_FAULT = 14 };

	CHECK_EQ(process_wait(process_start(write_to_kernel, 0, 0)), STATUS_FAULT + PAGE_FAULT);
	CHECK_EQ(process_wait(process_start(write_to_text, (uintptr_t)write_to_text, 0)),
	         STATUS_FAULT + PAGE_FAULT);
	CHECK_EQ(process_wait(process_start(run_data, 0, 0)), STATUS_FAULT + PAGE_FAULT);
	CHECK_EQ(process_wait(process_start(halt, 0, 0)), STATUS_FAULT + PROTECTION);
}

static int use_fpu(uint64_t argument)
{
	(void)argument;
	__asm__ volatile("fninit");
	return 0;
}

TEST(the_registers_that_no_switch_keeps_are_not_to_be_had)
{
	CHECK_EQ(process_wait(process_start(use_fpu, 0, 0)), STATUS_FAULT + 7);
}

TEST(what_would_be_a_fault_of_the_kernel_is_refused)
{
	CHECK_EQ(sys_call(CALL_THREAD, UINT64_C(1) << 63, STACK_END, 0, 0), -EINVAL);
	CHECK_EQ(sys_call(CALL_THREAD, 0x400000, UINT64_C(1) << 63, 0, 0), -EINVAL);
	CHECK_EQ(sys_call(CALLS, 0, 0, 0, 0), -ENOSYS);
	CHECK_EQ(sys_call(CALL_WRITE, 0xffffffff80100000, 1, 0, 0), -EFAULT);
	CHECK_EQ(sys_call(CALL_MAP, 0xffffffff80000000, 1, MAP_READ, 0), -EINVAL);
	CHECK_EQ(sys_call(CALL_MAP, HERE, UINT64_MAX / 2, MAP_READ, 0), -EINVAL);
	CHECK_EQ(sys_call(CALL_MAP, HERE, 1 << 20, MAP_READ, 0), -ENOMEM);
	CHECK_EQ(sys_call(CALL_MAP, STACK_END - 4096, 2, MAP_READ, 0), -EEXIST);
	CHECK_EQ(sys_call(CALL_UNMAP, RING_ADDRESS, 0, 0, 0), -EBUSY);
}

static int write_own(uint64_t argument)
{
	const bool fresh = cc__load(&own, CC__RELAXED) == 0;

	cc__store(&own, (uint32_t)argument, CC__RELAXED);
	return fresh ? 0 : 1;
}

TEST(processes_have_memory_of_their_own)
{
	cc__store(&own, 7, CC__RELAXED);
	CHECK_EQ(process_wait(process_start(write_own, 8, 0)), 0);
	CHECK_EQ(cc__load(&own, CC__RELAXED), 7);
}

static int use_after_unmap(uint64_t argument)
{
	volatile uint32_t *here = (volatile uint32_t *)HERE;

	(void)argument;
	if (sys_call(CALL_MAP, HERE, 1, MAP_READ | MAP_WRITE, 0) != 0)
		return 1;
	*here = 5;
	if (sys_call(CALL_UNMAP, HERE, 0, 0, 0) != 0)
		return 2;
	return (int)*here;
}

TEST(what_is_unmapped_is_gone)
{
	CHECK_EQ(process_wait(process_start(use_after_unmap, 0, 0)), STATUS_FAULT + 14);
}

static int use_twice(uint64_t argument)
{
	volatile uint32_t *here = (volatile uint32_t *)HERE;

	(void)argument;
	for (unsigned i = 0; i < 2; i++) {
		if (sys_call(CALL_MAP, HERE, 1, MAP_READ | MAP_WRITE, 0) != 0 || *here != 0)
			return 1;
		*here = 5;
		if (sys_call(CALL_UNMAP, HERE, 0, 0, 0) != 0)
			return 2;
	}
	return 0;
}

TEST(what_is_mapped_is_zero)
{
	CHECK_EQ(process_wait(process_start(use_twice, 0, 0)), 0);
}

/* ---- turns ---- */

static cc__a32 stop;

static void spin(uint64_t argument)
{
	(void)argument;
	while (cc__load(&stop, CC__RELAXED) == 0)
		continue;
}

TEST(a_thread_that_never_calls_does_not_keep_others_from_running)
{
	cc__store(&stop, 0, CC__RELAXED);
	thread_start(spin, 0);
	thread_start(spin, 0);
	for (int64_t end = sys_look(LOOK_TICKS) + 5; sys_look(LOOK_TICKS) < end;)
		continue;
	CHECK_EQ(threads_running(), 2);
	cc__store(&stop, 1, CC__RELAXED);
	threads_join();
}

static int spin_for_ever(uint64_t argument)
{
	if (argument == 0) {
		thread_start((thread_fn *)(uintptr_t)spin_for_ever, 1);
		sys_exit(3);
	}
	for (;;)
		continue;
}

TEST(an_exit_ends_threads_that_run)
{
	CHECK_EQ(process_wait(process_start(spin_for_ever, 0, 0)), 3);
}

/* ---- the worker's sleep ---- */

/* With nobody to run the worker parks on its own word; the tick that makes a thread runnable
 * unparks it. */
TEST(the_idle_worker_is_parked_and_unparked)	/* covers: WKG-20/k */
{
	const int64_t naps = sys_look(LOOK_NAPS), ended = sys_look(LOOK_NAPS_ENDED);
	static cc__a32 word;

	CHECK_EQ(park(&word, 0, 3 * CC_MSEC), CC_PARK_TIMED_OUT);
	CHECK_EQ(park(&word, 0, 3 * CC_MSEC), CC_PARK_TIMED_OUT);
	CHECK_EQ(sys_look(LOOK_NAPS), naps + 2);
	CHECK_EQ(sys_look(LOOK_NAPS_ENDED), ended + 2);
}
