/* steal.h - what a worker takes from another one, and what it learns from that.
 *
 * What computes shall spread over the workers, what only talks shall stay on one: a fiber
 * that is taken over costs more than a short wait, and two that want the same word all
 * the time are several times slower apart than together.
 *
 * T1  What its owner is about to run is left to it.  Owners write no time stamps: the
 *     searcher remembers what it saw, and takes what is still there some microseconds
 *     later.  That is a preference; who is about to sleep without a watch takes all.
 * T2  Contention sets the age.  While a worker runs what it took from another one it counts
 *     how often it meets somebody (cc__contended).  If that is often, the age at which it
 *     takes started fibers from that one is doubled, else halved.
 * T3  If it is often while there is no end of them, they go back.  First each that came
 *     from another queue has its turn here.  So a fiber is sent back at most once before
 *     it runs, and the bound of D4 (worker.h) is counted twice at most. */
#ifndef CC__SCHED_STEAL_H
#define CC__SCHED_STEAL_H

#include "os/atomic.h"
#include "base/lock.h"

struct cc__worker;

/* What a worker saw of another one's queue, and thinks of it. */
struct cc__sample {
	uint32_t ready_tail;		/* where the started ones ended ... */
	cc_time ready_at;		/* ... and when */
	bool fresh;			/* there was an unstarted one ... */
	uint32_t fresh_head;		/* ... the oldest at that place ... */
	cc_time fresh_at;		/* ... since then */
	uint32_t offers;		/* so many offers there had been ... */
	cc_time offered_at;		/* ... since then */
	uint64_t picks;			/* its owner's ... */
	cc_time picked_at;		/* ... since then */
	unsigned shy;			/* how often the age is doubled (T2) */
};

/* What it learns (T2).  The worker's own, but that anybody may read `from`. */
struct cc__lesson {
	cc__a32 from;			/* whose fibers it has; 0: nobody's */
	cc_time since;			/* when it began to count ... */
	uint64_t contentions;		/* ... and how often its thread had met others by then */
	uint32_t turned;		/* the end of those in its lane that came from another
					 * queue (T3) */
};

/* Something of v is w's now. */
bool cc__steal(struct cc__worker *w, struct cc__worker *v, cc_time now, bool eager);
/* v runs one fiber for long, or sleeps: it does not come by its inbox. */
bool cc__steal_inbox(struct cc__worker *w, struct cc__worker *v, cc_time now, bool eager);

/* w has nothing left. */
void cc__lesson_end(struct cc__worker *w);
/* Now and then: may be that what it took goes back (T3). */
void cc__lesson_think(struct cc__worker *w);

/* Whether it is time to think. */
static inline bool cc__lesson_due(const struct cc__lesson *l)
{
	enum { MET = 32 };

	/* Relaxed: our own. */
	return cc__load(&l->from, CC__RELAXED) != 0 && cc__contentions() - l->contentions >= MET;
}

#endif
