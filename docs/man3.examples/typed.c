/* Tasks with captures, typed channels, matching: <ccc/typed.h>. */
#include <assert.h>
#include <string.h>

#include <ccc/ccc.h>

cc_chan_type(Numbers, int);

static cc_task_fn(produce, NumbersTx out; int n;)
{
	for (int i = 1; i <= self->n; i++)
		cc_try(cc_send(self->out, i));
	return cc_close(self->out);
}

static void send_and_receive(void)
{
	Numbers numbers = cc_chan_make(Numbers, 16);
	int sum = 0, err = 0;

	cc_nursery_scope(n, &err) {
		cc_spawn(n, produce, .out = numbers.tx, .n = 100);
		for (int v; cc_recv(numbers, &v) == 0;)
			sum += v;
	}
	assert(cc_free(numbers) == 0);
	assert(sum == 5050 && err == 0);
}

/* With deadlines, and without waiting. */
static void do_not_wait_for_ever(void)
{
	Numbers one = cc_chan_make(Numbers, 1);
	int v;

	assert(cc_try_recv(one, &v) == EAGAIN);
	assert(cc_try_send(one, 1) == 0);
	assert(cc_send_within(one, CC_MSEC, 2) == ETIMEDOUT);
	assert(cc_send_until(one, cc_after(CC_MSEC), 2) == ETIMEDOUT);
	assert(cc_recv_within(one, CC_MSEC, &v) == 0 && v == 1);
	assert(cc_recv_until(one, cc_after(CC_MSEC), &v) == ETIMEDOUT);
	assert(cc_free(one) == 0);
}

static void close_both_ends(void)
{
	Numbers lines = cc_chan_make(Numbers, 1), answers = cc_chan_make(Numbers, 1);
	int v;

	assert(cc_close_error(lines.tx, EIO) == 0);	/* why there is no more */
	assert(cc_recv(lines, &v) == EIO);
	assert(cc_close_recv(answers.rx, ENOSPC) == 0);	/* why no more is wanted */
	assert(cc_send(answers, 1) == ENOSPC);
	assert(cc_free(lines) == 0 && cc_free(answers) == 0);
}

/* Declared for a header; defined in one source file. */
cc_task_decl(add, int a; int b; int *sum;);

cc_task_def(add)
{
	*self->sum = self->a + self->b;
	return 0;
}

static void declare_and_define(void)
{
	const CCTaskOptions options = {.name = "adder"};
	int first = 0, second = 0, third = 0, result = 1, err = 0;
	CCTask task;

	cc_nursery_scope(n, &err) {
		cc_spawn_with(n, &options, add, .a = 1, .b = 2, .sum = &first);
		assert(cc_spawn_task(n, &task, add, .a = 3, .b = 4, .sum = &second) == 0);
		assert(cc_task_join(task, CC_FOREVER, &result) == 0 && second == 7);
		assert(cc_spawn_task_with(n, &task, &options, add, .a = 5, .b = 6,
		                          .sum = &third) == 0);
		assert(cc_task_join(task, CC_FOREVER, &result) == 0 && third == 11);
	}
	assert(err == 0 && first == 3);
}

/* Runs beside the others, as long as there are some. */
static cc_task_fn(beat, int *beats;)
{
	while (cc_sleep_ms(1) == 0)
		++*self->beats;
	return 0;
}

static void start_daemons(void)
{
	const CCTaskOptions options = {.name = "beat"};
	int beats = 0, others = 0, err = 0;

	cc_nursery_scope(n, &err) {
		cc_spawn_daemon(n, beat, .beats = &beats);
		cc_spawn_daemon_with(n, &options, beat, .beats = &others);
	}				/* no other children: the daemons are cancelled */
	assert(err == 0);
}

struct square {
	CCTask task;
	int of;
	int *result;
};
cc_chan_type(Squares, struct square);

static cc_task_fn(compute_square, int n; int *result;)
{
	*self->result = self->n * self->n;
	return 0;
}

