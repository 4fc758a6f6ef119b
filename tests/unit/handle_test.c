/* handle_test.c - children that are joined by a handle, and ordered channels of them. */
#include "nurseries.h"
#include "points.h"
#include "scope/nursery.h"

enum { FIRST_ROOM = 16 };	/* for so many handles a nursery has room at first */

static CCTask child_of(CCNursery *n, cc_task_main *main, void *arg)
{
	CCTask t = {0};

	CHECK_EQ(cc_nursery_spawn_task(n, &t, NULL, main, arg), 0);
	return t;
}

static int joined(CCTask t)
{
	int result = -12345;

	return cc_task_join(t, CC_FOREVER, &result) == 0 ? result : -1;
}

static CCNurseryOptions supervised(CCRuntime *rt)
{
	return (CCNurseryOptions){.runtime = rt, .policy = CC_NURSERY_SUPERVISE};
}

static unsigned joiners_of(CCTask t)
{
	struct cc__fiber *f = t.frame;
	struct cc__waiter *w;
	unsigned n = 0;

	cc__lock(&f->done.lock, CC__RANK_WAITQ);
	if ((w = f->done.head) != NULL)
		do
			n++;
		while ((w = w->next) != f->done.head);
	cc__unlock(&f->done.lock);
	return n;
}

/* ---- a join by the owner, a sibling, an outsider ---- */

static int by_owner(void *rt)
{
	const CCNurseryOptions o = supervised(rt);
	CCTask ended, running;
	struct gate gate;
	int err = -1;

	gate = (struct gate){.open = {0}};
	cc_nursery_scope_with(n, &err, &o) {
		ended = child_of(n, fail, (void *)EIO);
		running = child_of(n, wait_at, &gate);
		CHECK_EQ(cc_task_join(running, CC_NOW, NULL), EAGAIN);
		CHECK_EQ(joined(ended), EIO);
		CHECK_EQ(cc_task_join(ended, CC_FOREVER, NULL), EINVAL);
		cc__store(&gate.open, 1, CC__RELEASE);
		CHECK_EQ(joined(running), 17);
	}
	CHECK_EQ(err, EIO);
	return 0;
}

static int by_owner_in_turn(void *rt)
{
	const CCNurseryOptions o = supervised(rt);
	int err = -1;

	for (intptr_t i = 1; i <= 50; i++) {
		cc_nursery_scope_with(n, &err, &o)
			CHECK_EQ(joined(child_of(n, fail, (void *)i)), i);
		CHECK_EQ(err, i);
	}
	return by_owner(rt);
}

TEST(child_is_joined_by_its_handle_and_its_error_is_the_nurserys)
{
	for_fiber_and_thread(by_owner_in_turn);
}

static int join_handle(void *arg)
{
	return joined(*(CCTask *)arg) == 7 ? 0 : EPROTO;
}

static int return_seven(void *arg)
{
	wait_at(arg);
	return 7;
}

static int by_others(void *rt)
{
	const CCNurseryOptions o = {.runtime = rt, .policy = CC_NURSERY_SUPERVISE};
	struct gate gate = {.open = {0}};
	CCTask t, outsider = {0};
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		t = child_of(n, return_seven, &gate);
		CHECK_EQ(cc_nursery_spawn(n, NULL, join_handle, &t), 0);
		outsider = spawn(rt, join_handle, &t);
		/* Both wait, so both get it. */
		while (cc__load(&gate.arrived, CC__ACQUIRE) == 0 || joiners_of(t) < 2)
			cc_yield();
		cc__store(&gate.open, 1, CC__RELEASE);
	}
	CHECK_EQ(err, 7);
	CHECK_EQ(join(outsider), 0);
	return 0;
}

TEST(sibling_and_outsider_join_a_child_at_once)
{
	for_fiber_and_thread(by_others);
}

/* ---- handles that nobody joins ---- */

