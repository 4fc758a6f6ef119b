/* parallel_test.c - fork and join: in fibers and threads, with 1, 2 and 16 workers. */
#include <ccc/parallel.h>

#include <string.h>

#include "environment.h"
#include "nurseries.h"
#include "os/tools.h"

/* ---- the same body everywhere ---- */

static CCRuntime *workers_runtime(unsigned workers)
{
	CCConfig config;

	CHECK_EQ(cc_config_init(&config), 0);
	config.workers = config.workers_max = workers;
	return runtime_with(&config);
}

/* In a fiber of a runtime with 1, 2 and 16 workers. */
static void for_workers(cc_task_main *body)
{
	static const unsigned counts[] = {1, 2, 16};

	for (unsigned i = 0; i < 3; i++) {
		CCRuntime *rt = workers_runtime(counts[i]);

		CHECK_EQ(join(spawn(rt, body, rt)), 0);
		CHECK_EQ(cc_runtime_free(rt), 0);
	}
}

/* ---- results ---- */

static cc_par_fn(fib, int n; long *out;)
{
	long a = 0, b = 0;

	if (self->n < 2) {
		*self->out = self->n;
		return 0;
	}
	cc_try(cc_par2((fib, .n = self->n - 1, .out = &a), (fib, .n = self->n - 2, .out = &b)));
	*self->out = a + b;
	return 0;
}

static int compute_fib(void *rt)
{
	long a = 0, b = 0;

	(void)rt;
	CHECK_EQ(cc_par2((fib, .n = 20, .out = &a), (fib, .n = 19, .out = &b)), 0);
	CHECK_EQ(a, 6765);
	CHECK_EQ(b, 4181);
	return 0;
}

TEST(recursive_forks_compute_what_calls_do)
{
	for_workers(compute_fib);
}

TEST(thread_outside_of_any_runtime_forks_on_its_runtime)
{
	for_fiber_and_thread(compute_fib);
}

static cc_par_fn(count_one, cc__a32 *count;)
{
	cc__add(self->count, 1, CC__RELAXED);
	return 0;
}

static cc_par_fn(no_captures)
{
	return 0;
}

static int several(void *rt)
{
	cc__a32 n = {0};

	(void)rt;
	CHECK_EQ(cc_par((count_one, .count = &n), (count_one, .count = &n), (no_captures),
	                (count_one, .count = &n), (count_one, .count = &n)),
	         0);
	CHECK_EQ(cc__load(&n, CC__RELAXED), 4);
	CHECK_EQ(cc_par2((no_captures), (no_captures)), 0);
	CHECK_EQ(cc_par_all(NULL, 0), 0);
	CHECK_EQ(cc_par_all(&(CCParBranch){0}, 1), EINVAL);
	CHECK_EQ(cc_par_call2(NULL, NULL, no_captures_par, NULL), EINVAL);
	return 0;
}

TEST(all_of_several_branches_run_once)
{
	for_workers(several);
	for_fiber_and_thread(several);
}

/* ---- branches that wait ---- */

static cc_par_fn(receive_all, CCChan *chan; int *sum;)
{
	int v;

	while (cc_chan_recv(self->chan, &v, sizeof v) == 0)
		*self->sum += v;
	return 0;
}

static cc_par_fn(send_ten, CCChan *chan;)
{
	for (int i = 1; i <= 10; i++)
		cc_try(cc_chan_send(self->chan, &i, sizeof i));
	return cc_chan_close(self->chan);
}

static int serve_each_other(void *rt)
{
	CCChan *c = cc_chan_new(sizeof(int), 0), *d = cc_chan_new(sizeof(int), 0);
	int sum = 0, other = 0;

	(void)rt;
	CHECK_EQ(cc_par2((receive_all, .chan = c, .sum = &sum), (send_ten, .chan = c)), 0);
	CHECK_EQ(cc_par2((send_ten, .chan = d), (receive_all, .chan = d, .sum = &other)), 0);
	CHECK_EQ(sum, 55);
	CHECK_EQ(other, 55);
	CHECK_EQ(cc_chan_free(c), 0);
	CHECK_EQ(cc_chan_free(d), 0);
	return 0;
}

