/* debug_switch_test.c - each switch of CCConfig.debug prints what it is for, and
 * nothing else. */
#include "environment.h"
#include "tasks.h"
#include "test.h"
#include "workers.h"

#include <ccc/ccc.h>

#include <errno.h>

#include "sched/worker.h"
#include "wait/wait.h"

static const char *const switches[] = {
    "CC_DEBUG_JOIN", "CC_DEBUG_WAKE", "CC_DEBUG_INBOX", "CC_PARK_DEBUG", "CC_DEBUG_SYSMON",
};
static const char *const topics[] = {
    "libccc: join: ", "libccc: wake: ", "libccc: inbox: ", "libccc: park: ", "libccc: sysmon: ",
};
enum { SWITCHES = sizeof switches / sizeof *switches };

static cc__a32 flag;

static int ids[2];

/* Joins a child, and parks unless a flag has changed, which it has. */
static int busy(void *arg)
{
	struct gate *g = arg;
	CCTask t = spawn(NULL, wait_at, g);

	while (cc__load(&g->arrived, CC__ACQUIRE) == 0)	/* else it runs in our place */
		cc_yield();
	ids[0] = (int)cc_fiber_id();
	ids[1] = (int)t.id;
	join(t);
	cc__park_if(&flag, 1);
	return 0;
}

/* Until the worker was woken: one that has announced its sleep and sees the push ends
 * it by itself. */
static void wake_worker(CCRuntime *rt)
{
	CCStats s;

	do {
		TEST_UNTIL(asleep(rt) == 1);
		join(spawn(rt, nothing, NULL));
		if (cc_stats(rt, &s) != 0)
			_exit(4);
	} while (s.woken == 0);
}

/* In a child process: tasks that join, park, sleep and go through inboxes. */
static void work(void *name)
{
	struct gate g = {0};
	CCConfig c;
	CCRuntime *rt;
	CCTask t, pinned;
	char line[64];

	clear_variables();
	setenv(name, "1", 1);
	setenv("CC_WORKERS", "1", 1);
	if (cc_config_init(&c) != 0 || cc_runtime_new(&rt, &c) != 0)
		_exit(1);
	wake_worker(rt);
	t = spawn(rt, busy, &g);
	TEST_UNTIL(cc__load(&g.arrived, CC__ACQUIRE) == 1);
	errno = 77;
	if (cc_task_spawn(rt, &pinned, &(CCTaskOptions){.migration = CC_MIGRATE_PINNED}, nothing,
	                  NULL) != 0 ||
	    errno != 77)
		_exit(2);
	join(pinned);
	cc__store(&g.open, 1, CC__RELEASE);
	join(t);
	if (cc_runtime_free(rt) != 0)
		_exit(3);
	snprintf(line, sizeof line, "ids %d %d\n", ids[0], ids[1]);
	fputs(line, stderr);
}

static struct test_death death;

/* What is printed with that switch. */
static const char *printed(const char *name)
{
	CHECK_EQ(test_dies(work, (void *)(uintptr_t)name, &death), 0);
	CHECK_EQ(death.status, 0);
	if (!CHECK(sscanf(strstr(death.text, "ids "), "ids %d %d", &ids[0], &ids[1]) == 2))
		ids[0] = ids[1] = 0;
	return death.text;
}

/* A line of that form, with the task's number in it. */
static void check_line(const char *text, const char *format, int a, int b)
{
	char line[128];

	snprintf(line, sizeof line, format, a, b);
	if (!CHECK(strstr(text, line) != NULL))
		printf("\tno '%s' in:\n%.3000s\n", line, text);
}

TEST(debug_switches_keep_to_their_topic)	/* covers: SCH-82/u */
{
	for (int i = 0; i < SWITCHES; i++) {
		const char *text = printed(switches[i]);

		for (int k = 0; k < SWITCHES; k++)
			if (k != i && !CHECK(strstr(text, topics[k]) == NULL))
				printf("\t%s with %s\n", topics[k], switches[i]);
	}
}

TEST(debug_join_tells_who_waits_for_whom)	/* covers: SCH-82/u */
{
	const char *text = printed("CC_DEBUG_JOIN");

	check_line(text, "libccc: join: task %d waits for task %d\n", ids[0], ids[1]);
	check_line(text, "libccc: join: task %d has ended\n", ids[1], 0);
	check_line(text, "libccc: join: task %d is unparked\n", ids[0], 0);
	check_line(text, "waits for task %d\n", ids[0], 0);	/* the main thread */
}

TEST(debug_wake_counts_the_wakes)	/* covers: SCH-82/u */
{
	const char *text = printed("CC_DEBUG_WAKE");

	check_line(text, "libccc: wake: worker %d is about to sleep\n", 1, 0);
	check_line(text, "libccc: wake: wake %d goes to worker %d\n", 1, 1);
	check_line(text, "libccc: wake: worker %d was woken\n", 1, 0);
}

TEST(debug_inbox_tells_pushes_and_takes)	/* covers: SCH-82/u */
{
	const char *text = printed("CC_DEBUG_INBOX");

	check_line(text, " for worker %d\n", 1, 0);
	check_line(text, " taken by worker %d\n", 1, 0);
}

TEST(debug_park_tells_what_was_decided)	/* covers: SCH-82/u */
{
	const char *text = printed("CC_PARK_DEBUG"), *look;

	check_line(text, "libccc: park: task %d parks\n", ids[0], 0);
	check_line(text, "libccc: park: task %d looks at the flag at ", ids[0], 0);
	if ((look = strstr(text, "looks at the flag")) != NULL)
		check_line(look, "libccc: park: task %d need not park\n", ids[0], 0);
}

TEST(debug_switches_off_are_silent)	/* covers: SCH-82/u */
{
	CHECK(strncmp(printed("CC_RUNTIME_V3"), "ids ", 4) == 0);
}
