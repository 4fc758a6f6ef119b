/* race.c - ask two services and take the answer that comes first; the other one is cancelled,
 * and has ended before the block does. */
#include <errno.h>
#include <stdio.h>

#include <ccc/ccc.h>

cc_chan_type(Answers, const char *);

static cc_task_fn(ask, const char *service; cc_time takes; AnswersTx out; const char **gave_up;)
{
	int err = cc_sleep_until(cc_after(self->takes));

	if (err == 0)
		return cc_send(self->out, self->service);
	*self->gave_up = self->service;
	return err;
}

int main(void)
{
	const CCNurseryOptions race = {.policy = CC_NURSERY_FIRST_SUCCESS};
	Answers answers = cc_chan_make(Answers, 2);
	const char *first = "nobody", *gave_up = "nobody";
	int err = 0;

	cc_nursery_scope_with(n, &err, &race) {
		cc_spawn(n, ask, .service = "tortoise", .takes = 3600 * CC_SEC, .out = answers.tx,
		         .gave_up = &gave_up);
		cc_spawn(n, ask, .service = "hare", .takes = CC_MSEC, .out = answers.tx,
		         .gave_up = &gave_up);
	}
	if (err == 0)
		err = cc_recv(answers, &first);
	printf("%s answered, %s gave up\n", first, gave_up);
	cc_free(answers);
	return err;
}