static int left_over(void *rt)
{
	enum { MANY = 1000 };
	const CCNurseryOptions o = in(rt);
	static CCTask t[MANY];
	size_t frames = 0;
	int err = -1;

	for (int round = 0; round < 20; round++) {
		cc_nursery_scope_with(n, &err, &o)
			for (int i = 0; i < MANY; i++)
				t[i] = child_of(n, nothing, NULL);
		CHECK_EQ(err, 0);
		for (int i = 0; i < MANY; i++)
			CHECK_EQ(cc_task_join(t[i], CC_NOW, NULL), EINVAL);
		if (round == 2)
			frames = cc__frames_made();
	}
	CHECK(cc__frames_made() <= frames + 2 * MANY);
	return 0;
}

TEST(end_of_the_nursery_uses_up_what_nobody_joined)
{
	for_fiber_and_thread(left_over);
}

/* A nursery that lives on does not grow by handles that are joined. */
static int list_is_pruned(void *rt)
{
	const CCNurseryOptions o = in(rt);
	CCTask kept;
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		kept = child_of(n, nothing, NULL);
		for (int i = 0; i < 1000; i++)
			CHECK_EQ(joined(child_of(n, nothing, NULL)), 0);
		CHECK(cc__load(&cc__nursery_open(n)->handles, CC__ACQUIRE)->room <= 64);
		CHECK_EQ(joined(kept), 0);
	}
	CHECK_EQ(err, 0);
	return 0;
}

TEST(joined_handles_are_forgotten)
{
	for_fiber_and_thread(list_is_pruned);
}

struct crowd {
	CCNursery *n;
	cc__a32 spawned;
};

static int spawn_hundred(void *arg)
{
	struct crowd *c = arg;

	for (int i = 0; i < 100; i++) {
		CCTask t = child_of(c->n, nothing, NULL);

		if (i % 3 == 0)
			CHECK_EQ(joined(t), 0);
		cc__add(&c->spawned, 1, CC__RELAXED);
	}
	return 0;
}

static int many_spawners(void *rt)
{
	const CCNurseryOptions o = in(rt);
	struct crowd c = {0};
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		c.n = n;
		for (int i = 0; i < 8; i++)
			CHECK_EQ(cc_nursery_spawn(n, NULL, spawn_hundred, &c), 0);
	}
	CHECK_EQ(err, 0);
	CHECK_EQ(cc__load(&c.spawned, CC__RELAXED), 800);
	return 0;
}

TEST(children_with_handles_by_many_spawners)
{
	for_fiber_and_thread(many_spawners);
}

/* ---- room for handles ---- */

static bool room_is_enough(struct cc__handles *h)
{
	bool enough;

	cc__lock(&h->lock, CC__RANK_POOL);
	enough = h->count + h->reserved <= h->room;
	cc__unlock(&h->lock);
	return enough;
}

static struct cc__handles *list_of(CCNursery *n)
{
	return cc__load(&cc__nursery_open(n)->handles, CC__ACQUIRE);
}

static void spawn_as_many_as_fit(const void *list, void *nursery)
{
	CCNursery *n = nursery;
	struct cc__handles *h = list_of(n);

	CHECK(h == list);
	do
		child_of(n, nothing, NULL);
	while (h->count < FIRST_ROOM);
	REQUIRE(room_is_enough(h));
}

/* Other spawners fill the list while a spawner that has reserved its entry has not written it. */
static int reserved_stays(void *rt)
{
	const CCNurseryOptions o = in(rt);
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		struct point *p = point_call("handle.reserved", NULL, spawn_as_many_as_fit, n);

		child_of(n, nothing, NULL);
		CHECK(point_passed(p));
		CHECK_EQ(list_of(n)->count, FIRST_ROOM + 1);
		CHECK(room_is_enough(list_of(n)));
	}
	CHECK_EQ(err, 0);
	return 0;
}

TEST(reserved_room_for_a_handle_is_nobody_elses)
{
	NEED_POINTS();
	for_fiber_and_thread(reserved_stays);
}