/* Results in the order of the sends, with what belongs to each. */
static void receive_in_order(void)
{
	Squares squares = cc_chan_make_ordered(Squares, 4);
	int results[4], err = 0;
	struct square s;

	cc_nursery_scope(n, &err) {
		for (int i = 0; i < 3; i++) {
			s = (struct square){.of = i, .result = &results[i]};
			assert(cc_spawn_send(squares, &s, compute_square, .n = i,
			                     .result = &results[i]) == 0);
		}
		s = (struct square){.of = 3, .result = &results[3]};
		assert(cc_spawn_send_until(squares, cc_after(CC_SEC), &s, compute_square, .n = 3,
		                           .result = &results[3]) == 0);
		assert(cc_close(squares) == 0);
		for (int i = 0; cc_recv(squares, &s) == 0; i++) {
			assert(cc_task_join(s.task, CC_FOREVER, NULL) == 0);
			assert(s.of == i && *s.result == i * i);
		}
	}
	assert(err == 0 && cc_free(squares) == 0);
}

/* Cases of cc_select with the types checked. */
static void select_typed(void)
{
	Numbers in = cc_chan_make(Numbers, 1), out = cc_chan_make(Numbers, 1);
	int received = 0, sent = 5;
	CCCase cases[] = {cc_recv_case(in, &received), cc_send_case(out, sent)};
	size_t which;

	assert(cc_select(cases, 2, CC_FOREVER, &which) == 0 && which == 1);
	assert(cc_recv(out, &received) == 0 && received == 5);
	assert(cc_free(in) == 0 && cc_free(out) == 0);
}

/* Adds what comes until both inputs are closed. */
static int add_both(NumbersRx a, NumbersRx b, int *sum)
{
	int n, err = 0;

	while (a.chan != NULL || b.chan != NULL) {
		cc_match(&err) {
		cc_on_recv(a, &n)
			*sum += n;
		cc_on_recv(b, &n)
			*sum += n;
		cc_on_closed(a)
			a.chan = NULL;		/* switches its cases off */
		cc_on_closed(b)
			b.chan = NULL;
		cc_on_timeout(cc_after(10 * CC_SEC))
			return ETIMEDOUT;
		}
		cc_try(err);
	}
	return 0;
}

static void match_two_channels(void)
{
	Numbers a = cc_chan_make(Numbers, 0), b = cc_chan_make(Numbers, 0);
	int sum = 0, err = 0;

	cc_nursery_scope(n, &err) {
		cc_spawn(n, produce, .out = a.tx, .n = 10);
		cc_spawn(n, produce, .out = b.tx, .n = 20);
		assert(add_both(a.rx, b.rx, &sum) == 0);
	}
	assert(err == 0 && sum == 55 + 210);
	assert(cc_free(a) == 0 && cc_free(b) == 0);
}

/* The other cases of a match. */
static void match_other_events(void)
{
	Numbers full = cc_chan_make(Numbers, 1);
	CCToken *stop = cc_token_new();
	int results[2], err = 0, result = 0, line = 1, met = 0;
	CCTask task;

	assert(cc_send(full, 0) == 0);
	cc_nursery_scope(n, &err)
		assert(cc_spawn_task(n, &task, compute_square, .n = 3, .result = results) == 0);
	assert(cc_task_spawn(NULL, &task, NULL, compute_square_task,
	                     &(struct compute_square_captures){2, results}) == 0);
	cc_match(&err) {
	cc_on_send(full, line)
		met = 1;
	cc_on_token(stop)
		met = 2;
	cc_on_task(task, &result)
		met = 3;
	}
	assert(err == 0 && met == 3 && result == 0 && results[0] == 4);
	assert(cc_token_set(stop) == 0);
	cc_match(&err) {
	cc_on_send(full, line)
		met = 1;
	cc_on_token(stop)
		met = 2;
	cc_on_default()
		met = 4;
	}
	assert(err == 0 && met == 2);
	assert(cc_token_free(stop) == 0 && cc_free(full) == 0);
}

/* The first error ends the function; with a label it is undone first. */
static int copy_one(Numbers from, Numbers to)
{
	int v, err;

	cc_try(cc_recv(from, &v));
	cc_try_goto(put_back, err = cc_try_send(to, v));
	return 0;
put_back:
	cc_try(cc_send(from, v));
	return err;
}

static void undo(void)
{
	Numbers from = cc_chan_make(Numbers, 1), to = cc_chan_make(Numbers, 0);

	assert(cc_send(from, 7) == 0);
	assert(copy_one(from, to) == EAGAIN);	/* no receiver waits */
	assert(cc_chan_len(from.chan) == 1);
	assert(cc_free(from) == 0 && cc_free(to) == 0);
}

int main(void)
{
	send_and_receive();
	do_not_wait_for_ever();
	close_both_ends();
	declare_and_define();
	start_daemons();
	receive_in_order();
	select_typed();
	match_two_channels();
	match_other_events();
	undo();
	return 0;
}
