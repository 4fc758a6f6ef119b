/* typed_once_test.c - every macro evaluates each of its arguments once: each is an expression that
 * counts, here an element of an array that is picked with i++.  A second evaluation would move
 * on to the next element. */
#include "nurseries.h"

#include <ccc/signal.h>

#include <signal.h>
#include <unistd.h>

#include "tasks.h"

cc_chan_type(Numbers, int);

enum { MANY = 4 };
static Numbers chans[MANY];	/* the first is the one that is to be used */

static void make_chans(size_t capacity)
{
	for (int i = 0; i < MANY; i++) {
		chans[i] = cc_chan_make(Numbers, capacity);
		CHECK(chans[i].chan != NULL);
	}
}

static void free_chans(void)
{
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(cc_free(chans[i]), 0);
}

static int filled(void)
{
	int n = 0;

	for (int i = 0; i < MANY; i++)
		n += cc_chan_len(chans[i].chan) > 0;
	return n;
}

/* ---- channels ---- */

TEST(typed_send_evaluates_its_arguments_once)
{
	const int values[MANY] = {10, 11, 12, 13};
	int c = 0, v = 0, d = 0, got = 0;
	const cc_time deadlines[] = {CC_NOW, CC_FOREVER, CC_FOREVER};

	make_chans(8);
	CHECK_EQ(cc_send(chans[c++], values[v++]), 0);
	CHECK_EQ(c * 10 + v, 11);
	CHECK_EQ(cc_try_send(chans[--c], values[v++]), 0);
	CHECK_EQ(c * 10 + v, 2);
	CHECK_EQ(cc_send_within(chans[c++], deadlines[d++], values[v++]), 0);
	CHECK_EQ(c * 100 + v * 10 + d, 131);
	CHECK_EQ(cc_send_until(chans[--c], deadlines[d++], values[v++]), 0);
	CHECK_EQ(c * 100 + v * 10 + d, 42);
	CHECK_EQ(filled(), 1);
	for (int i = 0; i < MANY; i++) {
		CHECK_EQ(cc_try_recv(chans[0], &got), 0);
		CHECK_EQ(got, values[i]);
	}
	free_chans();
}

TEST(typed_recv_evaluates_its_arguments_once)
{
	const cc_time deadlines[] = {CC_NOW, CC_FOREVER, CC_FOREVER};
	int got[MANY + 1] = {0}, c = 0, g = 0, d = 0;

	make_chans(8);
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(cc_send(chans[0], 20 + i), 0);
	CHECK_EQ(cc_recv(chans[c++], &got[g++]), 0);
	CHECK_EQ(c * 10 + g, 11);
	CHECK_EQ(cc_try_recv(chans[--c], &got[g++]), 0);
	CHECK_EQ(c * 10 + g, 2);
	CHECK_EQ(cc_recv_within(chans[c++], deadlines[d++], &got[g++]), 0);
	CHECK_EQ(c * 100 + g * 10 + d, 131);
	CHECK_EQ(cc_recv_until(chans[--c], deadlines[d++], &got[g++]), 0);
	CHECK_EQ(c * 100 + g * 10 + d, 42);
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(got[i], 20 + i);
	free_chans();
}

static int closed(void)
{
	int n = 0;

	for (int i = 0; i < MANY; i++)
		n += cc_chan_closed(chans[i].chan);
	return n;
}

TEST(typed_make_close_and_free_evaluate_their_arguments_once)
{
	const int errors[] = {EIO, ENOSPC, EINTR};
	const size_t capacities[] = {3, 5};
	int c = 0, e = 0, k = 0, v = 1;
	Numbers made = cc_chan_make(Numbers, capacities[k++]);

	CHECK_EQ(k, 1);
	CHECK_EQ(cc_chan_cap(made.chan), 3);
	CHECK_EQ(cc_free(made), 0);
	make_chans(1);
	CHECK_EQ(cc_close(chans[c++]), 0);
	CHECK_EQ(c, 1);
	CHECK_EQ(closed(), 1);
	CHECK_EQ(cc_close_error(chans[c++], errors[e++]), 0);
	CHECK_EQ(c * 10 + e, 21);
	CHECK_EQ(cc_recv(chans[1], &v), EIO);
	CHECK_EQ(cc_close_recv(chans[c++], errors[e++]), 0);
	CHECK_EQ(c * 10 + e, 32);
	CHECK_EQ(cc_send(chans[2], v), ENOSPC);
	CHECK_EQ(closed(), 3);
	for (c = 0; c < MANY;)
		CHECK_EQ(cc_free(chans[c++]), 0);
	CHECK_EQ(c, MANY);
}

