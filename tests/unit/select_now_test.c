/* select_now_test.c - a select that does not wait, and that answers "nothing" only if that was true
 * at one moment.  While it checks one case after another, the only one that can take place
 * changes: the one that has been checked becomes possible before the other becomes impossible.
 * mutate: src/chan */
#include "chans.h"
#include "points.h"
#include "tasks.h"

#include "task/frame.h"

/* ---- a case that can be switched on and off ---- */

static int make_item(void *context, void *item)
{
	(void)context;
	*(int *)item = 1;
	return 0;
}

struct toggled {
	CCCase c;		/* the case */
	union element item;	/* what it sends or has received */
	struct actor partner;	/* at a channel without a buffer */
	bool has_partner;
};

static const struct setting threads = {.sender = THREAD, .receiver = THREAD};

static CCChan *chan_under(const struct toggled *t)
{
	return t->c.on.chan;
}

static bool sends(const struct toggled *t)
{
	return t->c.kind == CC_CASE_SEND;
}

/* Can take place. */
static void enable(struct toggled *t)
{
	CCChan *c = chan_under(t);
	int v;

	if (c->capacity > 0) {
		CHECK_EQ(sends(t) ? recv_number(c, &v, CC_NOW) : send_number(c, 1, CC_NOW), 0);
		return;
	}
	if (sends(t))
		start_recv(&t->partner, &threads, c, 1, CC_FOREVER);
	else
		start_send(&t->partner, &threads, c, 1, 1, CC_FOREVER);
	t->has_partner = true;
	until_waiting(c, sends(t) ? CC__RECV : CC__SEND, 1);
}

static void end_partner(struct toggled *t)
{
	if (t->has_partner)
		CHECK_EQ(finish(&t->partner), 0);
	t->has_partner = false;
}

/* Can take place no more. */
static void disable(struct toggled *t)
{
	CCChan *c = chan_under(t);
	int v;

	CHECK_EQ(sends(t) ? send_number(c, 1, CC_NOW) : recv_number(c, &v, CC_NOW), 0);
	end_partner(t);
}

/* A case on a channel of its own, and impossible. */
static void init(struct toggled *t, const struct setting *s, bool send)
{
	const CCChanOptions pool = {.kind = CC_CHAN_KIND_OWNED, .create = make_item};
	CCChan *c = NULL;
	int v;

	*t = (struct toggled){.has_partner = false};
	if (s->kind == CC_CHAN_KIND_OWNED)
		CHECK_EQ(cc_chan_create(&c, sizeof(int), s->capacity, &pool), 0);
	else
		c = chan_of(s);
	while (s->kind == CC_CHAN_KIND_OWNED && recv_number(c, &v, CC_NOW) == 0)
		continue;
	t->item = element_of(c, 1);
	t->c = send ? cc_case_send(c, &t->item, c->size) : cc_case_recv(c, &t->item, c->size);
	if (send)
		fill(c, 0);
}

static void fini(struct toggled *t)
{
	CCChan *c = chan_under(t);

	if (t->has_partner && waiting(c, CC__SEND) + waiting(c, CC__RECV) > 0) {
		test_check(false, "the case took place", __FILE__, __LINE__);
		CHECK_EQ(cc_chan_close(c), 0);
		finish(&t->partner);
		t->has_partner = false;
	}
	end_partner(t);
	while (c->options.kind == CC_CHAN_KIND_OWNED && send_number(c, 1, CC_NOW) == 0)
		continue;
	free_chan(c);
}

/* ---- the change ---- */

/* The first has just been checked. */
static void swap(const void *cases, void *arg)
{
	struct toggled *t = arg;

	(void)cases;
	enable(&t[0]);
	disable(&t[1]);
}

/* The ways not to wait. */
enum how { AT_ONCE, OTHERWISE, TOO_LATE, HOWS };

static int select_now(const struct toggled *t, enum how how, bool in_order, size_t *i)
{
	const CCCase cases[] = {t[0].c, t[1].c,
	                        how == OTHERWISE ? cc_case_default() : cc_case_timeout(cc_now())};
	const size_t count = how == AT_ONCE ? 2 : 3;
	const cc_time deadline = how == AT_ONCE ? CC_NOW : CC_FOREVER;

	return in_order ? cc_select_in_order(cases, count, deadline, i)
	                : cc_select(cases, count, deadline, i);
}

