/* memory.c - what a compiler calls by itself; for the kernel and for its programs. */
#include <stddef.h>

void *memset(void *to, int byte, size_t size);
void *memcpy(void *to, const void *from, size_t size);

void *memset(void *to, int byte, size_t size)
{
	void *at = to;

	__asm__ volatile("rep stosb" : "+D"(at), "+c"(size) : "a"(byte) : "memory");
	return to;
}

void *memcpy(void *to, const void *from, size_t size)
{
	void *at = to;

	__asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(size) : : "memory");
	return to;
}
