/* config.c - defaults, environment, limits: the only place that reads either.
 *
 * Two tables say it all: `variables`, what the environment may set, and `limits`,
 * what a field may be.  A variable that makes no sense is refused, never guessed
 * at; but a switch is on with anything but nothing and 0. */
#include <ccc/runtime.h>

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/assert.h"
#include "os/atomic.h"
#include "os/number.h"
#include "chan/settings.h"
#include "monitor/log.h"
#include "monitor/trace_rings.h"
#include "monitor/quiet.h"
#include "os/cpus.h"
#include "os/tools.h"
#include "os/pages.h"
#include "runtime/config.h"
#include "sched/allocator.h"
#include "sched/idle.h"
#include "stack/stack.h"

#ifndef CC_FIBER_STACK_SIZE
#define CC_FIBER_STACK_SIZE (256 * 1024)
#endif
#ifndef CC_FIBER_WORKERS
#define CC_FIBER_WORKERS 0
#endif

enum {
	WORKERS_MAX = 256,
	STACK_CACHE_MAX = 1 << 20,
	INBOX_MAX = 1 << 20,
	BLOCKING_MAX = 4096,
	DAY_MS = 24 * 60 * 60 * 1000,
	DEBUG_ALL = CC_DEBUG_FLAG_JOIN | CC_DEBUG_FLAG_WAKE | CC_DEBUG_FLAG_INBOX |
	            CC_DEBUG_FLAG_SYSMON | CC_DEBUG_FLAG_PARK,
};

_Static_assert(CC_FIBER_WORKERS >= 0 && CC_FIBER_WORKERS <= WORKERS_MAX, "CC_FIBER_WORKERS");
_Static_assert(CC__WORKERS_MAX == 2 * WORKERS_MAX + 1, "the largest workers_max, and the reserve");
_Static_assert(CC_FIBER_STACK_SIZE >= CC__STACK_MIN && CC_FIBER_STACK_SIZE <= CC__STACK_MAX,
               "CC_FIBER_STACK_SIZE");

/* ---- the environment ---- */

enum kind {
	COUNT,	/* unsigned: a number */
	BYTES,	/* size_t: a number, perhaps with K, M or G */
	MSEC,	/* cc_time: a number of milliseconds; 0 is CC_FOREVER */
	REPORT,	/* cc_time: 0 is CC_FOREVER, 1 the default, more is milliseconds */
	STATS,	/* CCStatsMode */
	SWITCH,	/* int */
	BIT,	/* unsigned: a switch for one bit */
	IGNORED,
};

