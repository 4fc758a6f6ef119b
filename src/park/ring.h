/* ring.h - the ring door: submissions in, completions out.
 *
 * R1  The rings lie in memory that the user writes.  Of it only sq_tail, cq_head and the
 *     entries are read; indices are checked against copies of ours, and an entry is copied
 *     once, before anybody looks at it.
 * R2  An entry is taken only when its completion has been promised a place.  Completions
 *     to be read and promises together never exceed the ring, so whoever ends a wait can
 *     say so, at any time.
 * R3  Promises that are kept for long (waits, timers) never take the last place: a ring whose
 *     places were all promised so could not take the wake that ends them.  The others come
 *     free when the user reads.  Without a place the entry completes with AGAIN.
 * R4  The entry at the head is left where it is if it belongs to another strand that
 *     lives, or if nothing can be promised.  That of a strand that does not live any more
 *     is completed with an error.
 * R5  A wait is taken from the ring before its strand sleeps, and completed by whoever
 *     ends it, once: with its promise, or in silence if the strand is gone.
 * R6  One strand at a time is blocked for completions.  It is woken when there are enough,
 *     and also when something has changed that might let it go on taking entries.  One is
 *     enough if entries are left that could be promised nothing: they wait for the reader.
 *
 * Locks: ring, capabilities, space, node, bucket, completions.  None is held when
 * somebody sleeps or is woken. */
#ifndef CC__PARK_RING_H
#define CC__PARK_RING_H

#include "park/cap.h"

enum { CC__CAPRING_TIMERS = 16 };

struct cc__capring_timer {
	bool armed;
	cc_time when;
	uint64_t user_data;
};

struct cc__capring {
	CCCapRing *user;		/* constant, as the next five */
	uint32_t sq_entries, cq_entries;
	struct cc__space *space;
	struct cc__caps *caps;
	struct cc__strands *strands;

	struct cc__lock lock;
	uint32_t sq_head;		/* lock */

	struct cc__waitq done;		/* its lock guards the rest; who is blocked in enter */
	uint32_t cq_tail, cq_head;
	uint32_t promised;		/* R2 */
	uint32_t kept;			/* so many of them for long (R3) */
	uint64_t silent;		/* so many promises ended without a completion */
	uint32_t wanted;		/* by who is blocked */
	uint64_t moved, seen;		/* changes (R6); and how many he has seen */
	bool entering;			/* somebody is blocked, or about to be again */
	bool over;
	uint32_t armed;			/* timers */
	struct cc__capring_timer timer[CC__CAPRING_TIMERS];
};

/* Bytes of both rings. */
size_t cc__capring_size(uint32_t sq_entries, uint32_t cq_entries);

/* `user` is all zero, as large as cc__capring_size says; both are powers of 2, completions at
 * least 2. */
void cc__capring_init(struct cc__capring *r, CCCapRing *user, uint32_t sq_entries,
                      uint32_t cq_entries);

/* cc_cap_enter and cc_cap_poll: the number of completions to be read, or CC_CAP_E_*. */
int cc__capring_enter(struct cc__capring *r, struct cc__strand *self, uint32_t min_complete,
                      uint64_t timeout);
int cc__capring_poll(struct cc__capring *r);

/* A strand ends, by itself or not: its wait goes in silence, and what it has
 * submitted is retired (R4).  False: none of that id lives. */
bool cc__capring_strand_end(struct cc__capring *r, uint32_t id);

/* The process ends: its strands, its space, its capabilities. */
void cc__capring_exit(struct cc__capring *r);

/* A wait of a strand without the ring: as cc__node_wait, or BUSY. */
int cc__strand_wait(struct cc__strand *s, const struct cc__node_wait *w);

#endif
