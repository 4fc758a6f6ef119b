/* broadcast.h - channels whose elements go to every subscription: the log.  broadcast.c has the
 * invariants. */
#ifndef CC__CHAN_BROADCAST_H
#define CC__CHAN_BROADCAST_H

#include "chan/chan.h"
#include "chan/ring.h"
#include "wait/cancel.h"

/* A broadcast or watch channel.  The log keeps the elements at the positions from `head` to `tail`;
 * the element at position p is in slot p % capacity. */
struct cc__broadcast_chan {
	CCChan chan;		/* first */
	struct cc__lock log;	/* guards all that follows and the log's part of subscriptions */
	bool loses;		/* constant; a full log discards its oldest element */
	bool latest;		/* constant; a subscription begins with the newest element */
	bool sender_waits;	/* BROADCAST-2: a sender may be listed */
	uint32_t subscriptions;	/* that have not been freed */
	uint32_t receivers;	/* of these, not closed by themselves */
	uint64_t head, tail;
	uint64_t changes;	/* operations that changed the log or a subscription */
	struct cc__link *waiting;	/* BROADCAST-2: subscriptions with a listed receiver */
};

/* The receiving end.  chan.source is its broadcast channel. */
struct cc__subscription {
	CCChan chan;		/* first */
	/* The lock `log` of the source guards these. */
	struct cc__link waiting;	/* on a list: marked (BROADCAST-2) */
	uint64_t next;		/* position of the element that it receives next */
	uint64_t end;		/* position of the first element that it will not receive */
	uint64_t lost;		/* elements since the last cc_chan_lost */
};

enum { CC__LOG_SLOT_HEAD = 8 };	/* bytes of a slot before its element */

#define CC__LOG_NO_END UINT64_MAX

/* Bytes of a slot: a count, and the element. */
static inline size_t cc__log_slot_size(size_t size)
{
	return CC__LOG_SLOT_HEAD + (size + 7) / 8 * 8;
}

static inline struct cc__broadcast_chan *cc__broadcast_of(CCChan *c)
{
	return (struct cc__broadcast_chan *)(void *)c;
}

static inline struct cc__subscription *cc__subscription_of(CCChan *c)
{
	return (struct cc__subscription *)(void *)c;
}

/* The channel with the log that `way` of c works on. */
static inline struct cc__broadcast_chan *cc__log_of(CCChan *c, enum cc__way way)
{
	return cc__broadcast_of(way == CC__SEND ? c : c->source);
}

static inline void cc__log_lock(struct cc__broadcast_chan *b)
{
	cc__lock(&b->log, CC__RANK_LOG);
}

static inline void cc__log_unlock(struct cc__broadcast_chan *b)
{
	cc__unlock(&b->log);
}

/* ---- the log, under its lock ---- */

static inline bool cc__log_ended(const struct cc__broadcast_chan *b)
{
	/* Relaxed: written under the log's lock. */
	return cc__load(&b->chan.closed, CC__RELAXED) != 0;
}

static inline char *cc__log_slot(const struct cc__broadcast_chan *b, uint64_t position)
{
	const uint64_t n = b->chan.capacity;
	/* A division costs as much as the rest of a send. */
	const uint64_t i = (n & (n - 1)) == 0 ? position & (n - 1) : position % n;

	return (char *)b->chan.slots + i * cc__log_slot_size(b->chan.size);
}

/* How many subscriptions have not received that element. */
static inline uint32_t *cc__log_left(const struct cc__broadcast_chan *b, uint64_t position)
{
	return (uint32_t *)(void *)cc__log_slot(b, position);
}

static inline size_t cc__log_room(const struct cc__broadcast_chan *b)
{
	return b->loses ? SIZE_MAX : b->chan.capacity - (size_t)(b->tail - b->head);
}

/* Gives up the oldest elements that every subscription has received. */
static inline void cc__log_drop_received(struct cc__broadcast_chan *b)
{
	while (!b->loses && b->head < b->tail && *cc__log_left(b, b->head) == 0)
		b->head++;
}

