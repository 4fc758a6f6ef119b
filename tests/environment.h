/* environment.h - configurations: the environment's, or one that nothing outside of the test
 * has a say in. */
#ifndef TEST_ENVIRONMENT_H
#define TEST_ENVIRONMENT_H

#include <ccc/ccc.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

/* Without any of our variables. */
static inline void clear_variables(void)
{
	for (unsigned i = 0; environ[i] != NULL;) {
		char name[64];

		snprintf(name, sizeof name, "%.*s", (int)strcspn(environ[i], "="), environ[i]);
		if (strncmp(name, "CC_", 3) == 0 && unsetenv(name) == 0)
			i = 0;
		else
			i++;
	}
}

/* What cc_config_init says with this one variable; NULL: with none. */
static inline int init_with(const char *name, const char *text, CCConfig *c)
{
	int err;

	clear_variables();
	if (name != NULL)
		setenv(name, text, 1);
	memset(c, 0xee, sizeof *c);
	err = cc_config_init(c);
	clear_variables();
	return err;
}

static inline CCConfig with(const char *name, const char *text)
{
	CCConfig c;

	if (!CHECK_EQ(init_with(name, text, &c), 0))
		printf("\t%s='%s'\n", name != NULL ? name : "no variable",
		       name != NULL ? text : "");
	return c;
}

/* As the environment has it: the suite is run under several. */
static inline CCConfig config(void)
{
	CCConfig c;

	CHECK_EQ(cc_config_init(&c), 0);
	return c;
}

static inline CCRuntime *runtime_with(const CCConfig *c)
{
	CCRuntime *rt = NULL;

	CHECK_EQ(cc_runtime_new(&rt, c), 0);
	return rt;
}

/* The first CPU of a set, alone. */
static inline cpu_set_t first_cpu(const cpu_set_t *of)
{
	cpu_set_t one;
	size_t cpu = 0;

	while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, of))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return one;
}

/* The calling thread, and those that it starts from now on; false: it may not. */
static inline bool stay_on_one_cpu(void)
{
	cpu_set_t mask;

	if (sched_getaffinity(0, sizeof mask, &mask) != 0)
		return false;
	mask = first_cpu(&mask);
	return sched_setaffinity(0, sizeof mask, &mask) == 0;
}

/* So many workers, for good: no other comes to help when the machine holds one up, which
 * looks like a fiber that is stuck (sysmon.h). */
static inline void only_workers(CCConfig *c, unsigned n)
{
	c->workers = c->workers_max = n;
	c->sysmon = 0;
}

#endif
