/* select.c - the first of several.
 *
 * S1  First every case is tried by itself: nothing is published.
 * S2  Then the locks of all channels are held, in the order of their addresses, while
 *     each case is settled and, if none is possible, all are listed.  So nobody can
 *     find one of them listed while another takes place, and two selects that meet
 *     on several channels see each other on all or none.
 * S3  The end of a task and a token are for ever: they are listed after that, each under
 *     its own lock, and who finds one there claims the group before he takes it.
 *     A descriptor and a signal are listed in the same way.  Readiness does not last, so their
 *     wakers say "look again" (POLL-CASE-2), which is S5.
 * S4  One exchange of the group decides, whoever makes it: a partner, the deadline, a
 *     cancel, or the select itself.  A partner that finds the group decided goes on to
 *     the next who waits.
 * S5  A signal says that a case may be possible: it is tried first.  If it is not,
 *     everything begins again, with that case at the head of its list.
 * S6  A select that does not wait answers "nothing" for a moment at which no case could take
 *     place.  S1 alone cannot know one: after it has tried one channel, another thread sends to
 *     it and then receives from the channel that S1 tries next.  So the channels without a
 *     ring are checked under their locks, all held together.  A ring changes without its
 *     lock, so its positions are read in two passes; if they are equal, the moment is the end of
 *     the first pass (R4 in ring.h).  If the rings change every time, S2 raises their marks,
 *     and threads that change them then wait for the lock.  Tokens and tasks are checked
 *     last: they never become unset again, so one that is unset was so at that moment. */
#include <ccc/select.h>

#include <errno.h>

#include "chan/chan.h"
#include "sched/allocator.h"
#include "chan/token.h"
#include "chan/watch.h"
#include "io/poll_case.h"
#include "os/fork.h"
#include "os/poller.h"
#include "os/signal.h"
#include "task/frame.h"
#include "wait/thread.h"

enum { INLINE = 32 };	/* cases without memory of their own */

/* How often a select that does not wait checks rings that change, before it raises marks (S6). */
#ifndef CC__SELECT_ROUNDS
#define CC__SELECT_ROUNDS 4
#endif

struct select {
	const CCCase *cases;
	uint32_t count;
	uint32_t first;		/* where to begin */
	uint32_t chosen;	/* count: none */
	cc_time deadline;
	/* If nothing else was chosen: the default, and the earliest timeout; count: none such. */
	uint32_t otherwise, alarm;
	int ignored;	/* a result that nobody wants */

	/* Of the cases that can be waited for: a waiter, the case, and the lock if it is a
	 * channel's.  Sorted in lock. */
	uint32_t nodes, locks;
	struct cc__case *node;
	uint32_t *place;
	struct cc__lock **lock;
};

static enum cc__way way_of(const CCCase *c)
{
	return c->kind == CC_CASE_SEND ? CC__SEND : CC__RECV;
}

static bool is_channel(const CCCase *c)
{
	return c->kind == CC_CASE_SEND || c->kind == CC_CASE_RECV;
}

static bool is_descriptor(const CCCase *c)
{
	return c->kind == CC_CASE_FD || c->kind == CC_CASE_SIGNAL;
}

/* The kinds that are listed with an object. */
static bool can_be_waited_for(const CCCase *c)
{
	enum {
		KINDS = 1 << CC_CASE_RECV | 1 << CC_CASE_SEND | 1 << CC_CASE_TASK |
		        1 << CC_CASE_TOKEN | 1 << CC_CASE_FD | 1 << CC_CASE_SIGNAL
	};

	return KINDS >> c->kind & 1;	/* it makes sense: it has been tried */
}

/* Of a channel: it changes without its lock (S6). */
static bool has_ring(const CCCase *c)
{
	return c->on.chan->kind->way[way_of(c)].peek != NULL;
}

