/* client.h - the safe way to use a ring from many strands.
 *
 * C1  Entries are written, and completions read, under one lock, which nobody holds in an
 *     enter.  So a sibling submits and wakes while others are parked.
 * C2  User data with the highest byte of CC_CAP_CLIENT_DATA are the client's: they name a slot,
 *     and which use of it.  No other submission has them.
 * C3  Whoever reads completions reads all that are there, and puts each where it belongs: the
 *     client's into their slots, others on a shelf.  A strand whose completion was read by
 *     another finds the result in its slot.
 * C4  One strand at a time waits for the completions of others (`turn`), and may block for
 *     them; while it is about to, others leave the last one unread, so that it is not
 *     asleep when its own has been read by them.  A park or a wake never waits for it. */
#ifndef CC__PARK_CLIENT_H
#define CC__PARK_CLIENT_H

#include "park/domain.h"

struct cc__client_slot {
	bool used;		/* lock, as all of it */
	bool done;
	uint32_t uses;
	int result;
};

struct CCCapClient {
	CCDomain *domain;		/* constant, as the next three */
	size_t size;
	struct cc__client_slot *slot;	/* what is waited for; two for each strand */
	uint32_t slots;
	struct cc__lock lock;		/* rank CLIENT */
	uint32_t read;			/* lock; completions before it have been read */
	bool ordinary;			/* lock; somebody may block for completions (C4) */
	/* Of others, read and not asked for yet. */
	CCCapCompletion *shelf;		/* lock; as many as the ring holds */
	uint32_t shelved, taken;	/* lock; indices into it, without end */
	uint32_t asked;			/* lock; entries of others whose completion is to come */
	struct cc__waitq turn;		/* whose turn it is (C4) */
	bool turned;			/* turn.lock; it is somebody's */
};

#endif
