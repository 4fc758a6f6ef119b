/* Tasks: <ccc/task.h>. */
#include <assert.h>

#include <ccc/ccc.h>

static int twice(void *arg)
{
	return 2 * *(int *)arg;
}

static void spawn_and_join(void)
{
	CCTask task;
	int n = 21, result;

	assert(cc_task_spawn(NULL, &task, NULL, twice, &n) == 0);
	assert(cc_task_join(task, CC_FOREVER, &result) == 0);
	assert(result == 42);
	assert(cc_task_join(task, CC_FOREVER, &result) == EINVAL);	/* the handle is used up */
}

static CCToken *finished;

static int announce(void *arg)
{
	(void)arg;
	return cc_token_set(finished);
}

/* No caller joins it, so it tells by other means that it has finished. */
static void detach(void)
{
	CCTask task;

	finished = cc_token_new();
	assert(cc_task_spawn(NULL, &task, NULL, announce, NULL) == 0);
	assert(cc_task_detach(task) == 0);
	assert(cc_token_wait(finished, CC_FOREVER) == 0);
	assert(cc_token_free(finished) == 0);
}

/* A task that starts later can be taken back before. */
static void recall(void)
{
	const CCTaskOptions later = {.start = cc_after(3600 * CC_SEC)};
	CCTask task;
	int n = 1;

	assert(cc_task_spawn(NULL, &task, &later, twice, &n) == 0);
	assert(cc_task_recall(task) == 0);	/* it never runs */
}

static int know_myself(void *arg)
{
	*(CCTask *)arg = cc_self();
	return 0;
}

static void find_my_handle(void)
{
	CCTask task, self;

	assert(cc_task_spawn(NULL, &task, NULL, know_myself, &self) == 0);
	assert(cc_task_join(task, CC_FOREVER, NULL) == 0);
	assert(self.id == task.id);
	assert(cc_self().id == 0);	/* a thread is no task */
}

/* A loop that computes lets others run, and ends when it is cancelled. */
static int compute(void *arg)
{
	unsigned long *sum = arg;

	for (unsigned long i = 0; i < 1000000; i++) {
		*sum += i;
		if (i % 1024 == 0 && cc_should_yield() && cc_yield() != 0)
			return ECANCELED;
	}
	return 0;
}

static void compute_for_long(void)
{
	unsigned long sum = 0;

	assert(cc_block_on(compute, &sum, NULL) == 0);
	assert(sum == 499999500000ul);
}

static void sleep_a_little(void)
{
	const cc_time begin = cc_now();

	assert(cc_sleep_ms(2) == 0);
	assert(cc_sleep_until(cc_after(2 * CC_MSEC)) == 0);
	assert(cc_now() - begin >= 4 * CC_MSEC);
}

int main(void)
{
	spawn_and_join();
	detach();
	recall();
	find_my_handle();
	compute_for_long();
	sleep_a_little();
	return 0;
}
