/* timer.c - the heap of timer.h. */
#include "sched/timer.h"

#include "base/assert.h"

static void attach(struct cc__timer **place, struct cc__timer *t)
{
	*place = t;
	if (t != NULL)
		t->from = place;
}

/* Two roots without siblings: the later one becomes the other's first child. */
static struct cc__timer *meld(struct cc__timer *a, struct cc__timer *b)
{
	if (a == NULL || b == NULL)
		return a != NULL ? a : b;
	if (b->deadline < a->deadline) {
		struct cc__timer *t = a;

		a = b;
		b = t;
	}
	attach(&b->sibling, a->child);
	attach(&a->child, b);
	return a;
}

/* A list of siblings into one heap: in pairs from the left, the pairs from the
 * right.  The pairs are chained through `sibling` meanwhile. */
static struct cc__timer *meld_all(struct cc__timer *list)
{
	struct cc__timer *pairs = NULL, *heap = NULL;

	while (list != NULL) {
		struct cc__timer *a = list, *b = a->sibling;

		list = b != NULL ? b->sibling : NULL;
		a->sibling = NULL;
		if (b != NULL)
			b->sibling = NULL;
		a = meld(a, b);
		a->sibling = pairs;
		pairs = a;
	}
	while (pairs != NULL) {
		struct cc__timer *next = pairs->sibling;

		pairs->sibling = NULL;
		heap = meld(heap, pairs);
		pairs = next;
	}
	return heap;
}

/* ---- under the lock ---- */

static void note_earliest(struct cc__timers *h)
{
	/* Relaxed: a hint; whoever must not miss it passes a fence of idle.h. */
	cc__store(&h->earliest, h->first != NULL ? h->first->deadline : CC_FOREVER, CC__RELAXED);
}

static void take_out(struct cc__timers *h, struct cc__timer *t)
{
	struct cc__timer *children = meld_all(t->child);

	attach(t->from, t->sibling);
	t->from = NULL;
	t->child = t->sibling = NULL;
	if (children != NULL)
		attach(&h->first, meld(h->first, children));
	note_earliest(h);
}

/* ---- the heap ---- */

void cc__timers_init(struct cc__timers *h)
{
	*h = (struct cc__timers){0};
	note_earliest(h);
}

bool cc__timers_add(struct cc__timers *h, struct cc__timer *t)
{
	bool first;

	cc__lock(&h->lock, CC__RANK_TIMER);
	CC__ASSERT(!cc__timer_armed(t), "timer: armed twice");
	t->child = t->sibling = NULL;
	attach(&h->first, meld(h->first, t));
	if ((first = h->first == t))
		note_earliest(h);
	cc__unlock(&h->lock);
	return first;
}

bool cc__timers_remove(struct cc__timers *h, struct cc__timer *t)
{
	bool armed;

	cc__lock(&h->lock, CC__RANK_TIMER);
	if ((armed = cc__timer_armed(t)))
		take_out(h, t);
	cc__unlock(&h->lock);
	return armed;
}

bool cc__timers_run(struct cc__timers *h, cc_time now)
{
	enum { BATCH = 16 };
	struct {
		void (*fire)(void *object, uint64_t value);
		void *object;
		uint64_t value;
	} due[BATCH];
	unsigned n = BATCH;
	bool any = false;

	while (n == BATCH && cc__timers_earliest(h) <= now) {
		cc__lock(&h->lock, CC__RANK_TIMER);
		for (n = 0; n < BATCH && h->first != NULL && h->first->deadline <= now; n++) {
			due[n].fire = h->first->fire;
			due[n].object = h->first->object;
			due[n].value = h->first->value;
			take_out(h, h->first);
		}
		cc__unlock(&h->lock);
		for (unsigned i = 0; i < n; i++)
			due[i].fire(due[i].object, due[i].value);
		any |= n > 0;
	}
	return any;
}
