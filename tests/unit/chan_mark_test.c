/* chan_mark_test.c - who waits for a channel with a ring has raised a mark, and it is lowered
 * while one who was signalled will look after the others (B1 in chan/buffered.c).
 * mutate: src/chan */
#include "chans.h"
#include "tasks.h"

#include "chan/buffered.h"

enum { CAPACITY = 8 };

static bool raised(CCChan *c, enum cc__way waits)
{
	struct cc__ring *r = cc__ring_of(c);

	return cc__load(waits == CC__RECV ? &r->tail : &r->head, CC__ACQUIRE) & CC__RING_WAITING;
}

static void start(struct actor *a, const struct setting *s, CCChan *c, enum cc__way way, int number)
{
	const int before = waiting(c, way);

	if (way == CC__SEND)
		start_send(a, s, c, number, 1, CC_FOREVER);
	else
		start_recv(a, s, c, 1, CC_FOREVER);
	until_waiting(c, way, before + 1);
}

/* What one who waits that way waits for. */
static void serve(CCChan *c, enum cc__way waits, int number)
{
	int v;

	if (waits == CC__RECV)
		CHECK_EQ(send_number(c, number, CC_NOW), 0);
	else
		CHECK_EQ(recv_number(c, &v, CC_NOW), 0);
}

/* ---- who can run where others can ---- */

static uintptr_t place_after(CCChan *c, const struct setting *s)
{
	struct actor a;

	start(&a, s, c, CC__RECV, 0);
	serve(c, CC__RECV, 1);
	CHECK_EQ(finish(&a), 0);
	return c->domain;
}

TEST(a_channel_knows_whether_all_who_waited_have_one_place)
{
	const struct setting thread = {.receiver = THREAD};
	const struct setting here = {.receiver = FIBER, .rt = chan_runtime()};
	const struct setting there = {.receiver = FIBER, .rt = chan_runtime()};
	const struct setting *const others[] = {&thread, &there};

	for (int i = 0; i < 2; i++) {
		CCChan *c = cc_chan_new(sizeof(int), CAPACITY);
		uintptr_t odd;

		CHECK_EQ(place_after(c, &here), (uintptr_t)here.rt);
		CHECK_EQ(place_after(c, &here), (uintptr_t)here.rt);
		odd = place_after(c, others[i]);
		CHECK_EQ(odd % 2, 1);
		CHECK_EQ(place_after(c, &here), odd);
		free_chan(c);
		c = cc_chan_new(sizeof(int), CAPACITY);
		CHECK_EQ(place_after(c, &thread), odd);
		CHECK_EQ(place_after(c, others[i]), odd);
		free_chan(c);
	}
	CHECK_EQ(cc_runtime_free(here.rt), 0);
	CHECK_EQ(cc_runtime_free(there.rt), 0);
}

/* ---- on his way ---- */

/* Two wait, and the first, a fiber, cannot run yet.  If the second is one as well, the first is
 * the only one who is signalled, for both that come: he raises the mark again, and sees to
 * the second.  A thread could run: the mark stays, and it is signalled. */
static void first_cannot_run(CCRuntime *rt, enum cc__way way, enum kind other)
{
	const struct setting fiber = {.rt = rt};
	const struct setting second_is = {.rt = rt, .sender = other, .receiver = other};
	CCChan *c = cc_chan_new(sizeof(int), CAPACITY);
	struct gate g = {{0}, {0}};
	struct actor first, second;
	CCTask holder;

	if (way == CC__SEND)
		fill(c, 1);
	start(&first, &fiber, c, way, 101);
	start(&second, &second_is, c, way, 102);
	holder = spawn(rt, hold_worker_at, &g);
	TEST_UNTIL(cc__load(&g.arrived, CC__ACQUIRE) != 0);
	CHECK(raised(c, way));
	for (int i = 1; i <= 2; i++) {
		serve(c, way, i);
		CHECK_EQ(raised(c, way), other == THREAD);
		CHECK_EQ(waiting(c, way), other == THREAD ? 2 - i : 1);
	}
	cc__store(&g.open, 1, CC__RELEASE);
	join(holder);
	CHECK_EQ(finish(&first), 0);
	CHECK_EQ(finish(&second), 0);
	if (way == CC__RECV)
		CHECK_EQ(first.sum + second.sum, 3);
	if (way == CC__RECV && other == FIBER)
		CHECK_EQ(first.sum, 1);	/* as they came */
	/* Behind the last one nobody lowers it, but who then finds nobody. */
	CHECK(raised(c, way));
	serve(c, way, 3);
	CHECK(!raised(c, way));
	free_chan(c);
}

TEST(who_is_on_his_way_sees_to_those_who_could_not_be_sooner)
{
	CCRuntime *rt = test_runtime_of(1);

	for (enum kind other = FIBER; other < KINDS; other++) {
		first_cannot_run(rt, CC__SEND, other);
		first_cannot_run(rt, CC__RECV, other);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}
