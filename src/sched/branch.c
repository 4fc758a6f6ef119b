/* branch.c - the array of branch.h: taking, retracting, scopes. */
#include "sched/branch.h"

/* No retraction is the owner's alone. */
static bool always_locked(void)
{
#ifndef CC__EXPLORE
	return cc__fence_symmetric;
#elif defined MC_SYMMETRIC
	return true;
#else
	return false;
#endif
}

/* Under the lock, or before p is shared.  Records below n are not the owner's alone. */
static void set_branch_limit(struct cc__branches *p, uint32_t n)
{
	CCBranch **limit = always_locked() ? (CCBranch **)UINTPTR_MAX : p->slot + n;

	/* Relaxed: before the thief's heavy fence, against the owner's light one; or the owner's
	 * own. */
	cc__store(&p->par.limit, limit, CC__RELAXED);
}

void cc__branches_init(struct cc__branches *p)
{
	cc__init(&p->par.tail, p->slot);
	p->par.end = p->slot + CC__BRANCHES;
	set_branch_limit(p, 0);
}

/* Under the lock: the scope around the records at and above `opened` (BRANCH-4). */
static struct cc__scope *scope_around(struct cc__branches *p)
{
	if (p->opened > p->entered)
		return &cc__branch_of(p->slot[p->opened - 1])->scope;
	return p->member != NULL ? p->member->scope : p->root;
}

/* Under the lock: opens the scope of the oldest record that has none. */
static struct cc__branch *open_next(struct cc__branches *p)
{
	struct cc__branch *b = cc__branch_of(p->slot[p->opened]);

	cc__init(&b->over, 0);
	cc__init(&b->error, 0);
	b->result = 0;
	b->owner = p->owner;
	b->scope = (struct cc__scope){0};
	cc__scope_open(&b->scope, scope_around(p));
	p->opened++;
	return b;
}

/* Under the lock: the record at head is taken, if it is still there. */
static bool claim_oldest(struct cc__branches *p, const struct cc__sched *s, bool own)
{
	/* Relaxed: the lock. */
	const uint32_t head = cc__load(&p->head, CC__RELAXED);

	cc__store(&p->head, head + 1, CC__RELAXED);
	if (p->opened <= head)
		set_branch_limit(p, head + 1);
	if (!own)
		cc__fence_heavy();	/* see the drawing */
	/* Acquire: the record, from the owner's store of the tail. */
	if (cc__load(&p->par.tail, CC__ACQUIRE) > p->slot + head && p->sched == s) {
		if (cc__watched())
			cc__happens_after(&p->par.tail);
		return true;
	}
	cc__store(&p->head, head, CC__RELAXED);
	set_branch_limit(p, p->opened);
	return false;
}

struct cc__branch *cc__branches_take(struct cc__branches *p, const struct cc__sched *s, bool own)
{
	struct cc__branch *b = NULL;

	if (cc__branches_unstarted(p) == 0)
		return NULL;
	cc__lock(&p->lock, CC__RANK_BRANCHES);
	if (cc__branches_unstarted(p) > 0 && claim_oldest(p, s, own)) {
		/* Relaxed: the lock. */
		const uint32_t taken = cc__load(&p->head, CC__RELAXED) - 1;

		b = p->opened <= taken ? open_next(p) : cc__branch_of(p->slot[taken]);
	}
	cc__unlock(&p->lock);
	return b;
}

struct cc__member **cc__branches_enter(struct cc__branches *p)
{
	/* Relaxed: the owner's own. */
	const uint32_t count = (uint32_t)(cc__load(&p->par.tail, CC__RELAXED) - p->slot);

	if (p->entered >= count)	/* the owner alone changes `entered` */
		return &p->member;
	cc__lock(&p->lock, CC__RANK_BRANCHES);
	while (p->entered < count) {
		struct cc__branch *b;

		if (p->opened <= p->entered)
			open_next(p);
		b = cc__branch_of(p->slot[p->entered++]);
		cc__member_enter(&b->inside, &b->scope, p->owner, &p->member);
	}
	set_branch_limit(p, p->opened);
	cc__unlock(&p->lock);
	return &p->member;
}

struct cc__branch_state cc__branches_retract(struct cc__branches *p)
{
	/* Relaxed: the owner's own. */
	const uint32_t place = (uint32_t)(cc__load(&p->par.tail, CC__RELAXED) - p->slot);
	struct cc__branch_state state;

	cc__lock(&p->lock, CC__RANK_BRANCHES);
	state.taken = cc__load(&p->head, CC__RELAXED) > place;	/* Relaxed: the lock */
	state.opened = p->opened > place;
	state.entered = p->entered > place;
	cc__unlock(&p->lock);
	if (state.entered)
		cc__member_leave(&cc__branch_of(p->slot[place])->inside, &p->member);
	return state;
}

void cc__branches_forget(struct cc__branches *p)
{
	/* Relaxed: the owner's own. */
	const uint32_t place = (uint32_t)(cc__load(&p->par.tail, CC__RELAXED) - p->slot);

	cc__lock(&p->lock, CC__RANK_BRANCHES);
	if (cc__load(&p->head, CC__RELAXED) > place)	/* Relaxed, both: the lock */
		cc__store(&p->head, place, CC__RELAXED);
	if (p->opened > place)
		p->opened = place;
	if (p->entered > place)
		p->entered = place;
	set_branch_limit(p, p->opened);
	cc__unlock(&p->lock);
}

/* It ended because both were cancelled. */
static bool branch_is_cut(const struct cc__branch *b, int result)
{
	/* Relaxed: the branch itself has seen it, or something of its own has failed. */
	const uint32_t flag = cc__load(&b->scope.flag, CC__RELAXED);

	return flag != 0 &&
	       (result == ECANCELED || (result == ETIMEDOUT && (flag & CC__CANCEL_LATE)));
}

void cc__branch_note(struct cc__branch *b, int result)
{
	uint32_t none = 0;

	if (result == 0 || branch_is_cut(b, result))
		return;
	/* Relaxed: `over` orders it before the owner's look. */
	if (cc__cas(&b->error, &none, (uint32_t)result, CC__RELAXED, CC__RELAXED))
		cc__scope_cancel(&b->scope,
		                 CC__CANCEL | (uint32_t)result << CC__CANCEL_REASON_SHIFT, false);
}
