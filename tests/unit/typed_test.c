/* typed_test.c - tasks with captures, channels with a type, cc_try and cc_match, as a user writes
 * them.  (tests/misuse has what must not compile.) */
#include "nurseries.h"

#include <string.h>

struct point {
	int x, y;
};

cc_chan_type(Numbers, int);
cc_chan_type(Bytes, unsigned char);
cc_chan_type(Names, const char *);
cc_chan_type(Points, struct point);

/* ---- tasks ---- */

static cc_task_fn(add_up, int a, b, c; long *sum;)
{
	*self->sum += self->a + self->b + self->c;
	self->a = 1000;	/* its own copy */
	return 0;
}

static int said_hello;

static cc_task_fn(say_hello)
{
	said_hello++;
	return 0;
}

/* Two that spawn each other; one is known in this file only, the other everywhere. */
static cc_task_decl(ping, CCNursery *n; int left; int *turns;);
cc_task_decl(pong, CCNursery *n; int left; int *turns;);

cc_task_def(ping)
{
	++*self->turns;
	return self->left == 0 ? 0
	                       : cc_spawn(self->n, pong, .n = self->n, .left = self->left - 1,
	                                  .turns = self->turns);
}

cc_task_def(pong)
{
	++*self->turns;
	return self->left == 0 ? 0
	                       : cc_spawn(self->n, ping, .n = self->n, .left = self->left - 1,
	                                  .turns = self->turns);
}

static cc_task_fn(sum_large, int many[100]; long *sum;)
{
	for (int i = 0; i < 100; i++)
		*self->sum += self->many[i];
	return 0;
}

static int spawn_tasks(void *rt)
{
	const CCNurseryOptions o = in(rt);
	long sum = 0, large = 0;
	int turns = 0, err = -1, a = 7;

	said_hello = 0;
	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_spawn(n, add_up, .a = a, .c = 5, .sum = &sum), 0);
		a = 0;
	}
	CHECK_EQ(err, 0);
	cc_nursery_scope_with(n, &err, &o)
		CHECK_EQ(cc_spawn(n, say_hello), 0);
	cc_nursery_scope_with(n, &err, &o)
		CHECK_EQ(cc_spawn_daemon(n, say_hello), 0);
	cc_nursery_scope_with(n, &err, &o)
		CHECK_EQ(cc_spawn_with(n, &(CCTaskOptions){.name = "ping"}, ping, .n = n, .left = 9,
		                       .turns = &turns),
		         0);
	cc_nursery_scope_with(n, &err, &o)
		CHECK_EQ(cc_spawn_daemon_with(n, NULL, sum_large, .many = {[3] = 4, [99] = 5},
		                              .sum = &large),
		         0);
	CHECK_EQ(sum, 12);
	CHECK_EQ(said_hello, 2);
	CHECK_EQ(turns, 10);
	CHECK_EQ(large, 9);
	return err;
}

TEST(tasks_get_their_captures_by_name)
{
	for_fiber_and_thread(spawn_tasks);
}

/* ---- cc_try ---- */

static int tried;

static int result_of(int error)
{
	tried++;
	return error;
}

static int try_both(int first, int second)
{
	cc_try(result_of(first));
	cc_try(result_of(second));
	return 0;
}

static int try_and_undo(int first, int second, int *undone)
{
	int err;

	cc_try_goto(out, err = result_of(first));
	cc_try_goto(undo, err = result_of(second));
	return 0;
undo:
	++*undone;
out:
	return err;
}

TEST(try_returns_the_first_error)
{
	int undone = 0;

	tried = 0;
	CHECK_EQ(try_both(0, 0), 0);
	CHECK_EQ(tried, 2);
	CHECK_EQ(try_both(EIO, 0), EIO);
	CHECK_EQ(tried, 3);
	CHECK_EQ(try_both(0, EPIPE), EPIPE);
	CHECK_EQ(try_and_undo(0, 0, &undone), 0);
	CHECK_EQ(try_and_undo(EIO, 0, &undone), EIO);
	CHECK_EQ(undone, 0);
	CHECK_EQ(try_and_undo(0, EPIPE, &undone), EPIPE);
	CHECK_EQ(undone, 1);
}

/* ---- channels ---- */

