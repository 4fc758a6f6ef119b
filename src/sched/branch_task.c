/* branch_task.c - forked branches and the scheduler: the array of a fiber, theft, the task of a
 * branch, its join. */
#include <errno.h>

#include "base/slab.h"
#include "os/fork.h"
#include "os/trace.h"
#include "sched/bound.h"
#include "sched/branch_task.h"
#include "sched/spawn.h"
#include "task/local.h"

static struct cc__slab arrays = CC__SLAB_INIT(struct cc__branches, next);

_Static_assert(sizeof(struct cc__branches) % 8 == 0, "low bits of its address are a mark");

/* A branch that has been there for so long may be stolen, as an unstarted task may (steal.c). */
#define BRANCH_AGE (1 * CC_USEC)

struct cc__branches *cc__branches_in(struct cc__member **place)
{
	struct cc__member *m = *cc__past_locals(place);

	return (uintptr_t)m & CC__BRANCHES_MARK ? cc__branches_marked(m) : NULL;
}

/* The stack under f, which runs. */
static struct cc__stack *stack_under(const struct cc__fiber *f)
{
	return cc__load(&f->stack, CC__RELAXED);	/* Relaxed: the caller's own */
}

/* ---- the array ---- */

static struct cc__branches *get_array(struct cc__worker *w)
{
	struct cc__branches *p = w->spare_branches;

	w->spare_branches = NULL;
	if (p == NULL && (p = cc__slab_get(&arrays)) != NULL && p->par.end == NULL)
		cc__branches_init(p);
	if (p != NULL && cc__watched())	/* the program writes the array (ccc/branch.h) */
		cc__happens_after(p);
	return p;
}

static void put_array(struct cc__worker *w, struct cc__branches *p)
{
	if (cc__watched())
		cc__happens_before(p);
	if (w->spare_branches == NULL)
		w->spare_branches = p;
	else
		cc__slab_put(&arrays, p);
}

void cc__worker_drop_branches(struct cc__worker *w)
{
	cc__store(&w->branches, NULL, CC__RELAXED);	/* Relaxed: a hint */
	if (w->spare_branches != NULL)
		cc__slab_put(&arrays, w->spare_branches);
	w->spare_branches = NULL;
}

/* Thieves look here.  A sleeping worker is woken as for a push (docs/idle.md): not while one is
 * on watch, which looks for branches, too. */
static void announce_branches(struct cc__worker *w, struct cc__branches *p)
{
	/* Release: the array, to the acquire in branches_of_worker. */
	cc__store(&w->branches, p, CC__RELEASE);
	/* Relaxed: a heuristic; a worker that falls asleep meanwhile sleeps on watch. */
	if (__builtin_expect(cc__load(&w->idle->sleepers, CC__RELAXED) != 0, 0) &&
	    !cc__idle_watched(w->idle, 1))
		cc__worker_wake_another(w);
}

struct cc__branches *cc__branches_begin(bool *nested)
{
	struct cc__worker *w = cc__worker_here();
	struct cc__fiber *f = cc__worker_fiber(w);
	struct cc__member **place;
	struct cc__branches *p;

	*nested = false;
	if (f == NULL)
		return NULL;
	if ((p = cc__branches_in(&stack_under(f)->member)) != NULL) {
		*nested = true;
		return p;
	}
	if ((p = get_array(w)) == NULL)
		return NULL;
	place = cc__past_locals(&stack_under(f)->member);
	/* Relaxed, both: the owner's, and a hint to others. */
	cc__store(&p->begun, cc__load(&p->begun, CC__RELAXED) + 1, CC__RELAXED);
	p->sched = w->sched;
	p->root = &w->sched->root.scope;
	p->owner = &f->parker;
	p->order = cc__stack_order(stack_under(f));
	p->member = *place;
	*place = (struct cc__member *)(void *)((char *)p + CC__BRANCHES_MARK);
	announce_branches(w, p);
	return p;
}

void cc__branches_end(struct cc__branches *p)
{
	struct cc__worker *w = cc__worker_here();
	struct cc__member **place = cc__past_locals(&stack_under(cc__fiber_of(p->owner))->member);

	CC__ASSERT(cc__branches_marked(*place) == p, "branch: the array of another fiber ends");
	CC__ASSERT(cc__branches_unstarted(p) == 0, "branch: an array ends with a branch in it");
	*place = p->member;
	/* Relaxed, both: our own, and a hint to others. */
	if (cc__load(&w->branches, CC__RELAXED) == p)
		cc__store(&w->branches, NULL, CC__RELAXED);
	put_array(w, p);
}

/* ---- the task of a branch ---- */

/* Runs b, in the scope of its fork, as somebody who may fork, too. */
static int run_branch(struct cc__branch *b)
{
	bool nested;
	struct cc__branches *p = cc__branches_begin(&nested);
	int result;

	if (p == NULL)
		return ENOMEM;
	result = b->main(b->captures, &p->par);
	cc__branches_end(p);
	return result;
}

static int branch_task(void *arg)
{
	struct cc__branch *b = arg;
	struct cc__fiber *f = cc__fiber_of(cc__self());
	struct cc__member **slot = &stack_under(f)->member;
	struct cc__parker *owner = b->owner;
	struct cc__member m;

	cc__member_enter(&m, &b->scope, &f->parker, slot);
	b->result = run_branch(b);
	if (__builtin_expect(*slot != &m, 0))
		cc__locals_end(slot);
	cc__member_leave(&m, slot);
	cc__branch_note(b, b->result);
	CC_POINT("branch.before_over", b);
	if (cc__watched())
		cc__happens_before(&b->over);
	/* Release: all that the branch did, to the acquire in cc__branch_wait.  The last touch of b
	 * (BRANCH-5). */
	cc__store(&b->over, 1, CC__RELEASE);
	cc__unpark(owner);
	return 0;
}