TEST(branch_that_waits_for_the_other_is_served)
{
	for_workers(serve_each_other);
	for_fiber_and_thread(serve_each_other);
}

/* The sender is the oldest branch, several forks below the one that waits. */
static cc_par_fn(deep_receive, int depth; CCChan * chan; int *sum;)
{
	if (self->depth == 0)
		return receive_all(&(struct receive_all_captures){self->chan, self->sum},
		                   cc_par_context);
	return cc_par2(
	    (deep_receive, .depth = self->depth - 1, .chan = self->chan, .sum = self->sum),
	    (no_captures));
}

static int serve_from_below(void *rt)
{
	CCChan *c = cc_chan_new(sizeof(int), 0);
	int sum = 0;

	(void)rt;
	CHECK_EQ(
	    cc_par2((deep_receive, .depth = 50, .chan = c, .sum = &sum), (send_ten, .chan = c)), 0);
	CHECK_EQ(sum, 55);
	CHECK_EQ(cc_chan_free(c), 0);
	return 0;
}

TEST(deep_branch_is_served_by_an_outer_one)
{
	for_workers(serve_from_below);
}

static cc_par_fn(yield_until, cc__a32 *flag;)
{
	while (cc__load(self->flag, CC__ACQUIRE) == 0)
		cc_yield();
	return 0;
}

static cc_par_fn(raise_it, cc__a32 *flag;)
{
	cc__store(self->flag, 1, CC__RELEASE);
	return 0;
}

static int yield_to_each_other(void *rt)
{
	cc__a32 flag = {0};

	(void)rt;
	CHECK_EQ(cc_par2((yield_until, .flag = &flag), (raise_it, .flag = &flag)), 0);
	return 0;
}

TEST(branch_that_yields_lets_the_other_run)
{
	for_workers(yield_to_each_other);
}

static cc_par_fn(nap, int depth;)
{
	if (self->depth == 0)
		return cc_sleep_ms(1);
	return cc_par2((nap, .depth = self->depth - 1), (nap, .depth = self->depth - 1));
}

static int sleep_in_leaves(void *rt)
{
	(void)rt;
	CHECK_EQ(cc_par2((nap, .depth = 6), (nap, .depth = 6)), 0);
	return 0;
}

TEST(leaves_of_a_tree_may_sleep)
{
	for_workers(sleep_in_leaves);
}

/* More forks than an array has places. */
static cc_par_fn(descend, int depth; int *deepest;)
{
	*self->deepest += 1;
	if (self->depth == 0)
		return 0;
	return cc_par2((descend, .depth = self->depth - 1, .deepest = self->deepest),
	               (no_captures));
}

static int go_deeper(void *arg)
{
	int *deepest = arg;

	return cc_par2((descend, .depth = 2500, .deepest = deepest), (no_captures));
}