/* A spawn that fails gives the entry back, so the list does not grow. */
static int refused_spawns(void *rt)
{
	const CCTaskOptions wrong = {.stack_size = SIZE_MAX};
	const CCNurseryOptions o = supervised(rt);
	int err = -1;

	cc_nursery_scope_with(n, &err, &o)
		for (int i = 0; i < 4 * FIRST_ROOM; i++) {
			CCTask t;

			CHECK(cc_nursery_spawn_task(n, &t, &wrong, nothing, NULL) != 0);
			CHECK_EQ(list_of(n)->reserved, 0);
			CHECK_EQ(list_of(n)->room, FIRST_ROOM);
		}
	CHECK(err != 0);
	return 0;
}

TEST(refused_spawns_keep_no_room_for_handles)
{
	for_fiber_and_thread(refused_spawns);
}

/* ---- detach, recall, cancellation, mistakes ---- */

static int given_up(void *rt)
{
	const CCNurseryOptions o = in(rt);
	struct gate gate = {.open = {0}};
	cc__a32 ran = {0};
	CCTask t;
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		t = child_of(n, wait_at, &gate);
		CHECK_EQ(cc_task_recall(t), EALREADY);
		CHECK_EQ(cc_task_detach(t), 0);
		CHECK_EQ(cc_task_detach(t), EINVAL);
		CHECK_EQ(cc_task_join(t, CC_NOW, NULL), EINVAL);
		CHECK_EQ(cc_task_detach(child_of(n, yield_and_count, &ran)), 0);
		cc__store(&gate.open, 1, CC__RELEASE);
	}
	CHECK_EQ(err, 17);	/* it stays the nursery's */
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 1);
	return 0;
}

TEST(child_whose_handle_is_given_up_stays_its_nurserys)
{
	for_fiber_and_thread(given_up);
}

struct slow {
	struct quiet q;
	struct gate gate;
};

static int receive_and_stay(void *arg)
{
	struct slow *s = arg;
	const int err = receive(&s->q);

	wait_at(&s->gate);
	return err;
}

static int cancelled(void *rt)
{
	const CCNurseryOptions o = in(rt);
	struct slow s = {.q = quiet_new()};
	CCTask t;
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		t = child_of(n, receive_and_stay, &s);
		CHECK_EQ(cc_nursery_spawn(n, NULL, fail, (void *)EIO), 0);
		CHECK_EQ(cc_task_join(t, CC_FOREVER, NULL), ECANCELED);
		cc__store(&s.gate.open, 1, CC__RELEASE);
		t = (CCTask){&t, 1};
		CHECK_EQ(cc_nursery_spawn_task(n, &t, NULL, nothing, NULL), ECANCELED);
		CHECK(t.frame == NULL && t.id == 0);
	}
	CHECK_EQ(err, EIO);
	CHECK_EQ(cc__load(&s.q.cancelled, CC__RELAXED), 1);
	CHECK_EQ(cc_chan_free(s.q.chan), 0);
	return 0;
}

TEST(join_of_a_child_ends_with_the_cancellation_of_both)
{
	for_fiber_and_thread(cancelled);
}

static int make_mistakes(void *rt)
{
	const CCNurseryOptions o = supervised(rt);
	const CCTaskOptions later = {.start = cc_now() + CC_SEC};
	CCNursery n;
	CCTask t;

	CHECK_EQ(cc_nursery_init(&n, &o), 0);
	CHECK_EQ(cc_nursery_spawn_task(&n, &t, &later, nothing, NULL), EINVAL);
	CHECK_EQ(cc_nursery_spawn_task(&n, NULL, NULL, nothing, NULL), EINVAL);
	CHECK_EQ(cc_nursery_spawn_task(&n, &t, NULL, NULL, NULL), EINVAL);
	CHECK_EQ(cc_nursery_spawn_task_copy(&n, &t, NULL, nothing, NULL, 1), EINVAL);
	CHECK_EQ(cc_nursery_join(&n), EINVAL);
	CHECK_EQ(cc_nursery_spawn_task(&n, &t, NULL, nothing, NULL), EINVAL);
	return 0;
}