/* (No kind writes to the element of a send.) */
static void *io_of(const CCCase *c)
{
	/* mutant: == -> != survives: both are one pointer. */
	return c->kind == CC_CASE_SEND ? (void *)(uintptr_t)c->item.from : c->item.into;
}

/* ---- what is asked for ---- */

/* When the earliest timeout is. */
static cc_time alarm_at(const struct select *s)
{
	return s->alarm < s->count ? s->cases[s->alarm].on.at : CC_FOREVER;
}

static void consider(struct select *s, uint32_t i)
{
	const CCCase *c = &s->cases[i];

	if (c->kind == CC_CASE_DEFAULT && s->otherwise == s->count)
		s->otherwise = i;
	else if (c->kind == CC_CASE_TIMEOUT && c->on.at < alarm_at(s))
		s->alarm = i;
	s->nodes += can_be_waited_for(c);
}

/* Nothing is possible at once: what else there is.  0, or EINVAL: nothing. */
static int consider_all(struct select *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		consider(s, i);
	if (s->otherwise < s->count)
		s->deadline = CC_NOW;
	return s->nodes == 0 && s->deadline == CC_FOREVER && alarm_at(s) == CC_FOREVER ? EINVAL : 0;
}

/* Where a select begins: the next multiple of the golden ratio, as a share of the cases.
 * Whichever of its thread's selects one place in a program makes, every second or every
 * tenth, they begin everywhere; counting up, they would all begin at the same case. */
static uint32_t turn(uint32_t count)
{
	struct cc__thread *t = cc__thread_here();

	if (t == NULL)
		return 0;
	t->turn += UINT32_C(0x9e3779b9);
	return (uint32_t)((uint64_t)t->turn * count >> 32);
}

/* ---- S1: one case by itself ---- */

enum tried {
	NOT_NOW,
	OVER,		/* it was done or refused; *outcome says which */
	SENSELESS,	/* nobody can ask for that */
	CHANGED,	/* S6: while it was checked a ring has changed */
};

static bool makes_sense(const CCCase *c)
{
	return c->on.chan != NULL && c->size == c->on.chan->size &&
	       (c->size == 0 || io_of(c) != NULL);
}

/* `why` is 0, or why the waiter of this case was woken. */
static enum tried try_channel(const CCCase *on, int why, int *outcome)
{
	CCChan *c = on->on.chan;
	const struct cc__chan_way *how = &c->kind->way[way_of(on)];
	struct cc__wake wake = {0};

	if (how->attempt != NULL) {
		*outcome = how->attempt(c, io_of(on), why);
		return *outcome != CC__NOT_NOW ? OVER : NOT_NOW;
	}
	cc__lock(&c->lock, CC__RANK_WAITQ);
	*outcome = how->settle(c, io_of(on), &wake);
	cc__unlock(&c->lock);
	cc__wake(wake);
	return *outcome != CC__NOT_NOW ? OVER : NOT_NOW;
}

static enum tried try_task(const CCCase *c, int *outcome)
{
	*outcome = cc_task_join(c->on.task, CC_NOW, c->item.result);
	if (*outcome == EDEADLK)
		*outcome = EINVAL;
	return *outcome != EAGAIN ? OVER : NOT_NOW;
}

static enum tried try_token(const CCCase *c, int *outcome)
{
	*outcome = 0;
	if (c->on.token == NULL)
		return SENSELESS;
	return cc_token_is_set(c->on.token) ? OVER : NOT_NOW;
}

static enum tried try_fd(const CCCase *c, int *outcome)
{
	unsigned ready = 0;

	if (c->size == 0 || (c->size & ~(size_t)(CC_FD_READ | CC_FD_WRITE)) != 0)
		return SENSELESS;
	*outcome = cc__poller_look(c->on.fd, (unsigned)c->size, &ready);
	if (*outcome == 0 && c->item.ready != NULL)
		*c->item.ready = ready;
	return *outcome != EAGAIN ? OVER : NOT_NOW;
}