static void change_between_two(const struct setting *first, bool first_sends,
                               const struct setting *second, bool second_sends, enum how how)
{
	struct toggled t[2];
	struct point *p;
	size_t i = 9;

	init(&t[0], first, first_sends);
	init(&t[1], second, second_sends);
	CHECK_EQ(select_now(t, how, true, &i), how == AT_ONCE ? EAGAIN : 0);
	CHECK_EQ(i, 2);
	enable(&t[1]);
	p = point_call("select.tried", NULL, swap, t);
	i = 9;
	CHECK_EQ(select_now(t, how, true, &i), 0);
	CHECK(point_passed(p));
	CHECK_EQ(i, 0);
	fini(&t[0]);
	fini(&t[1]);
}

static const struct setting pool = {.kind = CC_CHAN_KIND_OWNED, .capacity = 2};
enum { PLAIN_KINDS = sizeof kinds_of_channel / sizeof *kinds_of_channel };

static const struct setting *nth_kind(int n)
{
	return n < PLAIN_KINDS ? &kinds_of_channel[n] : &pool;
}

/* A pool takes back what it has lent at once: it has no send that has to wait. */
static bool makes_sense(const struct setting *s, bool send)
{
	return s != &pool || !send;
}

TEST(nothing_is_answered_for_one_moment)	/* covers: RES-69/u, RES-69/f */
{
	NEED_POINTS();
	for (int n = 0; n <= PLAIN_KINDS; n++)
		for (int ways = 0; ways < 4; ways++)
			for (enum how how = 0; how < HOWS; how++)
				if (makes_sense(nth_kind(n), ways & 1) &&
				    makes_sense(nth_kind(n), ways & 2))
					change_between_two(nth_kind(n), ways & 1, nth_kind(n),
					                   ways & 2, how);
}

/* With a ring and without, in either order. */
TEST(nothing_is_answered_for_one_moment_of_two_kinds)	/* covers: RES-69/u */
{
	const struct setting ring = {.kind = CC_CHAN_KIND_PLAIN, .capacity = 8};
	const struct setting sync = {.kind = CC_CHAN_KIND_SYNC, .capacity = 2};

	NEED_POINTS();
	for (int ways = 0; ways < 4; ways++) {
		change_between_two(&ring, ways & 1, &sync, ways & 2, AT_ONCE);
		change_between_two(&sync, ways & 1, &ring, ways & 2, AT_ONCE);
	}
}

/* Wherever it begins. */
TEST(nothing_is_answered_for_one_moment_in_any_order)	/* covers: RES-69/u */
{
	const struct setting *settings[] = {&kinds_of_channel[0], &kinds_of_channel[2]};

	NEED_POINTS();
	for (int n = 0; n < 2; n++)
		for (int round = 0; round < 20; round++) {
			struct toggled t[2];
			struct point *p;
			size_t i = 9;

			init(&t[0], settings[n], false);
			init(&t[1], settings[n], false);
			enable(&t[1]);
			p = point_call("select.tried", NULL, swap, t);
			CHECK_EQ(select_now(t, AT_ONCE, false, &i), 0);
			/* Not passed: it began with the second, which was possible. */
			CHECK_EQ(i, point_passed(p) ? 0 : 1);
			fini(&t[0]);
			fini(&t[1]);
		}
}

/* ---- rings that change all the time ---- */

struct restless {
	struct toggled t[2];
	int changes;
	struct point *tried, *checked;
};

/* The one that has been checked becomes possible, and the other one impossible. */
static void change(struct restless *r)
{
	const int now = r->changes++ % 2;

	enable(&r->t[now]);
	disable(&r->t[1 - now]);
}

static void change_tried(const void *cases, void *arg)
{
	struct restless *r = arg;

	change(r);
	r->tried = point_call("select.tried", cases, change_tried, r);
}

static void change_checked(const void *cases, void *arg)
{
	struct restless *r = arg;

	change(r);
	r->checked = point_call("select.checked_under_lock", cases, change_checked, r);
}

/* Every pass finds both impossible, and always one is possible: it is found in the end. */
TEST(rings_that_change_all_the_time_are_seen_at_one_moment)	/* covers: RES-69/u */
{
	const struct setting ring = {.kind = CC_CHAN_KIND_PLAIN, .capacity = 8};

	NEED_POINTS();
	for (int send = 0; send < 2; send++) {
		struct restless r = {.changes = 0};
		size_t i = 9;

		init(&r.t[0], &ring, send);
		init(&r.t[1], &ring, send);
		enable(&r.t[1]);
		r.tried = point_call("select.tried", NULL, change_tried, &r);
		r.checked = point_call("select.checked_under_lock", NULL, change_checked, &r);
		CHECK_EQ(select_now(r.t, AT_ONCE, true, &i), 0);
		CHECK(i < 2);
		CHECK(r.changes >= 6);	/* both were tried, and checked twice */
		point_passed(r.tried);
		point_passed(r.checked);
		fini(&r.t[0]);
		fini(&r.t[1]);
	}
}

