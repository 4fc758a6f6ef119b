/* shim_branch.h - what sched/branch.c needs around it in a scenario: an array, its owner that forks and
 * joins as cc_par_run2 and cc_branch_join do, and a thief.  Each branch must run once, and its captures
 * are plain variables: whoever runs it is ordered after the fork, or that is a race.
 * Included by one file of a program. */
#ifndef MC_SHIM_BRANCH_H
#define MC_SHIM_BRANCH_H

#include "engine.h"
#include "sched/branch.h"

enum { FORKS = 3 };

static struct cc__branches p;
static struct cc__root root;
static CCBranch record[FORKS];
static CCBranch **place[FORKS];
static uintptr_t written[FORKS];	/* plain: its fork's, to whoever runs it */
static cc__a32 runs[FORKS];
static char home;	/* stands for the scheduler */

#define HOME ((const struct cc__sched *)(const void *)&home)

/* ---- what the sources want of their neighbours ---- */

void cc__unpark(struct cc__parker *who)
{
	(void)who;
}

void cc__say_all(const char *first, ...)
{
	(void)first;
}

void cc__poll_ring(struct cc__bell *bell)
{
	(void)bell;
}

static int branch(void *captures, CCPar *par)
{
	(void)captures, (void)par;
	return 0;
}

static void begin(void)
{
	cc__root_init(&root);
	cc__branches_init(&p);
	p.sched = HOME;
	p.root = &root.scope;
}

static void fork_one(int i)
{
	written[i] = 1;
	place[i] = cc__load(&p.par.tail, CC__RELAXED);
	cc_branch_offer(&p.par, place[i], &record[i], branch, &written[i]);
}

static void run_it(CCBranch *b)
{
	uintptr_t *mine = b->captures;

	MC_ASSERT(b->main == branch && *mine == 1);
	MC_ASSERT(cc__add(&runs[mine - written], 1, CC__RELAXED) == 0);
}

/* As cc_par_run2 and cc_branch_join do. */
static void join_one(int i)
{
	struct cc__branch *b = cc__branch_of(&record[i]);

	if (cc_branch_retract(&p.par, place[i])) {
		run_it(&record[i]);
	} else {
		const struct cc__branch_state state = cc__branches_retract(&p);

		while (state.taken && cc__load(&b->over, CC__ACQUIRE) == 0)
			cc__relax();
		if (state.opened) {
			cc__scope_close(&b->scope);
			cc__branches_forget(&p);
		}
		if (!state.taken)
			run_it(&record[i]);
	}
	record[i] = (CCBranch){0};	/* the frame is gone */
}

static void steal(void)
{
	struct cc__branch *b = cc__branches_take(&p, HOME, false);

	if (b == NULL)
		return;
	MC_ASSERT(b->scope.root == &root);
	run_it((CCBranch *)(void *)b);
	cc__branch_note(b, 0);
	cc__store(&b->over, 1, CC__RELEASE);
}

static void each_ran(int n)
{
	for (int i = 0; i < n; i++)
		MC_ASSERT(cc__peek(&runs[i]) == 1);
	MC_ASSERT(cc__peek(&p.head) == 0 && p.opened == 0 && p.entered == 0);
	MC_ASSERT(cc__peek(&p.par.tail) == p.slot && p.member == NULL);
}

/* ---- one fork, and a thief ---- */

static void fork_and_join(void)
{
	fork_one(0);
	join_one(0);
}

static void one_ran(void)
{
	each_ran(1);
}

#endif