static enum tried try_signal(const CCCase *c, int *outcome)
{
	int which;

	*outcome = cc__signal_take(c->on.fd, &which);
	if (*outcome == 0 && c->item.result != NULL)
		*c->item.result = which;
	return *outcome != EAGAIN ? OVER : NOT_NOW;
}

static enum tried try_case(const struct select *s, uint32_t i, int why, int *outcome)
{
	const CCCase *c = &s->cases[i];

	switch (c->kind) {
	case CC_CASE_SEND:
	case CC_CASE_RECV:
		return makes_sense(c) ? try_channel(c, why, outcome) : SENSELESS;
	case CC_CASE_TASK:
		return try_task(c, outcome);
	case CC_CASE_TOKEN:
		return try_token(c, outcome);
	case CC_CASE_FD:
		return try_fd(c, outcome);
	case CC_CASE_SIGNAL:
		return try_signal(c, outcome);
	case CC_CASE_NEVER:
	case CC_CASE_TIMEOUT:
	case CC_CASE_DEFAULT:
		return NOT_NOW;
	}
	return SENSELESS;
}

/* The outcome of the chosen case, as its own call would have it. */
static int finish(struct select *s, uint32_t chosen, int result)
{
	const CCCase *c = &s->cases[chosen];

	if (c->kind == CC_CASE_TASK && result == EINVAL)
		return EINVAL;	/* a handle that is no good chooses nothing */
	s->chosen = chosen;
	if (!is_channel(c))
		return result;
	return result == 0 ? 0 : cc__chan_finish(c->on.chan, way_of(c), io_of(c), result);
}

/* True: one case was possible, *result is its outcome; or one that makes no sense was
 * met before that.  (Looking at all of them first would be a cache miss each.) */
static bool try_each(struct select *s, int *result)
{
	enum tried tried;
	int outcome;

	for (uint32_t n = 0, i = s->first; n < s->count; n++, i = i + 1 < s->count ? i + 1 : 0) {
		if ((tried = try_case(s, i, 0, &outcome)) != NOT_NOW) {
			*result = tried == OVER ? finish(s, i, outcome) : EINVAL;
			return true;
		}
		CC_POINT("select.tried", s->cases);
	}
	return false;
}

/* The same for the cases that are not channels: these have made sense once. */
static bool try_others(struct select *s, int *result)
{
	int outcome;

	for (uint32_t n = 0, i = s->first; n < s->count; n++, i = i + 1 < s->count ? i + 1 : 0)
		if (!is_channel(&s->cases[i]) && try_case(s, i, 0, &outcome) != NOT_NOW) {
			*result = finish(s, i, outcome);
			return true;
		}
	return false;
}

/* ---- S2: all channels at once ---- */

static void add_node(struct select *s, uint32_t i)
{
	const CCCase *c = &s->cases[i];
	struct cc__case *n = &s->node[s->nodes];

	*n = (struct cc__case){.w.io = io_of(c)};
	if (is_channel(c)) {
		n->object = &c->on.chan->wait[way_of(c)];
		n->ops = &cc__waitq_ops;
		n->w.lock = &c->on.chan->lock;
	} else if (c->kind == CC_CASE_TASK) {
		n->object = (void *)(uintptr_t)&c->on.task;
		n->ops = &cc__task_ops;
		n->w.io = c->item.result != NULL ? c->item.result : &s->ignored;
	} else if (c->kind == CC_CASE_TOKEN) {
		n->object = c->on.token;
		n->ops = &cc__token_ops;
	} else if (is_descriptor(c)) {
		n->object = (void *)(uintptr_t)&c->on.fd;
		n->ops = &cc__fd_case_ops;
		n->w.io = (void *)(uintptr_t)c->size;
	} else {
		return;
	}
	s->place[s->nodes++] = i;
}

