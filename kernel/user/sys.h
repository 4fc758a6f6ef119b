/* sys.h - the kernel as its programs see it (calls.h has the numbers).
 *
 * A program defines `user_main`; what it returns is the status of the process. */
#ifndef KERNEL_USER_SYS_H
#define KERNEL_USER_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calls.h"

static inline int64_t sys_call(enum call number, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	register uint64_t fourth __asm__("r10") = d;
	int64_t result;

	__asm__ volatile("syscall"
	                 : "=a"(result)
	                 : "a"((uint64_t)number), "D"(a), "S"(b), "d"(c), "r"(fourth)
	                 : "rcx", "r11", "memory");
	return result;
}

static inline _Noreturn void sys_exit(int status)
{
	sys_call(CALL_EXIT, (uint64_t)status, 0, 0, 0);
	__builtin_unreachable();
}

static inline void sys_yield(void)
{
	sys_call(CALL_YIELD, 0, 0, 0, 0);
}

static inline int64_t sys_look(enum look what)
{
	return sys_call(CALL_LOOK, (uint64_t)what, 0, 0, 0);
}

static inline uint64_t sys_cycles(void)
{
	uint32_t low, high;

	__asm__ volatile("lfence; rdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

/* "%s" a string, "%u" a uint64_t, "%d" an int64_t; one write a call. */
void print(const char *format, ...);

int user_main(uint64_t role, uint64_t argument);

#endif
