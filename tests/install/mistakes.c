/* mistakes.c NAME - a fiber that makes a mistake, for a sanitizer to report. */
#include <ccc/ccc.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int *volatile kept;
static volatile int zero;

static __attribute__((noinline)) void keep_local(void)
{
	volatile int local[4] = {5, 6, 7, 8};

	kept = (int *)(uintptr_t)local;
}

static int use_after_return(void *arg)
{
	(void)arg;
	keep_local();
	cc_yield();
	return *kept;
}

static int overflow(void *arg)
{
	volatile int local[4] = {0};

	(void)arg;
	cc_yield();
	local[4 + zero] = 1;
	return local[zero];
}

static int use_after_free(void *arg)
{
	char *volatile p = malloc(8);

	(void)arg;
	p[3] = 1;
	free(p);
	cc_yield();
	return p[3];
}

static int leak(void *arg)
{
	void *volatile p = malloc(123);

	(void)arg;
	p = NULL;
	return p != NULL;
}

static int uninitialised(void *arg)
{
	volatile int local[4];

	(void)arg;
	cc_yield();
	if (local[zero] == 17)
		puts("17");
	return 0;
}

static const struct {
	const char *name;
	cc_task_main *main;
} mistakes[] = {
    {"use-after-return", use_after_return}, {"overflow", overflow}, {"use-after-free", use_after_free},
    {"leak", leak},                         {"uninitialised", uninitialised},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof mistakes / sizeof *mistakes; i++)
		if (strcmp(argv[1], mistakes[i].name) == 0) {
			CCTask t;

			if (cc_task_spawn(NULL, &t, NULL, mistakes[i].main, NULL) != 0 ||
			    cc_task_join(t, CC_FOREVER, NULL) != 0)
				return 2;
			return cc_shutdown();
		}
	return 2;
}
