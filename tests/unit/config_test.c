/* config_test.c - defaults, limits, and how a configuration is told. */
#include "environment.h"
#include "tasks.h"
#include "test.h"

#include <errno.h>

#include "os/cpus.h"
#include "os/pages.h"
#include "runtime/config.h"
#include "sched/sched.h"

/* ---- defaults ---- */

TEST(config_defaults)
{
	const CCConfig c = with(NULL, NULL);

	CHECK(c.workers >= 1);
	CHECK_EQ(c.workers_max, 0);
	CHECK_EQ(c.scale_interval, 10 * CC_MSEC);
	CHECK_EQ(c.worker_idle, CC_SEC);
	CHECK_EQ(c.sysmon, 1);
	CHECK_EQ(c.idle_wait, 5 * CC_MSEC);
	CHECK_EQ(c.inbox_max, 256);
	CHECK_EQ(c.stack_size, CC_FIBER_STACK_SIZE);
	CHECK_EQ(c.guard, CC_GUARD_AUTO);
	CHECK_EQ(c.stack_cache, 64);
	CHECK_EQ(c.stack_idle, 10 * CC_SEC);
	CHECK_EQ(c.stacks_max, 0);
	CHECK_EQ(c.blocking_max, 64);
	CHECK_EQ(c.blocking_idle, 10 * CC_SEC);
	CHECK_EQ(c.shutdown_timeout, 30 * CC_SEC);
	CHECK_EQ(c.stall, CC_SEC);
	CHECK_EQ(c.hold, CC_FOREVER);
	CHECK_EQ(c.stats, CC_STATS_OFF);
	CHECK_EQ(c.wake_stats, 0);
	CHECK_EQ(c.pressure_stats, 0);
	CHECK_EQ(c.verbose, 0);
	CHECK_EQ(c.debug, 0);
	CHECK_EQ(c.spec_assert, 0);
	CHECK(c.allocator.alloc != NULL && c.allocator.free != NULL);
	CHECK(c.stacks.acquire == NULL && c.stacks.release == NULL);
	CHECK(c.log == NULL);
	CHECK_EQ(cc_config_init(NULL), EINVAL);
}

/* One process may run on one CPU only, and gets one worker. */
static void on_one_cpu(void *arg)
{
	(void)arg;
	if (!stay_on_one_cpu())
		_exit(1);
	_exit(with(NULL, NULL).workers == (CC_FIBER_WORKERS != 0 ? CC_FIBER_WORKERS : 1) ? 0 : 3);
}

TEST(workers_by_default_are_as_many_as_cpus)
{
	const unsigned cpus = cc__cpus_usable();
	static struct test_death d;

	if (CC_FIBER_WORKERS != 0)
		CHECK_EQ(with(NULL, NULL).workers, CC_FIBER_WORKERS);
	else
		CHECK_EQ(with(NULL, NULL).workers, cpus < 256 ? cpus : 256);
	REQUIRE_EQ(test_dies(on_one_cpu, NULL, &d), 0);
	CHECK_EQ(d.status, 0);
}

/* ---- fields ---- */

struct log {
	unsigned lines;
	char last[256];
};

static void log_line(void *context, const char *line)
{
	struct log *l = context;

	l->lines++;
	snprintf(l->last, sizeof l->last, "%s", line);
}

static void *no_stack(void *context, size_t size)
{
	(void)context, (void)size;
	return NULL;
}

static void no_release(void *context, void *stack, size_t size)
{
	(void)context, (void)stack, (void)size;
}

/* One line, and it begins with the name of the field. */
static void refused(CCConfig *c, const char *name)
{
	CCRuntime *untouched = (CCRuntime *)(void *)c, *rt = untouched;
	char begin[64];
	struct log l = {0};

	c->log = log_line;
	c->log_context = &l;
	snprintf(begin, sizeof begin, "libccc: cc_runtime_new: %s ", name);
	CHECK_EQ(cc_runtime_new(&rt, c), EINVAL);
	CHECK(rt == untouched);
	CHECK_EQ(l.lines, 1);
	if (!CHECK(strncmp(l.last, begin, strlen(begin)) == 0))
		printf("\twanted: %s\n\tlogged: %s\n", begin, l.last);
}

#define REFUSED(name, field, value) \
	do { \
		CCConfig bad_ = with(NULL, NULL); \
		bad_.workers = 1; \
		bad_.field = value; \
		refused(&bad_, name); \
	} while (0)

#define TAKEN(field, value) \
	do { \
		CCConfig good_ = with(NULL, NULL); \
		good_.workers = 1; \
		good_.field = value; \
		CHECK_EQ(cc__config_check(&good_), 0); \
	} while (0)