TEST(typed_subscriptions_evaluate_their_arguments_once)
{
	const size_t capacities[] = {3, 5};
	NumbersRx rx[MANY] = {{.chan = NULL}};
	Numbers news[2];
	int k = 0, c = 0, r = 0, got = 0;

	news[0] = cc_chan_make_broadcast(Numbers, capacities[k++]);
	CHECK_EQ(k, 1);
	CHECK_EQ(cc_chan_cap(news[0].chan), 3);
	news[1] = cc_chan_make_watch(Numbers);
	CHECK_EQ(cc_subscribe(news[c++], &rx[r++]), 0);
	CHECK_EQ(c * 10 + r, 11);
	CHECK_EQ(cc_subscribe(news[c++], &rx[r++]), 0);
	CHECK_EQ(c * 10 + r, 22);
	CHECK_EQ(cc_send(news[0], 7), 0);
	CHECK_EQ(cc_try_recv(rx[0], &got), 0);
	CHECK_EQ(got, 7);
	r = 0;
	CHECK_EQ(cc_unsubscribe(rx[r++]), 0);
	CHECK_EQ(cc_unsubscribe(rx[r++]), 0);
	CHECK_EQ(r, 2);
	for (c = 0; c < 2;)
		CHECK_EQ(cc_free(news[c++]), 0);
}

TEST(typed_cases_evaluate_their_arguments_once)
{
	int items[] = {1, 2, 3}, c = 0, v = 0;
	CCCase k;

	make_chans(1);
	k = cc_recv_case(chans[c++], &items[v++]);
	CHECK_EQ(c * 10 + v, 11);
	CHECK(k.on.chan == chans[0].chan && k.item.into == &items[0]);
	k = cc_send_case(chans[c++], items[v++]);
	CHECK_EQ(c * 10 + v, 22);
	CHECK(k.on.chan == chans[1].chan && k.item.from == &items[1]);
	free_chans();
}

/* ---- matching ---- */

TEST(match_evaluates_its_arguments_once)
{
	int items[] = {7, 8, 9}, errors[] = {-1, -1, -1}, c = 0, v = 0, e = 0, bodies = 0;

	make_chans(1);
	CHECK_EQ(cc_send(chans[0], 5), 0);
	cc_match(&errors[e++]) {
		cc_on_recv(chans[c++], &items[v++])
			bodies++;
		cc_on_default()
			bodies = 100;
	}
	CHECK_EQ(bodies, 1);
	CHECK_EQ(c * 100 + v * 10 + e, 111);
	CHECK_EQ(errors[0], 0);
	CHECK_EQ(items[0], 5);
	cc_match(&errors[e++]) {
		cc_on_send(chans[c++], items[v++])
			bodies++;
	}
	CHECK_EQ(bodies, 2);
	CHECK_EQ(c * 100 + v * 10 + e, 222);
	CHECK_EQ(cc_try_recv(chans[1], &items[2]), 0);
	CHECK_EQ(items[2], 8);
	free_chans();
}

/* Also where no body is chosen, and where the channel has no body of its own. */
TEST(match_evaluates_what_is_not_chosen_once)
{
	int items[] = {7, 8, 9}, c = 0, v = 0, o = 0, err = -1;
	Numbers off[MANY] = {{.chan = NULL}};

	make_chans(1);
	cc_match(&err) {
		cc_on_recv(chans[c++], &items[v++])
			CHECK(false);
		cc_on_recv(off[o++], &items[v++])
			CHECK(false);
		cc_on_send(off[o++], items[v++])
			CHECK(false);
		cc_on_closed(chans[c++])
			CHECK(false);
		cc_on_default()
			continue;
	}
	CHECK_EQ(err, 0);
	CHECK_EQ(c * 100 + v * 10 + o, 232);
	free_chans();
}

