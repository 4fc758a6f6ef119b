/* opens.c - a program without C++ opens plugins (plugin.cpp) while its runtime runs.
 * opens [--search] PLUGIN...: with --search it calls cc_cxx_register after it has opened them.
 *
 * covers: RES-71/u */
#include <ccc/ccc.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { FIBERS = 100, MOST = 4 };

typedef int handles_fn(long id, void (*wait)(void));

static handles_fn *handles[MOST];
static int plugins;

struct one {
	long id;
	int wrong;
};

static void yield(void)
{
	cc_yield();
}

static int run(void *arg)
{
	struct one *o = arg;

	o->wrong = handles[o->id % plugins](o->id * 1000, yield);
	return 0;
}

static int nothing(void *arg)
{
	(void)arg;
	for (int i = 0; i < 10; i++)
		cc_yield();
	return 0;
}

/* The workers have switched before the next C++ runtime is there. */
static int warm_up(void)
{
	CCTask t[8];

	for (int i = 0; i < 8; i++)
		if (cc_task_spawn(NULL, &t[i], NULL, nothing, NULL) != 0)
			return 1;
	for (int i = 0; i < 8; i++)
		if (cc_task_join(t[i], CC_FOREVER, NULL) != 0)
			return 1;
	return 0;
}

static int open_plugin(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (library == NULL || (handles[plugins] = (handles_fn *)dlsym(library, "handles")) == NULL) {
		printf("FAIL %s\n", dlerror());
		return 1;
	}
	plugins++;
	return 0;
}

int main(int argc, char **argv)
{
	static struct one one[FIBERS];
	CCTask task[FIBERS];
	int first = 1, wrong = 0;

	if (argc > 1 && strcmp(argv[1], "--search") == 0)
		first = 2;
	for (int i = first; i < argc && plugins < MOST; i++)
		if (warm_up() != 0 || open_plugin(argv[i]) != 0)
			return 2;
	if (first == 2 && cc_cxx_register(NULL) != 0)
		return 2;
	for (int i = 0; i < FIBERS; i++) {
		one[i].id = i;
		if (cc_task_spawn(NULL, &task[i], NULL, run, &one[i]) != 0)
			return 2;
	}
	for (int i = 0; i < FIBERS; i++) {
		wrong += cc_task_join(task[i], CC_FOREVER, NULL) != 0;
		wrong += one[i].wrong;
	}
	printf("%d wrong with %d plugins\n", wrong, plugins);
	return wrong != 0 || cc_shutdown() != 0;
}