TEST(config_out_of_range_is_refused_by_name)
{
	REFUSED("workers", workers, 0);
	REFUSED("workers", workers, 257);
	REFUSED("workers", workers, UINT32_MAX);
	REFUSED("workers_max", workers_max, 513);
	REFUSED("workers_max", workers_max, UINT32_MAX);
	REFUSED("inbox_max", inbox_max, 0);
	REFUSED("inbox_max", inbox_max, (1 << 20) + 1);
	REFUSED("stack_size", stack_size, 0);
	REFUSED("stack_size", stack_size, 16 * 1024 - 1);
	REFUSED("stack_size", stack_size, ((size_t)1 << 30) + 1);
	REFUSED("stack_size", stack_size, SIZE_MAX);
	REFUSED("guard", guard, (CCGuard)17);
	REFUSED("guard", guard, (CCGuard)-1);
	REFUSED("stack_cache", stack_cache, (1 << 20) + 1);
	REFUSED("stack_cache", stack_cache, UINT32_MAX);
	REFUSED("blocking_max", blocking_max, 0);
	REFUSED("blocking_max", blocking_max, 4097);
	REFUSED("stats", stats, (CCStatsMode)3);
	REFUSED("debug", debug, 32);
	REFUSED("debug", debug, UINT32_MAX);
	REFUSED("allocator", allocator.alloc, NULL);
	REFUSED("allocator", allocator.free, NULL);
	REFUSED("stacks", stacks.acquire, no_stack);
	REFUSED("stacks", stacks.release, no_release);
	CHECK_EQ(cc_runtime_new(NULL, NULL), EINVAL);
}

