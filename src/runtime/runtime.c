/* runtime.c - CCRuntime: started bottom up, stopped top down, and the default
 * one that starts itself. */
#include <ccc/ccc.h>

#include <errno.h>

#include "base/lock.h"
#include "base/trace.h"
#include "runtime/config.h"
#include "sched/sched.h"

struct CCRuntime {
	struct cc__sched sched;		/* first: cc__sched_runtime */
};

int cc_version(void)
{
	return CC_VERSION;
}

cc_time cc_now(void)
{
	return cc__now();
}

int cc_runtime_new(CCRuntime **out, const CCConfig *config)
{
	CCConfig c;
	CCRuntime *rt;
	int err;

	if (out == NULL)
		return EINVAL;
	if (config != NULL)
		c = *config;
	else if ((err = cc_config_init(&c)) != 0)
		return err;
	if ((err = cc__config_check(&c)) != 0)
		return err;
	if (c.spec_assert)
		cc__watch_also(CC__WATCH_ASSERT);
	if ((rt = c.allocator.alloc(c.allocator.context, sizeof *rt)) == NULL)
		return ENOMEM;
	if ((err = cc__sched_start(&rt->sched, &c)) != 0) {
		c.allocator.free(c.allocator.context, rt, sizeof *rt);
		return err;
	}
	*out = rt;
	return 0;
}

int cc_runtime_free(CCRuntime *rt)
{
	CCConfig c;
	int err;

	if (rt == NULL)
		return EINVAL;
	if (cc__sched_here() == &rt->sched)
		return EDEADLK;
	c = rt->sched.config;
	if ((err = cc__sched_stop(&rt->sched, cc__from_now(c.shutdown_timeout))) != 0)
		return err;
	c.allocator.free(c.allocator.context, rt, sizeof *rt);
	return 0;
}

/* ---- the default runtime ---- */

static struct cc__lock default_lock;
static CC__ATOMIC(CCRuntime *) default_runtime;	/* written under the lock */

static int start_default(CCRuntime **out)
{
	int err = 0;

	cc__lock(&default_lock, CC__RANK_RUNTIME);
	/* Relaxed: written under this lock. */
	*out = cc__load(&default_runtime, CC__RELAXED);
	if (*out == NULL && (err = cc_runtime_new(out, NULL)) == 0)
		/* Release: the runtime, to the acquire in current(). */
		cc__store(&default_runtime, *out, CC__RELEASE);
	cc__unlock(&default_lock);
	return err;
}

static int current(CCRuntime **out)
{
	struct cc__sched *here = cc__sched_here();

	/* Acquire: pairs with the release in start_default. */
	*out = here != NULL ? (CCRuntime *)(void *)here : cc__load(&default_runtime, CC__ACQUIRE);
	return *out != NULL ? 0 : start_default(out);
}

CCRuntime *cc_runtime_current(void)
{
	CCRuntime *rt;

	return current(&rt) == 0 ? rt : NULL;
}

int cc_shutdown(void)
{
	CCRuntime *rt;
	int err = 0;

	/* Before the lock: whoever holds it may be waiting for this very task.
	 * Relaxed: a fiber's own runtime was there before it. */
	if (cc__sched_here() != NULL &&
	    (CCRuntime *)(void *)cc__sched_here() == cc__load(&default_runtime, CC__RELAXED))
		return EDEADLK;
	cc__lock(&default_lock, CC__RANK_RUNTIME);
	/* Relaxed, twice: under this lock. */
	rt = cc__load(&default_runtime, CC__RELAXED);
	if (rt != NULL && (err = cc_runtime_free(rt)) == 0)
		cc__store(&default_runtime, NULL, CC__RELAXED);
	cc__unlock(&default_lock);
	return err;
}

/* ---- tasks ---- */

int cc_task_spawn(CCRuntime *rt, CCTask *out, const CCTaskOptions *options, cc_task_main *main,
                  void *arg)
{
	int err;

	if (rt == NULL && (err = current(&rt)) != 0)
		return err;
	return cc__sched_spawn(&rt->sched, out, options, main, arg);
}
