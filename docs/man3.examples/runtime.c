/* Runtimes and their settings: <ccc/runtime.h>. */
#include <assert.h>

#include <ccc/ccc.h>

static int compute(void *arg)
{
	*(int *)arg = 42;
	return 0;
}

/* Settings of the default runtime, before its first use. */
static void configure(void)
{
	CCConfig config;

	assert(cc_config_init(&config) == 0);	/* the defaults and the environment */
	config.workers = 2;
	assert(cc_runtime_configure(&config) == 0);
	assert(cc_runtime_current() != NULL);	/* starts it */
	assert(cc_runtime_configure(&config) == EBUSY);
	assert(cc_shutdown() == 0);		/* the next use starts a new one */
}

/* A library with workers of its own. */
static void use_my_own_runtime(void)
{
	CCRuntime *mine;
	CCConfig config;
	CCTask task;
	int answer = 0;

	assert(cc_config_init(&config) == 0);
	config.workers = 1;
	assert(cc_runtime_new(&mine, &config) == 0);
	assert(cc_task_spawn(mine, &task, NULL, compute, &answer) == 0);
	assert(cc_task_join(task, CC_FOREVER, NULL) == 0 && answer == 42);
	assert(cc_runtime_free(mine) == 0);
}

int main(void)
{
	configure();
	use_my_own_runtime();
	return 0;
}
