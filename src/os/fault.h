/* fault.h - a fault on a guard page gets a name before the process dies of it.
 *
 * The handler takes SIGSEGV and SIGBUS for the whole process, remembers what
 * the host program had installed, and passes on every fault that is not ours
 * exactly as the host's own disposition would have had it. */
#ifndef CC__OS_FAULT_H
#define CC__OS_FAULT_H

#include <stdbool.h>
#include <stddef.h>

/* Is `address` on one of our guard pages?  Then the text that says so, with
 * its newline.  Runs inside a signal handler. */
typedef bool cc__fault_claim(const void *address, char *text, size_t size);

/* Installs the handler, once for the process. */
void cc__fault_install(cc__fault_claim *claim);

/* Around the life of a thread that will run fibers: the handler's own stack. */
void cc__fault_thread_begin(void);
void cc__fault_thread_end(void);

#endif
