/* bench.h - what every benchmark shares: arguments, calibration, one JSON line.
 *
 *     ccc-bench CASE [workers=N] [n=COUNT] [key=value ...]
 *
 * A case is named by its question, sets up outside the clock, checks its own
 * answer and prints one line: peer, case, threads, ops, ns_per_op (wall time),
 * wall_s, max_rss_kb, and fields of its own.
 *
 * A case runs in a fiber of a runtime with that many workers, as the main part
 * of other runtimes' programs does: spawning and joining from a fiber is what
 * programs mostly do.  Each file here has a table of cases; ccc_bench.c has the
 * tables and main. */
#ifndef CCC_BENCH_H
#define CCC_BENCH_H

#include <stdint.h>

#include <ccc/ccc.h>

enum {
	BENCH_THREAD = 1, /* runs in the main thread, without a runtime */
	BENCH_LONG = 2,   /* not among `all` */
};

struct bench_case {
	const char *name; /* with a `*` where it takes a number from its name */
	void (*run)(const char *name);
	unsigned how;
};

/* Each table ends with a name NULL. */
extern const struct bench_case bench_yield_cases[], bench_spawn_cases[], bench_memory_cases[],
    bench_timer_cases[], bench_blocking_cases[], bench_pool_cases[], bench_chan_cases[],
    bench_stream_cases[], bench_close_cases[], bench_arena_cases[], bench_nursery_cases[],
    bench_sync_cases[], bench_shared_cases[], bench_park_cases[], bench_idle_cases[],
    bench_http_cases[], bench_parallel_cases[], bench_connection_cases[], bench_broadcast_cases[];

/* The command line, for bench_arg. */
void bench_args(int argc, char **argv);
/* A number from it. */
long bench_arg(const char *key, long otherwise);

/* The runtime with workers=N that the cases use. */
void bench_start(void);
void bench_stop(void); /* every task has ended */
long bench_workers(void);
CCStats bench_stats(void);

/* Both end the process unless they succeed.  task NULL: nobody will join. */
void bench_spawn(CCTask *task, cc_task_main *main, void *arg);
void bench_join(CCTask task);

/* An array of n, written once so that its pages are there. */
void *bench_array(long n, size_t size);

/* Runs `once(n)`, which returns the nanoseconds it took, with a growing n until
 * that is 0.2 s or more; with n=COUNT exactly once. */
cc_time bench_calibrate(long first, cc_time (*once)(long n), long *ops);

/* Prints the line.  `more` is further fields without the comma before them. */
void bench_report(const char *name, long ops, cc_time ns, const char *more, ...)
    __attribute__((format(printf, 4, 5)));
/* The line of a case that we do not have. */
void bench_none(const char *name);

/* The process ends with a message unless ok: a benchmark that computes the
 * wrong thing has no speed. */
void bench_check(int ok, const char *what);

/* Computes for some time that bench_turns chooses: as many turns as take `ns`. */
void bench_compute(long turns);
long bench_turns(long ns);

/* A field of /proc/self/status, in bytes. */
long bench_status_bytes(const char *field);
long bench_mappings(void);
long bench_threads(void); /* of this process */
long bench_cpu_us(void);  /* that it has used */

#endif
