/* seeded_branch.c - the real array of branches with one of its orders taken away.  Each must be found;
 * branch.c exhausts the same without a hole.
 *
 * sources: wait/cancel.c base/lock.c
 * defines: CC__BRANCHES=4 */
#include "engine.h"

/* What .init leaves out. */
static struct {
	bool fence;	/* the thief's heavy one */
	bool tail;	/* that the tail is stored with release */
} hole;

#undef cc__fence_heavy
#define cc__fence_heavy() \
	__extension__({ \
		MC_SITE("fence_heavy"); \
		if (!hole.fence) \
			mc_fence_heavy(&mc_site_); \
	})
#define CC__EXPLORE_BRANCH_TAIL (hole.tail ? CC__RELAXED : CC__RELEASE)
#include "shim_branch.h"

#include "sched/branch.c"

static void without_fence(void)
{
	begin();
	hole.fence = true;
}
SCENARIO(branch_taken_without_a_fence, .init = without_fence, .body = {fork_and_join, steal},
         .final = one_ran, .expect = "assert")

static void without_release(void)
{
	begin();
	hole.tail = true;
}
SCENARIO(branch_offered_relaxed, .init = without_release, .body = {fork_and_join, steal},
         .final = one_ran, .expect = "race")

/* The owner does not wait for `over`: its frame is gone while the task runs. */
static void fork_and_leave(void)
{
	fork_one(0);
	if (!cc_branch_retract(&p.par, place[0]) && cc__branches_retract(&p).taken)
		cc__branches_forget(&p);
	else
		run_it(&record[0]);
	record[0] = (CCBranch){0};
}
SCENARIO(branch_left_while_its_task_runs, .init = begin, .body = {fork_and_leave, steal},
         .expect = "race")

/* The owner believes the limit and does not ask under the lock which of them has it. */
static void fork_and_believe(void)
{
	fork_one(0);
	if (cc_branch_retract(&p.par, place[0]) || cc__branches_unstarted(&p) == 0)
		run_it(&record[0]);
}
SCENARIO(branch_retracted_without_the_lock, .init = begin, .body = {fork_and_believe, steal},
         .expect = "assert")
