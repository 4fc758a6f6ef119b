/* starved.c - the list of starved.h. */
#include "sched/starved.h"

/* How long before the system is asked again. */
#define RETRY (10 * CC_MSEC)

bool cc__starved_push(struct cc__starved *s, struct cc__fiber *f)
{
	const cc_time now = cc__now();
	bool tell;

	f->next = NULL;
	cc__lock(&s->lock, CC__RANK_POOL);
	/* Relaxed, all: hints, written under the lock. */
	if (s->first == NULL || now >= cc__load(&s->retry_at, CC__RELAXED))
		cc__store(&s->retry_at, now + RETRY, CC__RELAXED);
	if (s->first == NULL)
		s->first = f;
	else
		s->last->next = f;
	s->last = f;
	cc__store(&s->any, 1, CC__RELAXED);
	tell = !s->told;
	s->told = true;
	cc__unlock(&s->lock);
	return tell;
}

static struct cc__fiber *pop(struct cc__starved *s, bool all_fed)
{
	struct cc__fiber *f;

	if (!cc__starved_any(s))
		return NULL;
	cc__lock(&s->lock, CC__RANK_POOL);
	if ((f = s->first) != NULL)
		s->first = f->next;
	else if (all_fed)
		cc__store(&s->any, 0, CC__RELAXED);	/* Relaxed: a hint */
	cc__unlock(&s->lock);
	return f;
}

struct cc__fiber *cc__starved_pop(struct cc__starved *s)
{
	return pop(s, false);
}

struct cc__fiber *cc__starved_fed(struct cc__starved *s)
{
	return pop(s, true);
}

cc_time cc__starved_deadline(const struct cc__starved *s)
{
	/* Relaxed: a hint. */
	return cc__starved_any(s) ? cc__load(&s->retry_at, CC__RELAXED) : CC_FOREVER;
}

bool cc__starved_due(const struct cc__starved *s)
{
	return cc__starved_any(s) && cc__now() >= cc__starved_deadline(s);
}
