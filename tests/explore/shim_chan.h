/* shim_chan.h - one channel in static memory for a scenario, and calls of it by
 * model threads, or fibers where shim_fiber.h is included before.  Elements are ints; what
 * thread i sends begins with 10 * (i + 1).  Included by one file of a program, after
 * shim_wait.h. */
#ifndef MC_SHIM_CHAN_H
#define MC_SHIM_CHAN_H

#include <errno.h>

#include "chan/buffered.h"
#include "chan/locked.h"
#include "chan/watch.h"
#include "shim_wait.h"

#ifndef MC_SHIM_FIBER_H
/* Who acts, as an index of did[]. */
static inline int actor(void)
{
	return mc_self();
}
#else
/* Fibers come after the threads. */
static inline int actor(void)
{
	struct cc__parker *p = cc__self();

	return cc__word_is_thread(cc__load(&p->word, CC__RELAXED))
	           ? mc_self()
	           : MC_THREADS - FIBERS + (int)((struct fiber *)(void *)p - fiber);
}
#endif

void cc__thread_yield(void)
{
	cc__relax();
}

void cc__chan_closes(const CCChan *c, int send_error, int recv_error)
{
	(void)c, (void)send_error, (void)recv_error;
	mc_fail("no channel is watched");
}

void cc__chan_done(CCChan *c, enum cc__way way, bool is_try, cc_time began, int result)
{
	(void)c, (void)way, (void)is_try, (void)began, (void)result;
	mc_fail("no channel is watched");
}

void cc__chan_parks(const CCChan *c, enum cc__way way, cc_time deadline)
{
	(void)c, (void)way, (void)deadline;
	mc_fail("no channel is watched");
}

void cc__chan_waited(const CCChan *c, enum cc__way way, const struct cc__waiter *w, int result)
{
	(void)c, (void)way, (void)w, (void)result;
	mc_fail("no channel is watched");
}

void cc__select_waits(const CCCase *cases, uint32_t count, uint32_t i)
{
	(void)cases, (void)count, (void)i;
	mc_fail("no channel is watched");
}

void cc__select_done(const CCCase *cases, uint32_t count, uint32_t chosen, unsigned watch,
                     cc_time began, int result)
{
	(void)cases, (void)count, (void)chosen, (void)watch, (void)began, (void)result;
	mc_fail("no channel is watched");
}

void cc__chan_order_begin(CCChan *c, enum cc__way way)
{
	(void)c, (void)way;
	mc_fail("no channel is watched");
}

void cc__chan_order_end(CCChan *c, enum cc__way way, int result)
{
	(void)c, (void)way, (void)result;
	mc_fail("no channel is watched");
}

void cc__chan_enter(CCChan *c)
{
	(void)c;
	mc_fail("no channel is watched");
}

void cc__chan_leave(CCChan *c)
{
	(void)c;
	mc_fail("no channel is watched");
}

/* ---- the channel ---- */

enum { CHANNELS = 2, SLOTS_MAX = 4 };
static struct cc__buffered_chan buffered[CHANNELS];
static CCChan locked[CHANNELS];
static uint64_t slots[CHANNELS][SLOTS_MAX * 2];
static CCChan *chan, *chan2;	/* the first, and the second */

static inline CCChan *set_up(CCChan *c, const struct cc__chan_kind *kind, size_t capacity, void *s)
{
	c->kind = kind;
	c->size = sizeof(int);
	c->capacity = capacity;
	c->slots = s;
	cc__init(&c->by_ring, kind == &cc__buffered ? sizeof(int) : SIZE_MAX);
	cc__init(&c->by_lock, kind == &cc__locked);
	kind->init(c);
	return c;
}

static inline void make(const struct cc__chan_kind *kind, size_t capacity)
{
	const bool ring = kind == &cc__buffered || kind == &cc__buffered_drop_old;

	MC_ASSERT(capacity <= SLOTS_MAX);
	chan = set_up(ring ? &buffered[0].chan : &locked[0], kind, capacity, slots[0]);
	chan2 = set_up(ring ? &buffered[1].chan : &locked[1], kind, capacity, slots[1]);
}

static void buffer_1(void)
{
	make(&cc__buffered, 1);
}

