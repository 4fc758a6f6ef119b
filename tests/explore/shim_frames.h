/* shim_frames.h - what frames (task/frame.c) ask of a scheduler, where threads play the workers:
 * no cache of frames, nothing is run in place, no stack is shown, and, without SHIM_REAL_LATER, no
 * task begins later.  Included by one file of a program. */
#ifndef MC_SHIM_FRAMES_H
#define MC_SHIM_FRAMES_H

#include "task/frame.h"
#include "sched/later.h"
#include "sched/sched.h"

struct cc__frame_cache *cc__frame_cache_here(void)
{
	return NULL;
}

bool cc__sched_run_here(CCTask t, int *result)
{
	(void)t, (void)result;
	return false;
}

void cc__sched_stack_of(struct cc__fiber *f, const void **bottom, size_t *size)
{
	(void)f, (void)bottom, (void)size;
}

#ifndef SHIM_REAL_LATER
bool cc__later_take(struct cc__fiber *f)
{
	(void)f;
	return false;
}

void cc__later_begin(struct cc__fiber *f)
{
	(void)f;
	mc_fail("later: no task begins later here");
}
#endif

#endif