TEST(mistakes_with_handles_are_errors)
{
	for_fiber_and_thread(make_mistakes);
}

/* ---- the typed form ---- */

static cc_task_fn(add, int a; int b;)
{
	return self->a + self->b;
}

static cc_task_fn(answer)
{
	return 42;
}

struct wide {
	char bytes[200];
};

static cc_task_fn(last_byte, struct wide w;)
{
	return self->w.bytes[199];
}

static int typed(void *rt)
{
	const CCNurseryOptions o = supervised(rt);
	const CCTaskOptions named = {.name = "adder"};
	struct wide w = {{0}};
	CCTask t[4];
	int err = -1;

	w.bytes[199] = 9;
	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_spawn_task(n, &t[0], add, .a = 1, .b = 2), 0);
		CHECK_EQ(cc_spawn_task(n, &t[1], answer), 0);
		CHECK_EQ(cc_spawn_task_with(n, &t[2], &named, add, .a = 3, .b = 4), 0);
		CHECK_EQ(cc_spawn_task(n, &t[3], last_byte, .w = w), 0);
		CHECK_EQ(joined(t[3]), 9);
		CHECK_EQ(joined(t[2]), 7);
		CHECK_EQ(joined(t[1]), 42);
		CHECK_EQ(joined(t[0]), 3);
	}
	CHECK(err != 0);
	return 0;
}

TEST(typed_children_with_handles)
{
	for_fiber_and_thread(typed);
}

/* ---- ordered channels of children ---- */

struct block {
	CCTask task;
	int number;
	int *square;
	char odd;	/* elements need not be a multiple of anything */
};

cc_chan_type(Blocks, struct block);

static cc_task_fn(square, int number; int *into;)
{
	for (int i = 20 - self->number; i > 0; i--)
		cc_yield();	/* later ones are done sooner */
	*self->into = self->number * self->number;
	return 0;
}

static cc_task_fn(read_blocks, Blocks out; int *squares;)
{
	for (int i = 0; i < 20; i++) {
		struct block b = {.number = i, .square = &self->squares[i]};

		cc_try(cc_spawn_send(self->out, &b, square, .number = i, .into = b.square));
	}
	return cc_close(self->out);
}

static int pipeline(void *rt)
{
	const CCNurseryOptions o = in(rt);
	Blocks blocks = cc_chan_make_ordered(Blocks, 4);
	int squares[20], next = 0, err = -1;
	struct block b;

	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_spawn(n, read_blocks, .out = blocks, .squares = squares), 0);
		for (; cc_recv(blocks, &b) == 0; next++) {
			CHECK_EQ(b.number, next);
			CHECK_EQ(joined(b.task), 0);
			CHECK_EQ(*b.square, next * next);
		}
	}
	CHECK_EQ(err, 0);
	CHECK_EQ(next, 20);
	CHECK_EQ(cc_free(blocks), 0);
	return 0;
}

TEST(ordered_channel_carries_children_with_a_payload)
{
	for_fiber_and_thread(pipeline);
}

/* Packed tightly, so that handles are not aligned. */
struct __attribute__((packed)) tight {
	CCTask task;
	char letter;
};

