/* lin_test.c - what fibers and threads did to channels, four workers at it, recorded and
 * checked: there is an order of it that a channel allows (lin/check.h).
 *
 * LIN_HISTORIES=N: that many histories of 200 operations or more.  A history that is
 * rejected is printed, with the seed of its run; threads take their own time, so the
 * seed repeats what they tried, not how they met.
 * mutate: src/chan */
#include "test.h"

#include <pthread.h>
#include <unistd.h>

#include "base/point.h"
#include "chan/chan.h"
#include "environment.h"
#include "lin/check.h"
#include "sleepers.h"

enum {
	WORKERS = 4,
	CHANS = 2,
	FIBERS = 6,
	THREADS = 2,
	ACTORS = FIBERS + THREADS,
	TURNS = 64,	/* of an actor; the one that closes in the end has half as many again */
	ENOUGH = 200,
	BATCH = 3,
};

struct way {
	const char *name;
	CCChanKind kind;
	CCChanMode mode;
	unsigned capacity;
};

static const struct way ways[] = {
    {"buffered 1", CC_CHAN_KIND_PLAIN, CC_CHAN_MODE_BLOCK, 1},
    {"buffered 2", CC_CHAN_KIND_PLAIN, CC_CHAN_MODE_BLOCK, 2},
    {"buffered 7", CC_CHAN_KIND_PLAIN, CC_CHAN_MODE_BLOCK, 7},
    {"ring 8", CC_CHAN_KIND_PLAIN, CC_CHAN_MODE_BLOCK, 8},
    {"ring 13", CC_CHAN_KIND_PLAIN, CC_CHAN_MODE_BLOCK, 13},
    {"rendezvous", CC_CHAN_KIND_PLAIN, CC_CHAN_MODE_BLOCK, 0},
    {"sync 0", CC_CHAN_KIND_SYNC, CC_CHAN_MODE_BLOCK, 0},
    {"sync 2", CC_CHAN_KIND_SYNC, CC_CHAN_MODE_BLOCK, 2},
    {"drop-new 2", CC_CHAN_KIND_PLAIN, CC_CHAN_MODE_DROP_NEW, 2},
    {"drop-new 0", CC_CHAN_KIND_PLAIN, CC_CHAN_MODE_DROP_NEW, 0},
    {"ring drop-new 8", CC_CHAN_KIND_PLAIN, CC_CHAN_MODE_DROP_NEW, 8},
    {"ring drop-old 8", CC_CHAN_KIND_PLAIN, CC_CHAN_MODE_DROP_OLD, 8},
    {"drop-old 2", CC_CHAN_KIND_PLAIN, CC_CHAN_MODE_DROP_OLD, 2},
    {"sync drop-old 3", CC_CHAN_KIND_SYNC, CC_CHAN_MODE_DROP_OLD, 3},
};
enum { WAYS = sizeof ways / sizeof *ways };

/* ---- an actor ---- */

struct actor {
	CCChan **chan;
	struct lin_log log;
	struct lin_op op;	/* the call that is being made */
	unsigned number, turns;
	uint32_t sent;	/* values so far, accepted or not */
	unsigned sends;	/* of a hundred; the others receive */
	uint64_t seed;
	struct sleeper s;
};

static unsigned below(struct actor *a, unsigned n)
{
	return (unsigned)(test_random(&a->seed) % n);
}

static uint32_t next_value(struct actor *a)
{
	return (uint32_t)(a->number + 1) << 16 | a->sent++;
}

/* At once, soon, or whenever; but who closes in the end must get there. */
static cc_time some_deadline(struct actor *a)
{
	const unsigned r = below(a, 100);

	if (r < 40)
		return CC_NOW;
	return r < 92 || a->number == 0 ? cc_after(below(a, 100) * CC_USEC) : CC_FOREVER;
}

/* The elements that a send drops are those of whoever is on this thread: with DROP_OLD it
 * does not park. */
