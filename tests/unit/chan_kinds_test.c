/* chan_kinds_test.c - what is special: modes, sizes, several at once, pools, ordered
 * channels, and how channels are made and freed.
 * mutate: src/chan */
#include "chans.h"
#include "tasks.h"

#include <string.h>

#include "chan/locked.h"

static CCChan *with_options(size_t size, size_t capacity, CCChanOptions o)
{
	CCChan *c = NULL;

	CHECK_EQ(cc_chan_create(&c, size, capacity, &o), 0);
	return c;
}

/* ---- what they are made of ---- */

/* covers: CHN-16/a */
#define IN_WAITER(field) offsetof(struct cc__waiter, field) < sizeof(struct cc__waiter)
_Static_assert(IN_WAITER(who) && IN_WAITER(ticket) && IN_WAITER(io) && IN_WAITER(reason) &&
                   IN_WAITER(next) && IN_WAITER(prev) && IN_WAITER(group) && IN_WAITER(index),
               "who waits, for which element, why it ended, where it is listed, in which select");

/* ---- making one ---- */

static void nowhere(void *context, void *item)
{
	(void)context, (void)item;
}

static int make_nothing(void *context, void *item)
{
	(void)context, (void)item;
	return 0;
}

TEST(options_that_do_not_go_together_are_refused)	/* covers: RES-48/u, CHN-12/u */
{
	static const struct {
		size_t size, capacity;
		CCChanOptions o;
	} wrong[] = {
	    {4, 0, {.mode = CC_CHAN_MODE_DROP_OLD}},
	    {4, 0, {.kind = CC_CHAN_KIND_SYNC, .mode = CC_CHAN_MODE_DROP_OLD}},
	    {4, 1, {.mode = (CCChanMode)3}},
	    {4, 1, {.kind = (CCChanKind)6}},
	    {4, 1, {.name = "sixteen letters."}},
	    {CC_CHAN_SIZE_MAX + 1, 1, {.name = NULL}},
	    {4, CC_CHAN_CAPACITY_MAX + 1, {.name = NULL}},
	    {CC_CHAN_DROP_MAX + 1, 1, {.mode = CC_CHAN_MODE_DROP_OLD, .drop = nowhere}},
	    {4, 1, {.kind = CC_CHAN_KIND_ORDERED}},
	    {4, 0, {.kind = CC_CHAN_KIND_BROADCAST}},
	    {4, 1, {.kind = CC_CHAN_KIND_BROADCAST, .drop = nowhere}},
	    {4, 0, {.kind = CC_CHAN_KIND_WATCH}},
	    {4, 2, {.kind = CC_CHAN_KIND_WATCH}},
	    {4, 1, {.kind = CC_CHAN_KIND_WATCH, .mode = CC_CHAN_MODE_DROP_OLD}},
	    {4, 1, {.kind = CC_CHAN_KIND_WATCH, .drop = nowhere}},
	    {sizeof(CCTask), 1, {.kind = CC_CHAN_KIND_ORDERED, .mode = CC_CHAN_MODE_DROP_OLD}},
	    {4, 1, {.kind = CC_CHAN_KIND_OWNED}},
	    {4, 0, {.kind = CC_CHAN_KIND_OWNED, .create = make_nothing}},
	    {4, 1, {.kind = CC_CHAN_KIND_OWNED, .create = make_nothing, .drop = nowhere}},
	    {4,
	     1,
	     {.kind = CC_CHAN_KIND_OWNED, .create = make_nothing, .mode = CC_CHAN_MODE_DROP_NEW}},
	    {CC_CHAN_DROP_MAX + 1, 1, {.kind = CC_CHAN_KIND_OWNED, .create = make_nothing}},
	};
	CCChan *c = NULL;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		if (!CHECK_EQ(cc_chan_create(&c, wrong[i].size, wrong[i].capacity, &wrong[i].o),
		              EINVAL))
			printf("\tnumber %zu\n", i);
	CHECK(c == NULL);
	CHECK_EQ(cc_chan_create(NULL, 4, 1, NULL), EINVAL);
	CHECK(cc_chan_new(CC_CHAN_SIZE_MAX + 1, 0) == NULL);
	CHECK_EQ(cc_chan_free(NULL), 0);
	CHECK_EQ(cc_chan_len(NULL), 0);
	CHECK_EQ(cc_chan_cap(NULL), 0);
	CHECK_EQ(cc_chan_closed(NULL), 0);
}

TEST(limits_themselves_are_allowed)
{
	static const struct {
		size_t size, capacity;
		CCChanOptions o;
	} right[] = {
	    {CC_CHAN_SIZE_MAX, 0, {.name = "fifteen letters"}},
	    {0, CC_CHAN_CAPACITY_MAX, {.kind = CC_CHAN_KIND_SYNC}},
	    {CC_CHAN_DROP_MAX, 1, {.mode = CC_CHAN_MODE_DROP_OLD, .drop = nowhere}},
	    {CC_CHAN_DROP_MAX, 1, {.kind = CC_CHAN_KIND_OWNED, .create = make_nothing}},
	};

	for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
		CCChan *c = NULL;

		if (!CHECK_EQ(cc_chan_create(&c, right[i].size, right[i].capacity, &right[i].o), 0))
			printf("\tnumber %zu\n", i);
		CHECK_EQ(cc_chan_cap(c), right[i].capacity);
		CHECK_EQ(cc_chan_free(c), 0);
	}
}

/* Whatever the one before it was called. */
TEST(a_name_is_the_channels_own)
{
	static const char *const names[] = {"a long name", "b", NULL};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		CCChan *c = with_options(4, 1, (CCChanOptions){.name = names[i]});

		CHECK_STR(c->name, names[i] != NULL ? names[i] : "");
		CHECK_EQ(cc_chan_free(c), 0);
	}
}

