/* timer.c - the wheel of timer.h.  All of it but the calls at the end: under the lock. */
#include "time/timer.h"

#include "os/assert.h"

enum { DIGIT = 6, DIGIT_MASK = CC__TIMER_SLOTS - 1 };

/* ---- units ---- */

/* The one in which t is due. */
static uint64_t unit_of(const struct cc__timer *t)
{
	if (t->deadline <= 0)	/* mutant: <= -> < survives: 0 is rounded to 0 as well. */
		return 0;
	return ((uint64_t)t->deadline + CC__TIMER_UNIT - 1) / CC__TIMER_UNIT;
}

/* The one that has begun; the clock begins at 0. */
static uint64_t unit_at(cc_time now)
{
	return (uint64_t)now / CC__TIMER_UNIT;
}

static cc_time begin_of(uint64_t unit)
{
	return unit > (uint64_t)CC_FOREVER / CC__TIMER_UNIT ? CC_FOREVER - 1
	                                                     : (cc_time)(unit * CC__TIMER_UNIT);
}

/* ---- lists ---- */

static void set_from(struct cc__timer *t, struct cc__timer **from)
{
	cc__store(&t->from, from, CC__RELAXED);	/* Relaxed: under the lock */
}

static void put_first(struct cc__timer **list, struct cc__timer *t)
{
	if ((t->next = *list) != NULL)
		set_from(t->next, &t->next);
	*list = t;
	set_from(t, list);
}

static void clear_bit(struct cc__timers *h, unsigned level, unsigned digit)
{
	h->slots[level] &= ~((uint64_t)1 << digit);
	if (h->slots[level] == 0)
		h->levels &= ~(1u << level);
}

/* `list` is empty now; it may be a slot's. */
static void list_emptied(struct cc__timers *h, struct cc__timer **list)
{
	const uintptr_t index = ((uintptr_t)list - (uintptr_t)h->slot) / sizeof h->slot[0];

	/* mutant: < -> <= survives: there is no such level. */
	if (index < CC__TIMER_LEVELS * CC__TIMER_SLOTS)
		clear_bit(h, (unsigned)index / CC__TIMER_SLOTS, (unsigned)index % CC__TIMER_SLOTS);
}

/* Out of its list; the timer is its owner's then (T1). */
static void take_out(struct cc__timers *h, struct cc__timer *t)
{
	struct cc__timer **from = cc__load(&t->from, CC__RELAXED);	/* Relaxed: under the lock */

	if ((*from = t->next) != NULL)
		set_from(t->next, from);
	else
		list_emptied(h, from);
	/* Release: we do not touch it again, to the acquire in cc__timer_armed. */
	cc__store(&t->from, NULL, CC__RELEASE);
}

/* ---- the wheel ---- */

static struct cc__timer_slot *slot_of(struct cc__timers *h, unsigned level, unsigned digit)
{
	return &h->slot[level * CC__TIMER_SLOTS + digit];
}

static void put_in(struct cc__timer_slot *slot, struct cc__timer *t, cc_time due)
{
	slot->earliest = slot->first != NULL ? cc__earlier(slot->earliest, due) : due;
	put_first(&slot->first, t);
}

/* When it is due. */
static cc_time put(struct cc__timers *h, struct cc__timer *t)
{
	const uint64_t unit = unit_of(t);
	const cc_time due = begin_of(unit);
	unsigned level, digit;

	if (unit <= h->at) {
		put_in(&h->reached, t, due);
		return due;
	}
	level = (63 - (unsigned)__builtin_clzll(unit ^ h->at)) / DIGIT;
	digit = (unsigned)(unit >> level * DIGIT) & DIGIT_MASK;
	put_in(slot_of(h, level, digit), t, due);
	h->slots[level] |= (uint64_t)1 << digit;
	h->levels |= 1u << level;
	return due;
}

/* The slot of those that are due next.  False: there are none. */
static bool next_slot(const struct cc__timers *h, unsigned *level, unsigned *digit)
{
	if (h->levels == 0)
		return false;
	*level = (unsigned)__builtin_ctz(h->levels);
	*digit = (unsigned)__builtin_ctzll(h->slots[*level]);
	return true;
}

static uint64_t begin_of_slot(const struct cc__timers *h, unsigned level, unsigned digit)
{
	const unsigned shift = level * DIGIT;

	return (h->at >> shift >> DIGIT << DIGIT | digit) << shift;
}

