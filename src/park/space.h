/* space.h - address spaces and shared objects: whose word an address is.
 *
 * A1  A private word is (space, its generation, address); a shared one is (object, its
 *     generation, offset), and so the same through every mapping.  What an address is, is
 *     found out under the space's lock, and that lock is held until the word has been
 *     read with its bucket held: no mapping goes away in between.
 * A2  A mapping that goes is marked first.  From then on nobody begins to wait in it; who
 *     does wait is ended; only after that can its addresses be mapped again.
 * A3  Locks: space, node, bucket, and then what `ended` takes.  All are dropped before
 *     anybody sleeps or is woken.
 * A4  A space has its own buckets, and so has an object.  Those of an object stay as long
 *     as a capability, a mapping or a waiter holds it; those of a space as long as somebody
 *     may wait in it.
 *
 * A node is somebody's one wait at a time in a space.  Every wait that was begun calls
 * `ended` once, whoever ends it: who takes it off its bucket, or else the sleeper. */
#ifndef CC__PARK_SPACE_H
#define CC__PARK_SPACE_H

#include <ccc/cap.h>

#include "park/engine.h"

/* ---- objects ---- */

struct cc__object {
	uint64_t id, size;		/* constant */
	cc__a64 generation;
	struct cc__park_table table;	/* constant */
	cc__a32 holds;			/* capabilities, mappings, the creator */
	cc__a32 pins;			/* waiters; each holds, too */
	/* The host's: nobody holds it any more. */
	void (*last)(struct cc__object *o);
};

/* One hold, of the creator.  The buckets are all zero. */
void cc__object_init(struct cc__object *o, uint64_t id, uint64_t size,
                     struct cc__bucket *buckets, unsigned bits);
void cc__object_hold(struct cc__object *o);
void cc__object_drop(struct cc__object *o);
/* A new generation; everybody who waits is told EINTR. */
void cc__object_revoke(struct cc__object *o);
uint64_t cc__object_generation(const struct cc__object *o);

/* ---- spaces ---- */

struct cc__region {
	uint64_t base, length;		/* length 0: none */
	uint64_t offset;		/* in the object */
	struct cc__object *object;	/* held; NULL: private */
	uint64_t generation;		/* of the object when it was mapped */
	uint32_t access;		/* CC_CAP_READ, ... */
	const void *memory;		/* where we find `base`; the host's.  NULL: there */
	/* A2: 0; 1 if it is taken away by itself; else the generation that ends it. */
	uint64_t leaving;
	bool stays;			/* when it has left: the addresses, without access */
};

struct cc__space {
	struct cc__lock lock;
	uint64_t id;			/* constant */
	uint64_t generation;		/* lock */
	uint64_t limit;			/* constant; the first address that is no user's */
	struct cc__region *region;	/* lock; `regions` of them */
	unsigned regions;		/* constant */
	unsigned mapped;		/* lock */
	bool over;			/* lock; torn down */
	struct cc__park_table table;	/* constant */
};

struct cc__space_memory {
	struct cc__region *region;	/* all zero, as are the buckets */
	unsigned regions;
	struct cc__bucket *bucket;
	unsigned bits;			/* at least 1 */
};

void cc__space_init(struct cc__space *s, uint64_t id, uint64_t limit,
                    const struct cc__space_memory *m);

/* 0, EINVAL, EEXIST, EAGAIN, ESHUTDOWN.  `object` may be NULL; its generation is what the
 * caller believes, EINVAL if it is another. */
int cc__space_map(struct cc__space *s, const struct cc__region *what);
/* 0, ENOENT, EBUSY.  Who waits there has been told EINTR (A2).  Revoked: the addresses
 * stay, without access. */
int cc__space_unmap(struct cc__space *s, uint64_t base);
int cc__space_revoke(struct cc__space *s, uint64_t base);
/* All is unmapped, and there is a new generation; for ever, if it is the end. */
int cc__space_renew(struct cc__space *s);
void cc__space_end(struct cc__space *s);

/* ---- waits ---- */

struct cc__node {
	struct cc__sleeper sleeper;	/* first */
	struct cc__lock lock;
	struct cc__space *space;	/* constant while somebody uses it */
	/* Who it is: not 0 while he lives.  Written under lock; looked at by those who
	 * take him off, under his bucket's. */
	cc__a32 live;
	uint32_t id;			/* what `live` was when he came; constant */
	bool waits;			/* lock; set and cleared by himself */
	int error;			/* his own: what his last sleep returned */
	const struct cc__park_table *table;	/* lock; the wait's */
	struct cc__object *object;	/* pinned by it; NULL: private */
	uint64_t address;		/* constant while listed */
	/* The owner's, or both NULL.  With the bucket held and the value as expected: may it
	 * sleep?  And the wait is over with that result, a CCParkStatus or CC_CAP_E_*:
	 * once for each cc__node_wait, with the bucket held or by the sleeper himself; a
	 * wake that is left to do, if any. */
	bool (*admit)(struct cc__node *n);
	struct cc__wake (*ended)(struct cc__node *n, int result);
};

struct cc__node_wait {
	struct cc__object *object;	/* of a shared wait, held by the caller; NULL: private */
	uint64_t generation;		/* of the object, as the caller knows it */
	uint64_t address;
	uint32_t expected;
	cc_time deadline;		/* CC_NOW: does not sleep */
};

/* The node is all zero but for space, admit, ended. */
void cc__node_open(struct cc__node *n, uint32_t id);
/* One at a time.  A CCParkStatus, or CC_CAP_E_*: ADDRESS, OBJECT, FAULT, GONE, AGAIN (admit
 * said no), MEMORY.  May park. */
int cc__node_wait(struct cc__node *n, const struct cc__node_wait *w);
/* If it is still he: he is gone, and from now on his waits are over, without a word to him;
 * true.  Id 0: whoever it is.  By anybody. */
bool cc__node_close(struct cc__node *n, uint32_t id);
/* If it is he: the wait that he is in ends with INTERRUPTED.  True: it did. */
bool cc__node_interrupt(struct cc__node *n, uint32_t id);
/* He waits, or has not come back yet. */
bool cc__node_waits(struct cc__node *n);
/* With the bucket held, or by himself: he lives. */
bool cc__node_lives(const struct cc__node *n);

/* The number woken, or CC_CAP_E_*: ADDRESS; with an object OBJECT and FAULT. */
int cc__space_wake(struct cc__space *s, struct cc__object *object, uint64_t generation,
                   uint64_t address, uint32_t most);

/* That much after now.  CC_CAP_NEVER is for ever, and nothing else is. */
cc_time cc__park_deadline(uint64_t timeout);

#endif