static _Thread_local struct actor *sending;

static __attribute__((noinline)) void begin(struct actor *a, unsigned chan, enum lin_what what)
{
	sending = a;
	a->op = (struct lin_op){.what = what, .chan = chan, .actor = a->number};
	a->op.begin = lin_begin();
}

static void end(struct actor *a, int result)
{
	a->op.end = lin_end();
	a->op.result = result;
}

static __attribute__((noinline)) void dropped(void *context, void *item)
{
	struct lin_op op = sending->op;

	op.what = LIN_DROP;
	op.chan = (unsigned)(uintptr_t)context;
	memcpy(&op.value, item, sizeof op.value);
	op.end = lin_end();
	lin_add(&sending->log, &op);
}

/* ---- what it may do ---- */

static void send_one(struct actor *a, unsigned chan)
{
	const uint32_t value = next_value(a);
	const cc_time deadline = some_deadline(a);

	begin(a, chan, LIN_SEND);
	end(a, deadline == CC_FOREVER
	           ? cc_chan_send(a->chan[chan], &value, sizeof value)
	           : cc_chan_send_until(a->chan[chan], &value, sizeof value, deadline));
	a->op.value = value;
	lin_add(&a->log, &a->op);
}

static void recv_one(struct actor *a, unsigned chan)
{
	const cc_time deadline = some_deadline(a);
	uint32_t value = 0;

	begin(a, chan, LIN_RECV);
	end(a, deadline == CC_FOREVER
	           ? cc_chan_recv(a->chan[chan], &value, sizeof value)
	           : cc_chan_recv_until(a->chan[chan], &value, sizeof value, deadline));
	a->op.value = value;
	lin_add(&a->log, &a->op);
}

/* What was moved; or that nothing was. */
static void add_batch(struct actor *a, const uint32_t *values, size_t moved)
{
	for (size_t i = 0; i < moved || i == 0; i++) {
		a->op.value = values[i];
		a->op.behind = i > 0;
		lin_add(&a->log, &a->op);
	}
}

static void send_batch(struct actor *a, unsigned chan)
{
	const cc_time deadline = some_deadline(a);
	uint32_t values[BATCH];
	size_t moved = 0;

	for (int i = 0; i < BATCH; i++)
		values[i] = next_value(a);
	begin(a, chan, LIN_SEND);
	end(a, cc_chan_send_many(a->chan[chan], values, sizeof *values, BATCH, deadline, &moved));
	CHECK_EQ(moved > 0, a->op.result == 0);
	add_batch(a, values, moved);
}

static void recv_batch(struct actor *a, unsigned chan)
{
	const cc_time deadline = some_deadline(a);
	uint32_t values[BATCH] = {0};
	size_t moved = 0;

	begin(a, chan, LIN_RECV);
	end(a, cc_chan_recv_many(a->chan[chan], values, sizeof *values, BATCH, deadline, &moved));
	CHECK_EQ(moved > 0, a->op.result == 0);
	add_batch(a, values, moved);
}

struct choice {
	unsigned chan;
	bool sends;
	uint32_t value;
};

static void add_case(struct actor *a, const struct choice *c, int result)
{
	a->op.what = c->sends ? LIN_SEND : LIN_RECV;
	a->op.chan = c->chan;
	a->op.value = c->value;
	a->op.result = result;
	lin_add(&a->log, &a->op);
}

