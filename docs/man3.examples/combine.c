/* Several jobs in one call: <ccc/combine.h>. */
#include <assert.h>

#include <ccc/ccc.h>

static int succeed(void *arg)
{
	*(int *)arg = 1;
	return 0;
}

static int fail(void *arg)
{
	(void)arg;
	return EIO;
}

/* Sleeps until it is cancelled. */
static int wait_for_ever(void *arg)
{
	(void)arg;
	return cc_sleep_until(CC_FOREVER);
}

/* From a thread: runs a task and waits for it. */
static void run_one(void)
{
	int done = 0;

	assert(cc_block_on(succeed, &done, NULL) == 0 && done);
}

static void run_all(void)
{
	int done[2] = {0, 0};
	CCJob jobs[] = {{.main = succeed, .arg = &done[0]}, {.main = succeed, .arg = &done[1]}};

	assert(cc_block_all(jobs, 2, NULL) == 0);
	assert(done[0] && done[1]);

	jobs[0].main = fail;		/* the first error cancels the other job */
	jobs[1].main = wait_for_ever;
	assert(cc_block_all(jobs, 2, NULL) == EIO);
	assert(jobs[1].result == ECANCELED);
}

/* Until one succeeds: the failure of another does not matter. */
static void run_until_one_succeeds(void)
{
	int done = 0;
	CCJob jobs[] = {{.main = fail}, {.main = succeed, .arg = &done}, {.main = wait_for_ever}};
	size_t winner;

	assert(cc_block_any(jobs, 3, NULL, &winner) == 0);
	assert(winner == 1 && done);
}

/* Until one ends, in whatever way. */
static void run_until_one_ends(void)
{
	CCJob jobs[] = {{.main = wait_for_ever}, {.main = fail}};
	size_t winner;

	assert(cc_block_race(jobs, 2, NULL, &winner) == EIO);
	assert(winner == 1);
}

int main(void)
{
	run_one();
	run_all();
	run_until_one_succeeds();
	run_until_one_ends();
	return 0;
}