static const struct variable {
	const char *name;
	enum kind kind;
	size_t field;		/* its offset */
	uint64_t least, most;	/* of a number, as written; `most` is the bit of a BIT */
	const char *wanted;	/* what other texts are not; NULL: all are understood */
} variables[] = {
#define FIELD(name) offsetof(CCConfig, name)
    {"CC_WORKERS", COUNT, FIELD(workers), 1, WORKERS_MAX, "a number of workers: 1 to 256 is"},
    {"CC_STACK_SIZE", BYTES, FIELD(stack_size), CC__STACK_MIN, CC__STACK_MAX,
     "a stack size: 16K to 1G is, for example 262144 or 256K"},
    {"CC_SCALE_INTERVAL_MS", MSEC, FIELD(scale_interval), 1, DAY_MS,
     "a number of milliseconds: 1 to 86400000 is"},
    {"CC_SYSMON", SWITCH, FIELD(sysmon), 0, 0, NULL},
    {"CC_IDLE_WAIT_TIMEOUT_MS", MSEC, FIELD(idle_wait), 0, DAY_MS,
     "a number of milliseconds: 1 to 86400000 is, and 0 for no timeout"},
    {"CC_DEBUG_STALL", REPORT, FIELD(stall), 0, DAY_MS,
     "a number of milliseconds: 2 to 86400000 is, 1 for the default and 0 for no report"},
    {"CC_DEBUG_HOLD", MSEC, FIELD(hold), 0, DAY_MS,
     "a number of milliseconds: 1 to 86400000 is, and 0 for no report"},
    {"CC_FIBER_STATS", STATS, FIELD(stats), 0, 0, "a kind of statistics: 0, 1 and json are"},
    {"CC_WAKE_GEN_STATS", SWITCH, FIELD(wake_stats), 0, 0, NULL},
    {"CC_V3_PRESSURE_STATS_DUMP", SWITCH, FIELD(pressure_stats), 0, 0, NULL},
    {"CC_VERBOSE", SWITCH, FIELD(verbose), 0, 0, NULL},
    {"CC_V3_SPEC_ASSERT", SWITCH, FIELD(spec_assert), 0, 0, NULL},
    {"CC_DEBUG_JOIN", BIT, FIELD(debug), 0, CC_DEBUG_FLAG_JOIN, NULL},
    {"CC_DEBUG_WAKE", BIT, FIELD(debug), 0, CC_DEBUG_FLAG_WAKE, NULL},
    {"CC_DEBUG_INBOX", BIT, FIELD(debug), 0, CC_DEBUG_FLAG_INBOX, NULL},
    {"CC_DEBUG_SYSMON", BIT, FIELD(debug), 0, CC_DEBUG_FLAG_SYSMON, NULL},
    {"CC_PARK_DEBUG", BIT, FIELD(debug), 0, CC_DEBUG_FLAG_PARK, NULL},
    {"CC_RUNTIME_V3", IGNORED, 0, 0, 0, NULL},
};

static bool is_on(const char *text)
{
	return *text != '\0' && strcmp(text, "0") != 0;
}

/* All of `text` is a number within v's limits. */
static bool number_of(const struct variable *v, const char *text, uint64_t *out)
{
	static const char units[] = "KkMmGg";
	const char *end = cc__number(text, out), *unit;
	unsigned shift = 0;

	if (end == NULL)
		return false;
	if (v->kind == BYTES && *end != '\0') {
		if ((unit = strchr(units, *end++)) == NULL)
			return false;
		shift = 10 + 10 * (unsigned)((unit - units) / 2);
	}
	if (*end != '\0' || *out > UINT64_MAX >> shift)
		return false;
	*out <<= shift;
	return *out >= v->least && *out <= v->most;
}

static bool stats_of(const char *text, CCStatsMode *out)
{
	if (!is_on(text))
		*out = CC_STATS_OFF;
	else if (strcmp(text, "1") == 0)
		*out = CC_STATS_TEXT;
	else if (strcmp(text, "json") == 0)
		*out = CC_STATS_JSON;
	else
		return false;
	return true;
}

/* False: `text` is none of what v wants, and its field is as it was. */
static bool set(CCConfig *config, const struct variable *v, const char *text)
{
	void *field = (char *)config + v->field;
	uint64_t n = 0;

	if (v->kind <= REPORT && !number_of(v, text, &n))
		return false;
	switch (v->kind) {
	case COUNT:
		*(unsigned *)field = (unsigned)n;
		break;
	case BYTES:
		*(size_t *)field = (size_t)n;
		break;
	case MSEC:
		*(cc_time *)field = n == 0 ? CC_FOREVER : (cc_time)n * CC_MSEC;
		break;
	case REPORT:
		if (n != 1)
		*(cc_time *)field = n == 0 ? CC_FOREVER : (cc_time)n * CC_MSEC;
		break;
	case STATS:
		return stats_of(text, field);
	case SWITCH:
		*(int *)field = is_on(text);
		break;
	case BIT:
		*(unsigned *)field |= is_on(text) ? (unsigned)v->most : 0;
		break;
	case IGNORED:
		break;
	}
	return true;
}