TEST(payload_may_have_any_size)
{
	CCChan *c = cc_chan_new_ordered(sizeof(struct tight), 5);
	struct tight t = {.letter = 'a'};
	CCTask plain;

	REQUIRE(c != NULL);
	for (; t.letter < 'f'; t.letter++)
		CHECK_EQ(cc_chan_spawn_item(c, &t, sizeof t, NULL, nothing, NULL, CC_FOREVER), 0);
	CHECK_EQ(cc_chan_spawn_item(c, &t, sizeof t, NULL, nothing, NULL, CC_NOW), EAGAIN);
	CHECK_EQ(cc_chan_spawn_item(c, &t, sizeof t - 1, NULL, nothing, NULL, CC_NOW), EINVAL);
	CHECK_EQ(cc_chan_spawn_item(c, NULL, sizeof t, NULL, nothing, NULL, CC_NOW), EINVAL);
	CHECK_EQ(cc_chan_spawn_copy(c, &t, sizeof t, NULL, nothing, NULL, 1, CC_NOW), EINVAL);
	CHECK_EQ(cc_chan_spawn(c, NULL, nothing, NULL, CC_NOW), EINVAL);
	CHECK_EQ(cc_chan_recv(c, &t, sizeof t), 0);
	CHECK_EQ(t.letter, 'a');
	plain = t.task;
	CHECK_EQ(joined(plain), 0);
	CHECK_EQ(cc_chan_free(c), 0);	/* joins four */
	CHECK(cc_chan_new_ordered(sizeof(CCTask) - 1, 5) == NULL);
	CHECK_EQ(cc_shutdown(), 0);
}

static cc_task_fn(count_large, struct wide w; cc__a32 * ran;)
{
	cc__add(self->ran, self->w.bytes[0] == 1 ? 1 : 100, CC__RELAXED);
	return 0;
}

/* Tasks outside of any nursery have captures too, and give them back. */
TEST(captures_outside_of_a_nursery)
{
	Blocks blocks = cc_chan_make_ordered(Blocks, 3);
	struct wide w = {{1}};
	cc__a32 ran = {0};
	struct block b = {.number = 1};

	CHECK_EQ(cc_spawn_send(blocks, &b, count_large, .w = w, .ran = &ran), 0);
	CHECK_EQ(cc_spawn_send(blocks, &b, answer), 0);
	CHECK_EQ(cc_recv(blocks, &b), 0);
	CHECK_EQ(joined(b.task), 0);
	CHECK_EQ(cc_recv(blocks, &b), 0);
	CHECK_EQ(joined(b.task), 42);
	CHECK_EQ(cc_close(blocks), 0);
	CHECK_EQ(cc_spawn_send(blocks, &b, count_large, .w = w, .ran = &ran), EPIPE);
	CHECK(b.task.id == 0 && b.number == 1);
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 2);
	CHECK_EQ(cc_free(blocks), 0);
	CHECK_EQ(cc_shutdown(), 0);
}

/* ---- tasks of cc_chan_spawn end with the caller's nursery ---- */

struct escape {
	CCChan *chan;
	cc__a32 began, ended;
	struct gate gate;
	int said;
};

static int until_cancelled(void *arg)
{
	struct escape *e = arg;

	cc__add(&e->began, 1, CC__RELEASE);
	while (cc_sleep_until(CC_FOREVER) == 0)
		continue;
	for (int i = 0; i < 50; i++)
		cc_yield();	/* it takes its time */
	cc__add(&e->ended, 1, CC__RELEASE);
	return ECANCELED;
}

/* The channel has room for one: the second waits. */
static int spawn_two(void *arg)
{
	struct escape *e = arg;

	e->said = cc_chan_spawn(e->chan, NULL, until_cancelled, e, CC_FOREVER);
	if (e->said == 0)
		e->said = cc_chan_spawn(e->chan, NULL, until_cancelled, e, CC_FOREVER);
	/* The send has failed, and has seen its task through, cancelled or not. */
	CHECK_EQ(e->said, ECANCELED);
	CHECK(cc__load(&e->ended, CC__ACQUIRE) >= 1);
	return e->said;
}

