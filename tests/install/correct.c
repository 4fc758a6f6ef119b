/* correct.c - fibers that jump, have frames of any size, reuse stacks, move between workers, and
 * end in many ways: nothing that a sanitizer may report. */
#include <ccc/ccc.h>

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIBERS = 50, ROUNDS = 20 };

static __attribute__((noinline)) int deep(int n, jmp_buf j)
{
	volatile char frame[200];

	memset((void *)(uintptr_t)frame, n, sizeof frame);
	if (n == 0)
		longjmp(j, 1);
	return deep(n - 1, j) + frame[3];
}

static __attribute__((noinline)) int fill(int n)
{
	char *frame = __builtin_alloca((size_t)n);
	int sum = 0;

	memset(frame, 7, (size_t)n);
	cc_yield();
	for (int i = 0; i < n; i++)
		sum += frame[i];
	return sum;
}

static int sends(void *arg)
{
	CCChan *c = arg;

	for (int i = 0; i < ROUNDS; i++) {
		jmp_buf j;

		if (setjmp(j) == 0)
			deep(20, j);
		cc_yield();
		if (fill(300 + i) != 7 * (300 + i) || cc_chan_send(c, &i, sizeof i) != 0)
			abort();
	}
	return 0;
}

static int job(void *arg)
{
	char frame[100];

	memset(frame, 1, sizeof frame);
	return *(int *)arg + frame[99];
}

static int blocks(void *arg)
{
	int one = 1, result = 0;

	(void)arg;
	if (cc_blocking(job, &one, &result) != 0 || result != 2)
		abort();
	return cc_sleep_ms(1);
}

static long round_of(CCChan *c)
{
	CCTask sender[FIBERS], blocker[4];
	long sum = 0;

	for (int i = 0; i < 4; i++)
		if (cc_task_spawn(NULL, &blocker[i], NULL, blocks, NULL) != 0)
			abort();
	for (int i = 0; i < FIBERS; i++)
		if (cc_task_spawn(NULL, &sender[i], NULL, sends, c) != 0)
			abort();
	for (int i = 0, v; i < FIBERS * ROUNDS; i++) {
		if (cc_chan_recv(c, &v, sizeof v) != 0)
			abort();
		sum += v;
	}
	for (int i = 0; i < FIBERS; i++)
		if (cc_task_join(sender[i], CC_FOREVER, NULL) != 0)
			abort();
	for (int i = 0; i < 4; i++)
		if (cc_task_join(blocker[i], CC_FOREVER, NULL) != 0)
			abort();
	return sum;
}

int main(void)
{
	CCChan *c = cc_chan_new(sizeof(int), 4);
	long sum = 0;

	for (int i = 0; i < 3; i++)
		sum += round_of(c);
	cc_chan_free(c);
	if (sum != 3L * FIBERS * (ROUNDS - 1) * ROUNDS / 2) {
		printf("wrong sum %ld\n", sum);
		return 1;
	}
	return cc_shutdown();
}