/* By address, each once: Shell's sort, for which 32 and 65,535 are both small. */
static void sort_locks(struct select *s)
{
	uint32_t gap = 1, kept = 0;

	/* mutant: < -> <= survives: any steps that end with 1 sort. */
	while (gap < s->locks / 3)
		gap = 3 * gap + 1;	/* mutant: + 1 -> + 0 survives: as above. */
	for (; gap > 0; gap /= 3)
		for (uint32_t i = gap; i < s->locks; i++) {
			struct cc__lock *l = s->lock[i];
			uint32_t j = i;

			/* mutant: > -> >= survives: equal ones are one. */
			for (; j >= gap && (uintptr_t)s->lock[j - gap] > (uintptr_t)l; j -= gap)
				s->lock[j] = s->lock[j - gap];
			s->lock[j] = l;
		}
	for (uint32_t i = 0; i < s->locks; i++)
		if (kept == 0 || s->lock[i] != s->lock[kept - 1])
			s->lock[kept++] = s->lock[i];
	s->locks = kept;
}

static bool locks_are_sorted(const struct select *s)
{
	for (uint32_t i = s->locks; i-- > 1;)
		/* mutant: - 1 -> - 0 survives: they are sorted once more. */
		if ((uintptr_t)s->lock[i - 1] >= (uintptr_t)s->lock[i])
			return false;
	return true;	/* mutant: true -> false survives: as above. */
}

static void prepare(struct select *s)
{
	s->nodes = s->locks = 0;
	for (uint32_t n = 0, i = s->first; n < s->count; n++, i = i + 1 < s->count ? i + 1 : 0)
		add_node(s, i);
	/* In the caller's order: most make their channels one after another. */
	for (uint32_t i = 0; i < s->count; i++)
		if (is_channel(&s->cases[i]))
			s->lock[s->locks++] = &s->cases[i].on.chan->lock;
	if (!locks_are_sorted(s))
		sort_locks(s);
}

/* With all locks: the first node whose case is over, or to be tried without the locks
 * (CC__RETRY); s->nodes: none.  *outcome is that case's. */
static uint32_t settle_each(struct select *s, struct cc__wake *wake, int *outcome)
{
	for (uint32_t n = 0; n < s->nodes; n++) {
		const CCCase *c = &s->cases[s->place[n]];

		if (!is_channel(c))
			continue;
		*outcome = c->on.chan->kind->way[way_of(c)].settle(c->on.chan, io_of(c), wake);
		if (*outcome != CC__NOT_NOW)
			return n;
	}
	return s->nodes;
}

/* Of the channels either all are watched or none (watch.h): the flags of the first one. */
static inline __attribute__((always_inline)) unsigned watch_of(const struct select *s)
{
	for (uint32_t n = 0, i = s->first; n < s->count; n++, i = i + 1 < s->count ? i + 1 : 0)
		if (is_channel(&s->cases[i]) && s->cases[i].on.chan != NULL)
			return cc__chan_watch(s->cases[i].on.chan);
	return 0;
}

/* With all locks. */
static __attribute__((noinline)) void tell_watcher(const struct select *s)
{
	CC__EVENT(CC__EV_FOR, cc__self(), CC__FOR_SELECT, s->nodes);
	if (watch_of(s) & CC__CHAN_VERBOSE)
		for (uint32_t n = 0; n < s->nodes; n++)
			cc__select_waits(s->cases, s->count, s->place[n]);
}

/* With all locks: PARKING, and every channel's node listed. */
static int list_each(struct select *s, struct cc__group *g)
{
	int err;

	if (cc__watched())
		tell_watcher(s);
	err = cc__group_begin(g, s->node, s->nodes);
	for (uint32_t n = 0; n < s->nodes && err == 0; n++) {
		struct cc__case *node = &s->node[n];
		const CCCase *c = &s->cases[s->place[n]];

		if (node->ops != &cc__waitq_ops)
			continue;
		if (has_ring(c))
			cc__domain_note(&c->on.chan->domain, g->domain);
		if (node->w.what & CC__WAIT_FIRST)	/* S5 */
			cc__waitq_prepend(node->object, &node->w);
		else
			cc__waitq_append(node->object, &node->w);
		node->w.what = 0;
	}
	return err;
}