static int escape(void *rt)
{
	const CCNurseryOptions o = in(rt);
	struct escape e = {0};
	int err = -1;
	CCTask t;

	e.chan = cc_chan_new_ordered(sizeof(CCTask), 1);
	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, spawn_two, &e), 0);
		while (cc__load(&e.began, CC__ACQUIRE) < 2)
			cc_yield();
		CHECK_EQ(cc_nursery_cancel(n, EIO), 0);
	}
	CHECK_EQ(err, EIO);
	CHECK_EQ(cc__load(&e.ended, CC__RELAXED), 2);
	/* The handle outlives the nursery: the result is the receiver's. */
	CHECK_EQ(cc_chan_recv(e.chan, &t, sizeof t), 0);
	CHECK_EQ(joined(t), ECANCELED);
	CHECK_EQ(cc_chan_free(e.chan), 0);
	return 0;
}

TEST(task_of_a_failed_send_is_cancelled_and_joined)	/* covers: RES-73/u, SCH-62/u */
{
	for_fiber_and_thread(escape);
}

static int fail_when_received(void *arg)
{
	(void)arg;
	return EIO;
}

static int policy(void *rt)
{
	const CCNurseryOptions o = in(rt);
	CCChan *c = cc_chan_new_ordered(sizeof(CCTask), 2);
	const CCTaskOptions later = {.start = cc_now() + CC_SEC};
	int err = -1;
	CCTask t;

	/* Its failure is the nursery's. */
	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_chan_spawn(c, NULL, fail_when_received, NULL, CC_FOREVER), 0);
		CHECK_EQ(cc_sleep_until(CC_FOREVER), ECANCELED);
		CHECK_EQ(cc_chan_spawn(c, NULL, nothing, NULL, CC_FOREVER), ECANCELED);
	}
	CHECK_EQ(err, EIO);
	CHECK_EQ(cc_chan_try_recv(c, &t, sizeof t), 0);
	CHECK_EQ(joined(t), EIO);
	cc_nursery_scope_with(n, &err, &o)
		CHECK_EQ(cc_chan_spawn(c, &later, nothing, NULL, CC_FOREVER), EINVAL);
	CHECK_EQ(err, EINVAL);
	/* Of two nurseries it is the inner one's. */
	cc_nursery_scope_with(outer, &err, &o) {
		int inner = -1;

		cc_nursery_scope_with(n, &inner, &o)
			CHECK_EQ(cc_chan_spawn(c, NULL, fail_when_received, NULL, CC_FOREVER), 0);
		CHECK_EQ(inner, EIO);
		CHECK_EQ(cc_cancel_reason(), 0);
	}
	CHECK_EQ(err, 0);
	CHECK_EQ(cc_chan_free(c), 0);	/* joins the one that is left */
	return 0;
}

TEST(task_of_a_channel_is_the_innermost_nurserys)
{
	for_fiber_and_thread(policy);
}

/* Closed: the send itself joins it, cancelled or not. */
static int send_to_closed(void *arg)
{
	struct escape *e = arg;

	cc__store(&e->gate.arrived, 1, CC__RELEASE);
	e->said = cc_chan_spawn(e->chan, NULL, until_cancelled, e, CC_FOREVER);
	CHECK_EQ(cc__load(&e->ended, CC__ACQUIRE), 1);
	return e->said == EPIPE ? 0 : EPROTO;
}

static int closed(void *rt)
{
	const CCNurseryOptions o = in(rt);
	struct escape e = {0};
	int err = -1;

	e.chan = cc_chan_new_ordered(sizeof(CCTask), 1);
	CHECK_EQ(cc_chan_close(e.chan), 0);
	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, send_to_closed, &e), 0);
		while (cc__load(&e.began, CC__ACQUIRE) == 0)
			cc_yield();
		CHECK_EQ(cc_nursery_cancel(n, 0), 0);
	}
	CHECK_EQ(e.said, EPIPE);
	CHECK_EQ(err, ECANCELED);
	CHECK_EQ(cc_chan_free(e.chan), 0);
	return 0;
}

TEST(send_that_finds_the_channel_closed_joins_its_child_uncancellably)	/* covers: RES-73/u, SCH-62/u */
{
	for_fiber_and_thread(closed);
}
