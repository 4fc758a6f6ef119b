/* timer.c - the pairing heap of timer.h. */
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

void cc__timers_add(struct cc__timers *h, struct cc__timer *t)
{
	CC__ASSERT(!cc__timer_armed(t), "timer: armed twice");
	t->child = t->sibling = NULL;
	attach(&h->first, meld(h->first, t));
}

void cc__timers_remove(struct cc__timers *h, struct cc__timer *t)
{
	struct cc__timer *children;

	CC__ASSERT(cc__timer_armed(t), "timer: not armed");
	children = meld_all(t->child);
	attach(t->from, t->sibling);
	t->from = NULL;
	t->child = t->sibling = NULL;
	if (children != NULL)
		attach(&h->first, meld(h->first, children));
}
