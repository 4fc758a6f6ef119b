/* cancel.c - the tree of scopes, and the walk that wakes. */
#include "wait/cancel.h"

#include "os/fork.h"

/* Alone in its line: everybody who spawns reads it. */
_Alignas(64) cc__a64 cc__cancels;

/* ---- lists ---- */

static void link_in(struct cc__link **head, struct cc__link *l)
{
	CC__ASSERT(l->place == NULL, "cancel: on two lists");
	if ((l->next = *head) != NULL)
		l->next->place = &l->next;
	l->place = head;
	*head = l;
}

static void link_out(struct cc__link *l)
{
	if (l->place == NULL)
		return;
	if ((*l->place = l->next) != NULL)
		l->next->place = l->place;
	l->place = NULL;
}

static struct cc__scope *scope_of(struct cc__link *kin)
{
	return (struct cc__scope *)(void *)((char *)kin - offsetof(struct cc__scope, kin));
}

_Static_assert(offsetof(struct cc__member, link) == 0, "member_of");

static struct cc__member *member_of(struct cc__link *l)
{
	return (struct cc__member *)(void *)l;
}

/* ---- the tree ---- */

void cc__root_init(struct cc__root *r)
{
	*r = (struct cc__root){.scope.root = r};
}

/* C6 */
static void uncount(struct cc__scope *s)
{
	if (cc__load(&s->flag, CC__RELAXED) != 0)	/* Relaxed: no member is inside */
		cc__fork_count_cancelled(-1);
}

void cc__root_close(struct cc__root *r)
{
	uncount(&r->scope);
}

void cc__scope_open(struct cc__scope *s, struct cc__scope *around)
{
	s->around = around;
	s->root = around->root;
	/* Relaxed: what was not cancelled then, and has not been since, is not. */
	cc__init(&s->looked, cc__load(&around->looked, CC__RELAXED));
}

bool cc__scope_within(const struct cc__scope *s, const struct cc__scope *outer)
{
	while (s != NULL && s != outer)
		s = s->around;
	return s != NULL;
}

/* What cancels s when it is cancelled; NULL: nothing. */
static struct cc__scope *above(const struct cc__scope *s)
{
	return s->shield ? NULL : s->around;
}

/* C2: s, and what is around it, up to what is listed already. */
static void list_scope(struct cc__scope *s)
{
	cc__lock(&s->root->lock, CC__RANK_SCOPES);
	for (struct cc__scope *up; (up = above(s)) != NULL && !s->listed; s = up) {
		s->listed = true;
		link_in(&up->inner, &s->kin);
	}
	cc__unlock(&s->root->lock);
}

void cc__scope_close(struct cc__scope *s)
{
	uncount(s);
	if (!s->listed)
		return;
	cc__lock(&s->root->lock, CC__RANK_SCOPES);	/* C3 */
	link_out(&s->kin);
	cc__unlock(&s->root->lock);
}

/* What s is cancelled with: `how`, unless somebody was first.  That it comes before the
 * look at the words of those inside (C1) is the fence's in cc__unpark. */
static uint32_t raise_flag(struct cc__scope *s, uint32_t how)
{
	uint32_t flag = 0;

	cc__fork_count_cancelled(1);	/* C6 */
	/* Release: what the canceller did before, to the acquire of whoever sees the flag,
	 * here, below and in wait.c.  Acquire: what the first one did, for those below. */
	if (cc__cas(&s->flag, &flag, how, CC__RELEASE, CC__ACQUIRE))
		return how;
	cc__fork_count_cancelled(-1);
	return flag;
}

bool cc__scope_look(struct cc__scope *s)
{
	/* Acquire: the flags of so many cancellations, from cc__scope_cancel. */
	const uint64_t now = cc__load(&cc__cancels, CC__ACQUIRE);
	struct cc__scope *last = s, *p;
	uint32_t how = 0;

	/* Acquire: pairs with raise_flag.  Relaxed, the rest: flags as old as `now` are
	 * seen, and whoever looked at that time has seen what is around him. */
	while (last != NULL && (how = cc__load(&last->flag, CC__ACQUIRE)) == 0 &&
	       cc__load(&last->looked, CC__RELAXED) != now)
		last = above(last);
	for (p = s; p != last; p = above(p))
		if (how != 0)
			raise_flag(p, how);	/* who waits inside is woken by the walk */
		else
			cc__store(&p->looked, now, CC__RELAXED);
	return how != 0;
}