/* Of two or three cases, on one channel or both, any directions. */
static void select_one(struct actor *a)
{
	const unsigned count = 2 + below(a, 2);
	const bool otherwise = below(a, 4) == 0;
	const cc_time deadline = some_deadline(a);
	struct choice choice[3];
	CCCase cases[4];
	size_t which = 99;
	int result;

	for (unsigned i = 0; i < count; i++) {
		struct choice *c = &choice[i];

		*c = (struct choice){.chan = below(a, CHANS), .sends = below(a, 100) < a->sends};
		if (c->sends)
			c->value = next_value(a);
		cases[i] = c->sends ? cc_case_send(a->chan[c->chan], &c->value, sizeof c->value)
		                    : cc_case_recv(a->chan[c->chan], &c->value, sizeof c->value);
	}
	cases[count] = otherwise ? cc_case_default() : cc_case_never();
	begin(a, 0, LIN_SEND);
	result = (below(a, 2) ? cc_select : cc_select_in_order)(cases, count + 1, deadline, &which);
	end(a, result);
	if (which < count) {
		add_case(a, &choice[which], result);
		return;
	}
	CHECK_EQ(which, otherwise && result == 0 ? count : count + 1);
	for (unsigned i = 0; i < count; i++)
		add_case(a, &choice[i], otherwise ? EAGAIN : result);
}

static void look_at(struct actor *a, unsigned chan)
{
	begin(a, chan, LIN_LOOK);
	end(a, cc_chan_closed(a->chan[chan]));
	lin_add(&a->log, &a->op);
}

static void close_one(struct actor *a, unsigned chan)
{
	const unsigned how = below(a, 3);
	int result;

	begin(a, chan, LIN_CLOSE);
	if (how == 0)
		result = cc_chan_close(a->chan[chan]);
	else if (how == 1)
		result = cc_chan_close_error(a->chan[chan], ENOSPC);
	else
		result = cc_chan_close_recv(a->chan[chan], ENOSPC);
	end(a, result);
	a->op.send_error = how == 2 ? ENOSPC : EPIPE;
	a->op.recv_error = how == 1 ? ENOSPC : EPIPE;
	CHECK_EQ(result, 0);
	lin_add(&a->log, &a->op);
}

static void one_turn(struct actor *a)
{
	const unsigned chan = below(a, CHANS), r = below(a, 100);
	const bool sends = below(a, 100) < a->sends;

	if (r < 50)
		(sends ? send_one : recv_one)(a, chan);
	else if (r < 65)
		(sends ? send_batch : recv_batch)(a, chan);
	else if (r < 92)
		select_one(a);
	else if (r < 96)
		look_at(a, chan);
	else
		cc_yield();
}

static int actor_main(void *arg)
{
	struct actor *a = arg;
	/* One of them may close one early. */
	const unsigned close_at = a->number == 1 && below(a, 3) == 0 ? below(a, TURNS) : a->turns;

	for (unsigned i = 0; i < a->turns; i++) {
		one_turn(a);
		if (i == close_at)
			close_one(a, 1);
	}
	for (unsigned i = 0; i < CHANS && a->number == 0; i++)
		close_one(a, i);
	return 0;
}

/* ---- runs ---- */

struct tally {
	unsigned histories, wrong, undecided;	/* of ENOUGH operations; of all */
	unsigned ops, moved, late, refused;
};

static void count_ops(struct tally *t, const struct lin_log *l)
{
	t->ops += l->count;
	for (unsigned i = 0; i < l->count; i++) {
		const struct lin_op *op = &l->op[i];

		if (op->what == LIN_CLOSE || op->what == LIN_LOOK)
			continue;
		t->moved += op->result == 0;
		t->late += lin_is_late(op->result);
		t->refused += op->result != 0 && !lin_is_late(op->result);
	}
}

static void judge(struct tally *t, const struct way *w, bool ring, struct lin_log *l, uint64_t seed)
{
	const struct lin_channel is = {.capacity = w->capacity, .ring = ring};
	enum lin_verdict v;

	t->histories += l->count >= ENOUGH;
	count_ops(t, l);
	v = lin_check(l, &is, true);
	t->wrong += v == LIN_WRONG;
	t->undecided += v == LIN_UNDECIDED;
	if (v != LIN_GOOD)
		printf("%s, seed %#" PRIx64 ": %s\n", w->name, seed,
		       v == LIN_WRONG ? "rejected" : "undecided");
}

