/* symmetric_branch.c - forked branches on a system that has no fence for others: every retraction
 * takes the lock.  The shortest scenarios of branch.c.
 *
 * sources: sched/branch.c wait/cancel.c base/lock.c
 * defines: CC__BRANCHES=4 MC_SYMMETRIC=1 */
#include "shim_branch.h"

SCENARIO(symmetric_branch_owner_and_thief, .init = begin, .body = {fork_and_join, steal},
         .final = one_ran)

static void retract_takes_the_lock(void)
{
	fork_one(0);
	MC_ASSERT(!cc_branch_retract(&p.par, place[0]));
	MC_ASSERT(!cc__branches_retract(&p).taken);
	run_it(&record[0]);
}
SCENARIO(symmetric_branch_is_never_retracted_alone, .init = begin, .body = {retract_takes_the_lock},
         .final = one_ran)