static int read_environment(CCConfig *config)
{
	char line[400];
	int err = 0;

	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
		const struct variable *v = &variables[i];
		const char *text = getenv(v->name);

		if (text == NULL || set(config, v, text))
			continue;
		snprintf(line, sizeof line, "libccc: %s='%.200s' is not %s\n", v->name, text,
		         v->wanted);
		cc__say(line);
		err = EINVAL;
	}
	return err;
}

/* ---- defaults ---- */

static unsigned default_workers(void)
{
	const unsigned n = CC_FIBER_WORKERS != 0 ? CC_FIBER_WORKERS : cc__cpus_usable();

	return n < WORKERS_MAX ? n : WORKERS_MAX;
}

int cc_config_init(CCConfig *config)
{
	if (config == NULL)
		return EINVAL;
	*config = (CCConfig){
	    .workers = default_workers(),
	    .scale_interval = 10 * CC_MSEC,
	    .worker_idle = CC_SEC,
	    .sysmon = 1,
	    .idle_wait = 5 * CC_MSEC,
	    .inbox_max = 256,
	    .stack_size = CC_FIBER_STACK_SIZE,
	    .stack_cache = 64,
	    .stack_idle = 10 * CC_SEC,
	    .blocking_max = 64,
	    .blocking_idle = 10 * CC_SEC,
	    .shutdown_timeout = 30 * CC_SEC,
	    .stall = CC_SEC,
	    .hold = CC_FOREVER,
	    .allocator = cc__default_allocator,
	};
	return read_environment(config);
}

/* ---- channels ---- */

/* They belong to no runtime, so these are switches of the process. */
static const struct channel_switch {
	const char *name;
	uint32_t bits;	/* of cc__chan_setting */
} channel_switches[] = {
    {"CC_CHAN_NO_LOCKFREE", CC__CHAN_LOCKED},
    {"CC_CHAN_DEBUG", CC__CHAN_LOG},
    {"CC_CHAN_DEBUG_VERBOSE", CC__CHAN_LOG | CC__CHAN_VERBOSE},
    {"CC_CHANNEL_TIMING", CC__CHAN_TIMING},
};

unsigned cc__chan_settings(void)
{
	enum { KNOWN = 1 << 30 };
	static cc__a32 settings;
	/* Relaxed, both: whoever comes first finds the same. */
	uint32_t s = cc__load(&settings, CC__RELAXED);

	if (s == 0) {
		cc__quiet_watch();	/* a thread may wait for a channel without a runtime */
		for (size_t i = 0; i < sizeof channel_switches / sizeof *channel_switches; i++) {
			const struct channel_switch *v = &channel_switches[i];
			const char *text = getenv(v->name);

			s |= text != NULL && is_on(text) ? v->bits : 0;
		}
		if (s & CC__CHAN_VERBOSE)
			cc__debug_see();	/* wakes are events */
		s |= KNOWN;
		cc__store(&settings, s, CC__RELAXED);
	}
	return s & ~(uint32_t)KNOWN;
}

/* ---- the recorder ---- */

/* It is one for the process, too. */
int cc__config_trace(struct cc__trace_settings *s)
{
	static const struct variable events = {
	    "CC_TRACE_EVENTS", COUNT, 0, CC__TRACE_EVENTS_LEAST, CC__TRACE_EVENTS_MOST, NULL};
	const char *text = getenv("CC_TRACE_EVENTS");

	*s = (struct cc__trace_settings){.file = getenv("CC_TRACE")};
	if (text == NULL || number_of(&events, text, &s->events))
		return 0;
	cc__say("libccc: CC_TRACE_EVENTS='", text, "' is not a number of events: 64 to 16777216 is\n");
	return EINVAL;
}

/* ---- deadlocks ---- */

