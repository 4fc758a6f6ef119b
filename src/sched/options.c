/* options.c - the options of a task. */
#include "sched/spawn.h"

#include <errno.h>
#include <string.h>

_Static_assert(_Alignof(struct cc__sched) > CC__HOME_BITS, "what lies in the low bits of home");

/* One stack is made at once: a task that no stack can be had for would never run. */
static int check_stack_size(struct cc__stack_pool *stacks, size_t size)
{
	if (size <= stacks->shelf[0].size)
		return 0;
	return cc__stack_pool_stock(stacks, cc__stack_order_for(stacks, size)) ? 0 : ENOMEM;
}

int cc__task_options_check(struct cc__sched *s, const CCTaskOptions *o)
{
	if ((o->name != NULL && strlen(o->name) >= CC__NAME_MAX) ||
	    (unsigned)o->migration > CC_MIGRATE_PINNED || o->start == CC_FOREVER ||
	    o->stack_size > CC__STACK_MAX)
		return EINVAL;
	if (o->stack_size == 0 || (s == NULL && (s = cc__sched_here()) == NULL))
		return 0;
	return check_stack_size(&s->stacks, o->stack_size);
}

static void want_stack(struct cc__fiber *f, size_t size)
{
	const unsigned order = cc__stack_order_for(&cc__fiber_home(f)->stacks, size);

	if (order > 0)
		cc__fiber_want(f, order);
}

void cc__frame_options(struct cc__fiber *f, const CCTaskOptions *options)
{
	f->home |= options->migration;
	if (options->stack_size != 0)
		want_stack(f, options->stack_size);
	if (options->name == NULL)
		return;
	f->home |= CC__HOME_NAMED;
	cc__quiet_begin();
	strncpy(cc__frame_name(f), options->name, CC__NAME_MAX - 1);
	cc__quiet_end();
	cc__frame_name(f)[CC__NAME_MAX - 1] = '\0';
}
