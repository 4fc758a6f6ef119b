/* Calls that block their thread: <ccc/blocking.h>. */
#include <assert.h>
#include <unistd.h>

#include <ccc/ccc.h>

/* Any call that would keep its thread: a slow disk, a library without a timeout. */
static int slow_call(void *arg)
{
	int *answer = arg;

	usleep(1000);
	*answer = 42;
	return 7;
}

static int in_a_fiber(void *arg)
{
	int answer = 0, result = 0;

	(void)arg;
	/* Other fibers run on this worker meanwhile. */
	assert(cc_blocking(slow_call, &answer, &result) == 0);
	assert(answer == 42 && result == 7);
	return 0;
}

int main(void)
{
	assert(cc_block_on(in_a_fiber, NULL, NULL) == 0);
	return 0;
}