/* Switches of the process, read when a deadlock has been found. */
unsigned cc__deadlock_settings(void)
{
	const char *go_on = getenv("CC_DEADLOCK_ABORT"), *all = getenv("CC_DEBUG_DEADLOCK_RUNTIME");
	const char *inboxes = getenv("CC_DEBUG_INBOX_DUMP");

	return (go_on == NULL || is_on(go_on) ? CC__DEADLOCK_ABORTS : 0u) |
	       (all != NULL && is_on(all) ? CC__DEADLOCK_RUNTIME : 0u) |
	       (inboxes != NULL && is_on(inboxes) ? CC__DEADLOCK_INBOXES : 0u);
}

/* ---- limits ---- */

enum type { UNSIGNED, SIZE, SPAN };

static const struct limit {
	size_t field;	/* its offset */
	enum type type;
	int64_t least, most;
	const char *fault;
} limits[] = {
    {FIELD(workers), UNSIGNED, 1, WORKERS_MAX, "workers must be 1 to 256"},
    {FIELD(workers_max), UNSIGNED, 0, 2 * WORKERS_MAX, "workers_max must be at most 512"},
    {FIELD(scale_interval), SPAN, 1, CC_FOREVER, "scale_interval must be more than 0"},
    {FIELD(worker_idle), SPAN, 1, CC_FOREVER, "worker_idle must be more than 0"},
    {FIELD(idle_wait), SPAN, 1, CC_FOREVER,
     "idle_wait must be more than 0 (CC_FOREVER: no timeout)"},
    {FIELD(inbox_max), UNSIGNED, 1, INBOX_MAX, "inbox_max must be 1 to 1048576"},
    {FIELD(stack_size), SIZE, CC__STACK_MIN, CC__STACK_MAX, "stack_size must be 16 KB to 1 GB"},
    {FIELD(guard), UNSIGNED, CC_GUARD_AUTO, CC_GUARD_SPLIT, "guard is none of CCGuard"},
    {FIELD(stack_cache), UNSIGNED, 0, STACK_CACHE_MAX, "stack_cache must be at most 1048576"},
    {FIELD(stack_idle), SPAN, 1, CC_FOREVER, "stack_idle must be more than 0"},
    {FIELD(blocking_max), UNSIGNED, 1, BLOCKING_MAX, "blocking_max must be 1 to 4096"},
    {FIELD(blocking_idle), SPAN, 1, CC_FOREVER, "blocking_idle must be more than 0"},
    {FIELD(shutdown_timeout), SPAN, 0, CC_FOREVER, "shutdown_timeout must not be negative"},
    {FIELD(stall), SPAN, 1, CC_FOREVER, "stall must be more than 0 (CC_FOREVER: no report)"},
    {FIELD(hold), SPAN, 1, CC_FOREVER, "hold must be more than 0 (CC_FOREVER: no report)"},
    {FIELD(stats), UNSIGNED, CC_STATS_OFF, CC_STATS_JSON, "stats is none of CCStatsMode"},
    {FIELD(debug), UNSIGNED, 0, DEBUG_ALL, "debug has bits that are none of CCDebugFlag"},
};

/* Read as unsigned above. */
_Static_assert(sizeof(CCGuard) == sizeof(unsigned) && sizeof(CCStatsMode) == sizeof(unsigned),
               "enumerations");

static bool within(const CCConfig *config, const struct limit *l)
{
	const char *field = (const char *)config + l->field;
	unsigned count;
	size_t size;
	cc_time span;

	switch (l->type) {
	case UNSIGNED:
		memcpy(&count, field, sizeof count);
		return count >= l->least && count <= l->most;
	case SIZE:
		memcpy(&size, field, sizeof size);
		return size >= (size_t)l->least && size <= (size_t)l->most;
	case SPAN:
		memcpy(&span, field, sizeof span);
		return span >= l->least && span <= l->most;
	}
	return false;
}

static const char *fault_of(const CCConfig *c)
{
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		if (!within(c, &limits[i]))
			return limits[i].fault;
	if (c->workers_max != 0 && c->workers_max < c->workers)
		return "workers_max must not be less than workers (0: twice as many)";
	if (c->allocator.alloc == NULL || c->allocator.free == NULL)
		return "allocator needs alloc and free (cc_config_init sets them)";
	if ((c->stacks.acquire == NULL) != (c->stacks.release == NULL))
		return "stacks needs both acquire and release, or neither";
	return NULL;
}

