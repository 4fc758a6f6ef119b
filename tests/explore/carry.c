/* carry.c - a C++ runtime that becomes known while a worker switches between fibers: the state
 * of a fiber that uses the runtime is moved at its next switch (CARRY-3).
 *
 * base/carry.c is included, with a door that weakens what .init names: the seeded bugs.  A C++
 * runtime is here a table with one structure for each thread.
 *
 * sources: base/lock.c */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <string.h>

#include "engine.h"

/* In that function the operation on the pointer of a check is relaxed; .init's. */
static const char *relaxed_in;

static int order_in(const char *function, const char *text, int order)
{
	return relaxed_in != NULL && strcmp(function, relaxed_in) == 0 &&
	               strcmp(text, "&k->words") == 0
	           ? CC__RELAXED
	           : order;
}

#undef cc__store
#define cc__store(a, value, order) \
	__extension__({ \
		MC_SITE(#a); \
		__typeof__((a)->raw) mc_v_ = (value); \
		mc_store(&(a)->raw, sizeof mc_v_, (uint64_t)mc_v_, order_in(__func__, #a, order), \
		         &mc_site_); \
	})
#undef cc__xchg
#define cc__xchg(a, value, order) MC_RMW(a, MC_XCHG, value, order_in(__func__, #a, order))
#define dladdr(address, info) 0 /* nothing is unloaded here, so nothing is pinned */
#define EXPLORE_CARRY
#include "base/carry.c"

void cc__say_all(const char *text, ...)
{
	(void)text;
}

/* ---- two C++ runtimes ---- */

enum { FIRST, SECOND, RUNTIMES };
static struct cc__carry structures[RUNTIMES][MC_THREADS];

static void *first(void)
{
	return &structures[FIRST][mc_self()];
}

static void *second(void)
{
	return &structures[SECOND][mc_self()];
}

static globals_fn *arrives;	/* the one that becomes known; .init's */
static cc__a32 loaded;		/* how many calls have registered it */

static void first_arrives(void)
{
	arrives = first;
}

static void second_arrives(void)
{
	MC_ASSERT(cc_cxx_register(first) == 0);
	arrives = second;
}

static void add_relaxed(void)
{
	second_arrives();
	relaxed_in = "add";
}

static void retarget_relaxed(void)
{
	second_arrives();
	relaxed_in = "retarget";
}

static void has_loaded(void)
{
	/* Release: all that the call has done, to the worker's acquire. */
	cc__add(&loaded, 1, CC__RELEASE);
}

static void registers(void)
{
	MC_ASSERT(cc_cxx_register(arrives) == 0);
	has_loaded();
}

/* Seeded: without the lock. */
static void registers_early(void)
{
	if (!is_known(arrives, known_count()))
		MC_ASSERT(cc_cxx_register(arrives) == 0);
	has_loaded();
}

/* ---- the worker ---- */

static void switches(struct cc__carry_check *k, void *exception)
{
	struct cc__carry *c = arrives();
	struct cc__carried carried = {.count = 0};

	c->handled = exception;
	/* Relaxed: as in a switch (sched/switch.c). */
	if (cc__carry_set(cc__load(&k->words, CC__RELAXED)))
		cc__carry_out(k, &carried);
	MC_ASSERT(c->handled == NULL);	/* the next fiber starts with nothing */
	cc__carry_in(&carried);
	MC_ASSERT(c->handled == exception);
	c->handled = NULL;
}

static void works(void)
{
	struct cc__carry_check *k = mc_alloc(sizeof *k);

	cc__carry_check_init(k);
	switches(k, NULL);
	/* Acquire: the runtime, from has_loaded. */
	switches(k, cc__load(&loaded, CC__ACQUIRE) != 0 ? &loaded : NULL);
	cc__carry_check_fini(k);
	mc_free(k);
}

static void none_is_listed(void)
{
	MC_ASSERT(known.checks == NULL);
}

SCENARIO(carry_first_runtime_reaches_a_worker, .init = first_arrives, .body = {works, registers},
         .final = none_is_listed) /* covers: RES-71/m */
SCENARIO(carry_second_runtime_reaches_a_worker, .init = second_arrives, .body = {works, registers},
         .final = none_is_listed) /* covers: RES-71/m */
SCENARIO(carry_second_runtime_reaches_two_workers, .init = second_arrives,
         .body = {works, works, registers}, .final = none_is_listed) /* covers: RES-71/m */
SCENARIO(carry_second_runtime_is_registered_twice, .init = second_arrives,
         .body = {works, registers, registers}, .final = none_is_listed) /* covers: RES-71/m */

/* Each with a hole that must be found. */
SCENARIO(carry_check_stored_relaxed, .init = add_relaxed, .body = {works, registers},
         .expect = "assert: c->handled == NULL")
SCENARIO(carry_check_exchanged_relaxed, .init = retarget_relaxed, .body = {works, registers},
         .expect = "assert: c->handled == NULL")
SCENARIO(carry_known_runtime_registered_without_the_lock, .init = second_arrives,
         .body = {works, registers, registers_early}, .expect = "assert: c->handled == NULL")
