/* branch.c - forked branches: their fiber pushes and retracts with plain stores while thieves take
 * the oldest.  Each is run once (BRANCH-1), whatever is taken is seen whole, and the scope of what is
 * taken lies where the fork does (BRANCH-4).
 *
 * The task of a branch sets `over` as the last touch of the record, which lies in the owner's frame:
 * the owner overwrites it when its wait is over (BRANCH-5).
 *
 * sources: sched/branch.c wait/cancel.c base/lock.c
 * defines: CC__BRANCHES=4 */
#include "shim_branch.h"

SCENARIO(branch_owner_and_thief, .init = begin, .body = {fork_and_join, steal}, .final = one_ran)

SCENARIO(branch_owner_and_two_thieves, .init = begin, .body = {fork_and_join, steal, steal},
         .final = one_ran, .weak = 1)

/* ---- nested forks: the oldest is taken, the newest retracted ---- */

static void fork_two(void)
{
	fork_one(0);
	fork_one(1);
	join_one(1);
	join_one(0);
}

static void two_ran(void)
{
	each_ran(2);
}
SCENARIO(branch_nested_forks_and_thief, .init = begin, .body = {fork_two, steal}, .final = two_ran,
         .bound = 2)
SCENARIO(branch_nested_forks_and_two_thieves, .init = begin, .body = {fork_two, steal, steal},
         .final = two_ran, .bound = 2, .weak = 1)

/* ---- one fork after another: a place is used again ---- */

static void fork_again(void)
{
	fork_and_join();
	fork_one(1);
	join_one(1);
}
SCENARIO(branch_place_is_used_again, .init = begin, .body = {fork_again, steal}, .final = two_ran,
         .bound = 2)

/* ---- the owner enters the scopes of its forks while a thief opens one ---- */

static void enter_between(void)
{
	fork_one(0);
	fork_one(1);
	MC_ASSERT(*cc__branches_enter(&p) == &cc__branch_of(&record[1])->inside);
	MC_ASSERT(cc__branch_of(&record[1])->scope.around == &cc__branch_of(&record[0])->scope);
	fork_one(2);
	join_one(2);
	join_one(1);
	join_one(0);
}

static void three_ran(void)
{
	each_ran(3);
}
SCENARIO(branch_owner_enters_and_thief, .init = begin, .body = {enter_between, steal},
         .final = three_ran, .bound = 2, .weak = 1)

/* ---- the owner makes tasks of its own branches ---- */

static void park_between(void)
{
	fork_one(0);
	fork_one(1);
	for (struct cc__branch *b; (b = cc__branches_take(&p, HOME, true)) != NULL;) {
		run_it((CCBranch *)(void *)b);
		cc__store(&b->over, 1, CC__RELEASE);
	}
	join_one(1);
	join_one(0);
}
SCENARIO(branch_owner_parks_and_thief, .init = begin, .body = {park_between, steal},
         .final = two_ran, .bound = 2, .weak = 1)

/* ---- another scheduler's thief takes nothing ---- */

static void steal_for_another(void)
{
	MC_ASSERT(cc__branches_take(&p, NULL, false) == NULL);
}
SCENARIO(branch_stays_in_its_runtime, .init = begin, .body = {fork_and_join, steal_for_another},
         .final = one_ran)

/* ---- both branches fail: one error is the fork's ---- */

static void fail_both(void)
{
	struct cc__branch *b = cc__branch_of(&record[0]);

	fork_one(0);
	if (!cc_branch_retract(&p.par, place[0]) && cc__branches_retract(&p).taken) {
		cc__branch_note(b, 5);
		while (cc__load(&b->over, CC__ACQUIRE) == 0)
			cc__relax();
		MC_ASSERT(cc__load(&b->error, CC__RELAXED) == 5 ||
		          cc__load(&b->error, CC__RELAXED) == 6);
		MC_ASSERT(cc__load(&b->scope.flag, CC__RELAXED) != 0);
		cc__scope_close(&b->scope);
		cc__branches_forget(&p);
	}
	record[0] = (CCBranch){0};
}

static void steal_and_fail(void)
{
	struct cc__branch *b = cc__branches_take(&p, HOME, false);

	if (b == NULL)
		return;
	cc__branch_note(b, 6);
	cc__store(&b->over, 1, CC__RELEASE);
}
SCENARIO(branch_both_fail, .init = begin, .body = {fail_both, steal_and_fail}, .bound = 2)
