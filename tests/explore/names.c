/* names.c - lookups, their threads and callers that leave early, on the real io/names.c.
 *
 * One thread at a time looks up.  The look-up itself ends at once.  A lookup that no thread comes to
 * is a deadlock of its caller; memory that is given back under the other side is a race.
 *
 * defines: CC__NAME_THREADS=1
 * sources: base/lock.c base/slab.c wait/wait.c wait/thread.c io/names.c */
#include <errno.h>

#define SHIM_REAL_SLAB
#include "shim_pages.h"
#include "shim_wait.h"
#include "io/names.h"

void cc__thread_detach(struct cc__os_thread t)
{
	(void)t;
}

int cc__address_look_up(struct cc__addresses *list)
{
	list->count = 1;
	list->port++;
	return 0;
}

static int got[MC_THREADS];	/* each caller's own */

static void look_up_until(cc_time deadline)
{
	struct cc__addresses list = {.port = (uint16_t)(10 * mc_self())};

	be_thread();
	got[mc_self()] = cc__names_look_up(&list, deadline);
	if (got[mc_self()] == 0)
		MC_ASSERT(list.count == 1 && list.port == 10 * mc_self() + 1);
	else
		MC_ASSERT(list.count == 0);
}

static void look_up_for_ever(void)
{
	look_up_until(CC_FOREVER);
}

static void look_up_a_second(void)
{
	look_up_until(cc__now() + CC_SEC);
}

static void look_up_twice(void)
{
	look_up_for_ever();
	MC_ASSERT(got[mc_self()] == 0);
	look_up_for_ever();
}

static void both_answered(void)
{
	MC_ASSERT(got[0] == 0 && got[1] == 0);
	check_threads_at_rest();
}

static void outcome(void)
{
	MC_ASSERT(got[1] == 0);
	mc_outcome("%s", got[0] == 0 ? "found" : got[0] == ETIMEDOUT ? "late" : "wrong");
	check_threads_at_rest();
}

#define NAMES_SCENARIO(name, ...) SCENARIO(name, .spurious = MC_NONE, .timeouts = 1, __VA_ARGS__)

NAMES_SCENARIO(names_two_callers, .weak = 1, .bound = 2, .body = {look_up_for_ever, look_up_for_ever},
               .final = both_answered)
NAMES_SCENARIO(names_thread_that_ends_and_the_next_lookup, .weak = 1,
               .body = {look_up_twice, look_up_for_ever}, .bound = 1, .final = both_answered)
NAMES_SCENARIO(names_deadline_or_answer, .weak = 1, .bound = 2, .body = {look_up_a_second, look_up_for_ever},
               .final = outcome, .outcomes = "found late")