/* ---- one channel in two cases ---- */

static void fill_it(const void *cases, void *chan)
{
	(void)cases;
	CHECK(fill(chan, 1) > 0);
}

/* It was empty when the receive was tried, and is full when the send is. */
TEST(both_ways_of_one_channel_are_seen_at_one_moment)	/* covers: RES-69/u */
{
	NEED_POINTS();
	for (size_t capacity = 1; capacity <= 8; capacity += 7) {
		CCChan *c = cc_chan_new(sizeof(int), capacity);
		int got = 0, v = 5;
		const CCCase cases[] = {cc_case_recv(c, &got, sizeof got),
		                        cc_case_send(c, &v, sizeof v)};
		size_t i = 9;

		point_call("select.tried", NULL, fill_it, c);
		CHECK_EQ(cc_select_in_order(cases, 2, CC_NOW, &i), 0);
		CHECK_EQ(i, 0);
		CHECK_EQ(got, 1);
		free_chan(c);
	}
}

/* ---- beside tokens and tasks ---- */

struct beside {
	CCChan *chan;
	CCToken *token;
	struct gate gate;
	CCTask task;
};

static void take_the_element(struct beside *b)
{
	int v;

	CHECK_EQ(recv_number(b->chan, &v, CC_NOW), 0);
}

static void set_and_take(const void *cases, void *arg)
{
	struct beside *b = arg;

	(void)cases;
	CHECK_EQ(cc_token_set(b->token), 0);
	take_the_element(b);
}

/* A join finds it ended. */
static bool has_ended(const struct beside *b)
{
	const struct cc__fiber *f = b->task.frame;

	return (cc__load(&f->handle, CC__ACQUIRE) & CC__HANDLE_DONE) != 0;
}

static void end_and_take(const void *cases, void *arg)
{
	struct beside *b = arg;

	(void)cases;
	cc__store(&b->gate.open, 1, CC__RELEASE);
	TEST_UNTIL(has_ended(b));
	take_the_element(b);
}

/* The token is set, the task ends before the element is taken. */
TEST(a_token_or_a_task_is_seen_at_the_same_moment_as_a_channel)	/* covers: RES-69/u */
{
	CCRuntime *rt = chan_runtime();

	NEED_POINTS();
	for (size_t capacity = 1; capacity <= 8; capacity += 7)
		for (int task = 0; task < 2; task++) {
			struct beside b = {.chan = cc_chan_new(sizeof(int), capacity),
			                   .token = cc_token_new()};
			int v, result = 0;
			CCCase cases[] = {cc_case_token(b.token),
			                  cc_case_recv(b.chan, &v, sizeof v), cc_case_default()};
			size_t i = 9;

			if (task) {
				b.task = spawn(rt, wait_at, &b.gate);
				cases[0] = cc_case_task(b.task, &result);
			}
			CHECK_EQ(send_number(b.chan, 1, CC_NOW), 0);
			point_call("select.tried", NULL, task ? end_and_take : set_and_take, &b);
			CHECK_EQ(cc_select_in_order(cases, 3, CC_FOREVER, &i), 0);
			CHECK_EQ(i, 0);
			CHECK_EQ(result, task ? 17 : 0);
			CHECK_EQ(cc_token_free(b.token), 0);
			free_chan(b.chan);
		}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- many ---- */

/* More channels without rings than locks fit on the stack, and the last one is closed. */
TEST(many_channels_are_seen_at_one_moment)	/* covers: RES-69/u */
{
	enum { MANY = 70 };

	for (size_t capacity = 0; capacity <= 8; capacity += 8) {
		CCCase cases[MANY];
		int v[MANY];
		size_t i = 9;

		for (int n = 0; n < MANY; n++)
			cases[n] = cc_case_recv(cc_chan_new(sizeof(int), capacity), &v[n],
			                        sizeof(int));
		CHECK_EQ(cc_select(cases, MANY, CC_NOW, &i), EAGAIN);
		CHECK_EQ(i, MANY);
		CHECK_EQ(cc_chan_close(cases[MANY - 1].on.chan), 0);
		CHECK_EQ(cc_select(cases, MANY, CC_NOW, &i), EPIPE);
		CHECK_EQ(i, MANY - 1);
		for (int n = 0; n < MANY; n++)
			free_chan(cases[n].on.chan);
	}
}
