/* config_env_test.c - each variable of the environment: what it sets, and what is
 * said of one that cannot be understood. */
#include "environment.h"
#include "tasks.h"
#include "test.h"

#include <errno.h>

/* In all that a variable could set. */
static bool same(const CCConfig *a, const CCConfig *b)
{
	return a->workers == b->workers && a->stack_size == b->stack_size &&
	       a->idle_wait == b->idle_wait && a->stall == b->stall && a->hold == b->hold &&
	       a->stats == b->stats && a->wake_stats == b->wake_stats &&
	       a->pressure_stats == b->pressure_stats && a->verbose == b->verbose &&
	       a->debug == b->debug && a->spec_assert == b->spec_assert;
}

/* ---- variables that are understood ---- */

TEST(environment_sets_the_workers)
{
	CHECK_EQ(with("CC_WORKERS", "1").workers, 1);
	CHECK_EQ(with("CC_WORKERS", "2").workers, 2);
	CHECK_EQ(with("CC_WORKERS", "007").workers, 7);
	CHECK_EQ(with("CC_WORKERS", "256").workers, 256);
}

TEST(environment_sets_milliseconds_and_0_is_forever)	/* covers: SCH-84/u */
{
	CHECK_EQ(with("CC_SCALE_INTERVAL_MS", "1").scale_interval, CC_MSEC);
	CHECK_EQ(with("CC_SCALE_INTERVAL_MS", "86400000").scale_interval, 86400 * CC_SEC);
	CHECK_EQ(with("CC_IDLE_WAIT_TIMEOUT_MS", "1").idle_wait, CC_MSEC);
	CHECK_EQ(with("CC_IDLE_WAIT_TIMEOUT_MS", "86400000").idle_wait, 86400 * CC_SEC);
	CHECK_EQ(with("CC_IDLE_WAIT_TIMEOUT_MS", "0").idle_wait, CC_FOREVER);
	CHECK_EQ(with("CC_IDLE_WAIT_TIMEOUT_MS", "0").stall, CC_SEC);
	CHECK_EQ(with("CC_DEBUG_STALL", "1500").stall, 1500 * CC_MSEC);
	CHECK_EQ(with("CC_DEBUG_STALL", "86400000").stall, 86400 * CC_SEC);
	CHECK_EQ(with("CC_DEBUG_STALL", "2").stall, 2 * CC_MSEC);
	CHECK_EQ(with("CC_DEBUG_STALL", "0").stall, CC_FOREVER);
	CHECK_EQ(with("CC_DEBUG_STALL", "1").stall, CC_SEC); /* on, as every switch */
	CHECK_EQ(with("CC_DEBUG_STALL", "0").idle_wait, 5 * CC_MSEC);
	CHECK_EQ(with("CC_DEBUG_HOLD", "20").hold, 20 * CC_MSEC);
	CHECK_EQ(with("CC_DEBUG_HOLD", "86400000").hold, 86400 * CC_SEC);
	CHECK_EQ(with("CC_DEBUG_HOLD", "0").hold, CC_FOREVER);
	CHECK_EQ(with("CC_DEBUG_HOLD", "20").stall, CC_SEC);
}

TEST(environment_sets_the_kind_of_statistics)
{
	CHECK_EQ(with("CC_FIBER_STATS", "").stats, CC_STATS_OFF);
	CHECK_EQ(with("CC_FIBER_STATS", "0").stats, CC_STATS_OFF);
	CHECK_EQ(with("CC_FIBER_STATS", "1").stats, CC_STATS_TEXT);
	CHECK_EQ(with("CC_FIBER_STATS", "json").stats, CC_STATS_JSON);
}

