/* cpus.h - how many CPUs this process may use. */
#ifndef CC__OS_CPUS_H
#define CC__OS_CPUS_H

/* The smaller of the two below; at least 1. */
unsigned cc__cpus_usable(void);

/* CPUs that the calling thread's affinity mask names; at least 1. */
unsigned cc__cpus_allowed(void);

/* CPUs' worth of time that cgroups grant this process, rounded up; 0: as much
 * as there is.  `root` stands before every path that is read: "" but in tests. */
unsigned cc__cpus_quota(const char *root);

#endif