/* Where an element can be moved at once, nothing is looked up. */
static void goes_the_short_way(CCChan *c)
{
	const struct cc__chan_kind *kind = c->kind;
	char item[100] = {0};

	c->kind = NULL;
	if (c->capacity > 0) {
		CHECK_EQ(cc_chan_send(c, item, c->size), 0);
		CHECK_EQ(cc_chan_recv(c, item, c->size), 0);
	}
	c->kind = kind;
}

TEST(only_plain_channels_have_a_short_way)	/* covers: CHN-12/u, RES-38/u */
{
	static const struct {
		size_t size, capacity;
		CCChanKind kind;
		CCChanMode mode;
		bool ring, lock;
	} of[] = {
	    {1, 8, CC_CHAN_KIND_PLAIN, CC_CHAN_MODE_BLOCK, true, false},
	    {100, 100, CC_CHAN_KIND_PLAIN, CC_CHAN_MODE_BLOCK, true, false},
	    {8, 0, CC_CHAN_KIND_PLAIN, CC_CHAN_MODE_BLOCK, false, true},
	    {8, 7, CC_CHAN_KIND_PLAIN, CC_CHAN_MODE_BLOCK, false, true},
	    {8, 7, CC_CHAN_KIND_PLAIN, CC_CHAN_MODE_DROP_NEW, false, false},
	    {8, 7, CC_CHAN_KIND_PLAIN, CC_CHAN_MODE_DROP_OLD, false, false},
	    {8, 40, CC_CHAN_KIND_SYNC, CC_CHAN_MODE_BLOCK, false, true},
	    {sizeof(CCTask), 4, CC_CHAN_KIND_ORDERED, CC_CHAN_MODE_BLOCK, false, false},
	};

	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		CCChan *c =
		    with_options(of[i].size, of[i].capacity,
		                 (CCChanOptions){.kind = of[i].kind, .mode = of[i].mode});

		CHECK_EQ(cc__load(&c->by_ring, CC__RELAXED) == of[i].size, of[i].ring);
		CHECK_EQ(cc__load(&c->by_lock, CC__RELAXED), of[i].lock);
		CHECK_EQ(c->kind == &cc__buffered, of[i].ring);
		if (of[i].ring || of[i].lock)
			goes_the_short_way(c);
		CHECK_EQ(cc_chan_free(c), 0);
	}
}

static struct {
	int allocs, frees;
	size_t bytes;
} counted_memory;

static void *count_alloc(void *context, size_t size)
{
	(void)context;
	counted_memory.allocs++;
	counted_memory.bytes += size;
	return size > 1000000 ? NULL : calloc(1, size);
}

static void count_free(void *context, void *p, size_t size)
{
	(void)context;
	counted_memory.frees++;
	counted_memory.bytes -= size;
	free(p);
}

static CCRuntime *counting_runtime(void)
{
	CCRuntime *rt = NULL;
	CCConfig config;

	CHECK_EQ(cc_config_init(&config), 0);
	config.workers = 1;
	config.allocator = (CCAllocator){.alloc = count_alloc, .free = count_free};
	CHECK_EQ(cc_runtime_new(&rt, &config), 0);
	return rt;
}