/* Off with nothing and 0, on with anything else; none moves another. */
TEST(environment_switches)
{
	static const struct {
		const char *name;
		size_t field;
		unsigned on;
	} is[] = {
	    {"CC_SYSMON", offsetof(CCConfig, sysmon), 1},
	    {"CC_WAKE_GEN_STATS", offsetof(CCConfig, wake_stats), 1},
	    {"CC_V3_PRESSURE_STATS_DUMP", offsetof(CCConfig, pressure_stats), 1},
	    {"CC_VERBOSE", offsetof(CCConfig, verbose), 1},
	    {"CC_V3_SPEC_ASSERT", offsetof(CCConfig, spec_assert), 1},
	    {"CC_DEBUG_JOIN", offsetof(CCConfig, debug), CC_DEBUG_FLAG_JOIN},
	    {"CC_DEBUG_WAKE", offsetof(CCConfig, debug), CC_DEBUG_FLAG_WAKE},
	    {"CC_DEBUG_INBOX", offsetof(CCConfig, debug), CC_DEBUG_FLAG_INBOX},
	    {"CC_DEBUG_SYSMON", offsetof(CCConfig, debug), CC_DEBUG_FLAG_SYSMON},
	    {"CC_PARK_DEBUG", offsetof(CCConfig, debug), CC_DEBUG_FLAG_PARK},
	};
	static const char *const on[] = {"1", "yes", "00", " ", "-1", "2"};
	const CCConfig off = config();

	for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
		CCConfig c = with(is[i].name, ""), expected = off;

		CHECK(same(&c, &off));
		c = with(is[i].name, "0");
		CHECK(same(&c, &off));
		memcpy((char *)&expected + is[i].field, &is[i].on, sizeof is[i].on);
		for (size_t k = 0; k < sizeof on / sizeof *on; k++) {
			c = with(is[i].name, on[k]);
			if (!CHECK(same(&c, &expected)))
				printf("\t%s=%s\n", is[i].name, on[k]);
		}
	}
}

TEST(environment_debug_switches_add_up)
{
	CCConfig c;

	clear_variables();
	setenv("CC_DEBUG_WAKE", "1", 1);
	setenv("CC_PARK_DEBUG", "1", 1);
	CHECK_EQ(cc_config_init(&c), 0);
	CHECK_EQ(c.debug, CC_DEBUG_FLAG_WAKE | CC_DEBUG_FLAG_PARK);
	clear_variables();
}

TEST(environment_that_chooses_a_scheduler_is_ignored)
{
	const CCConfig off = config();

	for (int i = 0; i < 3; i++) {
		const CCConfig c = with("CC_RUNTIME_V3", (const char *[]){"", "0", "what"}[i]);

		CHECK(same(&c, &off));
	}
}

struct env {
	const char *name, *text;
	size_t size;
};

static int find_own_stack(const CCFiberInfo *info, void *arg)
{
	if (info->id == cc_fiber_id())
		*(size_t *)arg = info->stack_size;
	return 0;
}

static int own_stack(void *arg)
{
	return cc_fiber_each(find_own_stack, arg);
}

static void read_good(void *arg)
{
	const struct env *e = arg;
	size_t size = 0;
	CCConfig c;
	CCTask t;

	clear_variables();
	setenv(e->name, e->text, 1);
	if (cc_config_init(&c) != 0 || c.stack_size != e->size)
		_exit(1);
	/* The default runtime goes by it as well. */
	if (cc_task_spawn(NULL, &t, NULL, own_stack, &size) != 0 ||
	    cc_task_join(t, CC_FOREVER, NULL) != 0 || size != e->size / 4 * 3)
		_exit(2);
	if (cc_shutdown() != 0)
		_exit(3);
}

TEST(environment_sets_the_stack_size)	/* covers: SCH-05/u */
{
	static const struct {
		const char *text;
		size_t size;
	} good[] = {{"16384", 16384}, {"64K", 65536},       {"128k", 131072}, {"1M", 1 << 20},
	            {"3m", 3 << 20},  {"1048576", 1 << 20}, {"1G", 1u << 30}, {"1g", 1u << 30}};
	static struct test_death d;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct env e = {"CC_STACK_SIZE", good[i].text, good[i].size};

		REQUIRE_EQ(test_dies(read_good, &e, &d), 0);
		if (!CHECK_EQ(d.status, 0))
			printf("\tCC_STACK_SIZE=%s\n", e.text);
	}
}

/* ---- variables that are not ---- */

static void read_bad(void *arg)
{
	const struct env *e = arg;
	CCRuntime *rt = NULL;
	CCTask t;
	CCConfig c;

	clear_variables();
	setenv(e->name, e->text, 1);
	if (cc_config_init(&c) != EINVAL)
		_exit(1);
	if (cc_runtime_new(&rt, NULL) != EINVAL || rt != NULL)
		_exit(2);
	if (cc_runtime_current() != NULL)
		_exit(3);
	if (cc_task_spawn(NULL, &t, NULL, nothing, NULL) == 0)
		_exit(4);
	/* And it is no worse than that: once corrected, all is well. */
	unsetenv(e->name);
	if (cc_task_spawn(NULL, &t, NULL, nothing, NULL) != 0 ||
	    cc_task_join(t, CC_FOREVER, NULL) != 0 || cc_shutdown() != 0)
		_exit(5);
}