static void start_actor(struct actor *a, CCRuntime *rt, CCChan **chan, unsigned number,
                        uint64_t seed)
{
	*a = (struct actor){.chan = chan, .number = number, .seed = seed + number};
	a->turns = number == 0 ? TURNS * 3 / 2 : TURNS;
	/* Full most of the time, or empty, or neither. */
	a->sends = 30 + (unsigned)(seed >> 8) % 3 * 20;
	a->sends += number % 2 ? 20 : -20U;
	sleeper_start(&a->s, rt, number < FIBERS ? FIBER : THREAD, actor_main, a);
}

/* Whoever comes last takes what is left. */
static void drain(struct actor *a)
{
	for (unsigned i = 0; i < CHANS; i++)
		do {
			uint32_t value = 0;

			begin(a, i, LIN_RECV);
			end(a, cc_chan_try_recv(a->chan[i], &value, sizeof value));
			a->op.value = value;
			lin_add(&a->log, &a->op);
		} while (a->op.result == 0);
}

static bool is_ring(const CCChan *c)
{
	return c->kind == &cc__buffered || c->kind == &cc__buffered_drop_old;
}

/* One run: the histories of its channels.  The caller frees them. */
static bool record(struct lin_log all[CHANS], CCRuntime *rt, const struct way *w, uint64_t seed)
{
	static struct actor actor[ACTORS + 1];
	CCChan *chan[CHANS];
	bool ring;

	for (unsigned i = 0; i < CHANS; i++) {
		const CCChanOptions o = {.kind = w->kind,
		                         .mode = w->mode,
		                         .drop = dropped,
		                         .context = (void *)(uintptr_t)i};

		CHECK_EQ(cc_chan_create(&chan[i], sizeof(uint32_t), w->capacity, &o), 0);
		all[i] = (struct lin_log){0};
	}
	ring = is_ring(chan[0]);
	for (unsigned i = 0; i < ACTORS; i++)
		start_actor(&actor[i], rt, chan, i, seed);
	for (unsigned i = 0; i < ACTORS; i++)
		sleeper_join(&actor[i].s);
	actor[ACTORS] = (struct actor){.chan = chan, .number = ACTORS};
	drain(&actor[ACTORS]);
	for (unsigned n = 0; n <= ACTORS; n++) {
		for (unsigned i = 0; i < CHANS; i++)
			lin_append(&all[i], &actor[n].log, i);
		lin_free(&actor[n].log);
	}
	for (unsigned i = 0; i < CHANS; i++)
		CHECK_EQ(cc_chan_free(chan[i]), 0);
	return ring;
}

static CCRuntime *four_workers(void)
{
	CCRuntime *rt = NULL;
	CCConfig c;

	CHECK_EQ(cc_config_init(&c), 0);
	only_workers(&c, WORKERS);
	c.idle_wait = c.stack_idle = CC_FOREVER;
	CHECK_EQ(cc_runtime_new(&rt, &c), 0);
	return rt;
}

#ifdef CC__POINTS
/* Now and then somebody loses its processor where it hurts, for as long as others need for
 * a few operations. */
static void stumble(const char *label, const void *object)
{
	static cc__a64 turn;
	uint64_t r = cc__add(&turn, 1, CC__RELAXED);

	(void)object;
	if (strcmp(label, "ring.reserved") != 0 && strcmp(label, "chan.before_lock") != 0)
		return;
	if (test_random(&r) % 16 == 0)
		usleep(20);
	else if (r % 16 == 0)
		sched_yield();
}

__attribute__((constructor)) static void set_hook(void)
{
	cc__point_hook = stumble;
}
#endif

