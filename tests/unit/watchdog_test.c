/* watchdog_test.c - a test that takes too long is named, with its seed, its threads and its
 * fibers, so that a hang tells its cause. */
#include "sleepers.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static struct test_death death;

static int sleep_for_ever(void *token)
{
	return cc_token_wait(token, CC_FOREVER);
}

/* What a test does that hangs: its fiber waits for a token that is never set. */
static void hang(void *arg)
{
	CCToken *never = cc_token_new();
	CCTask task;
	struct sleeper s = {.kind = FIBER, .main = sleep_for_ever, .arg = never, .result = -1};

	(void)arg;
	CHECK_EQ(cc_task_spawn(NULL, &task, &(CCTaskOptions){.name = "lost"}, sleeper_main, &s), 0);
	until_parked(&s);
	raise(SIGALRM);
}

TEST(hanging_test_is_named_with_its_seed_and_its_fibers)
{
	char seed[64];

	REQUIRE_EQ(test_dies(hang, NULL, &death), 0);
	CHECK(!death.timed_out && WIFSIGNALED(death.status));
	CHECK_EQ(WTERMSIG(death.status), SIGABRT);
	(void)snprintf(seed, sizeof seed, "TEST_SEED=%" PRIu64 ",", test_seed());
	if (!CHECK(strstr(death.text, "test takes too long: hanging_test_is_named") != NULL) ||
	    !CHECK(strstr(death.text, seed) != NULL) ||
	    !CHECK(strstr(death.text, "'lost' is parked") != NULL) ||
	    !CHECK(strstr(death.text, "  thread ") != NULL) ||
	    !CHECK(strstr(death.text, " in all\n") != NULL))
		printf("%s", death.text);
}
