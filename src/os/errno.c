/* errno.c - the address of errno, as a function whose result may change.
 *
 * C libraries declare __errno_location as const: a compiler may call it once in a function and
 * keep the address across a switch.  The empty asm makes this function one that is not const, so
 * that link-time optimization does not find out what the declaration hides. */
#include <ccc/errno.h>

__attribute__((noinline)) int *cc_errno_location(void)
{
	int *location;

	__asm__ volatile("" ::: "memory");
	location = __errno_location();
	__asm__ volatile("" : "+r"(location) : : "memory");
	return location;
}