#define SPAN_OF_1_AND_MORE(field) \
	do { \
		REFUSED(#field, field, 0); \
		REFUSED(#field, field, -1); \
		REFUSED(#field, field, INT64_MIN); \
		TAKEN(field, 1); \
		TAKEN(field, CC_FOREVER); \
	} while (0)

TEST(config_spans_are_more_than_0_and_may_be_forever)
{
	SPAN_OF_1_AND_MORE(scale_interval);
	SPAN_OF_1_AND_MORE(worker_idle);
	SPAN_OF_1_AND_MORE(idle_wait);
	SPAN_OF_1_AND_MORE(stack_idle);
	SPAN_OF_1_AND_MORE(blocking_idle);
	SPAN_OF_1_AND_MORE(stall);
	SPAN_OF_1_AND_MORE(hold);
	REFUSED("shutdown_timeout", shutdown_timeout, -1);
	TAKEN(shutdown_timeout, 0);
	TAKEN(shutdown_timeout, CC_FOREVER);
}

TEST(config_at_its_limits_is_taken)
{
	TAKEN(workers, 1);
	TAKEN(workers, 256);
	TAKEN(workers_max, 1);
	TAKEN(workers_max, 512);
	TAKEN(sysmon, 0);
	TAKEN(inbox_max, 1);
	TAKEN(inbox_max, 1 << 20);
	TAKEN(stack_size, 16 * 1024);
	TAKEN(stack_size, 1 << 30);
	TAKEN(guard, CC_GUARD_SPLIT);
	TAKEN(stack_cache, 0);
	TAKEN(stack_cache, 1 << 20);
	TAKEN(stacks_max, SIZE_MAX);
	TAKEN(blocking_max, 1);
	TAKEN(blocking_max, 4096);
	TAKEN(stats, CC_STATS_JSON);
	TAKEN(debug, 31);
}

TEST(workers_max_is_twice_the_workers_if_nothing_is_said)
{
	CCConfig c = with(NULL, NULL);

	c.workers = 1;
	CHECK_EQ(cc__config_check(&c), 0);
	CHECK_EQ(c.workers_max, 2);
	c.workers_max = 7;	/* what is said stays */
	CHECK_EQ(cc__config_check(&c), 0);
	CHECK_EQ(c.workers_max, 7);
	c.workers = 8;
	refused(&c, "workers_max");
	c.workers_max = 0;
	CHECK_EQ(cc__config_check(&c), 0);
	CHECK_EQ(c.workers_max, 16);
}

static int sleep_a_little(void *arg)
{
	cc_sleep_until(cc_now() + 3 * CC_MSEC);
	(void)arg;
	return 0;
}

TEST(config_at_its_limits_runs)
{
	static const size_t size[] = {16 * 1024, 16 * 1024 + 1, 1 << 30};
	const size_t page = cc__page_size();

	for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
		CCConfig c = with(NULL, NULL);
		CCRuntime *rt = NULL;

		c.stack_size = size[i];
		c.stack_cache = 0;
		c.stack_idle = 1;
		c.idle_wait = c.stall = CC_FOREVER;
		REQUIRE_EQ(cc_runtime_new(&rt, &c), 0);
		join(spawn(rt, sleep_a_little, NULL));
		CHECK_EQ(((struct cc__sched *)(void *)rt)->stacks.shelf[0].size,
		         (size[i] + page - 1) / page * page);
		CHECK_EQ(cc_runtime_free(rt), 0);
	}
}

static int init_here(void *arg)
{
	return cc_config_init(arg);
}

TEST(config_can_be_made_on_the_smallest_stack)
{
	CCConfig c = with(NULL, NULL), made;
	CCRuntime *rt = NULL;

	c.stack_size = 16 * 1024;
	REQUIRE_EQ(cc_runtime_new(&rt, &c), 0);
	CHECK_EQ(join(spawn(rt, init_here, &made)), 0);
	CHECK_EQ(made.workers, with(NULL, NULL).workers);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- in words ---- */

static char line[1024];

static const char *described(const CCConfig *c)
{
	memset(line, 'x', sizeof line);
	cc__config_describe(c, line, sizeof line);
	return line;
}

TEST(describe_says_what_is_in_force)
{
	CCConfig c = with(NULL, NULL);

	c.workers = 2;
	c.workers_max = 4;
	c.guard = CC_GUARD_LIGHT;
	c.stack_size = 256 * 1024;
	CHECK_STR(described(&c),
	          "libccc: runtime: 2 workers (at most 4 and a reserve), stacks of 256 KB, "
	          "guard light, monitor every 10 ms, idle wait 5 ms, stall report after 1 s, "
	          "64 blocking threads");
	c.workers = 1;
	c.guard = CC_GUARD_SPLIT;
	c.stack_size = 1 << 20;
	c.sysmon = 0;
	c.idle_wait = c.stall = CC_FOREVER;
	CHECK_STR(described(&c),
	          "libccc: runtime: 1 worker (at most 4 and a reserve), stacks of 1024 KB, "
	          "guard split, no monitor, idle wait without timeout, no stall report, "
	          "64 blocking threads");
	c.hold = 20 * CC_MSEC;
	CHECK(strstr(described(&c), ", no stall report, hold report after 20 ms, 64") != NULL);
}

TEST(describe_names_what_is_switched_on)
{
	CCConfig c = with(NULL, NULL);

	c.stats = CC_STATS_JSON;
	c.wake_stats = c.pressure_stats = c.spec_assert = 1;
	c.debug = CC_DEBUG_FLAG_JOIN | CC_DEBUG_FLAG_SYSMON;
	CHECK(strstr(described(&c), ", statistics as json, wake statistics, pressure statistics, "
	                            "debug join sysmon, moves checked") != NULL);
	c.stats = CC_STATS_TEXT;
	CHECK(strstr(described(&c), ", statistics as text, ") != NULL);
	c.debug = 31;
	CHECK(strstr(described(&c), ", debug join wake inbox sysmon park,") != NULL);
	c.stacks = (CCStackHooks){no_stack, no_release, NULL};
	CHECK(strstr(described(&c), ", guard the program's,") != NULL);
	CHECK(strstr(line, "CC_RUNTIME_V3") == NULL);
	setenv("CC_RUNTIME_V3", "1", 1);
	CHECK(strstr(described(&c), "; CC_RUNTIME_V3 is ignored: there is one scheduler") != NULL);
	unsetenv("CC_RUNTIME_V3");
}

TEST(describe_finds_the_guard_that_auto_is)
{
	CCConfig c = with(NULL, NULL);

	CHECK(strstr(described(&c),
	             cc__guard_best() == CC__GUARD_LIGHT ? ", guard light," : ", guard split,") !=
	      NULL);
}

TEST(describe_gives_spans_in_units_that_are_exact)
{
	static const struct {
		cc_time span;
		const char *text;
	} is[] = {{2 * CC_SEC, " 2 s,"},
	          {1500 * CC_MSEC, " 1500 ms,"},
	          {CC_USEC, " 1 us,"},
	          {1001, " 1001 ns,"},
	          {1, " 1 ns,"},
	          {60 * CC_SEC, " 60 s,"},
	          {CC_FOREVER - 1, " 9223372036854775806 ns,"}};

	for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
		CCConfig c = with(NULL, NULL);

		c.stall = is[i].span;
		if (!CHECK(strstr(described(&c), is[i].text) != NULL))
			printf("\t%s in: %s\n", is[i].text, line);
	}
}

TEST(describe_stays_within_its_line)
{
	const CCConfig c = with(NULL, NULL);
	char whole[sizeof line];

	strcpy(whole, described(&c));
	for (size_t size = 0; size <= strlen(whole) + 1; size++) {
		memset(line, 'x', sizeof line);
		cc__config_describe(&c, line, size);
		CHECK_EQ(line[size], 'x');
		if (size > 0) {
			CHECK_EQ(strlen(line), size - 1);
			CHECK(strncmp(line, whole, size - 1) == 0);
		}
	}
}
