/* spawn.c - a task is spawned: its number, its frame, its way into a queue. */
#include "sched/spawn.h"

#include <errno.h>

#include "os/fork.h"
#include "sched/later.h"

enum { ID_BLOCK = 64 };
static cc__a64 ids_given = {1};

__attribute__((noinline)) uint64_t cc__ids_take(struct cc__thread *t)
{
	/* Relaxed: a number, nothing else. */
	const uint64_t first = cc__add(&ids_given, ID_BLOCK, CC__RELAXED);

	t->spare_id = first + 1;
	t->spare_ids = ID_BLOCK - 1;
	return first;
}

int cc__sched_spawn(struct cc__sched *s, CCTask *out, const CCTaskOptions *options,
                    cc_task_main *main, void *arg, uintptr_t place)
{
	struct cc__thread *t;
	struct cc__birth b;
	int err;

	if (main == NULL)
		return EINVAL;
	if (options != NULL && (err = cc__task_options_check(s, options)) != 0)
		return err;
	if ((t = cc__thread_here()) == NULL)
		return ENOMEM;
	if (s == NULL && t->worker != NULL)
		s = ((struct cc__worker *)t->worker)->sched;
	if (__builtin_expect(s == NULL, 0) && (err = cc__sched_default(&s)) != 0)
		return err;
	if ((err = cc__spawn_begin(&b, s, t, options, out == NULL)) != 0)
		return err;
	b.f->run.main = main;
	b.f->payload.arg = arg;
	b.f->payload.child.what.place = place;
	if (out != NULL)
		*out = (CCTask){.frame = b.f, .id = b.handle};	/* it is not detached */
	CC_POINT("spawn.before_publish", &b.f->parker);
	if (options == NULL || options->start <= 0 ||
	    !cc__later_set(s, b.here, b.f, b.handle, options->start))
		cc__spawn_end(&b);
	return 0;
}

int cc_task_spawn(CCRuntime *rt, CCTask *out, const CCTaskOptions *options, cc_task_main *main,
                  void *arg)
{
	struct cc__sched *s = (struct cc__sched *)(void *)rt;

	return cc__forked() ? ENOTSUP
	                    : cc__sched_spawn(s, out, options, main, arg, CC__PLACE_HERE());
}
