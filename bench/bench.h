/* bench.h - what every benchmark shares: arguments, calibration, one JSON line.
 *
 *     ccc-bench CASE [workers=N] [n=COUNT] [key=value ...]
 *
 * A case is named by its question, sets up outside the clock, checks its own
 * answer and prints one line: peer, case, threads, ops, ns_per_op (wall time),
 * wall_s, max_rss_kb, and fields of its own. */
#ifndef CCC_BENCH_H
#define CCC_BENCH_H

#include <stdint.h>

#include <ccc/ccc.h>

struct bench_case {
	const char *name;
	void (*run)(const char *name);
};

/* A number from the command line. */
long bench_arg(const char *key, long otherwise);

/* Runs `once(n)`, which returns the nanoseconds it took, with a growing n until
 * that is 0.2 s or more; with n=COUNT exactly once. */
cc_time bench_calibrate(long first, cc_time (*once)(long n), long *ops);

/* Prints the line.  `more` is further fields without the comma before them. */
void bench_report(const char *name, long ops, cc_time ns, const char *more, ...)
	__attribute__((format(printf, 4, 5)));

/* The process ends with a message unless ok: a benchmark that computes the
 * wrong thing has no speed. */
void bench_check(int ok, const char *what);

/* A field of /proc/self/status, in bytes. */
long bench_status_bytes(const char *field);
long bench_mappings(void);

#endif
