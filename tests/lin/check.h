/* check.h - is there an order of the operations of a history that the model allows?
 *
 * The search of Wing and Gong: an operation may be the next if none that is left ended
 * before it began; take one that the model allows, and go on; if it leads nowhere, take
 * another.  With Lowe's memory: what is left and the model's state decide the rest, so
 * a pair of them that was seen once need not be looked at again.
 *
 * An operation that changes nothing and is allowed is taken for good: wherever it stands
 * in an order that works, it might as well stand here. */
#ifndef TEST_LIN_CHECK_H
#define TEST_LIN_CHECK_H

#include <stdio.h>

#include "lin/model.h"

enum { LIN_OPS_MAX = 1024, LIN_WORDS = LIN_OPS_MAX / 64, LIN_SEEN_MAX = 1 << 20 };

enum lin_verdict {
	LIN_GOOD,
	LIN_WRONG,
	LIN_UNDECIDED,	/* more to look at than there is room for */
};

/* All of it is compared: no two are taken for one. */
struct lin_seen {
	uint64_t done[LIN_WORDS];
	struct lin_state state;
	uint32_t used;
};
_Static_assert(sizeof(struct lin_seen) == LIN_WORDS * 8 + sizeof(struct lin_state) + 4, "no holes");

struct lin_search {
	struct lin_view v;
	unsigned count, left;
	struct lin_seen now;
	struct lin_seen *seen;	/* open addressing */
	unsigned room, kept;
	bool full;
	unsigned best;	/* fewest that were left, and what was done then */
	struct lin_seen at_best;
};

/* ---- what was seen ---- */

static inline uint64_t lin_hash(const struct lin_seen *k)
{
	const unsigned char *p = (const void *)k;
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i + 8 <= sizeof *k; i += 8) {
		uint64_t word;

		memcpy(&word, p + i, 8);
		h = (h ^ word) * 0x9e3779b97f4a7c15;
		h ^= h >> 29;
	}
	return h;
}

/* Where it is, or would be. */
static inline struct lin_seen *lin_find(struct lin_seen *seen, unsigned room,
                                        const struct lin_seen *k)
{
	unsigned i = (unsigned)lin_hash(k) & (room - 1);

	while (seen[i].used != 0 && memcmp(&seen[i], k, sizeof *k) != 0)
		i = (i + 1) & (room - 1);
	return &seen[i];
}

static inline void lin_grow(struct lin_search *s)
{
	const unsigned room = s->room > 0 ? 2 * s->room : 1024;
	struct lin_seen *more = calloc(room, sizeof *more);

	if (!CHECK(more != NULL))
		abort();
	for (unsigned i = 0; i < s->room; i++)
		if (s->seen[i].used != 0)
			*lin_find(more, room, &s->seen[i]) = s->seen[i];
	free(s->seen);
	s->seen = more;
	s->room = room;
}

/* True the first time. */
static inline bool lin_is_new(struct lin_search *s)
{
	struct lin_seen *k;

	if (2 * s->kept >= s->room)
		lin_grow(s);
	k = lin_find(s->seen, s->room, &s->now);
	if (k->used != 0)
		return false;
	*k = s->now;
	s->full = ++s->kept == LIN_SEEN_MAX;
	return true;
}

/* ---- the search ---- */

static inline bool lin_done(const struct lin_seen *k, unsigned i)
{
	return (k->done[i / 64] >> (i % 64) & 1) != 0;
}

static inline void lin_flip(struct lin_seen *k, unsigned i)
{
	k->done[i / 64] ^= (uint64_t)1 << (i % 64);
}

enum { LIN_NEXT_MAX = 128 };

/* Those that may be next; how many.  Operations are sorted by their begin. */
static inline unsigned lin_next(struct lin_search *s, uint16_t next[LIN_NEXT_MAX])
{
	cc_time first_end = CC_FOREVER;
	unsigned n = 0, kept = 0;

	for (unsigned i = 0; i < s->count && s->v.op[i].begin <= first_end; i++) {
		if (lin_done(&s->now, i))
			continue;
		if (s->v.op[i].end < first_end)
			first_end = s->v.op[i].end;
		if (s->v.op[i].behind && !lin_done(&s->now, i - 1))
			continue;
		if (n == LIN_NEXT_MAX) {
			s->full = true;
			break;
		}
		next[n++] = (uint16_t)i;
	}
	for (unsigned i = 0; i < n; i++)
		if (s->v.op[next[i]].begin <= first_end)
			next[kept++] = next[i];
	return kept;
}

static inline bool lin_go_on(struct lin_search *s);

/* With i as the next. */
static inline bool lin_take(struct lin_search *s, unsigned i, const struct lin_state *then)
{
	const struct lin_state before = s->now.state;
	bool good;

	s->now.state = *then;
	lin_flip(&s->now, i);
	s->left--;
	good = lin_go_on(s);
	s->left++;
	lin_flip(&s->now, i);
	s->now.state = before;
	return good;
}

