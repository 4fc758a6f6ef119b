/* census.h - how many threads the process has. */
#ifndef CC__OS_CENSUS_H
#define CC__OS_CENSUS_H

/* Threads of this process at one moment of the call, as the kernel counts them; 0: that cannot
 * be read. */
unsigned cc__census(void);

#endif
