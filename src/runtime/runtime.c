/* runtime.c - CCRuntime: started bottom up, stopped top down, and the default
 * one that starts itself. */
#include <ccc/ccc.h>

#include <errno.h>
#include <stdlib.h>

#include "base/lock.h"
#include "os/trace.h"
#include "monitor/hold.h"
#include "monitor/log.h"
#include "monitor/trace.h"
#include "monitor/quiet.h"
#include "base/carry.h"
#include "os/fork.h"
#include "runtime/config.h"
#include "sched/sched.h"
#include "sched/stats.h"

struct CCRuntime {
	struct cc__sched sched;		/* first: cc__sched_runtime */
};

/* A program that has runtimes has the description of the process, too. */
static const void *const described __attribute__((used)) = &cc_description;

int cc_version(void)
{
	return CC_VERSION;
}

cc_time cc_now(void)
{
	return cc__now();
}

static void describe(const CCRuntime *rt)
{
	char line[512];

	cc__config_describe(&rt->sched.config, line, sizeof line);
	cc__sched_log(&rt->sched, line);
}

static int start_trace(void)
{
	struct cc__trace_settings s;
	int err = cc__config_trace(&s);

	return err != 0 ? err : cc__trace_begin(&s);
}

int cc_runtime_new(CCRuntime **out, const CCConfig *config)
{
	CCConfig c;
	CCRuntime *rt;
	int err;

	if (cc__forked())
		return ENOTSUP;
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
	if (c.debug != 0)
		cc__debug_log(c.debug);
	if (c.hold != CC_FOREVER) {
		if ((err = cc__debug_hold(c.hold)) != 0)
			return err;
		cc__debug_see();
	}
	if ((err = start_trace()) != 0)
		return err;
	if ((rt = c.allocator.alloc(c.allocator.context, sizeof *rt)) == NULL)
		return ENOMEM;
	cc__carry_search();
	cc__fork_watch();
	if ((err = cc__sched_start(&rt->sched, &c)) != 0) {
		cc__fork_unwatch();
		c.allocator.free(c.allocator.context, rt, sizeof *rt);
		return err;
	}
	cc__quiet_add(&rt->sched);
	if (c.verbose)
		describe(rt);
	*out = rt;
	return 0;
}

int cc_runtime_free(CCRuntime *rt)
{
	CCConfig c;
	int err;

	if (cc__forked())
		return ENOTSUP;
	if (rt == NULL)
		return EINVAL;
	if (cc__sched_here() == &rt->sched)
		return EDEADLK;
	c = rt->sched.config;
	cc__quiet_remove(&rt->sched);
	if ((err = cc__sched_stop(&rt->sched, cc__from_now(c.shutdown_timeout))) != 0) {
		cc__quiet_add(&rt->sched);	/* it goes on */
		return err;
	}
	c.allocator.free(c.allocator.context, rt, sizeof *rt);
	cc__fork_unwatch();
	return 0;
}

/* ---- the default runtime ---- */

/* A caller that needs one while cc_shutdown frees the former waits here.  Its lock guards the
 * others. */
static struct cc__waitq defaults;
static CC__ATOMIC(CCRuntime *) default_runtime;	/* read without the lock, too */
static const CCRuntime *ending;			/* the one that is being freed, or NULL */
static CCConfig configured;			/* for the next one; under the lock, too */
static bool is_configured;			/* else the environment decides */

/* The statistics of a default runtime that is still there when the process ends.
 * Whoever has the lock starts one, or stops one and reports by itself. */
static void report_at_exit(void)
{
	CCRuntime *rt;

	if (!cc__trylock(&defaults.lock, CC__RANK_RUNTIME))
		return;
	rt = cc__load(&default_runtime, CC__RELAXED);	/* Relaxed: under the lock */
	if (rt != NULL && !cc__forked())
		cc__stats_report(&rt->sched);
	cc__unlock(&defaults.lock);
}

/* Under the lock.  Without memory for it there will be no report. */
static void report_later(const CCConfig *c)
{
	static bool registered;

	if (!registered && (c->stats != CC_STATS_OFF || c->wake_stats || c->pressure_stats))
		registered = atexit(report_at_exit) == 0;
}

/* Under the lock: until none is being freed.  An error: the wait was in vain, and the
 * lock is not held. */
