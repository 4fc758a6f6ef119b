/* global.c - the ring and the list of global.h. */
#include "sched/global.h"

#include "sched/counters.h"
#include "sched/inbox.h"

enum { MASK = CC_FIBER_QUEUE_INITIAL - 1 };

void cc__global_init(struct cc__global *g)
{
	for (uint64_t i = 0; i <= MASK; i++)
		cc__init(&g->ring[i].stamp, i);
}

/* ---- the ring ---- */

static bool ring_push(struct cc__global *g, struct cc__fiber *f)
{
	/* Relaxed: the exchange decides. */
	uint64_t at = cc__load(&g->tail, CC__RELAXED);

	for (;;) {
		struct cc__global_slot *s = &g->ring[at & MASK];
		/* Acquire: pairs with the pop that freed the slot (2). */
		const uint64_t stamp = cc__load(&s->stamp, CC__ACQUIRE);

		if (stamp == at) {
			/* Relaxed: a position, nothing else. */
			if (!cc__cas_weak(&g->tail, &at, at + 1, CC__RELAXED, CC__RELAXED))
				continue;
			s->fiber = f;
			/* Release (1): f, to the pop's acquire. */
			cc__store(&s->stamp, at + 1, CC__RELEASE);
			return true;
		}
		/* mutant: < -> <= survives: that was above. */
		if ((int64_t)(stamp - at) < 0)
			return false;	/* the pop of a lap ago is not through: full */
		at = cc__load(&g->tail, CC__RELAXED);	/* Relaxed: as above */
	}
}

static struct cc__fiber *ring_pop(struct cc__global *g)
{
	/* Relaxed: the exchange decides. */
	uint64_t at = cc__load(&g->head, CC__RELAXED);

	for (;;) {
		struct cc__global_slot *s = &g->ring[at & MASK];
		/* Acquire: pairs with the push that filled the slot (1). */
		const uint64_t stamp = cc__load(&s->stamp, CC__ACQUIRE);

		if (stamp == at + 1) {
			struct cc__fiber *f;

			/* Relaxed: a position, nothing else. */
			if (!cc__cas_weak(&g->head, &at, at + 1, CC__RELAXED, CC__RELAXED))
				continue;
			f = s->fiber;
			/* Release (2): that we have read it, to the next push here. */
			cc__store(&s->stamp, at + MASK + 1, CC__RELEASE);
			return f;
		}
		/* mutant: < -> <= survives: that was above. */
		if ((int64_t)(stamp - (at + 1)) < 0)
			return NULL;	/* not pushed, or not written yet: empty (G3) */
		at = cc__load(&g->head, CC__RELAXED);	/* Relaxed: as above */
	}
}

/* ---- the list ---- */

static void list_push(struct cc__global *g, struct cc__fiber *f)
{
	cc__lock(&g->lock, CC__RANK_POOL);
	/* Relaxed, twice: written under the lock, read as a hint; whoever pushes
	 * announces it afterwards. */
	cc__store(&g->listed, cc__load(&g->listed, CC__RELAXED) + 1, CC__RELAXED);
	if (g->first == NULL)
		g->first = f;
	else
		g->last->next = f;
	f->next = NULL;
	g->last = f;
	cc__count(&g->overflows);
	cc__unlock(&g->lock);
}

static struct cc__fiber *list_pop(struct cc__global *g)
{
	struct cc__fiber *f;

	/* Relaxed: a hint, see list_push. */
	if (cc__load(&g->listed, CC__RELAXED) == 0)
		return NULL;
	cc__lock(&g->lock, CC__RANK_POOL);
	if ((f = cc__chain_pop(&g->first)) != NULL)
		/* Relaxed, twice: as above. */
		cc__store(&g->listed, cc__load(&g->listed, CC__RELAXED) - 1, CC__RELAXED);
	cc__unlock(&g->lock);
	return f;
}

void cc__global_push(struct cc__global *g, struct cc__fiber *f)
{
	if (!ring_push(g, f))
		list_push(g, f);
}

struct cc__fiber *cc__global_pop(struct cc__global *g)
{
	struct cc__fiber *f = ring_pop(g);

	return f != NULL ? f : list_pop(g);
}

uint64_t cc__global_length(const struct cc__global *g)
{
	/* Relaxed, three times: a number for people and heuristics. */
	const uint64_t pushed = cc__load(&g->tail, CC__RELAXED);
	const uint64_t in_ring = pushed - cc__load(&g->head, CC__RELAXED);

	/* More than there is room for: the pops are of a later moment. */
	return (in_ring <= CC_FIBER_QUEUE_INITIAL ? in_ring : 0) + cc__load(&g->listed, CC__RELAXED);
}
