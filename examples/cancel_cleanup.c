/* cancel_cleanup.c - who is cancelled leaves by way of its clean-up; what that has to wait for
 * is behind a shield, with a deadline of its own. */
#include <errno.h>
#include <stdio.h>

#include <ccc/ccc.h>

cc_chan_type(Log, const char *);

/* Holds something that must be given back, and waits for what never comes. */
static cc_task_fn(serve, CCToken *stop; LogTx log;)
{
	int err;

	cc_try(cc_send(self->log, "connected"));
	cc_try_goto(disconnect, err = cc_token_wait(self->stop, CC_FOREVER));
	err = cc_send(self->log, "stopped");
disconnect:
	cc_shield_scope(cc_after(10 * CC_SEC))
		if (cc_send(self->log, "disconnected") != 0)
			puts("no time left to say goodbye");
	return err;
}

static cc_task_fn(write_log, LogRx log; CCToken * connected;)
{
	const char *line;

	for (int lines = 0; lines < 2; lines++) {
		int err = 0;

		/* It has to see the other one through. */
		cc_shield_scope(cc_after(10 * CC_SEC))
			err = cc_recv(self->log, &line);
		cc_try(err);
		puts(line);
		cc_token_set(self->connected);
	}
	return 0;
}

int main(void)
{
	CCToken *stop = cc_token_new(), *connected = cc_token_new();
	Log log = cc_chan_make(Log, 0);
	int err = 0;

	cc_nursery_scope(n, &err) {
		cc_spawn(n, write_log, .log = log.rx, .connected = connected);
		cc_spawn(n, serve, .stop = stop, .log = log.tx);
		if (cc_token_wait(connected, CC_FOREVER) == 0)
			cc_nursery_cancel(n, 0);
	}
	puts(err == ECANCELED ? "cancelled" : "not cancelled");
	cc_free(log);
	cc_token_free(stop);
	cc_token_free(connected);
	return 0;
}
