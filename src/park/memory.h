/* memory.h - memory objects: what this process has of memory that others have, too.
 *
 * M1  An object is one record here, found by its identity, however often it comes in.
 * M2  Its lock guards its mappings, and the waits in them.
 * M3  Pinned is an object by its handles and by whoever uses a mapping.  With the last
 *     pin the mappings, the descriptor and the record go.
 * M4  Who waits or wakes uses the mapping that his word is in, from before the place of
 *     the word is known until the kernel is through with it.  An unmap says that it is
 *     leaving, after which nobody begins to use it, ends the waits, and lets the memory
 *     go when nobody uses it.  So no wait and no wake meets what is mapped there next.
 * M5  Nothing of this lies in the memory itself. */
#ifndef CC__PARK_MEMORY_H
#define CC__PARK_MEMORY_H

#include "park/door.h"
#include "park/slots.h"

struct cc__mapping {
	char *base;			/* constant */
	struct cc__mapping *next;	/* object's lock; the slab's if free */
	/* Below: the object's lock. */
	uint32_t users;			/* M4 */
	bool leaving;			/* M4 */
	struct cc__slot *waits;		/* those that are to be told when it leaves */
	struct cc__waitq unmapper;
};

struct CCMemory {
	struct cc__lock lock;		/* M2 */
	uint32_t pins, handles;		/* lock */
	uint32_t waits;			/* lock */
	struct cc__mapping *mappings;	/* lock */
	/* Constant while it is pinned. */
	int fd;
	size_t size;
	CCMemoryIdentity identity;
	CCParkSpace space;
	/* The lock of all objects. */
	struct CCMemory *next, **place;	/* place NULL: not among them */
};

/* cc_park_wait and cc_park_wake, of its space. */
int cc__memory_wait(CCMemory *m, const uint32_t *word, uint32_t expected, cc_time deadline,
                    CCParkStatus *status);
int cc__memory_wake(CCMemory *m, const uint32_t *word, uint32_t max, uint32_t *woken);

/* Held: the mapping that the word is in, used from here on (M4).  EFAULT: it is in none;
 * EINVAL: nobody has a handle any more. */
int cc__mapping_use(CCMemory *m, const void *word, struct cc__mapping **out);
/* In the same hold: not used after all. */
static inline void cc__mapping_unuse(CCMemory *m, struct cc__mapping *p)
{
	p->users--;
	m->pins--;
}
/* No longer; s is the wait that is over, or NULL.  The object may be gone after it. */
void cc__mapping_done(CCMemory *m, struct cc__mapping *p, struct cc__slot *s);

#endif