TEST(match_evaluates_closed_channels_once)
{
	int c = 0, err = -1, got = 0, bodies = 0;

	make_chans(1);
	CHECK_EQ(cc_close(chans[1]), 0);
	cc_match(&err) {
		cc_on_recv(chans[1], &got)
			CHECK(false);
		cc_on_closed(chans[c++])
			CHECK(false);
		cc_on_closed(chans[c++])
			bodies++;
		cc_on_closed(chans[c++])
			CHECK(false);
	}
	CHECK_EQ(err, 0);
	CHECK_EQ(c * 10 + bodies, 31);
	free_chans();
}

/* A channel that has two bodies runs the first that is met. */
TEST(match_runs_one_body_for_a_closed_channel)
{
	int err = -1, got = 0, bodies = 0;

	make_chans(1);
	CHECK_EQ(cc_close_error(chans[0], EIO), 0);
	cc_match(&err) {
		cc_on_closed(chans[0])	/* before its case */
			bodies++;
		cc_on_recv(chans[0], &got)
			CHECK(false);
	}
	CHECK_EQ(err * 10 + bodies, 1);
	free_chans();
}

TEST(match_of_too_many_closed_is_refused)
{
	int err = -1, got = 0;

	make_chans(1);
	CHECK_EQ(cc_close(chans[0]), 0);
#define FOUR \
	cc_on_closed(chans[1]) \
		CHECK(false); \
	cc_on_closed(chans[1]) \
		CHECK(false); \
	cc_on_closed(chans[1]) \
		CHECK(false); \
	cc_on_closed(chans[1]) \
		CHECK(false);
	cc_match(&err) {
		cc_on_recv(chans[0], &got)
			CHECK(false);
		FOUR FOUR FOUR FOUR cc_on_closed(chans[0]) CHECK(false);
	}
	CHECK_EQ(err, E2BIG);
	cc_match(&err) {
		cc_on_recv(chans[0], &got)
			CHECK(false);
		FOUR FOUR FOUR cc_on_closed(chans[0]) got = 3;
	}
	CHECK_EQ(err * 10 + got, 3);
	free_chans();
}

