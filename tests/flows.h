/* flows.h - many producers and consumers on a few channels, and what must come out:
 *
 * F1  accepted = received + dropped, by number and by sum;
 * F2  no element twice;
 * F3  what one receiver gets of one sender is in that sender's order;
 * F4  no send that began after close had returned is accepted.
 *
 * A producer sends to one of the channels at a time, a consumer receives from any: alone,
 * in batches, by select, with deadlines of all kinds.  A flow ends when its channels are
 * closed, and with them whoever waits. */
#ifndef TEST_FLOWS_H
#define TEST_FLOWS_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/atomic.h"
#include "sleepers.h"

enum {
	FLOW_CHANS = 3,
	FLOW_ALL = (1 << FLOW_CHANS) - 1,
	FLOW_SENDERS = 64,
	FLOW_RECEIVERS = 64,
	FLOW_MAX = 1 << 16,	/* elements a sender, in all channels */
	FLOW_BATCH = 4,
};

/* An element: who sent it, as its how many-th; 24 bytes, so that a torn one shows. */
struct parcel {
	uint32_t from, number;
	uint64_t check[2];
};

struct flow_chan {
	CCChan *chan;
	cc__a32 closed;	/* 1 after close has returned */
	cc__a64 dropped, dropped_sum, wrong;
};

struct flow_way {
	CCChanKind kind;
	CCChanMode mode;
	size_t capacity;
};

struct flow {
	/* Set before flow_begin. */
	CCRuntime *rt;
	unsigned senders, receivers;
	uint32_t most;	/* elements that a sender tries to send, up to FLOW_MAX */

	struct flow_chan c[FLOW_CHANS];
	struct sender *sender;
	struct receiver *receiver;
};

struct sender {
	struct flow *f;
	uint64_t seed;
	uint64_t accepted, sum;	/* of numbers */
	uint32_t number;	/* of the next element */
	uint32_t me;
	unsigned ended;		/* a bit for each channel that is closed */
	unsigned after_close;	/* F4 */
	struct sleeper s;
};

struct receiver {
	struct flow *f;
	uint64_t seed;
	uint64_t received, sum;
	unsigned home;			/* a channel */
	unsigned ended;			/* a bit for each that is closed and empty */
	unsigned torn, disorder, twice;	/* F3, F2 */
	/* The next number that may come from a sender through a channel. */
	uint32_t next[FLOW_SENDERS][FLOW_CHANS];
	struct sleeper s;
};

/* One bit for each number of each sender: F2. */
static cc__a64 flow_seen[FLOW_SENDERS][FLOW_MAX / 64];

static inline uint64_t flow_below(uint64_t *seed, uint64_t n)
{
	return test_random(seed) % n;
}

static inline struct parcel parcel_of(uint32_t from, uint32_t number)
{
	const uint64_t check = ((uint64_t)from << 32 | number) * 0x9e3779b97f4a7c15;

	return (struct parcel){.from = from, .number = number, .check = {check, ~check}};
}

/* True the first time. */
static inline bool flow_see(const struct parcel *p)
{
	const uint64_t bit = (uint64_t)1 << (p->number % 64);

	return (cc__or(&flow_seen[p->from][p->number / 64], bit, CC__RELAXED) & bit) == 0;
}

static inline bool parcel_is_whole(const struct parcel *p)
{
	const struct parcel good = parcel_of(p->from, p->number);

	return p->from < FLOW_SENDERS && p->number < FLOW_MAX && memcmp(p, &good, sizeof good) == 0;
}

/* At once, soon or, if that may be, as long as it takes. */
static inline cc_time flow_deadline(uint64_t *seed, bool forever)
{
	const uint64_t r = flow_below(seed, 100);

	if (r < 20)
		return CC_NOW;
	return r < 40 || !forever ? cc_after((cc_time)flow_below(seed, 200) * CC_USEC) : CC_FOREVER;
}

/* One that has not ended; some has not. */
static inline unsigned flow_pick(uint64_t *seed, unsigned ended)
{
	unsigned chan = (unsigned)flow_below(seed, FLOW_CHANS);

	while ((ended >> chan & 1) != 0)
		chan = (chan + 1) % FLOW_CHANS;
	return chan;
}

/* ---- those who send ---- */

