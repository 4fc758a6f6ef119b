/* tools.h - what AddressSanitizer, ThreadSanitizer and Valgrind are told of stacks and switches.
 *
 * One build of the library serves programs with and without sanitizers: their functions are weak
 * references, and cc__tools says which of them the process has.
 *
 * TOOLS-1  With a sanitizer every switch takes the long way (base/carry.h), so a program without
 *          one pays nothing for it.
 * TOOLS-2  TSan knows each task as a flow of control of its own, from its first run to its end.
 *          Its handle lies in the highest 8 bytes of the task's stack, which no frame uses.
 * TOOLS-3  In a program with TSan a switch orders nothing, because fibers that share a
 *          worker may race all the same.  TSan does not see the atomics of the library either;
 *          cc__happens_before and cc__happens_after tell it of every order that
 *          the library promises.  (A library that is itself compiled with TSan is tested by its
 *          own atomics: there a switch orders, and CC__TOOL_ORDER is not set.)
 * TOOLS-4  What TSan sees of the library are calls of the C library that it intercepts.  Where
 *          they touch the library's own memory or descriptors they are made between
 *          cc__quiet_begin and cc__quiet_end, because the locks around them are not seen.
 * TOOLS-5  Memory that goes from task to task by hands that TSan does not see is cleared of what it
 *          remembers: a stack when its task has ended.  Captures are allocated for each task. */
#ifndef CC__OS_TOOLS_H
#define CC__OS_TOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define CC__ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define CC__TSAN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define CC__ASAN 1
#endif
#ifdef __SANITIZE_THREAD__
#define CC__TSAN 1
#endif

/* TSan keeps a shadow call stack a fiber: calls that lie between its switch and ours must not
 * be counted on either. */
#if defined(CC__TSAN) && defined(__clang__)
/* (no_sanitize leaves the entry and exit counters in.) */
#define CC__UNCOUNTED __attribute__((disable_sanitizer_instrumentation))
#elif defined(CC__TSAN)
#define CC__UNCOUNTED __attribute__((no_sanitize("thread")))
#elif defined(CC__ASAN)
#define CC__UNCOUNTED __attribute__((no_sanitize("address")))	/* `fake` lies on the real stack */
#else
#define CC__UNCOUNTED
#endif

enum { CC__TOOL_ASAN = 1, CC__TOOL_TSAN = 2, CC__TOOL_ORDER = 4 /* TOOLS-3 */ };

/* CC__TOOL_*; constant from the start of the process. */
extern unsigned char cc__tools __attribute__((visibility("hidden")));

/* What the tools keep with a piece of stack memory, however many contexts live on it one after
 * another. */
struct cc__stack_tools {
	unsigned valgrind;
};

/* Tell the tools of a new stack [bottom, bottom + size), and of its end. */
void cc__stack_tools_init(struct cc__stack_tools *t, void *bottom, size_t size);
void cc__stack_tools_fini(struct cc__stack_tools *t, void *bottom, size_t size);

/* The calling thread will switch from its own stack to others and back. */
void cc__tools_adopt(void);
/* It will not any more. */
void cc__tools_disown(void);

/* A context will begin on a stack; it has ended and another one runs.  Of a stack that is `ours` no
 * byte is needed any more. */
void cc__tools_new(void *bottom, void *top);
void cc__tools_ended(void *bottom, void *top, bool ours);

/* Before a switch to the stack [bottom, top), or to the thread's own if bottom is NULL.  *fake
 * is given back afterwards; fake is NULL if the caller's context ends here. */
void cc__tools_leave(void **fake, void *bottom, void *top);
/* After it, on the stack that was left before; the first thing on a new one, with NULL. */
void cc__tools_arrive(void *fake);

/* Each task is to be seen for itself (TOOLS-3): it shares its stack with no other task. */
static inline bool cc__tools_order(void)
{
	return __builtin_expect((cc__tools & CC__TOOL_ORDER) != 0, 0);
}

/* TOOLS-4.  They nest. */
void cc__quiet_begin_slowly(void);
void cc__quiet_end_slowly(void);
static inline void cc__quiet_begin(void)
{
	if (cc__tools_order())
		cc__quiet_begin_slowly();
}
static inline void cc__quiet_end(void)
{
	if (cc__tools_order())
		cc__quiet_end_slowly();
}

/* For ThreadSanitizer, which does not see the atomics of a library that is not compiled with it:
 * what the caller has done happens before whatever follows a cc__happens_after of the same
 * address.  Called before the atomic operation that publishes, and after the one that
 * acquires, where cc__watched; nothing without CC__WATCH_ORDER.  The third form also
 * forgets what happened before at that address. */
void cc__happens_before(const void *at);
void cc__happens_after(const void *at);
void cc__happens_first(const void *at);

#endif