TEST(match_evaluates_task_token_and_time_once)
{
	CCRuntime *rt = test_runtime_of(1);
	CCToken *tokens[] = {cc_token_new(), cc_token_new()};
	cc_time times[2];
	struct gate g = {{1}, {0}};
	CCTask tasks[2];
	int results[] = {0, 0}, t = 0, r = 0, k = 0, a = 0, err = -1, bodies = 0;

	times[0] = times[1] = CC_FOREVER;
	tasks[0] = spawn(rt, wait_at, &g);
	tasks[1] = spawn(rt, wait_at, &g);
	cc_match(&err) {
		cc_on_token(tokens[k++])
			CHECK(false);
		cc_on_timeout(times[a++])
			CHECK(false);
		cc_on_task(tasks[t++], &results[r++])
			bodies++;
	}
	CHECK_EQ(err * 10 + bodies, 1);
	CHECK_EQ(t * 1000 + r * 100 + k * 10 + a, 1111);
	CHECK_EQ(results[0], 17);
	CHECK_EQ(cc_token_set(tokens[1]), 0);
	times[1] = cc_now();
	cc_match(&err) {
		cc_on_token(tokens[k++])
			bodies++;
		cc_on_timeout(times[a++])
			CHECK(false);
	}
	CHECK_EQ(err * 10 + bodies, 2);
	CHECK_EQ(k * 10 + a, 22);
	CHECK_EQ(join(tasks[1]), 17);
	CHECK_EQ(cc_token_free(tokens[0]) + cc_token_free(tokens[1]), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(match_of_descriptors_evaluates_once)
{
	int ends[2], fds[MANY] = {0}, signals[MANY] = {0}, which[MANY], f = 0, g = 0, err, bodies = 0;
	int r = 0, w = 0;
	unsigned ready[MANY] = {0};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_EQ(cc_signal_open(&signals[0], &set), 0);
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(write(ends[1], "x", 1), 1);
	fds[0] = ends[0];
	cc_match(&err) {
		cc_on_fd(fds[f++], CC_FD_READ, &ready[r++])
			bodies++;
		cc_on_signal(signals[g++], &which[w++])
			CHECK(false);
	}
	CHECK_EQ(err * 10 + bodies, 1);
	CHECK_EQ(f * 1000 + r * 100 + g * 10 + w, 1111);
	CHECK_EQ(ready[0], CC_FD_READ);
	CHECK_EQ(cc_fd_close(signals[0]) + cc_fd_close(ends[0]) + cc_fd_close(ends[1]), 0);
}

/* ---- errors ---- */

static int next_error(int *calls)
{
	return ++*calls == 2 ? EIO : 0;
}

static int try_twice(int *calls)
{
	cc_try(next_error(calls));
	cc_try(next_error(calls));
	return -1;
}

TEST(try_evaluates_its_argument_once)
{
	int calls = 0, err = 0;

	CHECK_EQ(try_twice(&calls), EIO);
	CHECK_EQ(calls, 2);
	calls = 0;
	cc_try_goto(out, err = next_error(&calls));
	CHECK_EQ(calls, 1);
	cc_try_goto(out, err = next_error(&calls));
	CHECK(false);
out:
	CHECK_EQ(calls * 10 + (err == EIO), 21);
}

/* ---- tasks and scopes ---- */

static cc_task_fn(add, int a, b; long *sum;)
{
	*self->sum += self->a + self->b;
	return 0;
}

static int runs;

static cc_task_fn(count_run)
{
	runs++;
	return 0;
}

static int spawn_all(void *arg)
{
	static const CCTaskOptions options[] = {
	    {.name = "first"}, {.name = "second"}, {.name = "x"}};
	CCNurseryOptions scopes[] = {{.deadline = 0}, {.deadline = 1}};
	int values[] = {1, 2, 4, 8, 100}, others[] = {16, 100}, errors[] = {-1, -1};
	int v = 0, w = 0, n = 0, o = 0, e = 0, s = 0;
	long sum = 0;

	(void)arg;
	cc_nursery_scope_with(here, &errors[e++], &scopes[s++]) {
		CCNursery *nurseries[] = {here, here, here, here, here, here, here, NULL, NULL};

		CHECK_EQ(
		    cc_spawn(nurseries[n++], add, .a = values[v++], .b = others[w++], .sum = &sum),
		    0);
		CHECK_EQ(cc_spawn_daemon(nurseries[n++], add, .a = values[v++], .sum = &sum), 0);
		CHECK_EQ(cc_spawn_with(nurseries[n++], &options[o++], add, .a = values[v++],
		                       .sum = &sum),
		         0);
		CHECK_EQ(cc_spawn_daemon_with(nurseries[n++], &options[o++], add, .b = values[v++],
		                              .sum = &sum),
		         0);
		CHECK_EQ(cc_spawn(nurseries[n++], count_run), 0);
		CHECK_EQ(cc_spawn_daemon(nurseries[n++], count_run), 0);
		CHECK_EQ(cc_spawn_with(nurseries[n++], &options[o++], count_run), 0);
	}
	CHECK_EQ(errors[0], 0);
	CHECK_EQ(errors[1], -1);
	CHECK_EQ(n * 1000 + v * 100 + w * 10 + o, 7413);
	CHECK_EQ(e * 10 + s, 11);
	CHECK_EQ(sum, 31);
	CHECK_EQ(runs, 3);
	return 0;
}

TEST(spawn_and_scopes_evaluate_their_arguments_once)
{
	CCRuntime *rt = test_runtime_of(1);

	runs = 0;
	CHECK_EQ(join(spawn(rt, spawn_all, NULL)), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- tasks with a handle ---- */

static cc_task_fn(return_sum, int a, b;)
{
	return self->a * 10 + self->b;
}

static cc_task_fn(return_three)
{
	return 3;
}

static int spawn_tasks(void *arg)
{
	static const CCTaskOptions options[] = {
	    {.name = "first"}, {.name = "second"}, {.name = "x"}};
	const CCNurseryOptions o = {.policy = CC_NURSERY_SUPERVISE};
	int values[] = {1, 2, 100}, others[] = {4, 5, 100}, err = -1;
	int n = 0, h = 0, p = 0, v = 0, w = 0;
	CCTask handles[9] = {{0}};	/* enough for two evaluations each */

	(void)arg;
	cc_nursery_scope_with(here, &err, &o) {
		CCNursery *nurseries[] = {here, here, here, here, NULL};

		CHECK_EQ(cc_spawn_task(nurseries[n++], &handles[h++], return_sum, .a = values[v++],
		                       .b = others[w++]),
		         0);
		CHECK_EQ(cc_spawn_task_with(nurseries[n++], &handles[h++], &options[p++],
		                            return_sum, .a = values[v++], .b = others[w++]),
		         0);
		CHECK_EQ(cc_spawn_task(nurseries[n++], &handles[h++], return_three), 0);
		CHECK_EQ(cc_spawn_task_with(nurseries[n++], &handles[h++], &options[p++],
		                            return_three),
		         0);
		CHECK_EQ(join(handles[0]) * 100 + join(handles[1]), 1425);
		CHECK_EQ(join(handles[2]) + join(handles[3]), 6);
	}
	CHECK_EQ(n * 1000 + h * 100 + p * 10, 4420);
	CHECK_EQ(v * 10 + w, 22);
	CHECK_EQ(handles[4].id, 0);
	return 0;
}

TEST(spawn_task_evaluates_its_arguments_once)
{
	CCRuntime *rt = test_runtime_of(1);

	CHECK_EQ(join(spawn(rt, spawn_tasks, NULL)), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

struct block {
	CCTask task;
	int number;
};

cc_chan_type(Blocks, struct block);

static int spawn_and_send(void *arg)
{
	const size_t capacities[] = {4, 1};
	const cc_time deadlines[] = {CC_FOREVER, CC_FOREVER, CC_FOREVER, CC_FOREVER};
	int values[] = {1, 2, 100}, c = 0, k = 0, d = 0, i = 0, v = 0;
	struct block items[9] = {{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}}, got;
	Blocks blocks[5];

	(void)arg;
	blocks[0] = cc_chan_make_ordered(Blocks, capacities[k++]);
	CHECK_EQ(k, 1);
	CHECK_EQ(cc_chan_cap(blocks[0].chan), 4);
	for (int b = 1; b < 5; b++)
		blocks[b] = blocks[0];
	CHECK_EQ(cc_spawn_send(blocks[c++], &items[i++], return_sum, .a = values[v++]), 0);
	CHECK_EQ(cc_spawn_send_until(blocks[c++], deadlines[d++], &items[i++], return_sum,
	                             .a = values[v++]),
	         0);
	CHECK_EQ(cc_spawn_send(blocks[c++], &items[i++], return_three), 0);
	CHECK_EQ(cc_spawn_send_until(blocks[c++], deadlines[d++], &items[i++], return_three), 0);
	CHECK_EQ(c * 1000 + d * 100 + i * 10 + v, 4242);
	for (int b = 0; b < 4; b++) {
		CHECK_EQ(cc_recv(blocks[0], &got), 0);
		CHECK_EQ(got.number, b);
		CHECK_EQ(join(got.task), b < 2 ? 10 * (b + 1) : 3);
	}
	CHECK_EQ(cc_free(blocks[0]), 0);
	return 0;
}

TEST(spawn_send_evaluates_its_arguments_once)
{
	CCRuntime *rt = test_runtime_of(1);

	CHECK_EQ(join(spawn(rt, spawn_and_send, NULL)), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* Whatever way they are left. */
TEST(a_scope_evaluates_its_arguments_once)
{
	int errors[] = {-1, -1, -1, -1, -1, -1}, e = 0, bodies = 0, u = 0;
	const cc_time untils[] = {CC_FOREVER, CC_NOW, CC_NOW};

	cc_nursery_scope(here, &errors[e++]) {
		bodies += cc_nursery_seal(here) == 0;
	}
	cc_nursery_scope(here, &errors[e++]) {
		bodies += cc_nursery_seal(here) == 0;
		continue;
	}
	cc_nursery_scope(here, &errors[e++]) {
		bodies += cc_nursery_seal(here) == 0;
		break;
	}
	cc_nursery_scope(outer, &errors[e++])
		cc_nursery_scope(inner, &errors[e++])
			bodies += cc_nursery_seal(inner) == 0;
	CHECK_EQ(e * 10 + bodies, 54);
	for (int i = 0; i < e; i++)
		CHECK_EQ(errors[i], 0);
	CHECK_EQ(errors[e], -1);
	cc_shield_scope(untils[u++])
		bodies++;
	CHECK_EQ(u * 10 + bodies, 15);
}

/* ---- servers ---- */

static cc_serve_fn(serve_nothing, int *numbers)
{
	return stream == NULL || numbers == NULL;
}

TEST(serve_on_evaluates_its_arguments_once)
{
	static int numbers[MANY];
	static const CCServeOptions options[MANY];
	const int listeners[MANY] = {-1, -1, -1, -1};
	int l = 0, n = 0, o = 0;

	CHECK_EQ(cc_serve_on(listeners[l++], serve_nothing, &numbers[n++], &options[o++]), EBADF);
	CHECK_EQ(l * 100 + n * 10 + o, 111);
}

/* ---- fork and join ---- */

static cc_par_fn(add_to, const int *from; int *to;)
{
	*self->to += *self->from;
	return 0;
}

static cc_range_fn(mark_range, int *marks;)
{
	for (size_t i = from; i < to; i++)
		self->marks[i]++;
	return 0;
}

static cc_fold_fn(add_all, long, const int *v;)
{
	for (size_t i = from; i < to; i++)
		*into += self->v[i];
	return 0;
}

static cc_join_fn(add_all)
{
	(void)self;
	*into += *other;
	return 0;
}

TEST(par_evaluates_the_captures_of_its_branches_once)
{
	const int from[MANY] = {1, 10, 100, 1000};
	int to[MANY] = {0}, f = 0, g = 0, s = 0, t = 0;

	CHECK_EQ(cc_par2((add_to, .from = &from[f++], .to = &to[s++]),
	                 (add_to, .from = &from[1 + g++], .to = &to[1 + t++])), 0);
	CHECK_EQ(f * 1000 + g * 100 + s * 10 + t, 1111);
	CHECK_EQ(to[0] * 100 + to[1], 110);
	f = g = s = 0;
	CHECK_EQ(cc_par((add_to, .from = &from[f++], .to = &to[1]),
	                (add_to, .from = &from[g++], .to = &to[2]),
	                (add_to, .from = &from[s++], .to = &to[3])), 0);
	CHECK_EQ(f * 100 + g * 10 + s, 111);
	CHECK_EQ(to[1] * 100 + to[2] * 10 + to[3], 1111);
}

TEST(par_ranges_evaluate_their_arguments_once)
{
	static int marks[MANY][MANY];
	const int v[MANY] = {1, 2, 3, 4}, *values[MANY] = {v, v + 1, v + 2, v + 3};
	const size_t from[MANY] = {1, 2, 0, 0}, to[MANY] = {3, 4, 4, 4}, grain[MANY] = {1, 2, 3, 4};
	long sums[MANY] = {0};
	int f = 0, t = 0, g = 0, m = 0, r = 0;

	CHECK_EQ(cc_par_for(from[f++], to[t++], grain[g++], mark_range, .marks = marks[m++]), 0);
	CHECK_EQ(f * 1000 + t * 100 + g * 10 + m, 1111);
	CHECK_EQ(marks[0][0] * 1000 + marks[0][1] * 100 + marks[0][2] * 10 + marks[0][3], 110);
	f = t = g = m = 0;
	CHECK_EQ(cc_par_reduce(from[f++], to[t++], grain[g++], &sums[r++], add_all,
	                       .v = values[m++]), 0);
	CHECK_EQ(f * 10000 + t * 1000 + g * 100 + r * 10 + m, 11111);
	CHECK_EQ(sums[0], 5);
}
