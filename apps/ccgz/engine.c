/* engine.c - the table of engines, the runtime of their fibers, and the engine that needs none. */
#include "engine.h"

#include <errno.h>
#include <string.h>

static CCRuntime *runtime;

const struct engine *engine_named(const char *name)
{
	static const struct engine *const engines[] = {&engine_fiber, &engine_thread,
	                                               &engine_direct};

	for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++)
		if (strcmp(engines[i]->name, name) == 0)
			return engines[i];
	return NULL;
}

int engine_runtime(CCRuntime **out, unsigned processes)
{
	CCConfig config;

	if (runtime == NULL) {
		cc_try(cc_config_init(&config));
		config.workers = processes;
		config.workers_max = processes;	/* fibers that compute are no reason to add some */
		cc_try(cc_runtime_new(&runtime, &config));
	}
	*out = runtime;
	return 0;
}

void engine_end(void)
{
	if (runtime != NULL)
		cc_ignore(cc_runtime_free(runtime));
}

static int run_serial(struct job *job, unsigned processes)
{
	struct block *block = job->block_new(job);
	int err;

	(void)processes;
	if (block == NULL)
		return ENOMEM;
	do {
		if ((err = job->read(job, block)) == 0 && (err = job->work(job, block)) == 0)
			err = job->write(job, block);
	} while (err == 0 && !block->last);
	job->block_free(block);
	return err;
}

const struct engine engine_serial = {.name = "serial", .run = run_serial};