/* To *chan or, by select, to another one: *chan is which then. */
static inline int flow_send(struct sender *s, unsigned *chan, const struct parcel *p, size_t count,
                            size_t *moved)
{
	const unsigned both[2] = {*chan, flow_pick(&s->seed, s->ended)};
	const cc_time deadline = flow_deadline(&s->seed, true);
	CCCase cases[2];
	size_t which = 0;
	int err;

	if (count > 1)
		return cc_chan_send_many(s->f->c[*chan].chan, p, sizeof *p, count, deadline, moved);
	if (flow_below(&s->seed, 4) == 0) {
		for (int i = 0; i < 2; i++)
			cases[i] = cc_case_send(s->f->c[both[i]].chan, p, sizeof *p);
		err = cc_select(cases, 2, deadline, &which);
		*chan = both[which % 2];
	} else {
		err = cc_chan_send_until(s->f->c[*chan].chan, p, sizeof *p, deadline);
	}
	*moved = err == 0;
	return err;
}

static inline int flow_send_some(struct sender *s)
{
	unsigned chan = flow_pick(&s->seed, s->ended), closed = 0;
	const size_t count = flow_below(&s->seed, 8) == 0 ? FLOW_BATCH : 1;
	struct parcel p[FLOW_BATCH];
	size_t moved = 0;
	int err;

	for (size_t i = 0; i < FLOW_BATCH; i++)
		p[i] = parcel_of(s->me, s->number + (uint32_t)i);
	/* Acquire: the close, from flow_close. */
	for (unsigned i = 0; i < FLOW_CHANS; i++)
		closed |= cc__load(&s->f->c[i].closed, CC__ACQUIRE) << i;
	err = flow_send(s, &chan, p, count, &moved);
	s->after_close += moved > 0 && (closed >> chan & 1) != 0;
	for (size_t i = 0; i < moved; i++)
		s->sum += p[i].number;
	s->accepted += moved;
	s->number += (uint32_t)count;
	s->ended |= err == EPIPE ? 1U << chan : 0;
	return err;
}

static inline void flow_close(struct flow_chan *c)
{
	CHECK_EQ(cc_chan_close(c->chan), 0);
	cc__store(&c->closed, 1, CC__RELEASE);	/* Release: to flow_send_some */
}

/* The first closes a channel when it is half through. */
static inline int flow_sender(void *arg)
{
	struct sender *s = arg;
	int err = 0;

	while (s->ended != FLOW_ALL && err != ECANCELED && s->number + FLOW_BATCH <= s->f->most) {
		err = flow_send_some(s);
		if (s->me == 0 && s->number > s->f->most / 2 && (s->ended & 1) == 0)
			flow_close(&s->f->c[0]);
		if (flow_below(&s->seed, 32) == 0)
			cc_yield();
	}
	return 0;
}

/* ---- those who receive ---- */

static inline void flow_take(struct receiver *r, unsigned chan, const struct parcel *p,
                             size_t count)
{
	for (; count > 0; count--, p++) {
		if (!parcel_is_whole(p)) {
			r->torn++;
			continue;
		}
		r->twice += !flow_see(p);
		r->disorder += p->number < r->next[p->from][chan];
		r->next[p->from][chan] = p->number + 1;
		r->received++;
		r->sum += p->number;
	}
}

/* From one that has not ended: *chan. */
static inline int flow_recv_select(struct receiver *r, unsigned *chan, cc_time deadline)
{
	struct parcel p[FLOW_CHANS];
	CCCase cases[FLOW_CHANS];
	size_t which = 0;
	int err;

	for (unsigned i = 0; i < FLOW_CHANS; i++)
		cases[i] = (r->ended >> i & 1) != 0
		               ? cc_case_never()
		               : cc_case_recv(r->f->c[i].chan, &p[i], sizeof p[i]);
	err = cc_select(cases, FLOW_CHANS, deadline, &which);
	if (which < FLOW_CHANS)
		*chan = (unsigned)which;
	if (err == 0)
		flow_take(r, *chan, &p[*chan], 1);
	return err;
}

/* Waits for good only at its home, or everywhere: so each channel has somebody who comes. */
static inline int flow_recv(struct receiver *r, unsigned *chan)
{
	const uint64_t how = flow_below(&r->seed, 8);
	const cc_time deadline = flow_deadline(&r->seed, how == 0 || *chan == r->home);
	CCChan *c = r->f->c[*chan].chan;
	struct parcel p[FLOW_BATCH];
	size_t moved = 0;
	int err;

	if (how == 0)
		return flow_recv_select(r, chan, deadline);
	if (how == 1) {
		err = cc_chan_recv_many(c, p, sizeof *p, FLOW_BATCH, deadline, &moved);
	} else {
		err = cc_chan_recv_until(c, p, sizeof *p, deadline);
		moved = err == 0;
	}
	flow_take(r, *chan, p, moved);
	return err;
}

