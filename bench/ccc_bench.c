/* ccc_bench.c - the program: finds a case and runs it. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

static const struct bench_case *const tables[] = {
    bench_yield_cases, bench_spawn_cases,    bench_memory_cases,
    bench_timer_cases, bench_blocking_cases, bench_pool_cases,
    bench_chan_cases,  bench_broadcast_cases, bench_stream_cases,   bench_close_cases,
    bench_arena_cases, bench_nursery_cases, bench_sync_cases, bench_shared_cases,
    bench_park_cases,  bench_idle_cases, bench_http_cases, bench_parallel_cases,
    bench_connection_cases,
};

/* All of them in one loop: `c` from the first to one without a name. */
static const struct bench_case *case_at(unsigned index)
{
	static const struct bench_case none = {0};

	for (unsigned t = 0; t < sizeof tables / sizeof *tables; t++)
		for (const struct bench_case *c = tables[t]; c->name != NULL; c++)
			if (index-- == 0)
				return c;
	return &none;
}

struct call {
	const struct bench_case *c;
	const char *name;
};

static int in_fiber(void *arg)
{
	const struct call *call = arg;

	call->c->run(call->name);
	return 0;
}

static void run(const struct bench_case *c, const char *name)
{
	struct call call = {c, name};
	CCTask task;

	if (c->how & BENCH_THREAD) {
		c->run(name);
		return;
	}
	bench_start();
	bench_spawn(&task, in_fiber, &call);
	bench_join(task);
	bench_stop();
}

/* Each in a process of its own, so that none inherits another's memory. */
static int run_all(void)
{
	const struct bench_case *c;
	int failed = 0;

	for (unsigned i = 0; (c = case_at(i))->name != NULL; i++) {
		int status = 1;
		pid_t child;

		if (c->how & BENCH_LONG || strchr(c->name, '*') != NULL)
			continue;
		if ((child = fork()) == 0) {
			run(c, c->name);
			exit(0);
		}
		if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
			failed++;
	}
	return failed > 0;
}

static int usage(void)
{
	const struct bench_case *c;

	fprintf(stderr, "usage: ccc-bench CASE|all [workers=N] [n=COUNT] [key=value ...]\n");
	for (unsigned i = 0; (c = case_at(i))->name != NULL; i++)
		fprintf(stderr, "  %s\n", c->name);
	return 2;
}

int main(int argc, char **argv)
{
	const struct bench_case *c;

	if (argc < 2)
		return usage();
	bench_args(argc, argv);
	if (strcmp(argv[1], "all") == 0)
		return run_all();
	for (unsigned i = 0; (c = case_at(i))->name != NULL; i++)
		if (fnmatch(c->name, argv[1], 0) == 0) {
			run(c, argv[1]);
			return 0;
		}
	/* The line is for scripts that ask several programs for the same cases. */
	bench_none(argv[1]);
	fprintf(stderr, "ccc-bench: no case '%s'; without arguments it lists them\n", argv[1]);
	return 2;
}
