/* tools.h - stands in for src/os/tools.h in the explorer, which is the only tool there. */
#ifndef CC__OS_TOOLS_H
#define CC__OS_TOOLS_H

#include "engine.h"

enum { cc__tools = 0 };

struct cc__stack_tools {
	unsigned valgrind;
};

static inline void cc__tools_ended(void *bottom, void *top, bool ours)
{
	(void)bottom, (void)top, (void)ours;
}

static inline bool cc__tools_order(void)
{
	return false;
}

static inline void cc__tools_disown(void) {}
static inline void cc__quiet_begin(void) {}
static inline void cc__quiet_end(void) {}

static inline void cc__tools_arrive(void *fake)
{
	(void)fake;
}

#define cc__context_switch_told(from, to, worker, after, last, bottom, top) \
	((void)(bottom), (void)(top), (struct cc__arrival){0})

#endif