static bool takes_branches(const struct cc__sched *s)
{
	/* Relaxed: as in cc__spawn_refusal. */
	return cc__load(&s->cancel, CC__RELAXED) == 0;
}

/* By w: a branch of p becomes a task in w's queue.  False: there is none, or no memory.  (Where
 * stacks are short the task starves with the others: its owner may wait for it.) */
static bool make_task(struct cc__worker *w, struct cc__branches *p, bool own)
{
	struct cc__fiber *f = takes_branches(w->sched) ? cc__frame_get(&w->frames) : NULL;
	struct cc__branch *b;

	if (f == NULL)
		return false;
	if ((b = cc__branches_take(p, w->sched, own)) == NULL) {
		cc__word_recall(&f->parker);
		cc__frame_put(&w->frames, f);
		return false;
	}
	if (cc__watched())	/* the frame was assigned before its branch was taken */
		cc__happens_before(&f->parker);
	cc__frame_begin(f, w->sched, NULL);
	if (p->order != 0)
		cc__fiber_want(f, p->order);
	f->run.main = branch_task;
	f->payload.arg = b;
	f->payload.child.what.place = 0;
	cc__frame_show(f, cc__next_id(w->thread) | CC__HANDLE_DETACHED);
	cc__count(&w->spawned);
	cc__word_publish(&f->parker);
	cc__worker_push(w, f);
	return true;
}

/* ---- the owner parks ---- */

struct cc__branches *cc__branches_leave(struct cc__worker *w, struct cc__fiber *f)
{
	struct cc__branches *p = cc__branches_in(&stack_under(f)->member);

	while (p != NULL && cc__branches_unstarted(p) > 0 && make_task(w, p, true))
		continue;
	return p;
}

void cc__branches_resume(struct cc__branches *p)
{
	/* Release: as in announce_branches. */
	if (p != NULL)
		cc__store(&cc__worker_here()->branches, p, CC__RELEASE);
}

/* ---- theft ---- */

static struct cc__branches *branches_of_worker(const struct cc__worker *v)
{
	/* Acquire: the array, from the release in announce_branches. */
	return cc__load(&v->branches, CC__ACQUIRE);
}

bool cc__worker_has_branches(const struct cc__worker *v)
{
	const struct cc__branches *p = branches_of_worker(v);

	return p != NULL && cc__branches_unstarted(p) > 0;
}

/* The oldest branch of p has been there for a while.  Otherwise one tiny fork after another would be
 * stolen, each of which costs more than it saves. */
static bool branch_has_waited(struct cc__sample *seen, const struct cc__branches *p, cc_time now)
{
	/* Relaxed, both: hints. */
	const void *oldest = &p->slot[cc__load(&p->head, CC__RELAXED)];
	const uint32_t begun = cc__load(&p->begun, CC__RELAXED);

	if (seen->branch == oldest && seen->branch_begun == begun)
		return now - seen->branch_at >= BRANCH_AGE;
	seen->branch = oldest;
	seen->branch_begun = begun;
	seen->branch_at = now;
	return false;
}

bool cc__steal_branch(struct cc__worker *w, struct cc__worker *v, cc_time now, bool eager)
{
	struct cc__sample *seen = &w->seen[v->id - 1];
	struct cc__branches *p = w->only_woken ? NULL : branches_of_worker(v);

	if (p == NULL)
		return false;
	w->doubt = true;	/* a fiber forks there: more may come, without a push */
	if (cc__branches_unstarted(p) == 0) {
		seen->branch = NULL;
		return false;
	}
	if (!branch_has_waited(seen, p, now) && !eager)
		return false;
	cc__count(&w->counters.steal_tries);
	if (!make_task(w, p, false))
		return false;
	CC__EVENT(CC__EV_STEAL, v, w->id, 1);
	cc__count(&w->counters.steal_hits);
	cc__count(&w->counters.stolen);
	seen->branch = NULL;
	return true;
}

/* ---- the join ---- */

static void wait_for_branch(struct cc__branch *b)
{
	/* Acquire: pairs with the release in branch_task. */
	while (cc__load(&b->over, CC__ACQUIRE) == 0)
		cc__park_if(&b->over, 0);
	if (cc__watched())
		cc__happens_after(&b->over);
}

/* What the fork returns when both branches have ended. */
static int verdict_of_fork(const struct cc__branch *b, int result)
{
	const int error = (int)cc__load(&b->error, CC__RELAXED);	/* Relaxed: after `over` */

	if (error != 0)
		return error;
	return result != 0 ? result : b->result;
}

int cc_branch_join(CCPar *par, CCBranch *branch, int result)
{
	struct cc__branches *p = cc__branches_of(par);
	struct cc__branch *b = cc__branch_of(branch);
	const struct cc__branch_state state = cc__branches_retract(p);

	if (state.taken) {
		if (cc__forked())
			return ENOTSUP;	/* its worker is in the parent */
		cc__branch_note(b, result);
		wait_for_branch(b);
	}
	if (state.opened) {
		cc__scope_close(&b->scope);
		cc__branches_forget(p);
	}
	if (state.taken)
		return verdict_of_fork(b, result);
	return result != 0 ? result : b->main(b->captures, par);
}