/* Each channel to its end. */
static inline int flow_receiver(void *arg)
{
	struct receiver *r = arg;
	int err = 0;

	while (r->ended != FLOW_ALL && err != ECANCELED) {
		unsigned chan = flow_pick(&r->seed, r->ended);

		err = flow_recv(r, &chan);
		r->ended |= err == EPIPE ? 1U << chan : 0;
	}
	return 0;
}

/* ---- the whole ---- */

static inline void flow_dropped(void *context, void *item)
{
	struct flow_chan *c = context;
	const struct parcel *p = item;

	/* Relaxed: read when all have been joined. */
	cc__add(&c->wrong, !parcel_is_whole(p) || !flow_see(p), CC__RELAXED);
	cc__add(&c->dropped, 1, CC__RELAXED);
	cc__add(&c->dropped_sum, p->number, CC__RELAXED);
}

static inline void flow_chan_init(struct flow_chan *c, const struct flow_way *w)
{
	const CCChanOptions o = {
	    .kind = w->kind, .mode = w->mode, .drop = flow_dropped, .context = c};

	memset(c, 0, sizeof *c);
	CHECK_EQ(cc_chan_create(&c->chan, sizeof(struct parcel), w->capacity, &o), 0);
}

/* A way for each channel.  Every eighth of them is a thread. */
static inline void flow_begin(struct flow *f, const struct flow_way *way, uint64_t seed)
{
	memset(flow_seen, 0, sizeof flow_seen);
	for (unsigned i = 0; i < FLOW_CHANS; i++)
		flow_chan_init(&f->c[i], &way[i]);
	f->sender = calloc(f->senders, sizeof *f->sender);
	f->receiver = calloc(f->receivers, sizeof *f->receiver);
	if (!CHECK(f->sender != NULL && f->receiver != NULL))
		abort();
	for (unsigned i = 0; i < f->receivers; i++) {
		struct receiver *r = &f->receiver[i];

		r->f = f;
		r->home = i % FLOW_CHANS;
		r->seed = test_random(&seed);
		sleeper_start(&r->s, f->rt, i % 8 == 7 ? THREAD : FIBER, flow_receiver, r);
	}
	for (unsigned i = 0; i < f->senders; i++) {
		struct sender *s = &f->sender[i];

		s->f = f;
		s->me = i;
		s->seed = test_random(&seed);
		sleeper_start(&s->s, f->rt, i % 8 == 7 ? THREAD : FIBER, flow_sender, s);
	}
}

static inline void flow_join_senders(struct flow *f)
{
	for (unsigned i = 0; i < f->senders; i++)
		CHECK_EQ(sleeper_join(&f->sender[i].s), 0);
}

static inline void flow_join_receivers(struct flow *f)
{
	for (unsigned i = 0; i < f->receivers; i++)
		CHECK_EQ(sleeper_join(&f->receiver[i].s), 0);
}

/* All have been joined: F1 to F4.  How many were accepted. */
static inline uint64_t flow_end(struct flow *f)
{
	uint64_t in = 0, in_sum = 0, out = 0, out_sum = 0;

	for (unsigned i = 0; i < FLOW_CHANS; i++) {
		CHECK_EQ(cc_chan_free(f->c[i].chan), 0);	/* what is left is dropped */
		out += cc__load(&f->c[i].dropped, CC__RELAXED);
		out_sum += cc__load(&f->c[i].dropped_sum, CC__RELAXED);
		CHECK_EQ(cc__load(&f->c[i].wrong, CC__RELAXED), 0);
	}
	for (unsigned i = 0; i < f->senders; i++) {
		in += f->sender[i].accepted;
		in_sum += f->sender[i].sum;
		CHECK_EQ(f->sender[i].after_close, 0);
	}
	for (unsigned i = 0; i < f->receivers; i++) {
		const struct receiver *r = &f->receiver[i];

		out += r->received;
		out_sum += r->sum;
		CHECK_EQ(r->torn + r->disorder + r->twice, 0);
	}
	CHECK_EQ(in, out);
	CHECK_EQ(in_sum, out_sum);
	free(f->sender);
	free(f->receiver);
	return in;
}

#endif
