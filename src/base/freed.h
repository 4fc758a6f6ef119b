/* freed.h - a call on an object that has been freed: a message that names it, and the end.
 *
 * Only slow paths check.  An object's free leaves it in a state that leads every call there. */
#ifndef CC__BASE_FREED_H
#define CC__BASE_FREED_H

#include <stdio.h>

#include "os/assert.h"

/* `kind` is "arena", say; `name` is the user's, or "". */
static __attribute__((noinline, cold, noreturn, unused)) void
cc__freed(const char *kind, const void *object, const char *name, const char *use)
{
	char line[200];

	snprintf(line, sizeof line,
	         "libccc: %s %p%s%s was freed, and %s uses it; free it after the last call\n", kind,
	         object, name[0] != '\0' ? " " : "", name, use);
	cc__say(line);
	cc__panic(__FILE__, __LINE__, "use after free");
}

#endif
