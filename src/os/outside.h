/* outside.h - what the threads of a runtime have changed for themselves, as the program's own
 * threads have it: for processes that a fiber starts. */
#ifndef CC__OS_OUTSIDE_H
#define CC__OS_OUTSIDE_H

#include <signal.h>
#include <stdbool.h>

struct cc__outside {
	sigset_t mask;	/* of blocked signals */
	long slack;	/* of timers, ns */
};

/* True: the caller is a thread of a runtime, and *o is what the program's thread had that
 * started the runtime.  False: it is one of the program's threads, and *o is its own. */
bool cc__outside(struct cc__outside *o);

#endif
