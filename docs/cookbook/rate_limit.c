/* At most so many calls in a second: a daemon puts tokens into a channel, and calls take them. */
#include <assert.h>

#include <ccc/ccc.h>

cc_chan_type(Tokens, char);

/* Adds a token from time to time.  A full channel has as many as may be used at once. */
static cc_task_fn(refill, TokensTx tokens; cc_time every;)
{
	cc_time next = cc_now();
	int err;

	while ((err = cc_sleep_until(next += self->every)) == 0)
		cc_ignore(cc_try_send(self->tokens, 0));
	return err;
}

static cc_task_fn(make_calls, TokensRx tokens; int calls;)
{
	char token;

	for (int i = 0; i < self->calls; i++)
		cc_try(cc_recv(self->tokens, &token));	/* ... then call */
	return 0;
}

int main(void)
{
	Tokens tokens = cc_chan_make(Tokens, 2);
	const cc_time begin = cc_now();
	int err = 0;

	assert(cc_send(tokens, 0) == 0 && cc_send(tokens, 0) == 0);
	cc_nursery_scope(n, &err) {
		cc_spawn_daemon(n, refill, .tokens = tokens.tx, .every = 10 * CC_MSEC);
		cc_spawn(n, make_calls, .tokens = tokens.rx, .calls = 6);
	}
	/* Two at once, and four that waited for 10 ms each. */
	assert(err == 0 && cc_now() - begin >= 40 * CC_MSEC);
	cc_free(tokens);
	return 0;
}
