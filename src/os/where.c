/* where.c - what the dynamic linker knows of an address. */
#include "os/where.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Weak: it is there if the program has it, and no library is wanted for it. */
#pragma weak dladdr

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

void cc__where(const void *code, char *text, size_t size)
{
	const uintptr_t at = (uintptr_t)code;
	Dl_info i = {0};

	if (dladdr == NULL || dladdr(code, &i) == 0 || i.dli_fname == NULL)
		snprintf(text, size, "%p", code);
	else if (i.dli_sname == NULL)
		snprintf(text, size, "%p (%s+0x%zx)", code, base_name(i.dli_fname),
		         (size_t)(at - (uintptr_t)i.dli_fbase));
	else
		snprintf(text, size, "%p (%s+0x%zx, %s+0x%zx)", code, base_name(i.dli_fname),
		         (size_t)(at - (uintptr_t)i.dli_fbase), i.dli_sname,
		         (size_t)(at - (uintptr_t)i.dli_saddr));
}

bool cc__frame_returned(const void *p)
{
	pthread_attr_t attr;
	void *bottom = NULL;
	size_t size = 0;

	if (pthread_getattr_np(pthread_self(), &attr) != 0)
		return false;
	pthread_attr_getstack(&attr, &bottom, &size);
	pthread_attr_destroy(&attr);
	return (uintptr_t)p >= (uintptr_t)bottom &&
	       (uintptr_t)p < (uintptr_t)__builtin_frame_address(0);
}