static inline bool lin_go_on(struct lin_search *s)
{
	uint16_t next[LIN_NEXT_MAX];
	unsigned n, able = 0;

	if (s->left == 0)
		return true;
	if (s->full || !lin_is_new(s))
		return false;
	if (s->left < s->best) {
		s->best = s->left;
		s->at_best = s->now;
	}
	n = lin_next(s, next);
	for (unsigned i = 0; i < n; i++) {
		struct lin_state then = s->now.state;

		if (!lin_step(&s->v, &then, next[i]))
			continue;
		if (memcmp(&then, &s->now.state, sizeof then) == 0)
			return lin_take(s, next[i], &then);
		next[able++] = next[i];
	}
	for (unsigned i = 0; i < able; i++) {
		struct lin_state then = s->now.state;

		lin_step(&s->v, &then, next[i]);
		if (lin_take(s, next[i], &then))
			return true;
	}
	return false;
}

/* ---- a history ---- */

/* The operation that has this element; LIN_NOBODY: none. */
static inline unsigned lin_of_value(const struct lin_log *l, bool sent, uint32_t value)
{
	for (unsigned i = 0; i < l->count; i++) {
		const struct lin_op *op = &l->op[i];

		if (op->result == 0 && op->value == value &&
		    (sent ? op->what == LIN_SEND : op->what == LIN_RECV || op->what == LIN_DROP))
			return i;
	}
	return LIN_NOBODY;
}

/* M4: what met becomes one operation, at a time when both were there.  False: somebody met
 * nobody, or two the same.  (The order within a batch is lost.) */
static inline bool lin_marry(struct lin_log *l)
{
	unsigned kept = 0;
	bool good = true;

	for (unsigned i = 0; i < l->count; i++) {
		struct lin_op *op = &l->op[i], *other;
		unsigned at;

		op->behind = false;
		if (op->what != LIN_SEND || op->result != 0)
			continue;
		if ((at = lin_of_value(l, false, op->value)) == LIN_NOBODY) {
			good = false;
			continue;
		}
		other = &l->op[at];
		good = good && lin_overlap(op, other);
		op->begin = other->begin > op->begin ? other->begin : op->begin;
		op->end = other->end < op->end ? other->end : op->end;
		op->what = other->what = LIN_MEET;
		other->result = -1;
	}
	for (unsigned i = 0; i < l->count; i++)
		if (l->op[i].what != LIN_MEET || l->op[i].result == 0)
			l->op[kept++] = l->op[i];
	l->count = kept;
	for (unsigned i = 0; i < kept; i++)
		good = good && (l->op[i].what != LIN_RECV || l->op[i].result != 0);
	return good;
}

static inline int lin_by_begin(const void *a, const void *b)
{
	const struct lin_op *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->actor != y->actor)
		return x->actor < y->actor ? -1 : 1;
	/* A batch stays together: all of it began at once. */
	return x->place < y->place ? -1 : x->place > y->place;
}

static inline const char *lin_name(enum lin_what what)
{
	static const char *const name[] = {"send", "recv", "drop", "close", "look", "meet"};

	return name[what];
}

static inline void lin_print(const struct lin_log *l, const struct lin_search *s)
{
	for (unsigned i = 0; i < l->count; i++) {
		const struct lin_op *op = &l->op[i];

		printf("\t%c %3u actor %u %-5s %6u -> %-3d %" PRId64 " .. %" PRId64 "%s\n",
		       lin_done(&s->at_best, i) ? '+' : '-', i, op->actor, lin_name(op->what),
		       op->value, op->result, op->begin - l->op[0].begin, op->end - l->op[0].begin,
		       op->behind ? " (behind)" : "");
	}
}

static inline void lin_sort(struct lin_log *l)
{
	qsort(l->op, l->count, sizeof *l->op, lin_by_begin);
}

/* The verdict on *l, the history of one channel; sorts it.  If it is not good and `loud`,
 * prints it, with + before what the longest order that was found has in it. */
static inline enum lin_verdict lin_check(struct lin_log *l, const struct lin_channel *is, bool loud)
{
	static uint16_t taker[LIN_OPS_MAX];
	static struct lin_search s;
	bool good;

	if (l->count > LIN_OPS_MAX)
		return LIN_UNDECIDED;
	memset(&s, 0, sizeof s);
	good = is->capacity > 0 || lin_marry(l);
	lin_sort(l);
	for (unsigned i = 0; i < l->count; i++)
		taker[i] = (uint16_t)(l->op[i].what == LIN_SEND && l->op[i].result == 0
		                          ? lin_of_value(l, false, l->op[i].value)
		                          : LIN_NOBODY);
	s.v = (struct lin_view){.is = *is, .op = l->op, .taker = taker};
	s.count = s.left = l->count;
	s.best = s.left + 1;
	s.now.used = 1;
	lin_start(&s.now.state);
	good = good && lin_go_on(&s);
	free(s.seen);
	if (!good && loud)
		lin_print(l, &s);
	return good ? LIN_GOOD : s.full ? LIN_UNDECIDED : LIN_WRONG;
}

#endif
