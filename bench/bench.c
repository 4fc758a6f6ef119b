/* bench.c - the harness of bench.h. */
#include "bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern const struct bench_case bench_cases[];	/* ccc_bench.c; ends with NULL */

static int arg_count;
static char **args;
static long threads;

long bench_arg(const char *key, long otherwise)
{
	size_t length = strlen(key);

	for (int i = 2; i < arg_count; i++)
		if (strncmp(args[i], key, length) == 0 && args[i][length] == '=')
			return strtol(args[i] + length + 1, NULL, 10);
	return otherwise;
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
	       name, threads, ops, ops > 0 ? (double)ns / (double)ops : 0.0, (double)ns / 1e9,
	       use.ru_maxrss);
	if (*more != '\0') {
		putchar(',');
		va_start(fields, more);
		vprintf(more, fields);
		va_end(fields);
	}
	puts("}");
	fflush(stdout);
}

void bench_check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "ccc-bench: %s\n", what);
	exit(1);
}

long bench_status_bytes(const char *field)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kb = 0;

	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, field, strlen(field)) == 0 && line[strlen(field)] == ':')
			kb = strtol(line + strlen(field) + 1, NULL, 10);
	if (f != NULL)
		fclose(f);
	return kb * 1024;
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

/* Each in a process of its own, so that none inherits another's memory. */
static int run_all(void)
{
	int failed = 0;

	for (const struct bench_case *c = bench_cases; c->name != NULL; c++) {
		pid_t child = fork();
		int status = 1;

		if (child == 0) {
			c->run(c->name);
			exit(0);
		}
		if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
			failed++;
	}
	return failed > 0;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: ccc-bench CASE|all [workers=N] [n=COUNT] [key=value ...]\n");
		for (const struct bench_case *c = bench_cases; c->name != NULL; c++)
			fprintf(stderr, "  %s\n", c->name);
		return 2;
	}
	arg_count = argc;
	args = argv;
	threads = bench_arg("workers", 1);
	if (strcmp(argv[1], "all") == 0)
		return run_all();
	for (const struct bench_case *c = bench_cases; c->name != NULL; c++)
		if (strcmp(c->name, argv[1]) == 0) {
			c->run(argv[1]);
			return 0;
		}
	printf("{\"peer\":\"ccc\",\"case\":\"%s\",\"na\":true}\n", argv[1]);
	return 0;
}
