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
 * CARRY-2  A thread's record points to the two words to test: to the structure itself, or to
 *          cc__carry_none while no C++ runtime is known, or to cc__carry_ask, which is never
 *          zero, while the thread has to find out, has more than one structure, or sanitizers
 *          want to know of every switch.  The thread alone changes the pointer.
 * CARRY-3  A C++ runtime that becomes known makes cc__carry_none non-zero.  All workers that
 *          point to it then take the long way at their next switch and find their structure.  A
 *          second C++ runtime does not reach workers that point to the structure of the first:
 *          they find it at their next long way.  A fiber that has state of the second one only
 *          leaves it behind until then. */
#ifndef CC__OS_CARRY_H
#define CC__OS_CARRY_H

#include <stdbool.h>
#include <stdint.h>

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

extern struct cc__carry cc__carry_none __attribute__((visibility("hidden")));
extern struct cc__carry cc__carry_ask __attribute__((visibility("hidden")));

/* The long way is needed.  `c` is the pointer of the calling thread (CARRY-2).  The words are
 * read without atomics: both are the thread's own, or those of cc__carry_none, where a stale
 * zero is right as long as the thread has not synchronised with the code that registered. */
static inline bool cc__carries(const struct cc__carry *c)
{
	return __builtin_expect(((uintptr_t)c->handled | c->thrown) != 0, 0);
}

/* Moves the state of the calling thread to *out and leaves zero behind.  `at` is the place of
 * the thread's pointer, which is set to what the next switch has to test. */
void cc__carry_out(struct cc__carry **at, struct cc__carried *out);
/* Moves it back, to the thread that calls now. */
void cc__carry_in(const struct cc__carried *in);

/* The state of the calling thread is not zero, or each task has to be seen for itself
 * (os/tools.h): no task may run in the place of the caller. */
bool cc__carry_any(void);

/* Searches for a C++ runtime among the loaded objects, if none is known.  Called by a thread that
 * starts a runtime. */
void cc__carry_search(void);

#endif