static void buffer_2(void)
{
	make(&cc__buffered, 2);
}

static void rendezvous(void)
{
	make(&cc__locked, 0);
}

static void locked_1(void)
{
	make(&cc__locked, 1);
}

/* ---- what was done ---- */

enum { MOST = 4 };
static struct {
	int sent[MOST], sends;	/* accepted */
	int got[MOST], recvs;	/* received */
	int refused;		/* the last result that was not 0 */
	int next;		/* to send */
} did[MC_THREADS];

static inline int send_to(CCChan *c, cc_time deadline)
{
	const int me = actor(), v = 10 * (me + 1) + did[me].next++;
	const int err = deadline == CC_FOREVER ? cc_chan_send(c, &v, sizeof v)
	                                       : cc_chan_send_until(c, &v, sizeof v, deadline);

	if (err == 0)
		did[me].sent[did[me].sends++] = v;
	else
		did[me].refused = err;
	return err;
}

static inline int recv_from(CCChan *c, cc_time deadline)
{
	const int me = actor();
	int v = -1;
	const int err = deadline == CC_FOREVER ? cc_chan_recv(c, &v, sizeof v)
	                                       : cc_chan_recv_until(c, &v, sizeof v, deadline);

	if (err == 0)
		did[me].got[did[me].recvs++] = v;
	else
		did[me].refused = err;
	return err;
}

static inline int count_of(int value, bool received)
{
	int n = 0;

	for (int t = 0; t < MC_THREADS; t++)
		for (int i = 0; i < (received ? did[t].recvs : did[t].sends); i++)
			n += (received ? did[t].got[i] : did[t].sent[i]) == value;
	return n;
}

static inline int total(bool received)
{
	int n = 0;

	for (int t = 0; t < MC_THREADS; t++)
		n += received ? did[t].recvs : did[t].sends;
	return n;
}

/* Whatever was received was sent, once; what was sent is received or in a channel. */
static inline void check_conservation(void)
{
	for (int t = 0; t < MC_THREADS; t++) {
		for (int i = 0; i < did[t].recvs; i++) {
			MC_ASSERT(count_of(did[t].got[i], false) == 1);
			MC_ASSERT(count_of(did[t].got[i], true) == 1);
			/* First in, first out, of one sender to one receiver. */
			for (int j = 0; j < i; j++)
				MC_ASSERT(did[t].got[j] / 10 != did[t].got[i] / 10 ||
				          did[t].got[j] < did[t].got[i]);
		}
	}
	MC_ASSERT(total(false) ==
	          total(true) + (int)chan->kind->length(chan) + (int)chan2->kind->length(chan2));
}

/* In .final: as above, and nobody is left on a list. */
static inline void check_at_rest(void)
{
	check_conservation();
	for (int way = 0; way < 2; way++)
		MC_ASSERT(chan->wait[way].head == NULL && chan2->wait[way].head == NULL);
	check_threads_at_rest();
}

/* ---- bodies ----
 * Threads say who they are first; fibers are known. */
static inline void begin_body(void)
{
	if (cc__tls_get() == NULL)
		be_thread();
}

static void send_one(void)
{
	begin_body();
	send_to(chan, CC_FOREVER);
}

static void send_two(void)
{
	begin_body();
	send_to(chan, CC_FOREVER);
	send_to(chan, CC_FOREVER);
}

static void recv_one(void)
{
	begin_body();
	recv_from(chan, CC_FOREVER);
}

static void recv_two(void)
{
	begin_body();
	recv_from(chan, CC_FOREVER);
	recv_from(chan, CC_FOREVER);
}

/* Until the end of the stream. */
static void recv_all(void)
{
	begin_body();
	while (recv_from(chan, CC_FOREVER) == 0)
		continue;
}

static void send_a_second(void)
{
	begin_body();
	send_to(chan, cc__now() + CC_SEC);
}

static void recv_a_second(void)
{
	begin_body();
	recv_from(chan, cc__now() + CC_SEC);
}

static void close_chan(void)
{
	MC_ASSERT(cc_chan_close(chan) == 0);
}

static void send_one_and_close(void)
{
	send_one();
	close_chan();
}

static void send_two_and_close(void)
{
	send_two();
	close_chan();
}

#endif
