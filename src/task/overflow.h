/* overflow.h - names the fiber that overflowed its stack. */
#ifndef CC__TASK_OVERFLOW_H
#define CC__TASK_OVERFLOW_H

/* Installs the handler of faults, once; further calls do nothing.  See os/fault.h. */
void cc__overflow_install(void);

#endif
