/* syscalls.h - syscall() of the C library, wrapped: the test decides what becomes of a call.
 * For one source a program, with `link-wrap: syscall` at its head. */
#ifndef TEST_SYSCALLS_H
#define TEST_SYSCALLS_H

#include <stdarg.h>

#include "raw.h"

enum { SYSCALL_ARGS = 6 };

/* The test's: what the call returns. */
static long on_syscall(long number, const long *a);

long __real_syscall(long, ...);
long __wrap_syscall(long, ...);

/* As it was meant. */
RAW static long real_syscall(long number, const long *a)
{
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

RAW long __wrap_syscall(long number, ...)
{
	long a[SYSCALL_ARGS];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < SYSCALL_ARGS; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	return on_syscall(number, a);
}

#endif