int cc__config_check(CCConfig *config)
{
	const size_t page = cc__page_size();
	const char *fault = fault_of(config);
	char line[128];

	if (fault == NULL) {
		config->stack_size = (config->stack_size + page - 1) / page * page;
		if (config->workers_max == 0)
			config->workers_max = 2 * config->workers;
		return 0;
	}
	snprintf(line, sizeof line, "libccc: cc_runtime_new: %s", fault);
	if (config->log != NULL)
		config->log(config->log_context, line);
	else
		cc__say(line, "\n");
	return EINVAL;
}

/* ---- in words ---- */

struct text {
	char *at;
	size_t room;	/* with the final 0 */
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
{
	va_list args;
	size_t n;

	va_start(args, format);
	n = (size_t)vsnprintf(t->at, t->room, format, args);
	va_end(args);
	if (n >= t->room)
		n = t->room > 0 ? t->room - 1 : 0;
	t->at += n;
	t->room -= n;
}

/* In the largest unit that says it exactly. */
static void add_span(struct text *t, const char *what, cc_time span, const char *forever)
{
	static const struct {
		cc_time size;
		const char *name;
	} units[] = {{CC_SEC, "s"}, {CC_MSEC, "ms"}, {CC_USEC, "us"}, {1, "ns"}};
	unsigned i = 0;

	if (span == CC_FOREVER) {
		add(t, ", %s", forever);
		return;
	}
	while (span % units[i].size != 0)
		i++;
	add(t, ", %s %lld %s", what, (long long)(span / units[i].size), units[i].name);
}

static void add_stacks(struct text *t, const CCConfig *c)
{
	const bool light = c->guard == CC_GUARD_LIGHT ||
	                   (c->guard == CC_GUARD_AUTO && cc__guard_best() == CC__GUARD_LIGHT);

	add(t, ", stacks of %zu KB, guard %s", c->stack_size / 1024,
	    c->stacks.acquire != NULL ? "the program's"
	    : light                   ? "light"
	                              : "split");
}

static void add_debug(struct text *t, unsigned flags)
{
	static const char *const names[] = {"join", "wake", "inbox", "sysmon", "park"};

	if (flags != 0)
		add(t, ", debug");
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (flags & 1u << i)
			add(t, " %s", names[i]);
}

void cc__config_describe(const CCConfig *c, char *line, size_t size)
{
	struct text t = {line, size};

	add(&t, "libccc: runtime: %u worker%s (at most %u%s)", c->workers,
	    c->workers == 1 ? "" : "s", c->workers_max,
	    c->workers_max > c->workers ? " and a reserve" : "");
	add_stacks(&t, c);
	if (c->sysmon)
		add_span(&t, "monitor every", c->scale_interval, "monitor never");
	else
		add(&t, ", no monitor");
	add_span(&t, "idle wait", c->idle_wait, "idle wait without timeout");
	add_span(&t, "stall report after", c->stall, "no stall report");
	if (c->hold != CC_FOREVER)
		add_span(&t, "hold report after", c->hold, "");
	add(&t, ", %u blocking threads", c->blocking_max);
	if (c->stats != CC_STATS_OFF)
		add(&t, ", statistics as %s", c->stats == CC_STATS_JSON ? "json" : "text");
	if (c->wake_stats)
		add(&t, ", wake statistics");
	if (c->pressure_stats)
		add(&t, ", pressure statistics");
	add_debug(&t, c->debug);
	if (c->spec_assert)
		add(&t, ", moves checked");
	if (getenv("CC_RUNTIME_V3") != NULL)
		add(&t, "; CC_RUNTIME_V3 is ignored: there is one scheduler");
}
