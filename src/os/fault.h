/* fault.h - a fault on a guard page gets a name before the process dies of it.
 *
 * The handler takes SIGSEGV and SIGBUS for the whole process, remembers what
 * the host program had installed, and passes on every fault that is not ours
 * exactly as the host's own disposition would have had it. */
#ifndef CC__OS_FAULT_H
#define CC__OS_FAULT_H

#include <stdbool.h>
#include <stddef.h>

/* Where a thread was when it faulted. */
struct cc__fault {
	const char *address;	/* that it could not read or write */
	const char *sp;		/* its stack pointer */
	const char *pc;		/* the instruction */
};

/* Whether the fault is a stack overflow of ours.  If so, `text` receives the line that says it,
 * with its newline.  Runs inside a signal handler. */
typedef bool cc__fault_claim(const struct cc__fault *fault, char *text, size_t size);

/* Installs the handler, once for the process. */
void cc__fault_install(cc__fault_claim *claim);

/* Has `also` called by the handler before the process dies of a fault.  A fault that a handler of
 * the host program gets is the host's. */
void cc__fault_also(void (*also)(void));

/* Around the life of a thread that will run fibers: the handler's own stack. */
void cc__fault_thread_begin(void);
void cc__fault_thread_end(void);

#endif
