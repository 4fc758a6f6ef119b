/* cap.h - what a domain holds, and who has joined it.
 *
 * K1  An id is a slot and the number of times that the slot has been used.  It names one
 *     capability, or one strand, for ever: a slot whose numbers are used up stays empty.
 * K2  THREAD_CONTROL, THREAD_SPAWNER and PARK_SPACE are minted together, once, and leave
 *     the table only by release.  SHARED_PARK_SPACE is derived from a MEMORY_OBJECT that
 *     is held.  Nothing else grants them, and nothing passes the first three on.
 * K3  A capability of an object holds it, and is stale when the object's generation has
 *     changed.
 * K4  A strand has one node, and so waits for one thing at a time. */
#ifndef CC__PARK_CAP_H
#define CC__PARK_CAP_H

#include "park/space.h"

/* 12 bits of slot: tables have at most so many. */
enum { CC__SLOT_BITS = 12, CC__SLOTS_MAX = 1 << CC__SLOT_BITS };

/* ---- capabilities ---- */

struct cc__cap {
	uint32_t uses;			/* lock, as all of it */
	CCCapKind kind;			/* NONE: free */
	struct cc__object *object;	/* held; of SHARED_PARK_SPACE and MEMORY_OBJECT */
	uint64_t generation;		/* of the object, then */
};

struct cc__caps {
	struct cc__lock lock;
	struct cc__cap *cap;		/* constant; `count` of them, all zero at first */
	uint32_t count;
	uint32_t used;			/* lock */
	bool over;			/* lock; nothing is granted any more */
};

void cc__caps_init(struct cc__caps *c, struct cc__cap *cap, uint32_t count);
/* The three that come with a domain, or none: EAGAIN. */
int cc__caps_mint(struct cc__caps *c);
/* 0, EAGAIN, ESHUTDOWN; *id is the new one. */
int cc__caps_grant_timer(struct cc__caps *c, uint32_t *id);
int cc__caps_grant_object(struct cc__caps *c, struct cc__object *o, uint32_t *id);
/* And EBADF: not a MEMORY_OBJECT that is held. */
int cc__caps_derive(struct cc__caps *c, uint32_t object, uint32_t *id);
/* And EPERM (K2). */
int cc__caps_transfer(struct cc__caps *from, uint32_t id, struct cc__caps *to, uint32_t *copy);
/* 0 or EBADF. */
int cc__caps_release(struct cc__caps *c, uint32_t id);
/* All of them, and there will be no more. */
void cc__caps_end(struct cc__caps *c);
/* The first of a kind, or 0. */
uint32_t cc__caps_find(struct cc__caps *c, CCCapKind kind);

/* What it is, with a hold on its object until cc__cap_look_away; kind NONE: there is no such
 * capability, or it is stale. */
struct cc__cap cc__caps_look(struct cc__caps *c, uint32_t id);

static inline void cc__cap_look_away(const struct cc__cap *cap)
{
	if (cap->object != NULL)
		cc__object_drop(cap->object);
}

/* ---- strands ---- */

struct cc__capring;
struct cc__strands;

struct cc__strand {
	struct cc__node node;		/* first */
	struct cc__strands *all;	/* constant */
	uint32_t uses;			/* all->lock */
	bool joined;			/* all->lock; the slot is somebody's until it is freed */
	cc__a32 inside;			/* not 0: in a call that may sleep, one at a time */
	struct cc__capring *ring;		/* its own: where its wait came from, */
	uint64_t user_data;		/* and what belongs into the completion */
	bool keeps;			/* the ring's: its wait keeps a promise for long */
	void *host;			/* the host's */
};

struct cc__strands {
	struct cc__lock lock;		/* rank CAPS */
	struct cc__space *space;	/* constant */
	struct cc__strand *strand;	/* constant; `count` of them, all zero at first */
	uint32_t count;
	uint32_t used;			/* lock; joined */
	bool over;			/* lock; nobody joins any more */
};

void cc__strands_init(struct cc__strands *all, struct cc__space *space,
                      struct cc__strand *strand, uint32_t count);
/* A strand that lives.  NULL: EAGAIN, or ESHUTDOWN. */
struct cc__strand *cc__strand_join(struct cc__strands *all, int *err);
/* It lives no more: what it waits for ends in silence.  By anybody.  False: none of that id
 * lives. */
bool cc__strand_end(struct cc__strands *all, uint32_t id);
/* The wait that it is in, if any, is interrupted.  False: as above. */
bool cc__strand_interrupt(struct cc__strands *all, uint32_t id);
/* Its record goes; it has ended, and is in no call.  False: it is gone already. */
bool cc__strand_free(struct cc__strand *s);
/* All end, and nobody joins any more. */
void cc__strands_end(struct cc__strands *all);

/* id names one that lives. */
bool cc__strand_lives(struct cc__strands *all, uint32_t id);

static inline uint32_t cc__strand_id(const struct cc__strand *s)
{
	return s->node.id;
}

/* One call at a time.  False: it is in one. */
bool cc__strand_enter(struct cc__strand *s);
void cc__strand_exit(struct cc__strand *s);

/* So many of them wait for a word. */
uint32_t cc__strands_waiting(struct cc__strands *all);

#endif
