/* inbox.h - what others push for one worker: a stack of fibers, pushed by
 * compare-exchange, taken whole.
 *
 * N1  Anybody pushes, anybody may take all; in the ordinary course its worker
 *     does.  So nothing in it depends on that worker.
 * N2  A worker that retires closes it.  From then on a push fails, and the
 *     pusher goes to the global queue.
 * N3  A push that succeeds touches the inbox no more: its fiber may have run, and
 *     worker and runtime be gone. */
#ifndef CC__SCHED_INBOX_H
#define CC__SCHED_INBOX_H

#include "task/frame.h"

struct cc__inbox {
	CC__ATOMIC(struct cc__fiber *) newest;	/* chained through next; or closed */
	cc__a32 length;				/* about; counts up before a push */
};

/* False: it is closed, and f is still the caller's. */
bool cc__inbox_push(struct cc__inbox *b, struct cc__fiber *f);

/* All that is there, oldest first, chained through next; NULL: nothing.  With
 * cc__chain_pop one after another is the caller's. */
struct cc__fiber *cc__inbox_take(struct cc__inbox *b);
/* The same, and nothing more can be pushed. */
struct cc__fiber *cc__inbox_close(struct cc__inbox *b);
void cc__inbox_open(struct cc__inbox *b);
/* Whether it is closed; exact to the worker that has closed it. */
bool cc__inbox_closed(const struct cc__inbox *b);

/* The oldest of a chain, off it; NULL: there was none left. */
static inline struct cc__fiber *cc__chain_pop(struct cc__fiber **oldest)
{
	struct cc__fiber *f = *oldest;

	if (f != NULL)
		*oldest = f->next;
	return f;
}

/* Whether there may be something; a hint. */
bool cc__inbox_any(const struct cc__inbox *b);

static inline uint32_t cc__inbox_length(const struct cc__inbox *b)
{
	return cc__load(&b->length, CC__RELAXED);	/* Relaxed: a hint */
}

#endif