static int wait_while_ending(void)
{
	int err = 0;

	/* A call that the former waits for must not wait for it. */
	if (ending != NULL && cc__blocking_here() == &ending->sched.blocking) {
		cc__unlock(&defaults.lock);
		return ECANCELED;
	}
	while (ending != NULL && err == 0) {
		struct cc__waiter w = {0};

		if ((err = cc__wait(&defaults, &w, CC_FOREVER)) == 0)
			cc__lock(&defaults.lock, CC__RANK_RUNTIME);
	}
	return err;
}

/* Under the lock.  Relaxed: the default runtime is written under this lock. */
static bool default_exists(void)
{
	return ending != NULL || cc__load(&default_runtime, CC__RELAXED) != NULL;
}

int cc_runtime_configure(const CCConfig *config)
{
	CCConfig c = {0};
	int err;

	if (cc__forked())
		return ENOTSUP;
	if (config != NULL)
		c = *config;
	if (config != NULL && (err = cc__config_check(&c)) != 0)
		return err;
	cc__lock(&defaults.lock, CC__RANK_RUNTIME);
	err = default_exists() ? EBUSY : 0;
	if (err == 0) {
		configured = c;
		is_configured = config != NULL;
	}
	cc__unlock(&defaults.lock);
	return err;
}

static int start_default(CCRuntime **out)
{
	int err;

	cc__lock(&defaults.lock, CC__RANK_RUNTIME);
	if ((err = wait_while_ending()) != 0)
		return err;
	/* Relaxed: written under this lock. */
	*out = cc__load(&default_runtime, CC__RELAXED);
	if (*out == NULL &&
	    (err = cc_runtime_new(out, is_configured ? &configured : NULL)) == 0) {
		report_later(&(*out)->sched.config);
		/* Release: the runtime, to the acquire in current(). */
		cc__store(&default_runtime, *out, CC__RELEASE);
	}
	cc__unlock(&defaults.lock);
	return err;
}

static int current(CCRuntime **out)
{
	struct cc__sched *here = cc__sched_here();

	/* Acquire: pairs with the release in start_default. */
	*out = here != NULL ? (CCRuntime *)(void *)here : cc__load(&default_runtime, CC__ACQUIRE);
	return *out != NULL ? 0 : start_default(out);
}

int cc__sched_default(struct cc__sched **out)
{
	CCRuntime *rt;
	const int err = cc__forked() ? ENOTSUP : current(&rt);

	*out = err == 0 ? &rt->sched : NULL;
	return err;
}

CCRuntime *cc_runtime_current(void)
{
	CCRuntime *rt;

	return !cc__forked() && current(&rt) == 0 ? rt : NULL;
}

/* Without the lock: tasks that need it may have to end first. */
static int end_default(CCRuntime *rt)
{
	int err = cc_runtime_free(rt);

	cc__lock(&defaults.lock, CC__RANK_RUNTIME);
	ending = NULL;
	if (err != 0)	/* it lives on */
		/* Release: as in start_default. */
		cc__store(&default_runtime, rt, CC__RELEASE);
	cc__unlock(&defaults.lock);
	cc__wake_all(&defaults, CC__REASON_SIGNAL, 0);
	return err;
}

int cc_shutdown(void)
{
	const struct cc__sched *here = cc__sched_here();
	CCRuntime *rt;
	int err;

	if (cc__forked())
		return ENOTSUP;
	cc__lock(&defaults.lock, CC__RANK_RUNTIME);
	/* Relaxed, here and below: written under this lock. */
	rt = cc__load(&default_runtime, CC__RELAXED);
	if (here != NULL && ((rt != NULL && here == &rt->sched) ||
	                     (ending != NULL && here == &ending->sched))) {
		cc__unlock(&defaults.lock);
		return EDEADLK;
	}
	if ((err = wait_while_ending()) != 0)
		return err;
	ending = rt = cc__load(&default_runtime, CC__RELAXED);
	cc__store(&default_runtime, NULL, CC__RELAXED);
	cc__unlock(&defaults.lock);
	return rt != NULL ? end_default(rt) : 0;
}

/* ---- statistics ---- */

int cc_stats(CCRuntime *rt, CCStats *out)
{
	int err;

	if (out == NULL)
		return EINVAL;
	if (rt == NULL && (err = current(&rt)) != 0)
		return err;
	cc__sched_stats(&rt->sched, out);
	return 0;
}