/* covers: LIF-39/h, LIF-47/h, CHN-33/h */
TEST(recorded_histories_are_linearizable)
{
	const char *wanted = getenv("LIN_HISTORIES");
	const unsigned histories = wanted != NULL ? (unsigned)atoi(wanted) : 40 / test_slowness();
	CCRuntime *rt = four_workers();
	uint64_t seed = test_seed();
	struct tally t = {0};

	for (unsigned i = 0; t.histories < histories || i < WAYS; i++) {
		const struct way *w = &ways[i % WAYS];
		const uint64_t its = test_random(&seed);
		struct lin_log all[CHANS];
		const bool ring = record(all, rt, w, its);

		for (unsigned k = 0; k < CHANS; k++) {
			judge(&t, w, ring, &all[k], its);
			lin_free(&all[k]);
		}
	}
	printf(
	    "lin histories %u operations %u moved %u late %u refused %u rejected %u undecided %u\n",
	    t.histories, t.ops, t.moved, t.late, t.refused, t.wrong, t.undecided);
	CHECK_EQ(t.wrong, 0);
	CHECK_EQ(t.undecided, 0);
	CHECK(t.moved > 0 && t.late > 0 && t.refused > 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- and what is planted in one that was recorded is found there ---- */

/* The k-th accepted send or receive of the history; LIN_NOBODY: there are not as many. */
static unsigned find_moved(const struct lin_log *l, enum lin_what what, unsigned k)
{
	for (unsigned i = 0; i < l->count; i++)
		if (l->op[i].what == what && l->op[i].result == 0 && k-- == 0)
			return i;
	return LIN_NOBODY;
}

/* A receive found nothing, whose element had been there before it began. */
static void plant_lost(struct lin_op *recv, const struct lin_op *send, const struct lin_op *other)
{
	(void)send, (void)other;
	recv->result = EAGAIN;
}

static void plant_twice(struct lin_op *recv, const struct lin_op *send, const struct lin_op *other)
{
	(void)send;
	recv->value = other->value;
}

static void plant_unsent(struct lin_op *recv, const struct lin_op *send, const struct lin_op *other)
{
	(void)send, (void)other;
	recv->value = 1;
}

static void plant_early(struct lin_op *recv, const struct lin_op *send, const struct lin_op *other)
{
	(void)other;
	recv->begin = recv->end = send->begin - 1;
}

static void plant_end(struct lin_op *recv, const struct lin_op *send, const struct lin_op *other)
{
	(void)send, (void)other;
	recv->result = EPIPE;
}

/* A recorded history with some receives in it. */
static struct lin_channel record_moving(struct lin_log *l, CCRuntime *rt, const struct way *w,
                                        uint64_t *seed)
{
	struct lin_channel is = {.capacity = w->capacity};
	struct lin_log all[CHANS];

	do {
		lin_free(l);
		is.ring = record(all, rt, w, test_random(seed));
		*l = all[0];
		for (unsigned i = 1; i < CHANS; i++)
			lin_free(&all[i]);
	} while (find_moved(l, LIN_RECV, 7) == LIN_NOBODY);
	return is;
}

TEST(what_is_planted_in_a_recorded_history_is_found)
{
	static void (*const plant[])(struct lin_op *, const struct lin_op *,
	                             const struct lin_op *) = {
	    plant_lost, plant_twice, plant_unsent, plant_early, plant_end};
	CCRuntime *rt = four_workers();
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < WAYS * sizeof plant / sizeof *plant; i++) {
		struct lin_log l = {0};
		const struct lin_channel is = record_moving(&l, rt, &ways[i % WAYS], &seed);
		struct lin_op *recv = &l.op[find_moved(&l, LIN_RECV, 7)];
		const struct lin_op *other = &l.op[find_moved(&l, LIN_RECV, 3)];
		const unsigned send = lin_of_value(&l, true, recv->value);

		REQUIRE(send != LIN_NOBODY);
		plant[i / WAYS](recv, &l.op[send], other);
		CHECK_EQ(lin_check(&l, &is, false), LIN_WRONG);
		lin_free(&l);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}