TEST(typed_channels_carry_what_they_say)
{
	Numbers numbers = cc_chan_make(Numbers, 8);
	Bytes bytes = cc_chan_make(Bytes, 8);
	Names names = cc_chan_make(Names, 8);
	Points points = cc_chan_make(Points, 8);
	const char *name = NULL;
	unsigned char b = 200;
	struct point p = {0, 0};
	int v = 0;

	CHECK_EQ(sizeof numbers, sizeof(CCChan *));
	CHECK_EQ(cc_send(numbers, 17), 0);
	CHECK_EQ(cc_send(numbers.tx, b), 0);
	CHECK_EQ(cc_recv(numbers, &v), 0);
	CHECK_EQ(v, 17);
	CHECK_EQ(cc_recv(numbers.rx, &v), 0);
	CHECK_EQ(v, 200);
	CHECK_EQ(cc_send(bytes, b), 0);
	b = 0;
	CHECK_EQ(cc_recv_within(bytes, CC_SEC, &b), 0);
	CHECK_EQ(b, 200);
	CHECK_EQ(cc_send_until(names, CC_FOREVER, "text"), 0);
	CHECK_EQ(cc_recv(names, &name), 0);
	CHECK_STR(name, "text");
	CHECK_EQ(cc_send_within(points, CC_SEC, (struct point){3, 4}), 0);
	CHECK_EQ(cc_recv(points, &p), 0);
	CHECK(p.x == 3 && p.y == 4);

	CHECK_EQ(cc_try_recv(numbers, &v), EAGAIN);
	for (int i = 0; i < 8; i++)
		CHECK_EQ(cc_try_send(numbers, i), 0);
	CHECK_EQ(cc_try_send(numbers, 8), EAGAIN);
	CHECK_EQ(cc_close_error(numbers.tx, EIO), 0);
	for (int i = 0; i < 8; i++)
		CHECK_EQ(cc_recv(numbers, &v), 0);
	CHECK_EQ(cc_recv(numbers, &v), EIO);
	CHECK_EQ(cc_close(bytes), 0);
	CHECK_EQ(cc_send(bytes, 1), EPIPE);
	CHECK_EQ(cc_close_recv(names.rx, EBADF), 0);
	CHECK_EQ(cc_send(names, "text"), EBADF);
	CHECK(cc_free(numbers) == 0 && cc_free(bytes) == 0 && cc_free(names) == 0 &&
	      cc_free(points) == 0);
}

TEST(typed_cases_are_cases_of_a_select)
{
	Numbers full = cc_chan_make(Numbers, 1), empty = cc_chan_make(Numbers, 1);
	int sent = 5, got = 0;
	CCCase cases[] = {cc_send_case(full, sent), cc_recv_case(empty, &got)};
	size_t which;

	CHECK_EQ(cc_select(cases, 2, CC_NOW, &which), 0);
	CHECK_EQ(which, 0);
	CHECK_EQ(cc_select(cases, 2, CC_NOW, &which), EAGAIN);
	CHECK_EQ(cc_send(empty, 6), 0);
	CHECK_EQ(cc_select(cases, 2, CC_NOW, &which), 0);
	CHECK(which == 1 && got == 6);
	CHECK(cc_free(full) == 0 && cc_free(empty) == 0);
}

/* ---- matching ---- */

static cc_task_fn(count_up, NumbersTx out; int n;)
{
	for (int i = 1; i <= self->n; i++)
		cc_try(cc_send(self->out, i));
	return cc_close(self->out);
}

static cc_task_fn(draw, PointsTx out; int n;)
{
	for (int i = 1; i <= self->n; i++)
		cc_try(cc_send(self->out, (struct point){i, -i}));
	return cc_close(self->out);
}

static int match_two(void *rt)
{
	const CCNurseryOptions o = in(rt);
	Numbers numbers = cc_chan_make(Numbers, 4);
	Points points = cc_chan_make(Points, 0);
	NumbersRx some = numbers.rx;
	PointsRx others = points.rx;
	int err = -1, matched = 0, n, sum = 0, ends = 0;
	struct point p;

	cc_nursery_scope_with(nursery, &err, &o) {
		cc_spawn(nursery, count_up, .out = numbers.tx, .n = 100);
		cc_spawn(nursery, draw, .out = points.tx, .n = 100);
		while (matched == 0 && ends < 2)
			cc_match(&matched) {
				cc_on_recv(some, &n)
					sum += n;
				cc_on_recv(others, &p) {
					if (p.x % 2 == 0)
						break;
					if (p.x % 3 == 0)
						continue;
					sum += p.x + p.y;
				}
				cc_on_closed(some) {
					ends++;
					some.chan = NULL;
				}
				cc_on_closed(others) {
					ends++;
					others.chan = NULL;
				}
			}
	}
	CHECK_EQ(matched, 0);
	CHECK_EQ(sum, 5050);
	CHECK(cc_free(numbers) == 0 && cc_free(points) == 0);
	return err;
}