/* Each is refused, by a line with `wanted` in it. */
static void bad_texts(const char *name, const char *wanted, const char *const *text, size_t n)
{
	static struct test_death d;

	for (size_t i = 0; i < n; i++) {
		struct env e = {name, text[i], 0};
		char line[256];

		snprintf(line, sizeof line, "libccc: %s='%s' is not %s\n", name, text[i], wanted);
		REQUIRE_EQ(test_dies(read_bad, &e, &d), 0);
		if (!CHECK_EQ(d.status, 0) || !CHECK(strncmp(d.text, line, strlen(line)) == 0))
			printf("\twanted: %s\tsaid: %s\n", line, d.text);
	}
}

#define BAD_TEXTS(name, wanted, ...) \
	bad_texts(name, wanted, (const char *const[]){__VA_ARGS__}, \
	          sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *))

TEST(environment_without_a_stack_size_is_refused_by_name)	/* covers: SCH-05/u */
{
	BAD_TEXTS("CC_STACK_SIZE", "a stack size: 16K to 1G is, for example 262144 or 256K", "",
	          "many", "-65536", "+65536", " 65536", "65536 ", "64KB", "64Q", "K", "0", "16383",
	          "15K", "2G", "1073741825", "0x10000", "99999999999999999999",
	          "18446744073709551616K", "17592186044416M", "18014398509481985K",
	          "18014398509482048K", "17592186044417M", "17179869185G");
}

TEST(environment_without_a_number_of_workers_is_refused_by_name)
{
	BAD_TEXTS("CC_WORKERS", "a number of workers: 1 to 256 is", "", "0", "257", "-1", "+1",
	          " 1", "1 ", "all", "2x", "0x2", "1K", "1.5", "4294967297",
	          "18446744073709551617");
}

TEST(environment_without_milliseconds_is_refused_by_name)
{
	BAD_TEXTS("CC_IDLE_WAIT_TIMEOUT_MS",
	          "a number of milliseconds: 1 to 86400000 is, and 0 for no timeout", "", "-1",
	          "inf", "5ms", "0.5", "86400001", " 5", "1K", "18446744073709551616");
	BAD_TEXTS("CC_SCALE_INTERVAL_MS", "a number of milliseconds: 1 to 86400000 is", "", "0",
	          "-1", "10ms", "0.5", "86400001", " 5");
	BAD_TEXTS(
	    "CC_DEBUG_STALL",
	    "a number of milliseconds: 2 to 86400000 is, 1 for the default and 0 for no report", "",
	    "-1", "off", "5s", "86400001", "5000 ", "18446744073709551616");
	BAD_TEXTS("CC_DEBUG_HOLD",
	          "a number of milliseconds: 1 to 86400000 is, and 0 for no report", "", "-1",
	          "on", "5ms", "86400001", " 5");
}

TEST(environment_without_a_kind_of_statistics_is_refused_by_name)
{
	BAD_TEXTS("CC_FIBER_STATS", "a kind of statistics: 0, 1 and json are", "2", "JSON", "yes",
	          "text", " 1", "json ", "00");
}

static void several_bad(void *arg)
{
	CCConfig c;

	(void)arg;
	clear_variables();
	setenv("CC_WORKERS", "none", 1);
	setenv("CC_STACK_SIZE", "64K", 1);
	setenv("CC_DEBUG_STALL", "never", 1);
	_exit(cc_config_init(&c) == EINVAL && c.stack_size == 65536 && c.stall == CC_SEC ? 0
	                                                                                     : 1);
}

static unsigned lines(const char *text)
{
	unsigned n = 0;

	for (; *text != '\0'; text++)
		n += *text == '\n';
	return n;
}

TEST(environment_with_several_faults_is_told_all)
{
	static struct test_death d;

	REQUIRE_EQ(test_dies(several_bad, NULL, &d), 0);
	CHECK_EQ(d.status, 0);
	CHECK(strstr(d.text, "CC_WORKERS='none'") != NULL);
	CHECK(strstr(d.text, "CC_DEBUG_STALL='never'") != NULL);
	CHECK_EQ(lines(d.text), 2);
}

/* However long the text, what is wanted is said. */
TEST(environment_of_great_length_is_refused_in_a_line)
{
	static struct test_death d;
	static char text[5000];
	struct env e = {"CC_WORKERS", text, 0};

	memset(text, '1', sizeof text - 1);
	REQUIRE_EQ(test_dies(read_bad, &e, &d), 0);
	CHECK_EQ(d.status, 0);
	CHECK(strstr(d.text, "' is not a number of workers: 1 to 256 is\n") != NULL);
	CHECK(d.size < 4 * 400);
}
