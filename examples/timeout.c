/* timeout.c - a deadline for everything in a block, and one for a single call. */
#include <errno.h>
#include <stdio.h>

#include <ccc/ccc.h>

cc_chan_type(Answers, int);

static const char *told(int err)
{
	return err == ETIMEDOUT ? "too late" : "something else";
}

/* Nobody ever asks it. */
static cc_task_fn(wait_for_answer, AnswersRx answers;)
{
	int answer;

	return cc_recv(self->answers, &answer);
}

int main(void)
{
	Answers answers = cc_chan_make(Answers, 0);
	const CCNurseryOptions soon = {.deadline = cc_after(10 * CC_MSEC)};
	int err, answer;

	err = cc_recv_within(answers, 5 * CC_MSEC, &answer);
	printf("one call: %s\n", told(err));
	cc_nursery_scope_with(n, NULL, &soon) {
		cc_spawn(n, wait_for_answer, .answers = answers.rx);
		cc_spawn(n, wait_for_answer, .answers = answers.rx);
		err = cc_recv(answers, &answer);
	}
	printf("the block: %s; its children have ended\n", told(err));
	cc_free(answers);
	return err == ETIMEDOUT ? 0 : 1;
}