TEST(match_runs_the_body_of_what_happened)
{
	for_fiber_and_thread(match_two);
}

static int evaluated;

static cc_time soon(void)
{
	evaluated++;
	return cc_now();
}

static const char *which_of(Numbers in, Numbers out, CCToken *token, bool now, int *err)
{
	int n, seven = 7;

	cc_match(err) {
		cc_on_token(token)
			return "token";
		cc_on_recv(in, &n)
			return n == 3 ? "recv" : "recv?";
		cc_on_send(out, seven)
			return "send";
		cc_on_closed(in)
			return "closed";
		cc_on_timeout(now ? soon() : cc_after(3600 * CC_SEC))
			return "timeout";
	}
	return *err == 0 ? "none" : "failed";
}

TEST(match_has_a_body_for_every_kind_of_case)
{
	Numbers in = cc_chan_make(Numbers, 1), out = cc_chan_make(Numbers, 1);
	const Numbers first = in, second = out;
	CCToken *token = cc_token_new();
	int err = -1, n = 0;

	CHECK_STR(which_of(in, out, token, false, &err), "send");
	CHECK_EQ(err, 0);
	evaluated = 0;
	CHECK_STR(which_of(in, out, token, true, &err), "timeout");
	CHECK_EQ(evaluated, 1);
	CHECK_EQ(cc_send(in, 3), 0);
	CHECK_STR(which_of(in, out, token, false, &err), "recv");
	CHECK_EQ(cc_close(in), 0);
	CHECK_STR(which_of(in, out, token, false, &err), "closed");
	CHECK_EQ(err, 0);
	CHECK_EQ(cc_recv(out, &n), 0);
	CHECK_EQ(n, 7);
	CHECK_EQ(cc_send(out, 1), 0);
	CHECK_EQ(cc_close(out), 0);
	in.chan = NULL;	/* off */
	CHECK_STR(which_of(in, out, token, false, &err), "failed");
	CHECK_EQ(err, EPIPE);
	out.chan = NULL;
	CHECK_EQ(cc_token_set(token), 0);
	CHECK_STR(which_of(in, out, token, false, &err), "token");
	CHECK_EQ(err, 0);
	CHECK_EQ(cc_token_free(token), 0);
	CHECK(cc_free(first) == 0 && cc_free(second) == 0);
}

TEST(match_joins_a_task_or_says_default)
{
	CCTask task = spawn(NULL, fail, (void *)EIO);
	Numbers silent = cc_chan_make(Numbers, 0);
	int err = -1, result = 0, n, defaults = 0;

	cc_match(&err) {
		cc_on_task(task, &result)
			CHECK_EQ(result, EIO);
		cc_on_recv(silent, &n)
			CHECK(false);
	}
	CHECK_EQ(err, 0);
	CHECK_EQ(result, EIO);
	cc_match(&err) {
		cc_on_recv(silent, &n)
			CHECK(false);
		cc_on_default()
			defaults++;
	}
	CHECK_EQ(err, 0);
	CHECK_EQ(defaults, 1);
	CHECK_EQ(cc_free(silent), 0);
}

TEST(match_of_too_many_is_refused)
{
	int err = 0;

	/* As many as it may, then one more; the same line, over and over. */
	for (int cases = CC_MATCH_MAX; cases <= CC_MATCH_MAX + 1; cases++) {
		int ran = 0;

		cc_match(&err) {
			for (int i = 0; i < cases; i++)
				cc_on_timeout(CC_NOW)
					ran++;
		}
		CHECK_EQ(err, cases > CC_MATCH_MAX ? E2BIG : 0);
		CHECK_EQ(ran, cases > CC_MATCH_MAX ? 0 : 1);
	}
	cc_match(&err)
		;
	CHECK_EQ(err, EINVAL);
}

static int match_in_vain(void *arg)
{
	Numbers silent = cc_chan_make(Numbers, 0);
	int n, err = 0;

	cc__store((cc__a32 *)arg, 1, CC__RELEASE);
	cc_match(&err) {
		cc_on_recv(silent, &n)
			CHECK(false);
		cc_on_closed(silent)
			CHECK(false);
	}
	CHECK_EQ(cc_free(silent), 0);
	return err;
}

TEST(match_is_cancelled_like_any_wait)
{
	cc__a32 there = {0};
	int err = 0;

	cc_nursery_scope(n, &err) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, match_in_vain, &there), 0);
		TEST_UNTIL(cc__load(&there, CC__ACQUIRE) != 0);
		CHECK_EQ(cc_nursery_cancel(n, 0), 0);
	}
	CHECK_EQ(err, ECANCELED);
}