TEST(forks_deeper_than_the_array_go_on_in_another_fiber)
{
	CCRuntime *rt = workers_runtime(2);
	const CCTaskOptions large = {.stack_size = 16 << 20};
	int deepest = 0;
	CCTask t;

	if (cc__tools == 0) {
		REQUIRE_EQ(cc_task_spawn(rt, &t, &large, go_deeper, &deepest), 0);
		CHECK_EQ(join(t), 0);
		CHECK_EQ(deepest, 2501);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- errors ---- */

static cc_par_fn(fail_with, int error;)
{
	return self->error;
}

static cc_par_fn(wait_in_vain, CCChan *chan; int *got;)
{
	int v;

	return *self->got = cc_chan_recv(self->chan, &v, sizeof v);
}

/* Fails once the other branch waits. */
static cc_par_fn(fail_later, int error;)
{
	cc_ignore(cc_sleep_ms(2));
	return self->error;
}

static int errors(void *rt)
{
	CCChan *c = cc_chan_new(sizeof(int), 0);
	cc__a32 n = {0};
	int got = -1;

	(void)rt;
	CHECK_EQ(cc_par2((no_captures), (fail_with, .error = EIO)), EIO);
	CHECK_EQ(cc_par2((fail_with, .error = EIO), (fail_with, .error = EIO)), EIO);
	CHECK_EQ(cc_par2((wait_in_vain, .chan = c, .got = &got), (fail_with, .error = EIO)), EIO);
	CHECK_EQ(got, ECANCELED);
	got = -1;
	CHECK_EQ(cc_par2((fail_later, .error = EBADF), (wait_in_vain, .chan = c, .got = &got)),
	         EBADF);
	CHECK_EQ(got, ECANCELED);
	CHECK_EQ(cc_par2((count_one, .count = &n), (count_one, .count = &n)), 0);
	CHECK_EQ(cc__load(&n, CC__RELAXED), 2);
	CHECK_EQ(cc_chan_free(c), 0);
	return 0;
}

TEST(first_error_cancels_the_other_branch_and_is_returned)
{
	for_workers(errors);
	for_fiber_and_thread(errors);
}

static int fail_alone(void *rt)
{
	cc__a32 n = {0};

	(void)rt;
	CHECK_EQ(cc_par2((fail_with, .error = EIO), (count_one, .count = &n)), EIO);
	CHECK_EQ(cc__load(&n, CC__RELAXED), 0);
	return 0;
}

TEST(branch_that_has_not_started_when_the_other_fails_is_not_run)
{
	CCRuntime *rt = workers_runtime(1);

	CHECK_EQ(join(spawn(rt, fail_alone, NULL)), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* The reason reaches a nursery that a branch has opened. */
static cc_par_fn(wait_in_nursery, CCChan *chan; int *got; int *reason;)
{
	struct quiet q = {.chan = self->chan};
	int err = 0;

	cc_nursery_scope(n, &err) {
		cc_nursery_spawn(n, NULL, receive, &q);
		TEST_UNTIL(cc__load(&q.waiting, CC__ACQUIRE) == 1 || cc_yield() != 0);
	}
	*self->reason = cc_cancel_reason();
	return *self->got = err;
}

static int cancel_nursery_inside(void *rt)
{
	CCChan *c = cc_chan_new(sizeof(int), 0);
	int got = -1, reason = -1;

	(void)rt;
	CHECK_EQ(cc_par2((wait_in_nursery, .chan = c, .got = &got, .reason = &reason),
	                 (fail_later, .error = EIO)),
	         EIO);
	CHECK_EQ(got, ECANCELED);
	CHECK_EQ(reason, EIO);
	CHECK_EQ(cc_chan_free(c), 0);
	return 0;
}

TEST(failing_branch_cancels_a_nursery_inside_the_other)
{
	for_workers(cancel_nursery_inside);
}

/* ---- cancelled from outside ---- */

struct outer {
	CCChan *chan;
	int first, second, result;
};

static int fork_and_wait(void *arg)
{
	struct outer *o = arg;

	return o->result = cc_par2((wait_in_vain, .chan = o->chan, .got = &o->first),
	                           (wait_in_vain, .chan = o->chan, .got = &o->second));
}

static int cancel_from_outside(void *rt)
{
	struct outer o = {.chan = cc_chan_new(sizeof(int), 0)};
	int err = 0;

	(void)rt;
	cc_nursery_scope(n, &err) {
		cc_nursery_spawn(n, NULL, fork_and_wait, &o);
		cc_ignore(cc_sleep_ms(2));
		cc_nursery_cancel(n, 0);
	}
	CHECK_EQ(err, ECANCELED);
	CHECK_EQ(o.result, ECANCELED);
	CHECK_EQ(o.first, ECANCELED);
	CHECK_EQ(cc_chan_free(o.chan), 0);
	return 0;
}

TEST(branches_are_cancelled_with_the_callers_nursery)
{
	for_workers(cancel_from_outside);
	for_fiber_and_thread(cancel_from_outside);
}

static int deadline_from_outside(void *rt)
{
	CCNurseryOptions late = {.deadline = cc_after(5 * CC_MSEC)};
	struct outer o = {.chan = cc_chan_new(sizeof(int), 0)};
	int err = 0;

	(void)rt;
	cc_nursery_scope_with(n, &err, &late)
		cc_nursery_spawn(n, NULL, fork_and_wait, &o);
	CHECK_EQ(err, ETIMEDOUT);
	CHECK_EQ(o.result, ETIMEDOUT);
	CHECK_EQ(o.first, ETIMEDOUT);
	CHECK_EQ(cc_chan_free(o.chan), 0);
	return 0;
}

TEST(deadline_of_a_nursery_ends_the_branches)
{
	for_workers(deadline_from_outside);
}

TEST(end_of_the_runtime_ends_the_branches)
{
	struct outer o = {.chan = cc_chan_new(sizeof(int), 0)};
	CCConfig config;
	CCRuntime *rt;

	CHECK_EQ(cc_config_init(&config), 0);
	config.workers = config.workers_max = 2;
	config.shutdown_timeout = 1 * CC_MSEC;
	rt = runtime_with(&config);
	REQUIRE_EQ(cc_task_spawn(rt, NULL, NULL, fork_and_wait, &o), 0);
	free_until_done(rt);
	CHECK_EQ(o.result, ECANCELED);
	CHECK_EQ(cc_chan_free(o.chan), 0);
}

/* ---- what a task keeps ---- */

static cc_par_fn(set_local, CCLocal key;)
{
	cc_try(cc_local_set(self->key, self));
	cc_ignore(cc_sleep_ms(1));
	CHECK(cc_local_get(self->key) == self);
	return 0;
}

static int keep_locals(void *rt)
{
	CCLocal key;

	(void)rt;
	CHECK_EQ(cc_local_new(&key, NULL), 0);
	CHECK_EQ(cc_par2((set_local, .key = key), (set_local, .key = key)), 0);
	CHECK_EQ(cc_par2((set_local, .key = key), (set_local, .key = key)), 0);
	CHECK_EQ(cc_local_delete(key), 0);
	return 0;
}

TEST(values_set_in_a_branch_stay_with_its_task)
{
	for_workers(keep_locals);
}

/* A join in place would park below the forks of its caller. */
static int receive_one(void *arg)
{
	int v = 0;

	return cc_chan_recv(arg, &v, sizeof v);
}

static cc_par_fn(join_receiver, CCChan *chan;)
{
	return join(spawn(NULL, receive_one, self->chan));
}

static cc_par_fn(join_nursery, CCChan *chan;)
{
	int err = 0;

	cc_nursery_scope(n, &err)
		cc_nursery_spawn(n, NULL, receive_one, self->chan);
	return err;
}

static cc_par_fn(send_one, CCChan *chan;)
{
	return cc_chan_send(self->chan, &(int){1}, sizeof(int));
}

static int join_in_branch(void *rt)
{
	CCChan *c = cc_chan_new(sizeof(int), 0);

	(void)rt;
	CHECK_EQ(cc_par2((join_receiver, .chan = c), (send_one, .chan = c)), 0);
	CHECK_EQ(cc_par2((join_nursery, .chan = c), (send_one, .chan = c)), 0);
	CHECK_EQ(cc_chan_free(c), 0);
	return 0;
}

TEST(branch_may_join_a_task_that_waits_for_the_other_branch)
{
	for_workers(join_in_branch);
}

/* ---- ranges ---- */

enum { ELEMENTS = 100000 };

static cc_range_fn(mark, unsigned char *seen;)
{
	for (size_t i = from; i < to; i++)
		self->seen[i]++;
	return 0;
}

static unsigned char seen[ELEMENTS];

static int visit(void *rt)
{
	size_t wrong = 0;

	(void)rt;
	for (size_t grain = 0; grain <= 1000; grain += 250) {
		memset(seen, 0, sizeof seen);
		CHECK_EQ(cc_par_for(10, ELEMENTS, grain, mark, .seen = seen), 0);
		for (size_t i = 0; i < ELEMENTS; i++)
			wrong += seen[i] != (i >= 10);
	}
	CHECK_EQ(wrong, 0);
	CHECK_EQ(cc_par_for(5, 5, 1, mark, .seen = NULL), 0);
	CHECK_EQ(cc_par_range(0, 1, 1, NULL, NULL), EINVAL);
	return 0;
}

TEST(each_element_of_a_range_is_visited_once)
{
	for_workers(visit);
	for_fiber_and_thread(visit);
}

static cc_range_fn(fail_at, size_t at;)
{
	return from <= self->at && self->at < to ? EIO : 0;
}

static int fail_in_range(void *rt)
{
	(void)rt;
	CHECK_EQ(cc_par_for(0, 1000, 1, fail_at, .at = 567), EIO);
	CHECK_EQ(cc_par_for(0, 1000, 1, fail_at, .at = 1000), 0);
	return 0;
}

TEST(error_of_one_piece_is_the_loops)
{
	for_workers(fail_in_range);
}

/* The text of a range: the order counts. */
struct span {
	size_t from, to;
};

static cc_fold_fn(cover, struct span, int unused;)
{
	*into = (struct span){from, to};
	return 0;
}

static cc_join_fn(cover)
{
	if (into->to != other->from)
		return EDOM;
	into->to = other->to;
	return 0;
}

static cc_fold_fn(sum, long, const unsigned char *v;)
{
	for (size_t i = from; i < to; i++)
		*into += self->v[i];
	return 0;
}

static cc_join_fn(sum)
{
	*into += *other;
	return 0;
}

static int reduce(void *rt)
{
	struct span s = {0};
	long total = 0;

	(void)rt;
	memset(seen, 3, sizeof seen);
	CHECK_EQ(cc_par_reduce(0, ELEMENTS, 100, &total, sum, .v = seen), 0);
	CHECK_EQ(total, 3L * ELEMENTS);
	CHECK_EQ(cc_par_reduce(7, 5000, 3, &s, cover, .unused = 0), 0);
	CHECK_EQ(s.from, 7);
	CHECK_EQ(s.to, 5000);
	CHECK_EQ(cc_par_fold(0, 1, 1, sum_fold, sum_join, NULL, &total, CC_FOLD_MAX + 1), EINVAL);
	return 0;
}

TEST(values_of_pieces_are_joined_in_order)
{
	for_workers(reduce);
	for_fiber_and_thread(reduce);
}

/* ---- theft, and what it costs ---- */

/* Two branches that wait for each other without a park: on two workers. */
static cc_par_fn(meet, cc__a32 *mine, *theirs;)
{
	cc__store(self->mine, 1, CC__RELEASE);
	TEST_UNTIL(cc__load(self->theirs, CC__ACQUIRE) != 0);
	return 0;
}

static int meet_twice(void *rt)
{
	(void)rt;
	for (int i = 0; i < 5; i++) {
		cc__a32 a = {0}, b = {0};

		CHECK_EQ(
		    cc_par2((meet, .mine = &a, .theirs = &b), (meet, .mine = &b, .theirs = &a)), 0);
	}
	return 0;
}

TEST(idle_worker_takes_a_branch_from_a_fiber_that_computes)
{
	CCRuntime *rt = workers_runtime(2);

	CHECK_EQ(join(spawn(rt, meet_twice, NULL)), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

static cc_par_fn(tree, int depth; cc__a64 * leaves;)
{
	if (self->depth == 0) {
		cc__add(self->leaves, 1, CC__RELAXED);
		return 0;
	}
	return cc_par2((tree, .depth = self->depth - 1, .leaves = self->leaves),
	               (tree, .depth = self->depth - 1, .leaves = self->leaves));
}

static int grow_tree(void *rt)
{
	const int depth = cc__tools != 0 ? 12 : 18;
	cc__a64 leaves = {0};

	(void)rt;
	CHECK_EQ(cc_par2((tree, .depth = depth, .leaves = &leaves),
	                 (tree, .depth = depth, .leaves = &leaves)),
	         0);
	CHECK_EQ(cc__load(&leaves, CC__RELAXED), 2 << depth);
	return 0;
}

TEST(deep_tree_without_a_cut_off_runs_on_few_stacks)
{
	for (unsigned workers = 1; workers <= 16; workers *= 4) {
		CCRuntime *rt = workers_runtime(workers);
		CCStats stats;

		CHECK_EQ(join(spawn(rt, grow_tree, NULL)), 0);
		CHECK_EQ(cc_stats(rt, &stats), 0);
		CHECK(stats.stacks <= workers * 40);
		CHECK_EQ(cc_runtime_free(rt), 0);
	}
}
