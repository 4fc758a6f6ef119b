/* kernel.h - the park engine on bare metal: a kernel with nothing but what the engine is for.
 *
 * It boots on one processor, gives each process an address space, lets threads of several
 * processes run in turns of a millisecond, and serves their system calls (user/sys.h).
 * Waiting is the library's: src/wait and src/park are linked in as they are, and this
 * directory is what they leave to their host.
 *
 *      boot.S, main.c        from the loader to the first process
 *      cpu.c, trap.S, trap.c the processor, and the ways into the kernel and back
 *      page.c                memory, and who sees it where
 *      thread.c              threads, the worker that runs them, and its sleep
 *      host.c, timer.c       what src/os/atomic.h declares and a system defines; the tick
 *      process.c, mapping.c  address spaces with threads in them, as domains of the engine
 *      object.c              memory that several processes may map
 *      syscall.c, calls.h    what user code can ask for
 *      console.c             words to the outside
 *      user/                 programs: the tests, the measurement
 *      run                   boots them, and judges */
#ifndef KERNEL_KERNEL_H
#define KERNEL_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "os/assert.h"	/* CC__CHECK stops the machine and says why */

void console_write(const char *text, size_t length);
/* "%s" a string, "%u" a uint64_t, "%x" the same in hexadecimal; nothing else. */
void console_print(const char *format, ...);

/* The end of the machine.  The emulator exits with twice that and 1 (run). */
enum { MACHINE_PASSED = 16, MACHINE_FAILED = 17, MACHINE_BROKEN = 18 };
_Noreturn void machine_stop(unsigned how);

#endif
