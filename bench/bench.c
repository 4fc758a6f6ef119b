/* bench.c - the harness of bench.h. */
#include "bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static int arg_count;
static char **args;
static CCRuntime *runtime;
static long workers;

void bench_args(int argc, char **argv)
{
	arg_count = argc;
	args = argv;
}

long bench_arg(const char *key, long otherwise)
{
	size_t length = strlen(key);

	for (int i = 2; i < arg_count; i++)
		if (strncmp(args[i], key, length) == 0 && args[i][length] == '=')
			return strtol(args[i] + length + 1, NULL, 10);
	return otherwise;
}

void bench_start(void)
{
	CCConfig config;

	bench_check(cc_config_init(&config) == 0, "the environment is wrong");
	config.workers = (unsigned)bench_arg("workers", config.workers);
	workers = config.workers;
	bench_check(cc_runtime_new(&runtime, &config) == 0, "the runtime does not start");
}

void bench_stop(void)
{
	bench_check(cc_runtime_free(runtime) == 0, "the runtime does not stop");
}

long bench_workers(void)
{
	return workers;
}

CCStats bench_stats(void)
{
	CCStats s;

	bench_check(cc_stats(runtime, &s) == 0, "no statistics");
	return s;
}

void bench_spawn(CCTask *task, cc_task_main *main, void *arg)
{
	bench_check(cc_task_spawn(runtime, task, NULL, main, arg) == 0, "spawn failed");
}

void bench_join(CCTask task)
{
	bench_check(cc_task_join(task, CC_FOREVER, NULL) == 0, "join failed");
}

void *bench_array(long n, size_t size)
{
	void *p = malloc((size_t)n * size);

	bench_check(p != NULL, "no memory");
	memset(p, 0xff, (size_t)n * size);
	return p;
}

cc_time bench_calibrate(long first, cc_time (*once)(long n), long *ops)
{
	long n = bench_arg("n", 0);

	if (n > 0)
		return once(*ops = n);
	for (n = first;;) {
		cc_time took = once(n);
		double grow = 0.4e9 / (double)(took + 1);

		if (took >= 200 * CC_MSEC) {
			*ops = n;
			return took;
		}
		n = (long)((double)n * (grow > 30 ? 30 : grow < 1.5 ? 1.5 : grow));
	}
}

void bench_report(const char *name, long ops, cc_time ns, const char *more, ...)
{
	struct rusage use;
	va_list fields;

	getrusage(RUSAGE_SELF, &use);
	printf("{\"peer\":\"ccc\",\"case\":\"%s\",\"threads\":%ld,\"ops\":%ld,\"ns_per_op\":%.2f,"
	       "\"wall_s\":%.6f,\"max_rss_kb\":%ld",
	       name, workers > 0 ? workers : 1, ops, ops > 0 ? (double)ns / (double)ops : 0.0,
	       (double)ns / 1e9, use.ru_maxrss);
	if (*more != '\0') {
		putchar(',');
		va_start(fields, more);
		vprintf(more, fields);
		va_end(fields);
	}
	puts("}");
	fflush(stdout);
}

void bench_none(const char *name)
{
	printf("{\"peer\":\"ccc\",\"case\":\"%s\",\"na\":true}\n", name);
	fflush(stdout);
}

void bench_check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "ccc-bench: %s\n", what);
	exit(1);
}

void bench_compute(long turns)
{
	uint64_t x = 0x9e3779b97f4a7c15;

	for (long i = 0; i < turns; i++) {
		x ^= x >> 9;
		x ^= x << 23;
		__asm__ volatile("" : "+r"(x)); /* every turn is made */
	}
}

/* By the best of a few. */
long bench_turns(long ns)
{
	const long sample = 200000;
	cc_time best = CC_FOREVER;
	long turns;

	for (int i = 0; i < 5; i++) {
		cc_time begin = cc_now(), took;

		bench_compute(sample);
		if ((took = cc_now() - begin) < best)
			best = took;
	}
	turns = (long)((double)sample * (double)ns / (double)best);
	return turns > 0 ? turns : 1;
}

static long status_number(const char *field)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long number = 0;

	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, field, strlen(field)) == 0 && line[strlen(field)] == ':')
			number = strtol(line + strlen(field) + 1, NULL, 10);
	if (f != NULL)
		fclose(f);
	return number;
}

long bench_status_bytes(const char *field)
{
	return status_number(field) * 1024;
}

long bench_threads(void)
{
	return status_number("Threads");
}

long bench_cpu_us(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 + u.ru_utime.tv_usec +
	       u.ru_stime.tv_usec;
}

long bench_mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	long lines = 0;

	for (int c; f != NULL && (c = getc(f)) != EOF;)
		lines += c == '\n';
	if (f != NULL)
		fclose(f);
	return lines;
}
