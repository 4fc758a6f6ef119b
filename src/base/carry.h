/* carry.h - what a fiber carries from thread to thread besides its registers.
 *
 * The C++ runtime keeps the exceptions of a thread in a thread-local structure of two words:
 * those being handled (`catch` blocks that have been entered) and how many are being thrown.
 * Both belong to the code that runs, so they have to go where the fiber goes.
 *
 * CARRY-1  While no fiber with such state runs on a thread, the structure of that thread is
 *          zero.  A fiber that is switched out with state moves it to its own stack and leaves
 *          zero behind; it puts the state back when it is resumed, on whatever thread.
 *          So a fiber without state pays one test and the fiber that is resumed pays nothing.
 * CARRY-2  A worker has a check (struct cc__carry_check), which points to the two words to
 *          test: to the structure of its thread, or to cc__carry_none while no C++ runtime is
 *          known, or to cc__carry_ask, which is never zero, while the worker has to find out,
 *          its thread has more than one structure, or sanitizers want to know of every switch.
 * CARRY-3  A C++ runtime that becomes known points all checks to cc__carry_ask, so every worker
 *          takes the long way at its next switch and finds its structures.  The call that
 *          registers the runtime returns after that.  So a fiber that has state of the runtime
 *          never meets a check that leaves the runtime out. */
#ifndef CC__BASE_CARRY_H
#define CC__BASE_CARRY_H

#include <stdbool.h>
#include <stdint.h>

#include "os/atomic.h"

/* The layout of __cxa_eh_globals in the C++ ABI for 64-bit CPUs other than 32-bit ARM.  `thrown`
 * is 32 bits and padding that is never written. */
struct __attribute__((may_alias)) cc__carry {
	void *handled;
	uint64_t thrown;
};

/* The most C++ runtimes in one process: each libstdc++ or libc++abi that is linked
 * statically into a shared object counts. */
enum { CC__CARRY_RUNTIMES = 4 };

/* What one fiber carries while it is switched out. */
struct cc__carried {
	struct cc__carry state[CC__CARRY_RUNTIMES];
	unsigned count;
};

extern const struct cc__carry cc__carry_none __attribute__((visibility("hidden")));
extern const struct cc__carry cc__carry_ask __attribute__((visibility("hidden")));

/* What the switches of one worker test (CARRY-2). */
struct cc__carry_check {
	/* Written by the worker, and by the thread that registers a C++ runtime (CARRY-3). */
	CC__ATOMIC(const struct cc__carry *) words;
	struct cc__carry_check *next;	/* of all checks; the lock in carry.c */
	struct cc__carry_check **link;	/* what points to this one; the same lock */
};

/* The calling thread will switch between fibers, and tests k before each switch. */
void cc__carry_check_init(struct cc__carry_check *k);
/* It will not any more. */
void cc__carry_check_fini(struct cc__carry_check *k);

/* At least one of the two words is not zero. */
static inline bool cc__carry_set(const struct cc__carry *c)
{
	return ((uintptr_t)c->handled | c->thrown) != 0;
}

/* Moves the state of the calling thread to *out, leaves zero behind, and points k, its check, to
 * what the next switch has to test. */
void cc__carry_out(struct cc__carry_check *k, struct cc__carried *out);
/* Moves it back, to the thread that calls now. */
void cc__carry_in(const struct cc__carried *in);

/* The state of the calling thread is not zero, or each task has to be seen for itself
 * (os/tools.h): no task may run in the place of the caller. */
bool cc__carry_any(void);

/* Searches for a C++ runtime among the loaded objects, if none is known.  Called by a thread that
 * starts a runtime. */
void cc__carry_search(void);

#endif