static void lock_each(struct select *s)
{
	if (s->locks != 0)
		cc__lock_all(s->lock, s->locks, CC__RANK_WAITQ);
}

static void unlock_each(struct select *s)
{
	if (s->locks != 0)
		cc__unlock_all(s->lock, s->locks);
}

/* ---- sleep ---- */

/* S3.  False: one of them is over, and the group decided.  Those after it are not listed,
 * which they tell by having no lock. */
static bool list_others(struct select *s)
{
	bool open = true;

	for (uint32_t n = 0; n < s->nodes; n++) {
		struct cc__case *node = &s->node[n];

		if (node->ops == &cc__waitq_ops)
			continue;
		node->w.lock = NULL;
		open = open && node->ops->publish(node->object, &node->w);
	}
	return open;
}

/* All are listed.  The outcome; *won is a node, or s->nodes. */
static int sleep_on(struct select *s, struct cc__group *g, uint32_t *won)
{
	return list_others(s) ? cc__group_sleep(g, s->node, s->nodes, s->deadline, won)
	                      : cc__group_give_up(g, s->node, s->nodes, won);
}

/* The node may be possible: tries it, without locks.  `why` is 0, or why it was woken.  True: it is
 * over, with *result. */
static bool try_node(struct select *s, uint32_t n, int why, int *result)
{
	int outcome;

	if (try_case(s, s->place[n], why, &outcome) == NOT_NOW) {
		s->node[n].w.what = cc__chan_signalled(why) ? CC__WAIT_FIRST : 0;
		return false;
	}
	*result = finish(s, s->place[n], outcome);
	return true;
}

/* One round.  True: it is over, with *result. */
static bool wait_once(struct select *s, int *result)
{
	struct cc__group group = {0};
	struct cc__wake wake = {0};
	uint32_t won;
	int outcome = CC__NOT_NOW;

	lock_each(s);
	won = settle_each(s, &wake, &outcome);
	if (won == s->nodes && s->deadline != CC_NOW)
		*result = list_each(s, &group);
	unlock_each(s);
	if (won < s->nodes) {
		cc__wake(wake);
		if (outcome == CC__RETRY)
			return try_node(s, won, 0, result);
		*result = finish(s, s->place[won], outcome);
		return true;
	}
	if (s->deadline == CC_NOW) {
		*result = EAGAIN;
		try_others(s, result);
		return true;
	}
	if (*result != 0)
		return true;
	*result = sleep_on(s, &group, &won);
	if (won == s->nodes)
		return true;
	if (cc__chan_again(*result) || (*result == 0 && is_descriptor(&s->cases[s->place[won]])))
		return try_node(s, won, *result, result);
	*result = finish(s, s->place[won], *result);
	return true;
}

static int wait_prepared(struct select *s)
{
	int result;

	prepare(s);
	while (!wait_once(s, &result))
		continue;
	return result;
}

/* ---- the call ---- */

struct room {
	struct cc__case node[INLINE];
	struct cc__lock *lock[INLINE];
	uint32_t place[INLINE];
};

static __attribute__((noinline)) int wait_inline(struct select *s)
{
	struct room r;

	s->node = r.node;
	s->lock = r.lock;
	s->place = r.place;
	return wait_prepared(s);
}

static int wait_many(struct select *s)
{
	const size_t size = sizeof *s->node + sizeof(void *) + sizeof *s->place;
	const CCAllocator *a = &cc__default_allocator;
	char *memory = a->alloc(a->context, s->nodes * size);
	const size_t nodes = s->nodes;
	int result;

	if (memory == NULL)
		return ENOMEM;
	s->node = (struct cc__case *)(void *)memory;
	s->lock = (struct cc__lock **)(void *)(s->node + nodes);
	s->place = (uint32_t *)(void *)(s->lock + nodes);
	result = wait_prepared(s);
	a->free(a->context, memory, nodes * size);
	return result;
}