/* The position behind the last element that s may receive. */
static inline uint64_t cc__log_last(const struct cc__broadcast_chan *b, const struct cc__subscription *s)
{
	return s->end < b->tail ? s->end : b->tail;
}

/* Elements that were replaced before s received them. */
static inline void cc__log_note_lost(const struct cc__broadcast_chan *b, struct cc__subscription *s)
{
	const uint64_t last = cc__log_last(b, s), oldest = b->head < last ? b->head : last;

	if (s->next < oldest) {
		s->lost += oldest - s->next;
		s->next = oldest;
	}
}

static inline size_t cc__log_pending(const struct cc__broadcast_chan *b, struct cc__subscription *s)
{
	cc__log_note_lost(b, s);
	return (size_t)(cc__log_last(b, s) - s->next);
}

/* How many callers would not wait now: all of them after a close, even if elements are left,
 * because nothing signals those for which there is none. */
static inline size_t cc__log_ready(struct cc__broadcast_chan *b, CCChan *c, enum cc__way way)
{
	if (cc__log_ended(b) || (way == CC__RECV && cc__subscription_of(c)->end != CC__LOG_NO_END))
		return SIZE_MAX;
	return way == CC__SEND ? cc__log_room(b) : cc__log_pending(b, cc__subscription_of(c));
}

/* One element.  Returns the outcome. */
static inline int cc__log_append(struct cc__broadcast_chan *b, const void *item)
{
	char *slot;

	if (cc__log_ended(b))
		return CC__CLOSED;
	if (cc__log_room(b) == 0)
		return CC__NOT_NOW;
	if (b->tail - b->head == b->chan.capacity)
		b->head++;
	slot = cc__log_slot(b, b->tail);
	*(uint32_t *)(void *)slot = b->receivers;
	cc__ring_copy(slot + CC__LOG_SLOT_HEAD, item, b->chan.size);
	b->tail++;
	cc__log_drop_received(b);
	return 0;
}

/* s has received the element, or never will. */
static inline void cc__log_pass(struct cc__broadcast_chan *b, uint64_t position)
{
	if (!b->loses)
		--*cc__log_left(b, position);
}

/* Its next element.  Returns the outcome. */
static inline int cc__log_take(struct cc__broadcast_chan *b, struct cc__subscription *s, void *into)
{
	if (cc__log_pending(b, s) == 0)
		return cc__log_ended(b) || s->end != CC__LOG_NO_END ? CC__CLOSED : CC__NOT_NOW;
	cc__ring_copy(into, cc__log_slot(b, s->next) + CC__LOG_SLOT_HEAD, b->chan.size);
	cc__log_pass(b, s->next++);
	return 0;
}

/* ---- marks, under the log's lock ---- */

static inline void cc__log_mark(struct cc__broadcast_chan *b, CCChan *c, enum cc__way way)
{
	struct cc__link *l = &cc__subscription_of(c)->waiting;

	if (way == CC__SEND) {
		b->sender_waits = true;
	} else if (l->place == NULL) {
		l->next = b->waiting;
		l->place = &b->waiting;
		if (l->next != NULL)
			l->next->place = &l->next;
		b->waiting = l;
	}
}

static inline void cc__log_unmark(struct cc__link *l)
{
	if (l->place == NULL)
		return;
	*l->place = l->next;
	if (l->next != NULL)
		l->next->place = l->place;
	l->next = NULL;
	l->place = NULL;
}

/* Moves all marks of subscriptions to the caller's list. */
static inline void cc__log_take_marks(struct cc__broadcast_chan *b, struct cc__link **list)
{
	*list = b->waiting;
	if (*list != NULL)
		(*list)->place = list;
	b->waiting = NULL;
}

static inline bool cc__log_take_senders_mark(struct cc__broadcast_chan *b)
{
	const bool waits = b->sender_waits && (cc__log_ended(b) || cc__log_room(b) > 0);

	if (waits)
		b->sender_waits = false;
	return waits;
}

#endif
