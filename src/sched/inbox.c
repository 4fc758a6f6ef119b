/* inbox.c - the stack of inbox.h. */
#include "sched/inbox.h"

static struct cc__fiber closed;

bool cc__inbox_push(struct cc__inbox *b, struct cc__fiber *f)
{
	/* Relaxed: the exchange decides. */
	struct cc__fiber *newest = cc__load(&b->newest, CC__RELAXED);

	cc__add(&b->length, 1, CC__RELAXED);	/* Relaxed: a hint; before the push (N3) */
	do {
		if (newest == &closed)
			return false;
		f->next = newest;
		/* Release: f, to the acquire in take. */
	} while (!cc__cas_weak(&b->newest, &newest, f, CC__RELEASE, CC__RELAXED));
	return true;
}

/* A chain that is ours, the other way round. */
static struct cc__fiber *oldest_first(struct cc__inbox *b, struct cc__fiber *newest)
{
	struct cc__fiber *oldest = NULL;

	cc__store(&b->length, 0, CC__RELAXED);	/* Relaxed: a hint */
	while (newest != NULL && newest != &closed) {
		struct cc__fiber *f = newest;

		newest = f->next;
		f->next = oldest;
		oldest = f;
	}
	return oldest;
}

bool cc__inbox_any(const struct cc__inbox *b)
{
	/* Relaxed: a hint; what must not be missed moves a generation (idle.h). */
	const struct cc__fiber *newest = cc__load(&b->newest, CC__RELAXED);

	return newest != NULL && newest != &closed;
}

struct cc__fiber *cc__inbox_take(struct cc__inbox *b)
{
	/* Relaxed: the exchange decides. */
	struct cc__fiber *newest = cc__load(&b->newest, CC__RELAXED);

	/* Compared: what its worker has closed meanwhile must stay closed.
	 * Acquire: pairs with the release in cc__inbox_push. */
	while (newest != NULL && newest != &closed)
		if (cc__cas_weak(&b->newest, &newest, NULL, CC__ACQUIRE, CC__RELAXED))
			return oldest_first(b, newest);
	return NULL;
}

struct cc__fiber *cc__inbox_close(struct cc__inbox *b)
{
	/* Acquire: pairs with the release in cc__inbox_push. */
	return oldest_first(b, cc__xchg(&b->newest, &closed, CC__ACQUIRE));
}

bool cc__inbox_closed(const struct cc__inbox *b)
{
	return cc__load(&b->newest, CC__RELAXED) == &closed;	/* Relaxed: our own, or a hint */
}

void cc__inbox_open(struct cc__inbox *b)
{
	cc__store(&b->newest, NULL, CC__RELAXED);	/* Relaxed: before its worker is there */
}
