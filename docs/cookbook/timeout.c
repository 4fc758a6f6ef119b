/* Limits of time: for one wait, for a group of tasks, and for the faster of two. */
#include <assert.h>

#include <ccc/ccc.h>

cc_chan_type(Answers, int);

static cc_task_fn(ask, AnswersTx out; int ms; int answer;)
{
	cc_try(cc_sleep_ms(self->ms));
	return cc_send(self->out, self->answer);
}

/* One wait: every call that can wait takes a deadline. */
static void limit_one_wait(void)
{
	Answers answers = cc_chan_make(Answers, 1);
	int answer;

	assert(cc_recv_within(answers, 5 * CC_MSEC, &answer) == ETIMEDOUT);
	cc_free(answers);
}

/* All that a block does, and all its tasks: the deadline of the nursery. */
static void limit_a_group(void)
{
	Answers answers = cc_chan_make(Answers, 1);
	int answer, err = 0;

	cc_nursery_scope(n, &err) {
		assert(cc_nursery_deadline(n, cc_after(5 * CC_MSEC)) == 0);
		cc_spawn(n, ask, .out = answers.tx, .ms = 3600000, .answer = 1);
		assert(cc_recv(answers, &answer) == ETIMEDOUT);
	}
	assert(err == ETIMEDOUT);
	cc_free(answers);
}

/* Of two services the first that answers; the other one is cancelled. */
static void take_the_first(void)
{
	Answers answers = cc_chan_make(Answers, 2);
	int answer = 0, err = 0;

	cc_nursery_scope(n, &err) {
		cc_spawn(n, ask, .out = answers.tx, .ms = 1, .answer = 1);
		cc_spawn(n, ask, .out = answers.tx, .ms = 3600000, .answer = 2);
		assert(cc_recv(answers, &answer) == 0);
		cc_nursery_cancel(n, 0);
	}
	assert(answer == 1 && err == ECANCELED);
	cc_free(answers);
}

int main(void)
{
	limit_one_wait();
	limit_a_group();
	take_the_first();
	return 0;
}
