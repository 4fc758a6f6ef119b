/* assert.h - broken invariants of ours stop the process and say which.
 *
 * CC__CHECK stays in every build: for what is cheap to test and would corrupt
 * in silence.  CC__ASSERT is for debug builds (CC__DEBUG).  A caller's mistake
 * is neither: it is an error code. */
#ifndef CC__OS_ASSERT_H
#define CC__OS_ASSERT_H

/* Writes the strings, the last one NULL, to standard error: no allocation, any
 * context, a signal handler included. */
void cc__say_all(const char *first, ...) __attribute__((sentinel));
#define cc__say(...) cc__say_all(__VA_ARGS__, (const char *)0)

/* Prints "libccc: file:line: what", whatever the panic hook adds, and aborts. */
_Noreturn void cc__panic(const char *file, int line, const char *what);

/* Called once by cc__panic before it aborts: the lock stack, the event trace. */
extern void (*cc__panic_hook)(void);

#define CC__CHECK(cond, what) \
	((cond) ? (void)0 : cc__panic(__FILE__, __LINE__, what " (" #cond ")"))

#ifdef CC__DEBUG
#define CC__ASSERT(cond, what) CC__CHECK(cond, what)
#else
#define CC__ASSERT(cond, what) ((void)sizeof(cond))
#endif

#define CC__UNREACHABLE(what) cc__panic(__FILE__, __LINE__, what)

#endif