static int wait_for_one(struct select *s)
{
	if (s->nodes == 0) {
		const int err = cc_sleep_until(s->deadline);

		return err != 0 ? err : ETIMEDOUT;
	}
	/* mutant: <= -> < survives: both ways lead there. */
	return s->nodes <= INLINE ? wait_inline(s) : wait_many(s);
}

/* ---- S6: no case, at one moment ---- */

/* Sorts the locks of the channels that have no ring into s->lock, which has room for INLINE.
 * False: there are more. */
static bool gather_locks(struct select *s)
{
	s->locks = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		const CCCase *c = &s->cases[i];

		if (!is_channel(c) || has_ring(c))
			continue;
		if (s->locks == INLINE)
			return false;
		s->lock[s->locks++] = &c->on.chan->lock;
	}
	if (!locks_are_sorted(s))
		sort_locks(s);
	return true;
}

/* One pass with these locks.  Returns the case that has taken place, or of a ring the one to be
 * tried; s->count: none.  *sum is 0 without rings, else it grows with each of their changes. */
static uint32_t check_channels(const struct select *s, int *outcome, struct cc__wake *wake,
                               uint64_t *sum)
{
	*sum = 0;
	for (uint32_t n = 0, i = s->first; n < s->count; n++, i = i + 1 < s->count ? i + 1 : 0) {
		const CCCase *c = &s->cases[i];
		const struct cc__chan_way *how;

		if (!is_channel(c))
			continue;
		how = &c->on.chan->kind->way[way_of(c)];
		if (how->peek != NULL ? how->peek(c->on.chan, sum)
		                      : (*outcome = how->settle(c->on.chan, io_of(c), wake)) !=
		                            CC__NOT_NOW)
			return i;
		CC_POINT("select.checked_under_lock", s->cases);
	}
	return s->count;
}

/* One round: two passes, or one if there is no ring.  NOT_NOW: at one moment no case of a channel
 * could take place. */
static enum tried check_once(struct select *s, int *result)
{
	struct cc__wake wake = {0};
	uint64_t before, after = 0;
	uint32_t found;
	int outcome = CC__NOT_NOW;

	lock_each(s);
	found = check_channels(s, &outcome, &wake, &before);
	if (found == s->count && before != 0)
		found = check_channels(s, &outcome, &wake, &after);
	unlock_each(s);
	cc__wake(wake);
	if (found == s->count)
		return before == after ? NOT_NOW : CHANGED;
	if (has_ring(&s->cases[found]) && try_case(s, found, 0, &outcome) == NOT_NOW)
		return CHANGED;
	*result = finish(s, found, outcome);
	return OVER;
}

/* No other case took place: that one does, or the error is returned. */
static int choose(struct select *s, uint32_t i, int otherwise)
{
	s->chosen = i;
	return i < s->count ? 0 : otherwise;
}

/* Of several cases none could take place when it was tried: the answer, once that was so of all at
 * one moment. */
static __attribute__((noinline)) int check_all(struct select *s, uint32_t otherwise)
{
	struct cc__lock *lock[INLINE];
	enum tried tried = CHANGED;
	int result = EAGAIN;

	s->lock = lock;
	s->deadline = CC_NOW;
	if (gather_locks(s))
		for (unsigned n = 0; n < CC__SELECT_ROUNDS && tried == CHANGED; n++)
			tried = check_once(s, &result);
	if (tried == CHANGED)
		result = wait_for_one(s);
	else if (tried == NOT_NOW)
		try_others(s, &result);
	return s->chosen == s->count && result == EAGAIN ? choose(s, otherwise, EAGAIN) : result;
}

