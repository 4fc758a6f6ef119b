/* stats.h - the figures of <ccc/stats.h>, and their lines at the end of a
 * runtime. */
#ifndef CC__SCHED_STATS_H
#define CC__SCHED_STATS_H

#include <ccc/stats.h>

struct cc__sched;

/* Any thread, while s is there. */
void cc__sched_stats(struct cc__sched *s, CCStats *out);

/* Into the log, whatever the configuration asks for. */
void cc__stats_report(struct cc__sched *s);

#endif
