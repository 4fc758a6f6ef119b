/* engine.c - who sleeps on what, and who is next. */
#include "park/engine.h"

#include <errno.h>

#include "wait/thread.h"

_Static_assert(sizeof(struct cc__bucket) == 64, "a line each");
_Static_assert(offsetof(struct cc__sleeper, key.place) == CC__WORD_SLEPT_ON, "cc__thread_sleep");

/* ---- buckets ---- */

struct cc__bucket *cc__park_hold(const struct cc__park_table *t, const struct cc__park_key *key)
{
	/* The high bits of a product depend on all bits below. */
	const uint64_t mixed = (key->place ^ key->space << 32 ^ key->generation << 48) *
	                       UINT64_C(0x9e3779b97f4a7c15);
	struct cc__bucket *b = &t->bucket[mixed >> (64 - t->bits)];

	cc__lock(&b->lock, CC__RANK_WAITQ);
	return b;
}

static bool same(const struct cc__park_key *a, const struct cc__park_key *b)
{
	return a->place == b->place && a->space == b->space && a->generation == b->generation;
}

struct cc__sleeper *cc__park_first(const struct cc__bucket *b, const struct cc__park_key *key)
{
	struct cc__sleeper *s = b->first;

	while (s != NULL && !same(&s->key, key))
		s = s->next;
	return s;
}

/* s is what `place` points to now; what was there before, points on to `next`. */
static void put(struct cc__sleeper **place, struct cc__sleeper *s, struct cc__sleeper *next)
{
	*place = s;
	s->place = place;
	s->next = next;
	if (next != NULL)
		next->place = &s->next;
}

static void list(void *object, struct cc__waiter *w)
{
	struct cc__bucket *b = object;
	struct cc__sleeper *s = w->io;
	struct cc__sleeper *first = cc__park_first(b, &s->key);
	struct cc__waitq q = {.head = first != NULL ? first->waiter : NULL};

	s->waiter = w;
	s->place = NULL;
	s->listed = true;
	if (s->arrival == 0)
		s->arrival = ++b->arrivals;
	cc__waitq_append(&q, w);
	if (first == NULL) {
		put(&b->first, s, b->first);
	} else if (s->first) {
		put(first->place, s, first->next);
		first->place = NULL;
	}
}

static void take_off(struct cc__sleeper *s)
{
	struct cc__waitq q = {.head = s->waiter};

	s->listed = false;
	cc__waitq_remove(&q, s->waiter);
	if (s->place == NULL)
		return;
	if (q.head != NULL)
		put(s->place, q.head->io, s->next);
	else if ((*s->place = s->next) != NULL)
		s->next->place = s->place;
}

/* ---- to sleep ---- */

static bool withdraw(void *object, struct cc__waiter *w)
{
	struct cc__bucket *b = object;
	struct cc__sleeper *s = w->io;
	bool listed;

	cc__lock(&b->lock, CC__RANK_WAITQ);
	if ((listed = w->next != NULL)) {
		take_off(s);
		if (s->left != NULL)
			s->left(s);
	}
	cc__unlock(&b->lock);
	return listed;
}

static const struct cc__waitable_ops ops = {.publish = cc__waitq_publish, .unpublish = withdraw};

int cc__park_sleep(struct cc__bucket *b, struct cc__sleeper *s, cc_time deadline)
{
	struct cc__waiter w = {.lock = &b->lock, .io = s, .cancel = s->cancel, .what = s->what};

	if (deadline == CC_NOW || cc__self() == NULL) {
		if (s->left != NULL)
			s->left(s);
		cc__park_drop(b);
		return deadline == CC_NOW ? EAGAIN : ENOMEM;
	}
	CC__EVENT(CC__EV_FOR, cc__self(), s->what, s->key.place);
	return cc__wait_listed(b, &ops, list, &w, deadline);
}

/* ---- to wake ---- */

struct cc__wake cc__park_consume(struct cc__sleeper *s, int result)
{
	take_off(s);
	return cc__waitq_tell(s->waiter, CC__REASON_SIGNAL, result);
}

int cc__park_end(struct cc__sleeper *s, int result, struct cc__batch *b)
{
	if (s->taken != NULL)
		result = s->taken(s, result, b);
	cc__batch_add(b, cc__park_consume(s, result));
	return result;
}

/* Held: as many of those who came up to `last` as the batch has room for. */
static uint32_t wake_some(struct cc__bucket *b, const struct cc__park_key *key, uint32_t most,
                          uint64_t last, struct cc__batch *batch)
{
	struct cc__sleeper *s;
	uint32_t count = 0;

	while (count < most && cc__park_room(batch) &&
	       (s = cc__park_first(b, key)) != NULL && s->arrival <= last)
		count += cc__park_end(s, 0, batch) == 0;
	return count;
}

uint32_t cc__park_wake(const struct cc__park_table *t, const struct cc__park_key *key,
                       uint32_t most, uint64_t last)
{
	struct cc__batch batch;
	uint32_t woken = 0;
	bool full;

	cc__batch_init(&batch);
	do {
		struct cc__bucket *b = cc__park_hold(t, key);

		if (last == 0)
			last = b->arrivals;	/* who is woken and comes back is not meant */
		woken += wake_some(b, key, most - woken, last, &batch);
		full = !cc__park_room(&batch);
		cc__park_drop(b);
		cc__batch_flush(&batch);
	} while (full);
	return woken;
}

/* ---- to clear out ---- */

typedef bool whom_fn(const struct cc__sleeper *s, const void *arg);

/* Of each hold: one look at all of them, and room for what ending them adds. */
enum { AT_ONCE = CC__BATCH_MAX / 2 };

/* Held: some whom `whom` names, of the key of `first`, behind the n that were found. */
static unsigned find_of_key(const struct cc__sleeper *first, whom_fn *whom, const void *arg,
                            struct cc__sleeper **found, unsigned n)
{
	const struct cc__waiter *w = first->waiter;

	do {
		struct cc__sleeper *s = w->io;

		if (whom(s, arg))
			found[n++] = s;
		w = w->next;
	} while (w != first->waiter && n < AT_ONCE);
	return n;
}

static unsigned find(const struct cc__bucket *b, whom_fn *whom, const void *arg,
                     struct cc__sleeper **found)
{
	unsigned n = 0;

	for (const struct cc__sleeper *s = b->first; s != NULL && n < AT_ONCE; s = s->next)
		n = find_of_key(s, whom, arg, found, n);
	return n;
}

static void drain_bucket(struct cc__bucket *b, whom_fn *whom, const void *arg, int result)
{
	struct cc__sleeper *found[AT_ONCE];
	struct cc__batch batch;
	unsigned n;

	cc__batch_init(&batch);
	do {
		cc__lock(&b->lock, CC__RANK_WAITQ);
		n = find(b, whom, arg, found);
		for (unsigned i = 0; i < n; i++)
			cc__park_end(found[i], result, &batch);
		cc__park_drop(b);
		cc__batch_flush(&batch);
	} while (n == AT_ONCE);
}

void cc__park_drain(const struct cc__park_table *t, whom_fn *whom, const void *arg, int result)
{
	for (unsigned i = 0; i < 1u << t->bits; i++)
		drain_bucket(&t->bucket[i], whom, arg, result);
}