/* Go on to the next slot that has been reached by `now`.  False: it is not that late;
 * then as far as possible, so that what is added comes to lie low.  (As long as that
 * is before the next slot, no timer changes its place by it.) */
static bool advance(struct cc__timers *h, uint64_t now)
{
	unsigned level, digit;
	struct cc__timer_slot *slot;

	if (!next_slot(h, &level, &digit) || begin_of_slot(h, level, digit) > now) {
		h->at = now > h->at ? now : h->at;	/* mutant: > -> >= survives: the same. */
		return false;
	}
	slot = slot_of(h, level, digit);
	h->at = begin_of_slot(h, level, digit);
	h->reached = *slot;
	set_from(h->reached.first, &h->reached.first);
	slot->first = NULL;
	clear_bit(h, level, digit);
	return true;	/* mutant: true -> false survives: the next collection goes on. */
}

static void note_earliest(struct cc__timers *h)
{
	cc_time first = h->reached.first != NULL ? h->reached.earliest : CC_FOREVER;
	unsigned level, digit;

	/* What was added since may be due before what was reached. */
	if (next_slot(h, &level, &digit))
		first = cc__earlier(first, slot_of(h, level, digit)->earliest);
	/* Relaxed: a hint; whoever must not miss it passes a fence of idle.h. */
	cc__store(&h->earliest, first, CC__RELAXED);
}

/* ---- expiry ---- */

enum { TOUCHES = 64, BATCH = 16 };

struct due {
	void *object;
	uint64_t value;
};

/* What has expired, BATCH at most (T2, T3); `earliest` tells whether that was all. */
static unsigned collect(struct cc__timers *h, uint64_t now, struct due *due)
{
	unsigned n = 0;

	/* mutant: < -> <= survives: touches one more in a hold of the lock. */
	for (unsigned touches = 0; touches < TOUCHES && n < BATCH; touches++) {
		struct cc__timer *t;

		if (h->reached.first == NULL && !advance(h, now))
			break;
		t = h->reached.first;
		if (t->next != NULL)
			__builtin_prefetch(t->next);
		if (unit_of(t) <= h->at) {
			__builtin_prefetch(t->object, 1);	/* will be woken */
			due[n++] = (struct due){t->object, t->value};
			take_out(h, t);
		} else {
			if ((h->reached.first = t->next) != NULL)
				set_from(t->next, &h->reached.first);
			put(h, t);
		}
	}
	note_earliest(h);
	return n;
}

/* ---- the calls ---- */

void cc__timers_init(struct cc__timers *h)
{
	*h = (struct cc__timers){0};
	note_earliest(h);
}

bool cc__timers_add_locked(struct cc__timers *h, struct cc__timer *t, cc_time recent)
{
	cc_time due;

	CC__ASSERT(!cc__timer_armed(t), "timer: armed twice");
	if (h->reached.first == NULL)
		advance(h, unit_at(recent));
	/* Relaxed: under the lock. */
	if ((due = put(h, t)) >= cc__load(&h->earliest, CC__RELAXED))
		return false;
	cc__store(&h->earliest, due, CC__RELAXED);	/* Relaxed: as in note_earliest */
	return true;
}

bool cc__timers_add(struct cc__timers *h, struct cc__timer *t, cc_time recent)
{
	bool first;

	cc__lock(&h->lock, CC__RANK_TIMER);
	first = cc__timers_add_locked(h, t, recent);
	cc__unlock(&h->lock);
	return first;
}

bool cc__timers_remove(struct cc__timers *h, struct cc__timer *t)
{
	bool armed;

	/* Acquire: as in cc__timer_armed. */
	if (cc__load(&t->from, CC__ACQUIRE) == NULL)
		return false;
	cc__lock(&h->lock, CC__RANK_TIMER);
	/* Relaxed: under the lock. */
	if ((armed = cc__load(&t->from, CC__RELAXED) != NULL))
		take_out(h, t);
	cc__unlock(&h->lock);
	return armed;
}

unsigned cc__timers_run(struct cc__timers *h, cc_time now, unsigned most, cc__timer_fire *fire)
{
	struct due due[BATCH];
	unsigned fired = 0, n;

	while (fired < most && cc__timers_earliest(h) <= now) {
		cc__lock(&h->lock, CC__RANK_TIMER);
		n = collect(h, unit_at(now), due);
		cc__unlock(&h->lock);
		for (unsigned i = 0; i < n; i++)
			fire(due[i].object, due[i].value);
		fired += n;
	}
	return fired;
}