/* ---- members ---- */

void cc__member_unlist(struct cc__member *m)
{
	cc__lock(&m->scope->lock, CC__RANK_MEMBERS);
	link_out(&m->link);
	cc__unlock(&m->scope->lock);
}

static void list_member(struct cc__member *m)
{
	m->listed = true;
	list_scope(m->scope);
	cc__lock(&m->scope->lock, CC__RANK_MEMBERS);
	link_in(&m->scope->members, &m->link);
	cc__unlock(&m->scope->lock);
}

const cc__a32 *cc__member_flag(struct cc__member *m)
{
	/* First listed, then the look: a walk that was over by then is seen. */
	if (!m->listed)
		list_member(m);
	cc__scope_cancelled(m->scope);
	return &m->scope->flag;
}

const cc__a32 *cc__member_bell(struct cc__member *m, struct cc__bell *bell)
{
	const cc__a32 *flag = cc__member_flag(m);

	cc__lock(&m->scope->lock, CC__RANK_MEMBERS);
	m->bell = bell;
	cc__unlock(&m->scope->lock);
	return flag;
}

/* ---- cancel ---- */

#ifndef CC__CANCEL_WAKES
#define CC__CANCEL_WAKES 16
#endif

enum { WAKES = CC__CANCEL_WAKES };

/* Type-stable, both. */
struct wake {
	struct cc__parker *who;
	struct cc__bell *bell;
};

struct wakes {
	struct wake wake[WAKES];
	unsigned count;
};

/* Members of s that are to be woken, off its list.  True: those were all. */
static bool take_members(struct cc__scope *s, struct wakes *w)
{
	bool all;

	cc__lock(&s->lock, CC__RANK_MEMBERS);
	while (s->members != NULL && w->count < WAKES) {
		struct cc__member *m = member_of(s->members);

		link_out(&m->link);
		CC__ASSERT(w->count < WAKES, "cancel: no room for another wake");
		w->wake[w->count++] = (struct wake){m->who, m->bell};
	}
	all = s->members == NULL;
	cc__unlock(&s->lock);
	return all;
}

/* The next scope below s, cancelled.  What is below that is then s's, so that the walk
 * is as flat for a deep tree as for a wide one. */
static struct cc__scope *next_inner(struct cc__scope *s, uint32_t how)
{
	struct cc__scope *k;
	struct cc__link *l;

	if (s->inner == NULL)
		return NULL;
	k = scope_of(s->inner);
	raise_flag(k, how);
	while ((l = k->inner) != NULL) {
		link_out(l);
		link_in(&s->inner, l);
	}
	return k;
}

/* Some wakes.  False: nobody is left. */
static bool walk(struct cc__scope *s, uint32_t how, struct wakes *w)
{
	struct cc__scope *k = s;
	bool more = true;

	cc__lock(&s->root->lock, CC__RANK_SCOPES);
	while (more && take_members(k, w)) {
		if (k != s)
			link_out(&k->kin);
		more = (k = next_inner(s, how)) != NULL;
	}
	cc__unlock(&s->root->lock);
	return more;
}

static void wake(struct wake w)
{
	cc__unpark(w.who);
	if (w.bell != NULL)
		cc__poll_ring(w.bell);
}

void cc__scope_cancel(struct cc__scope *s, uint32_t how, bool lazy)
{
	struct wakes w;
	bool more = !lazy;

	how = raise_flag(s, how);
	/* Whoever was not the first counts, too: the first may not have yet, and the walk
	 * takes scopes off below which somebody is about to look (C4).
	 * Release: the flag, to the acquire in cc__scope_look. */
	cc__add(&cc__cancels, 1, CC__RELEASE);
	CC_POINT("cancel.before_walk", s);
	while (more) {
		w.count = 0;
		more = walk(s, how, &w);
		for (unsigned i = 0; i < w.count; i++)
			wake(w.wake[i]);
	}
}
