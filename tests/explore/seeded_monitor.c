/* seeded_monitor.c - the monitor follows the pointer to the fiber that runs on a worker: the
 * real mark() of sysmon.c, and the same with one of its two orders taken away.
 *
 * The frame's memory is new.  The thread that maps it writes it, as the kernel does on its
 * behalf, and hands the task over to the worker; the monitor knows neither of them.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c base/slab.c task/frame.c task/join.c
 * sched/options.c */
#include <string.h>

#include "engine.h"

/* In that function the operation on that expression is relaxed; .init's. */
static struct {
	const char *function, *text;
} hole;

static int order_at(const char *function, const char *text, int order)
{
	return hole.function != NULL && strcmp(function, hole.function) == 0 &&
	               strcmp(text, hole.text) == 0
	           ? CC__RELAXED
	           : order;
}

#undef cc__load
#define cc__load(a, order) \
	__extension__({ \
		MC_SITE(#a); \
		(__typeof__((a)->raw))mc_load(&(a)->raw, sizeof(a)->raw, \
		                              order_at(__func__, #a, order), &mc_site_); \
	})
#undef cc__store
#define cc__store(a, value, order) \
	__extension__({ \
		MC_SITE(#a); \
		__typeof__((a)->raw) mc_v_ = (value); \
		mc_store(&(a)->raw, sizeof mc_v_, (uint64_t)mc_v_, order_at(__func__, #a, order), \
		         &mc_site_); \
	})

#define SHIM_REAL_SLAB
#include "shim_wait.h"
#include "os/pages.h"
#include "sched/later.h"
#include "sched/spawn.h"
#include "sched/sysmon.c"
#include "shim_stacks.h"

/* ---- the rest of the runtime ---- */

enum { PAGES = 4 << 20, WRITTEN = 4096 };
static _Alignas(4096) char pages[PAGES];
static size_t pages_used;

/* One frame is used; its page is all that needs to be written. */
void *cc__pages_map(size_t size)
{
	char *p = pages + pages_used;

	pages_used += size;
	MC_ASSERT(pages_used <= PAGES);
	memset(p, 0, WRITTEN);
	return p;
}

void *cc__pages_map_dense(size_t size)
{
	return cc__pages_map(size);
}

void cc__pages_populate(void *p, size_t size)
{
	(void)p, (void)size;
}

struct cc__frame_cache *cc__frame_cache_here(void)
{
	return NULL;
}

bool cc__later_take(struct cc__fiber *f)
{
	(void)f;
	return false;
}

void cc__later_begin(struct cc__fiber *f)
{
	(void)f;
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

/* Named by parts of sysmon.c that nobody calls here. */
#define UNUSED(type, name, ...) \
	type name(__VA_ARGS__) \
	{ \
		mc_fail(#name ": the monitor only marks"); \
	}
UNUSED(void, cc__sched_log, const struct cc__sched *s, const char *line)
UNUSED(void, cc__sched_give, struct cc__sched *s, struct cc__fiber *f)
UNUSED(void, cc__sched_reap, struct cc__sched *s)
UNUSED(bool, cc__sched_has_retired, const struct cc__sched *s)
UNUSED(int, cc__sched_grow, struct cc__sched *s, bool reserve, unsigned *number)
UNUSED(int64_t, cc__sched_pressure, const struct cc__sched *s)
UNUSED(void, cc__pressure_sample, struct cc__sched *s, enum cc__pressure_block why)
UNUSED(void, cc__pressure_promoted, struct cc__sched *s)
UNUSED(struct cc__fiber *, cc__inbox_take, struct cc__inbox *b)
UNUSED(bool, cc__inbox_any, const struct cc__inbox *b)
UNUSED(bool, cc__runq_steal, struct cc__runq *q, unsigned take, unsigned patience,
       struct cc__loot *l)
UNUSED(struct cc__fiber *, cc__global_pop, struct cc__global *g)
UNUSED(unsigned, cc__timers_run, struct cc__timers *h, cc_time now, unsigned most,
       cc__timer_fire *fire)
UNUSED(void, cc__worker_fire, void *object, uint64_t value)
UNUSED(bool, cc__idle_wake, struct cc__idle *i, unsigned number)
UNUSED(void, cc__idle_wake_one, struct cc__idle *i)
UNUSED(struct cc__usage, cc__usage_of, uint32_t number)
UNUSED(bool, cc__copy_if_mapped, void *to, const void *from, size_t size)
UNUSED(void, cc__place_write, uintptr_t place, char *text, size_t size)

/* ---- who takes part ---- */

static struct cc__sched home;
static struct cc__stack stack;
static struct cc__worker worker = {.sched = &home, .thread = &record[1], .id = 1};
static CC__ATOMIC(struct cc__fiber *) queue;
static uint64_t marked;	/* the monitor's: whom it saw */

static void spawn(void)
{
	struct cc__fiber *f = cc__frame_get(NULL);

	cc__frame_begin(f, &home, NULL);
	cc__frame_show(f, 1 | CC__HANDLE_DETACHED);
	cc__word_publish(&f->parker);
	cc__store(&queue, f, CC__RELEASE);
}

/* As bind, leave and fiber_main do (bound.h, switch.c). */
static void run_task(void)
{
	struct cc__fiber *f = mc_wait_while(&queue, NULL);
	struct cc__wake nobody;

	cc__word_claim(&f->parker, 1);
	cc__store(&f->stack, &stack, CC__RELEASE);
	cc__set_running(&record[1], &f->parker);
	cc__store(&f->stack, NULL, CC__RELAXED);
	if (cc__frame_end(f, 0, false, &nobody))
		cc__frame_put(NULL, f);
	cc__set_running(&record[1], &record[1].parker);
}

static void monitor(void)
{
	marked = mark(&home, &worker).id;
}

static void one_or_none(void)
{
	MC_ASSERT(marked <= 1);
	mc_outcome(marked == 1 ? "marked" : "gone");
}
SCENARIO(monitor_marks_a_fiber_in_new_memory, .body = {spawn, run_task, monitor},
         .final = one_or_none, .outcomes = "marked gone")

/* ---- with a hole ---- */

static void relaxed_load(void)
{
	hole.function = "mark";
	hole.text = "&w->thread->running";
}

static void relaxed_store(void)
{
	hole.function = "cc__set_running";
	hole.text = "&t->running";
}
SCENARIO(monitor_reads_the_running_fiber_relaxed, .init = relaxed_load,
         .body = {spawn, run_task, monitor}, .expect = "race")
SCENARIO(monitor_is_told_the_running_fiber_relaxed, .init = relaxed_store,
         .body = {spawn, run_task, monitor}, .expect = "race")