/* No case could take place when it was tried.  A single one has been tried at one moment. */
static int answer_none(struct select *s, uint32_t otherwise)
{
	return __builtin_expect(s->nodes > 1, 0) ? check_all(s, otherwise) : choose(s, otherwise, EAGAIN);
}

static int run(struct select *s)
{
	uint32_t last;
	int result;

	if (try_each(s, &result) || (result = consider_all(s)) != 0)
		return result;
	/* mutant: < -> <=, >= -> > survive: for ever never comes, and a nanosecond is short. */
	if (s->alarm < s->count && cc__now() >= alarm_at(s))
		return answer_none(s, s->alarm);
	if (s->deadline == CC_NOW)
		return answer_none(s, s->otherwise);
	last = alarm_at(s) <= s->deadline ? s->alarm : s->count;
	if (last < s->count)
		s->deadline = alarm_at(s);
	result = wait_for_one(s);
	/* A deadline of a scope around us is none of our cases. */
	return s->chosen == s->count && result == ETIMEDOUT && cc__now() >= s->deadline
	           ? choose(s, last, result)
	           : result;
}

static void with_each(const struct select *s, void (*call)(CCChan *c))
{
	for (uint32_t i = 0; i < s->count; i++)
		if (is_channel(&s->cases[i]) && s->cases[i].on.chan != NULL)
			call(s->cases[i].on.chan);
}

static void order_begin(const struct select *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (is_channel(&s->cases[i]) && s->cases[i].on.chan != NULL)
			cc__chan_order_begin(s->cases[i].on.chan, way_of(&s->cases[i]));
}

/* A case that was not chosen has seen nothing. */
static void order_end(const struct select *s, int result)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (is_channel(&s->cases[i]) && s->cases[i].on.chan != NULL)
			cc__chan_order_end(s->cases[i].on.chan, way_of(&s->cases[i]),
			                   i == s->chosen ? result : EAGAIN);
}

static int run_noted(struct select *s, unsigned watch)
{
	const cc_time began = cc__now();
	int result;

	with_each(s, cc__chan_enter);
	order_begin(s);
	result = run(s);
	order_end(s, result);
	cc__select_done(s->cases, s->count, s->chosen, watch, began, result);
	with_each(s, cc__chan_leave);
	return result;
}

static __attribute__((noinline)) int run_watched(struct select *s, unsigned watch)
{
	const int result = watch == CC__CHAN_PROBED ? run(s)
	                                            : run_noted(s, watch & ~(unsigned)CC__CHAN_PROBED);

	if ((watch & CC__CHAN_PROBED) && result == 0)
		cc__chan_count();
	return result;
}

static int start(struct select *s, bool in_order)
{
	unsigned watch;

	s->first = in_order ? 0 : turn(s->count);
	watch = watch_of(s);
	return __builtin_expect(watch != 0, 0) ? run_watched(s, watch) : run(s);
}

static int select_among(const CCCase *cases, size_t count, cc_time deadline, size_t *index,
                        bool in_order)
{
	const uint32_t n = (uint32_t)count;
	struct select s = {.cases = cases, .count = n, .chosen = n, .otherwise = n, .alarm = n,
	                   .deadline = deadline};
	int result;

	if (cc__forked())
		result = ENOTSUP;
	else if (count > CC_SELECT_MAX || (cases == NULL && count > 0))
		result = EINVAL;
	else
		result = start(&s, in_order);
	if (index != NULL)
		/* mutant: < -> <= survives: where they are equal both answers are. */
		*index = s.chosen < s.count ? s.chosen : count;
	return result;
}

int cc_select(const CCCase *cases, size_t count, cc_time deadline, size_t *index)
{
	return select_among(cases, count, deadline, index, false);
}

int cc_select_in_order(const CCCase *cases, size_t count, cc_time deadline, size_t *index)
{
	return select_among(cases, count, deadline, index, true);
}