TEST(memory_comes_from_the_runtime_that_is_named)
{
	CCRuntime *rt = counting_runtime();
	CCChan *c, *d = NULL;
	int allocs;

	allocs = counted_memory.allocs;
	c = with_options(8, 10, (CCChanOptions){.runtime = rt});
	CHECK_EQ(counted_memory.allocs, allocs + 1);
	CHECK_EQ(cc_chan_create(&d, 8, 1000000, &(CCChanOptions){.runtime = rt}), ENOMEM);
	CHECK(d == NULL);
	CHECK_EQ(cc_chan_free(c), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(counted_memory.allocs - 1, counted_memory.frees);	/* one was refused */
}

/* What was freed, or could not be made, is there for the next. */
TEST(heads_are_used_again)
{
	const CCChanOptions o = {.kind = CC_CHAN_KIND_SYNC, .runtime = counting_runtime()};
	CCChan *c = NULL;
	size_t made;

	CHECK_EQ(cc_chan_free(with_options(8, 0, o)), 0);
	made = cc__slab_made(&cc__locked_heads);
	for (size_t i = 0; i <= made; i++) {
		CHECK_EQ(cc_chan_free(with_options(8, 1, o)), 0);
		CHECK_EQ(cc_chan_create(&c, 8, 1000000, &o), ENOMEM);
	}
	CHECK_EQ(cc__slab_made(&cc__locked_heads), made);
	CHECK_EQ(cc_runtime_free(o.runtime), 0);
}

/* ---- elements of any size ---- */

TEST(elements_of_any_size_arrive_whole)	/* covers: RES-38/u, CHN-51/u */
{
	static const size_t sizes[] = {0, 1, 2, 3, 4, 7, 8, 12, 16, 17, 64, 1000};
	unsigned char in[1000], out[1001];

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (int kind = CC_CHAN_KIND_PLAIN; kind <= CC_CHAN_KIND_SYNC; kind++) {
			const size_t size = sizes[i];
			CCChan *c = with_options(size, 9,
			                         (CCChanOptions){.kind = (CCChanKind)kind});

			for (int n = 0; n < 20; n++) {
				memset(in, 'a' + n, sizeof in);
				memset(out, '-', sizeof out);
				CHECK_EQ(cc_chan_send(c, in, size), 0);
				CHECK_EQ(cc_chan_recv(c, out, size), 0);
				CHECK_EQ(memcmp(in, out, size), 0);
				CHECK_EQ(out[size], '-');
			}
			CHECK_EQ(cc_chan_free(c), 0);
		}
}

/* The first try at a ring knows the slots of some sizes as constants: they are the same slots that
 * other calls find, in every lap, and whether or not the capacity is a power of two. */
static void laps_of(size_t size, size_t capacity)
{
	CCChan *c = with_options(size, capacity, (CCChanOptions){.name = "laps"});
	unsigned char item[3][24], got[3][24];
	unsigned next = 0, seen = 0;
	size_t moved;

	for (unsigned round = 0; round < 5 * capacity; round++) {
		memset(item, 0, sizeof item);
		for (unsigned i = 0; i < 3; i++)
			memset((unsigned char *)item + i * size, (int)(++next % 251), size);
		CHECK_EQ(cc_chan_send(c, item, size), 0);
		CHECK_EQ(cc_chan_send_many(c, (unsigned char *)item + size, size, 2, CC_NOW, &moved), 0);
		CHECK_EQ(moved, 2);
		for (unsigned i = 0; i < 3; i++) {
			memset(item[0], (int)(++seen % 251), sizeof item[0]);
			CHECK_EQ(i == 1 ? cc_chan_recv_until(c, got[0], size, CC_NOW)
			                : cc_chan_recv(c, got[0], size),
			         0);
			CHECK_EQ(memcmp(got[0], item[0], size), 0);
		}
	}
	CHECK_EQ(cc_chan_len(c), 0);
	CHECK_EQ(cc_chan_free(c), 0);
}

TEST(every_call_finds_the_same_slots)	/* covers: CHN-51/u */
{
	static const size_t size[] = {1, 3, 4, 5, 8, 12, 16, 17, 24};
	static const size_t capacity[] = {8, 9, 11, 16, 33};

	for (size_t i = 0; i < sizeof size / sizeof *size; i++)
		for (size_t j = 0; j < sizeof capacity / sizeof *capacity; j++)
			laps_of(size[i], capacity[j]);
}

TEST(elements_of_no_size_are_counted)
{
	CCChan *c = cc_chan_new(0, 8);

	CHECK_EQ(cc_chan_send(c, NULL, 0), 0);
	for (int i = 1; i < 8; i++)
		CHECK_EQ(cc_chan_try_send(c, NULL, 0), 0);
	CHECK_EQ(cc_chan_try_send(c, NULL, 0), EAGAIN);
	CHECK_EQ(cc_chan_len(c), 8);
	CHECK_EQ(cc_chan_recv(c, NULL, 0), 0);
	for (int i = 1; i < 8; i++)
		CHECK_EQ(cc_chan_try_recv(c, NULL, 0), 0);
	CHECK_EQ(cc_chan_try_recv(c, NULL, 0), EAGAIN);
	CHECK_EQ(cc_chan_free(c), 0);
}

/* ---- modes ---- */

static struct {
	int number, last;
} dropped;

static void count_drop(void *context, void *item)
{
	CHECK(context == &dropped);
	dropped.number++;
	dropped.last = *(int *)item;
	CHECK_EQ(cc_chan_len(NULL), 0);	/* called without locks */
}

TEST(drop_new_refuses_what_finds_no_room)	/* covers: CHN-21/u, RES-48/u */
{
	for (size_t capacity = 0; capacity <= 8; capacity += 4)
		for (int kind = CC_CHAN_KIND_PLAIN; kind <= CC_CHAN_KIND_SYNC; kind++) {
			CCChan *c = with_options(sizeof(int), capacity,
			                         (CCChanOptions){.kind = (CCChanKind)kind,
			                                         .mode = CC_CHAN_MODE_DROP_NEW,
			                                         .drop = count_drop,
			                                         .context = &dropped});
			int v = 1;

			dropped.number = 0;
			for (size_t i = 0; i < capacity; i++)
				CHECK_EQ(cc_chan_send(c, &v, sizeof v), 0);
			v = 2;
			CHECK_EQ(cc_chan_send(c, &v, sizeof v), EAGAIN);
			CHECK_EQ(cc_chan_send_until(c, &v, sizeof v, cc_after(CC_SEC)), EAGAIN);
			CHECK_EQ(cc_chan_len(c), capacity);
			CHECK_EQ(dropped.number, 0);	/* it was not accepted */
			CHECK_EQ(cc_chan_close(c), 0);
			CHECK_EQ(cc_chan_send(c, &v, sizeof v), EPIPE);
			CHECK_EQ(cc_chan_free(c), 0);
			CHECK_EQ(dropped.number, capacity);
		}
}

TEST(drop_new_at_capacity_0_reaches_who_waits)	/* covers: RES-48/u */
{
	const struct setting s = {.receiver = THREAD};
	CCChan *c = with_options(sizeof(int), 0, (CCChanOptions){.mode = CC_CHAN_MODE_DROP_NEW});
	struct actor receiver;

	start_recv(&receiver, &s, c, 1, CC_FOREVER);
	until_waiting(c, CC__RECV, 1);
	CHECK_EQ(send_number(c, 5, CC_FOREVER), 0);
	CHECK_EQ(finish(&receiver), 0);
	CHECK_EQ(receiver.sum, 5);
	free_chan(c);
}

TEST(drop_old_keeps_the_newest)	/* covers: CHN-21/u, RES-42/u */
{
	for (int kind = CC_CHAN_KIND_PLAIN; kind <= CC_CHAN_KIND_SYNC; kind++) {
		CCChan *c = with_options(sizeof(int), 8,
		                         (CCChanOptions){.kind = (CCChanKind)kind,
		                                         .mode = CC_CHAN_MODE_DROP_OLD,
		                                         .drop = count_drop,
		                                         .context = &dropped});
		int v;

		dropped.number = 0;
		for (v = 1; v <= 30; v++) {
			CHECK_EQ(cc_chan_send_until(c, &v, sizeof v, CC_NOW), 0);
			if (v > 8)
				CHECK_EQ(dropped.last, v - 8);
		}
		CHECK_EQ(dropped.number, 22);
		CHECK_EQ(cc_chan_recv(c, &v, sizeof v), 0);
		CHECK_EQ(v, 23);
		CHECK_EQ(cc_chan_free(c), 0);	/* seven more */
		CHECK_EQ(dropped.number, 29);
		CHECK_EQ(dropped.last, 30);
	}
}

/* Whatever was accepted is received or dropped, once. */
static cc__a64 drops, dropped_sum;

static void add_drop(void *context, void *item)
{
	(void)context;
	cc__add(&drops, 1, CC__RELAXED);
	cc__add(&dropped_sum, (uint64_t) * (int *)item, CC__RELAXED);
}

TEST(a_crowd_that_drops_loses_count_of_nothing)	/* covers: RES-42/s */
{
	enum { EACH = 2000 };
	struct setting s = {.sender = FIBER, .receiver = THREAD};

	s.rt = chan_runtime();
	for (int kind = CC_CHAN_KIND_PLAIN; kind <= CC_CHAN_KIND_SYNC; kind++) {
		CCChan *c = with_options(sizeof(int), 8,
		                         (CCChanOptions){.kind = (CCChanKind)kind,
		                                         .mode = CC_CHAN_MODE_DROP_OLD,
		                                         .drop = add_drop});
		struct actor sender[3], receiver[2];
		long sum = 0, expected = 0;
		int count = 0;

		cc__store(&drops, 0, CC__RELAXED);
		cc__store(&dropped_sum, 0, CC__RELAXED);
		for (int i = 0; i < 2; i++)
			start_recv(&receiver[i], &s, c, 3 * EACH, CC_FOREVER);
		for (int i = 0; i < 3; i++) {
			start_send(&sender[i], &s, c, i * 10000, EACH, CC_FOREVER);
			expected += (long)EACH * i * 10000 + (long)EACH * (EACH - 1) / 2;
		}
		for (int i = 0; i < 3; i++)
			CHECK_EQ(finish(&sender[i]), 0);
		CHECK_EQ(cc_chan_close(c), 0);
		for (int i = 0; i < 2; i++) {
			CHECK_EQ(finish(&receiver[i]), EPIPE);
			sum += receiver[i].sum;
			count += receiver[i].done;
		}
		CHECK_EQ(count + (int)cc__load(&drops, CC__RELAXED), 3 * EACH);
		CHECK_EQ(sum + (long)cc__load(&dropped_sum, CC__RELAXED), expected);
		free_chan(c);
	}
	CHECK_EQ(cc_runtime_free(s.rt), 0);
}

struct wide {
	_Alignas(16) long number[4];
};

static void check_wide(void *context, void *item)
{
	int *seen = context;
	const struct wide *w = item;

	CHECK_EQ((uintptr_t)item % _Alignof(struct wide), 0);
	CHECK(w->number[0] == *seen && w->number[3] == -*seen);
	++*seen;
}

/* By a send or by the end: the callback may use it as what it is. */
TEST(what_is_dropped_is_aligned_and_in_order)	/* covers: RES-42/u */
{
	for (size_t capacity = 1; capacity <= 9; capacity++)
		for (int locked = 0; locked < 2; locked++) {
			int seen = 0;
			CCChan *c = with_options(
			    sizeof(struct wide), capacity,
			    (CCChanOptions){.kind = locked ? CC_CHAN_KIND_SYNC : CC_CHAN_KIND_PLAIN,
			                    .mode = CC_CHAN_MODE_DROP_OLD,
			                    .drop = check_wide,
			                    .context = &seen});

			for (long i = 0; i < 12; i++) {
				const struct wide w = {.number = {i, 0, 0, -i}};

				CHECK_EQ(cc_chan_send(c, &w, sizeof w), 0);
			}
			CHECK_EQ(seen, 12 - (int)capacity);
			CHECK_EQ(cc_chan_free(c), 0);
			CHECK_EQ(seen, 12);
		}
}

/* Nor is what it says taken for something of the ring's, where it lies. */
TEST(what_is_dropped_may_look_like_a_stamp)
{
	enum { CAPACITY = 8, LAP = CAPACITY << CC__RING_SHIFT };
	CCChan *c = with_options(2 * sizeof(uint64_t), CAPACITY,
	                         (CCChanOptions){.drop = count_drop, .context = &dropped});
	const uint64_t of_next_lap[2] = {LAP | CC__RING_FULL, 0};

	for (int i = 0; i < CAPACITY; i++)
		CHECK_EQ(cc_chan_send(c, of_next_lap, sizeof of_next_lap), 0);
	dropped.number = 0;
	CHECK_EQ(cc_chan_free(c), 0);
	CHECK_EQ(dropped.number, CAPACITY);
}

/* ---- several at once ---- */

TEST(several_move_at_once)
{
	for (int kind = CC_CHAN_KIND_PLAIN; kind <= CC_CHAN_KIND_SYNC; kind++) {
		CCChan *c = with_options(sizeof(int), 9, (CCChanOptions){.kind = (CCChanKind)kind});
		int in[16], out[16];
		size_t n = 9;

		for (int i = 0; i < 16; i++)
			in[i] = i;
		CHECK_EQ(cc_chan_recv_many(c, out, sizeof(int), 16, CC_NOW, &n), EAGAIN);
		CHECK_EQ(n, 0);
		CHECK_EQ(cc_chan_send_many(c, in, sizeof(int), 16, CC_NOW, &n), 0);
		CHECK_EQ(n, 9);
		CHECK_EQ(cc_chan_send_many(c, in, sizeof(int), 16, CC_NOW, &n), EAGAIN);
		CHECK_EQ(n, 0);
		CHECK_EQ(cc_chan_recv_many(c, out, sizeof(int), 4, CC_FOREVER, &n), 0);
		CHECK_EQ(n, 4);
		CHECK_EQ(cc_chan_recv_many(c, out + 4, sizeof(int), 12, CC_FOREVER, &n), 0);
		CHECK_EQ(n, 5);
		CHECK_EQ(memcmp(in, out, 9 * sizeof(int)), 0);
		CHECK_EQ(cc_chan_send_many(c, NULL, sizeof(int), 0, CC_FOREVER, &n), 0);
		CHECK_EQ(cc_chan_recv_many(c, NULL, sizeof(int), 0, CC_FOREVER, &n), 0);
		CHECK_EQ(n, 0);
		CHECK_EQ(cc_chan_close(c), 0);
		CHECK_EQ(cc_chan_send_many(c, in, sizeof(int), 8, CC_FOREVER, &n), EPIPE);
		CHECK_EQ(cc_chan_recv_many(c, out, sizeof(int), 8, CC_FOREVER, &n), EPIPE);
		CHECK_EQ(cc_chan_free(c), 0);
	}
}

static int recv_two_at_once(void *arg)
{
	int v[3] = {0, 0, -1};
	size_t n = 0;
	const int err = cc_chan_recv_many(arg, v, sizeof *v, 2, CC_FOREVER, &n);

	CHECK_EQ(n, 2);
	CHECK(v[0] == 5 && v[1] == 6 && v[2] == -1);
	return err;
}

/* Who waited takes what there is then, but no more than he asked for. */
TEST(several_come_at_once)
{
	for (int kind = CC_CHAN_KIND_PLAIN; kind <= CC_CHAN_KIND_SYNC; kind++) {
		CCChan *c = with_options(sizeof(int), 9, (CCChanOptions){.kind = (CCChanKind)kind});
		static const int in[] = {5, 6, 7};
		struct sleeper s;
		size_t n;

		sleeper_start(&s, NULL, THREAD, recv_two_at_once, c);
		until_waiting(c, CC__RECV, 1);
		CHECK_EQ(cc_chan_send_many(c, in, sizeof *in, 3, CC_FOREVER, &n), 0);
		CHECK_EQ(sleeper_join(&s), 0);
		CHECK_EQ(cc_chan_len(c), 1);
		CHECK_EQ(cc_chan_free(c), 0);
	}
}

struct many {
	CCChan *chan;
	int numbers[1000];
	size_t moved;
	struct sleeper s;
};

static int send_all(void *arg)
{
	struct many *m = arg;

	return cc_chan_send_many(m->chan, m->numbers, sizeof(int), 1000, CC_FOREVER, &m->moved);
}

/* A send of many waits until all have been sent, a receive for one. */
TEST(several_wait_for_room)
{
	CCRuntime *rt = chan_runtime();

	for (int run = 0; run < 12; run++) {
		static const size_t capacities[] = {0, 7, 11};
		CCChan *c = with_options(sizeof(int), capacities[run % 3],
		                         (CCChanOptions){.kind = (CCChanKind)(run / 3 % 2)});
		static struct many m;
		int out[64], next = 0;
		size_t n;

		m = (struct many){.chan = c};
		for (int i = 0; i < 1000; i++)
			m.numbers[i] = i;
		sleeper_start(&m.s, rt, run < 6 ? FIBER : THREAD, send_all, &m);
		while (next < 1000) {
			CHECK_EQ(cc_chan_recv_many(c, out, sizeof(int), 64, CC_FOREVER, &n), 0);
			REQUIRE(n > 0);
			for (size_t i = 0; i < n; i++)
				CHECK_EQ(out[i], next++);
		}
		CHECK_EQ(sleeper_join(&m.s), 0);
		CHECK_EQ(m.moved, 1000);
		free_chan(c);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* More receivers than a batch of wakes holds, one send for all of them. */
TEST(many_elements_wake_as_many_receivers)	/* covers: CHN-29/s */
{
	enum { MANY = 40 };
	struct setting s = {.receiver = FIBER};
	CCChan *c = cc_chan_new(sizeof(int), MANY);
	struct actor receiver[MANY];
	int in[MANY];
	long sum = 0;
	size_t n;

	s.rt = chan_runtime();
	for (int i = 0; i < MANY; i++) {
		in[i] = i;
		start_recv(&receiver[i], &s, c, 1, CC_FOREVER);
	}
	until_waiting(c, CC__RECV, MANY);
	CHECK_EQ(cc_chan_send_many(c, in, sizeof(int), MANY, CC_FOREVER, &n), 0);
	CHECK_EQ(n, MANY);
	for (int i = 0; i < MANY; i++) {
		CHECK_EQ(finish(&receiver[i]), 0);
		sum += receiver[i].sum;
	}
	CHECK_EQ(sum, MANY * (MANY - 1) / 2);
	free_chan(c);
	CHECK_EQ(cc_runtime_free(s.rt), 0);
}

/* ---- owned ---- */

static struct {
	int created, reset, destroyed, fail;
} pool;

static int pool_create(void *context, void *item)
{
	CHECK(context == &pool);
	if (pool.fail != 0)
		return pool.fail;
	*(int *)item = ++pool.created;
	return 0;
}

static void pool_reset(void *context, void *item)
{
	(void)context;
	pool.reset++;
	*(int *)item += 100;
}

static void pool_destroy(void *context, void *item)
{
	(void)context, (void)item;
	pool.destroyed++;
}

static CCChan *new_pool(size_t capacity)
{
	memset(&pool, 0, sizeof pool);
	return with_options(sizeof(int), capacity,
	                    (CCChanOptions){.kind = CC_CHAN_KIND_OWNED,
	                                    .create = pool_create,
	                                    .reset = pool_reset,
	                                    .destroy = pool_destroy,
	                                    .context = &pool});
}

TEST(a_pool_makes_resets_and_destroys)	/* covers: CHN-56/u, CHN-37/u */
{
	CCChan *c = new_pool(2);
	int a = 0, b = 0, v = 0;
	size_t n;

	CHECK_EQ(cc_chan_send(c, &v, sizeof v), EINVAL);	/* none is out */
	CHECK_EQ(cc_chan_recv_many(c, &v, sizeof v, 1, CC_NOW, &n), EINVAL);
	CHECK_EQ(cc_chan_recv(c, &a, sizeof a), 0);
	CHECK_EQ(cc_chan_recv(c, &b, sizeof b), 0);
	CHECK_EQ(a + b, 3);
	CHECK_EQ(cc_chan_recv_until(c, &v, sizeof v, CC_NOW), EAGAIN);
	CHECK_EQ(cc_chan_recv_until(c, &v, sizeof v, cc_after(CC_MSEC)), ETIMEDOUT);
	CHECK_EQ(cc_chan_free(c), EBUSY);
	CHECK_EQ(cc_chan_send(c, &a, sizeof a), 0);
	CHECK_EQ(pool.reset, 1);
	CHECK_EQ(cc_chan_len(c), 1);
	CHECK_EQ(cc_chan_recv(c, &v, sizeof v), 0);
	CHECK_EQ(v, a + 100);
	CHECK_EQ(pool.created, 2);
	CHECK_EQ(cc_chan_send(c, &v, sizeof v), 0);
	CHECK_EQ(cc_chan_free(c), EBUSY);
	CHECK_EQ(cc_chan_send(c, &b, sizeof b), 0);
	CHECK_EQ(cc_chan_send(c, &b, sizeof b), EINVAL);	/* once each */
	CHECK_EQ(cc_chan_free(c), 0);
	CHECK_EQ(pool.destroyed, 2);
}

TEST(a_pool_that_cannot_make_one_says_so)	/* covers: RES-48/u, CHN-37/u */
{
	const struct setting s = {.receiver = THREAD};
	CCChan *c = new_pool(1);
	struct actor receiver;
	int v = 0;

	pool.fail = ENOSPC;
	CHECK_EQ(cc_chan_recv(c, &v, sizeof v), ENOSPC);
	CHECK_EQ(cc_chan_recv(c, &v, sizeof v), ENOSPC);
	for (pool.fail = -8; pool.fail < 0; pool.fail++) {	/* any number is passed on */
		const CCCase one = cc_case_recv(c, &v, sizeof v);

		CHECK_EQ(cc_chan_recv(c, &v, sizeof v), pool.fail);
		CHECK_EQ(cc_select(&one, 1, CC_FOREVER, NULL), pool.fail);
	}
	CHECK_EQ(cc_chan_recv(c, &v, sizeof v), 0);
	CHECK_EQ(pool.created, 1);
	/* Who waits gets what comes back. */
	start_recv(&receiver, &s, c, 1, CC_FOREVER);
	until_waiting(c, CC__RECV, 1);
	CHECK_EQ(cc_chan_send(c, &v, sizeof v), 0);
	CHECK_EQ(finish(&receiver), 0);
	CHECK_EQ(receiver.sum, 101);
	/* A closed pool destroys what comes back. */
	CHECK_EQ(cc_chan_close(c), 0);
	CHECK_EQ(cc_chan_send(c, &v, sizeof v), EPIPE);
	CHECK_EQ(pool.destroyed, 1);
	CHECK_EQ(cc_chan_recv(c, &v, sizeof v), EPIPE);
	CHECK_EQ(cc_chan_free(c), 0);
	CHECK_EQ(pool.destroyed, 1);
}

/* An item on its way back, or being made, is not in the pool. */
static int free_meanwhile(void *context, void *item)
{
	(void)item;
	return cc_chan_free(*(CCChan **)context);
}

static void check_free_meanwhile(void *context, void *item)
{
	CHECK_EQ(free_meanwhile(context, item), EBUSY);
}

TEST(a_pool_with_items_on_their_way_is_not_freed)	/* covers: RES-48/u */
{
	CCChan *c = NULL;
	int v = 0;

	c = with_options(sizeof v, 1,
	                 (CCChanOptions){.kind = CC_CHAN_KIND_OWNED,
	                                 .create = free_meanwhile,
	                                 .context = &c});
	CHECK_EQ(cc_chan_recv(c, &v, sizeof v), EBUSY);
	CHECK_EQ(cc_chan_free(c), 0);
	c = with_options(sizeof v, 1,
	                 (CCChanOptions){.kind = CC_CHAN_KIND_OWNED,
	                                 .create = make_nothing,
	                                 .reset = check_free_meanwhile,
	                                 .context = &c});
	CHECK_EQ(cc_chan_recv(c, &v, sizeof v), 0);
	CHECK_EQ(cc_chan_send(c, &v, sizeof v), 0);
	CHECK_EQ(cc_chan_free(c), 0);
}

static cc__a32 out_now, made_now;

static int count_create(void *context, void *item)
{
	(void)context;
	*(int *)item = (int)cc__add(&made_now, 1, CC__RELAXED);
	return 0;
}

static int use_pool(void *arg)
{
	CCChan *c = arg;
	int v;

	for (int i = 0; i < 500; i++) {
		if (!CHECK_EQ(cc_chan_recv(c, &v, sizeof v), 0))
			return 1;
		CHECK(cc__add(&out_now, 1, CC__RELAXED) < 3);
		if (i % 7 == 0)
			cc_yield();
		cc__sub(&out_now, 1, CC__RELAXED);
		CHECK_EQ(cc_chan_send(c, &v, sizeof v), 0);
	}
	return 0;
}

TEST(a_crowd_shares_a_pool)	/* covers: CHN-37/s */
{
	CCRuntime *rt = chan_runtime();
	CCChan *c = with_options(
	    sizeof(int), 3, (CCChanOptions){.kind = CC_CHAN_KIND_OWNED, .create = count_create});
	struct sleeper s[8];

	for (int i = 0; i < 8; i++)
		sleeper_start(&s[i], rt, i & 1 ? THREAD : FIBER, use_pool, c);
	for (int i = 0; i < 8; i++)
		CHECK_EQ(sleeper_join(&s[i]), 0);
	CHECK(cc__load(&made_now, CC__RELAXED) <= 3);
	free_chan(c);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- ordered ---- */

static int sleep_and_return(void *arg)
{
	const int n = (int)(intptr_t)arg;

	/* The earlier, the longer. */
	cc_sleep_until(cc_after((10 - n) * 100 * CC_USEC));
	return n;
}

static int produce_tasks(void *arg)
{
	for (int i = 0; i < 10; i++)
		CHECK_EQ(
		    cc_chan_spawn(arg, NULL, sleep_and_return, (void *)(intptr_t)i, CC_FOREVER), 0);
	return cc_chan_close(arg);
}

TEST(results_come_in_the_order_of_submission)	/* covers: SCH-60/u, CHN-38/u, SCH-61/z */
{
	CCChan *c = with_options(sizeof(CCTask), 3, (CCChanOptions){.kind = CC_CHAN_KIND_ORDERED});
	CCTask producer = spawn(NULL, produce_tasks, c), t;
	int result = -1, i = 0;

	while (cc_chan_recv(c, &t, sizeof t) == 0) {
		CHECK_EQ(cc_task_join(t, CC_FOREVER, &result), 0);
		CHECK_EQ(result, i++);
	}
	CHECK_EQ(i, 10);
	CHECK_EQ(join(producer), 0);
	CHECK_EQ(cc_chan_free(c), 0);
	CHECK_EQ(cc_shutdown(), 0);
}

static cc__a32 bodies_run;

static int run_body(void *arg)
{
	cc__add(&bodies_run, 1, CC__RELAXED);
	return (int)(intptr_t)arg;
}

static cc__a32 late_bodies_run;

static int run_body_late(void *arg)
{
	(void)arg;
	cc_sleep_until(cc_after(2 * CC_MSEC));
	cc__add(&late_bodies_run, 1, CC__RELAXED);
	return 0;
}

TEST(a_task_that_nobody_takes_is_joined)	/* covers: SCH-62/u */
{
	CCChan *c = with_options(sizeof(CCTask), 2, (CCChanOptions){.kind = CC_CHAN_KIND_ORDERED});
	CCTask t;
	size_t n;

	/* Left in it when it is freed. */
	CHECK_EQ(cc_chan_spawn(c, NULL, run_body, NULL, CC_FOREVER), 0);
	CHECK_EQ(cc_chan_spawn(c, NULL, run_body, NULL, CC_FOREVER), 0);
	/* No room, and no time: it is over when the call is. */
	CHECK_EQ(cc_chan_spawn(c, NULL, run_body_late, NULL, CC_NOW), EAGAIN);
	CHECK(cc__load(&late_bodies_run, CC__RELAXED) == 1);
	CHECK_EQ(cc_chan_recv_many(c, &t, sizeof t, 1, CC_NOW, &n), EINVAL);
	/* Closed: the handle is used up; otherwise it is not. */
	t = spawn(NULL, run_body, NULL);
	CHECK_EQ(cc_chan_try_send(c, &t, sizeof t), EAGAIN);
	CHECK_EQ(cc_task_join(t, CC_FOREVER, NULL), 0);
	t = spawn(NULL, run_body, NULL);
	CHECK_EQ(cc_chan_close(c), 0);
	CHECK_EQ(cc_chan_send(c, &t, sizeof t), EPIPE);
	CHECK_EQ(cc_task_join(t, CC_NOW, NULL), EINVAL);
	CHECK_EQ(cc_chan_spawn(c, NULL, run_body, NULL, CC_FOREVER), EPIPE);
	CHECK_EQ(cc_chan_free(c), 0);
	CHECK_EQ(cc__load(&bodies_run, CC__RELAXED), 5);
	CHECK_EQ(cc_chan_spawn(NULL, NULL, run_body, NULL, CC_NOW), EINVAL);
	CHECK_EQ(cc_shutdown(), 0);
}

static void join_dropped(void *context, void *task)
{
	++*(int *)context;
	join(*(CCTask *)task);
}

/* By the channel, or by who wants to do that himself. */
TEST(tasks_that_are_left_are_joined)	/* covers: SCH-62/u */
{
	for (int by_callback = 0; by_callback < 2; by_callback++) {
		int callbacks = 0;
		CCChan *c = with_options(sizeof(CCTask), 1,
		                         (CCChanOptions){.kind = CC_CHAN_KIND_ORDERED,
		                                         .drop = by_callback ? join_dropped : NULL,
		                                         .context = &callbacks});

		cc__store(&late_bodies_run, 0, CC__RELAXED);
		CHECK_EQ(cc_chan_spawn(c, NULL, run_body_late, NULL, CC_FOREVER), 0);
		CHECK_EQ(cc_chan_free(c), 0);
		CHECK_EQ(cc__load(&late_bodies_run, CC__RELAXED), 1);
		CHECK_EQ(callbacks, by_callback);
	}
	CHECK_EQ(cc_shutdown(), 0);
}

/* ---- handles of one end ---- */

/* covers: CHN-40/a */
_Static_assert(!__builtin_types_compatible_p(CCChanTx, CCChanRx) &&
                   !__builtin_types_compatible_p(CCChanTx, CCChan *),
               "an end is not the other, nor the channel");

TEST(an_end_does_what_its_channel_does)	/* covers: CHN-40/u */
{
	CCChan *c = cc_chan_new(sizeof(int), 1);
	CCChanTx tx = cc_chan_tx(c);
	CCChanRx rx = cc_chan_rx(c);
	CCCase which;
	int v = 4, w = 0;
	size_t n;

	CHECK_EQ(cc_tx_send(tx, &v, sizeof v), 0);
	CHECK_EQ(cc_tx_try_send(tx, &v, sizeof v), EAGAIN);
	CHECK_EQ(cc_tx_send_until(tx, &v, sizeof v, cc_now() - 1), ETIMEDOUT);
	CHECK_EQ(cc_rx_recv(rx, &w, sizeof w), 0);
	CHECK_EQ(w, 4);
	CHECK_EQ(cc_rx_try_recv(rx, &w, sizeof w), EAGAIN);
	CHECK_EQ(cc_rx_recv_until(rx, &w, sizeof w, cc_now() - 1), ETIMEDOUT);
	CHECK_EQ(cc_tx_send_many(tx, &v, sizeof v, 1, CC_NOW, &n), 0);
	CHECK_EQ(cc_rx_recv_many(rx, &w, sizeof w, 1, CC_NOW, &n), 0);
	which = cc_case_tx(tx, &v, sizeof v);
	CHECK_EQ(cc_select(&which, 1, CC_NOW, NULL), 0);
	which = cc_case_rx(rx, &w, sizeof w);
	CHECK_EQ(cc_select(&which, 1, CC_NOW, NULL), 0);
	CHECK_EQ(cc_tx_close(tx, ENOSPC), 0);
	CHECK_EQ(cc_rx_recv(rx, &w, sizeof w), ENOSPC);
	CHECK_EQ(cc_rx_close(rx, 0), 0);
	CHECK_EQ(cc_chan_timed_send(c, &v, sizeof v, CC_SEC), EPIPE);
	CHECK_EQ(cc_chan_timed_recv(c, &v, sizeof v, CC_SEC), ENOSPC);
	CHECK_EQ(cc_chan_free(c), 0);
}

/* ---- its receiver frees it ---- */

static int send_one_number(void *arg)
{
	const int v = 17;

	return cc_chan_send(arg, &v, sizeof v);
}

/* As soon as the element is there the receiver may free the channel (C4). */
TEST(who_receives_the_last_element_may_free_the_channel)	/* covers: CHN-19/z, CHN-52/z */
{
	CCRuntime *rt = chan_runtime();

	for (int i = 0; i < 2000; i++) {
		CCChan *c = cc_chan_new(sizeof(int), (size_t)(i % 3) * 4);
		struct sleeper s;
		int v = 0;

		sleeper_start(&s, rt, i % 16 == 0 ? THREAD : FIBER, send_one_number, c);
		CHECK_EQ(cc_chan_recv(c, &v, sizeof v), 0);
		CHECK_EQ(v, 17);
		CHECK_EQ(cc_chan_free(c), 0);
		CHECK_EQ(sleeper_join(&s), 0);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- fibers never hold their worker ---- */

enum { RING = 10, LAPS = 50 };
static CCChan *hop[RING];

static int pass_around(void *arg)
{
	const size_t me = (size_t)(intptr_t)arg;
	int v;

	for (int lap = 0; lap < LAPS; lap++) {
		CHECK_EQ(cc_chan_recv(hop[me], &v, sizeof v), 0);
		v++;
		CHECK_EQ(cc_chan_send(hop[(me + 1) % RING], &v, sizeof v), 0);
	}
	return 0;
}

/* With one worker: if one of them blocked it, none would go on. */
TEST(a_cycle_of_fibers_runs_on_one_worker)	/* covers: SCH-51/s, RES-23/s */
{
	CCRuntime *rt = test_runtime_of(1);
	CCTask t[RING];

	for (size_t capacity = 0; capacity <= 8; capacity += 4) {
		int v = 0;

		for (int i = 0; i < RING; i++)
			hop[i] = cc_chan_new(sizeof(int), capacity);
		for (int i = 0; i < RING; i++)
			t[i] = spawn(rt, pass_around, (void *)(intptr_t)i);
		CHECK_EQ(cc_chan_send(hop[0], &v, sizeof v), 0);
		/* The last one waits for somebody who takes it. */
		for (int i = 1; i < RING - 1; i++)
			CHECK_EQ(join(t[i]), 0);
		CHECK_EQ(cc_chan_recv(hop[0], &v, sizeof v), 0);
		CHECK_EQ(join(t[0]) + join(t[RING - 1]), 0);
		CHECK_EQ(v, RING * LAPS);
		for (int i = 0; i < RING; i++)
			CHECK_EQ(cc_chan_free(hop[i]), 0);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- cancelled, and from elsewhere ---- */

static CCChan *nobody_sends;
static CCToken *nobody_sets;

static int recv_for_ever(void *arg)
{
	int v = 1;

	(void)arg;
	return cc_chan_recv(nobody_sends, &v, sizeof v);
}

static int select_for_ever(void *arg)
{
	int v;
	CCCase cases[] = {cc_case_recv(nobody_sends, &v, sizeof v), cc_case_token(nobody_sets)};
	size_t i = 0;
	int err;

	(void)arg;
	err = cc_select(cases, 2, CC_FOREVER, &i);
	CHECK_EQ(i, 2);
	/* What can be done at once is done. */
	CHECK_EQ(cc_chan_close(nobody_sends), 0);
	CHECK_EQ(cc_select(cases, 2, CC_FOREVER, &i), EPIPE);
	return err;
}

static int wait_for_ever(void *arg)
{
	(void)arg;
	return cc_token_wait(nobody_sets, CC_FOREVER);
}

/* A runtime that ends cancels what its fibers wait for; the channel has not noticed. */
TEST(who_is_cancelled_leaves_nothing_behind)	/* covers: RES-19/u */
{
	cc_task_main *const mains[] = {recv_for_ever, select_for_ever, wait_for_ever};

	for (int m = 0; m < 3; m++)
		for (size_t capacity = 0; capacity <= 8; capacity += 8) {
			CCRuntime *rt = NULL;
			CCConfig config;
			CCTask t;

			CHECK_EQ(cc_config_init(&config), 0);
			config.shutdown_timeout = 0;
			REQUIRE_EQ(cc_runtime_new(&rt, &config), 0);
			nobody_sends = cc_chan_new(sizeof(int), capacity);
			nobody_sets = cc_token_new();
			t = spawn(rt, mains[m], NULL);
			if (m < 2)
				until_waiting(nobody_sends, CC__RECV, 1);
			/* Its result is there before the runtime is gone. */
			TEST_UNTIL(cc_runtime_free(rt) == 0);
			CHECK_EQ(join(t), ECANCELED);
			free_chan(nobody_sends);
			CHECK_EQ(cc_token_free(nobody_sets), 0);
		}
}

TEST(two_runtimes_share_a_channel)
{
	for (size_t capacity = 0; capacity <= 8; capacity += 4) {
		struct setting here = {.sender = FIBER}, there = {.receiver = FIBER};
		CCChan *c = cc_chan_new(sizeof(int), capacity);
		struct actor sender, receiver;

		here.rt = chan_runtime();
		there.rt = chan_runtime();
		start_recv(&receiver, &there, c, 1000, CC_FOREVER);
		start_send(&sender, &here, c, 1, 1000, CC_FOREVER);
		CHECK_EQ(finish(&sender), 0);
		CHECK_EQ(finish(&receiver), 0);
		CHECK_EQ(receiver.sum, 500500);
		free_chan(c);
		CHECK_EQ(cc_runtime_free(here.rt), 0);
		CHECK_EQ(cc_runtime_free(there.rt), 0);
	}
}
