/* processes.c - programs that run at once, and an end for the one that takes too long. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include <ccc/ccc.h>

struct command {
	char *text;	/* for sh */
	cc_time span;	/* the most it may take */
	char result[32];
};

/* A process that has not ended in time, or whose nursery is cancelled, is told to end, and
 * waited for under a shield: there neither a deadline nor cancellation ends the wait. */
static cc_task_fn(run, struct command *c;)
{
	struct command *c = self->c;
	const CCProcessOptions quiet = {.in = CC_PROCESS_NULL, .err = CC_PROCESS_NULL};
	CCProcess *p;
	int status = 0;

	cc_try(cc_process_spawn(&p, &quiet, (char *[]){"sh", "-c", c->text, NULL}));
	if (cc_process_wait(p, cc_after(c->span), &status) != 0)
		cc_shield_scope(CC_FOREVER) {
			cc_try(cc_process_kill(p, SIGTERM));
			cc_try(cc_process_wait(p, CC_FOREVER, &status));
		}
	if (WIFSIGNALED(status))
		snprintf(c->result, sizeof c->result, "killed by %d", WTERMSIG(status));
	else
		snprintf(c->result, sizeof c->result, "exits with %d", WEXITSTATUS(status));
	return cc_process_free(p);
}

int main(void)
{
	struct command commands[] = {
	    {"true", CC_FOREVER, ""}, {"exit 3", CC_FOREVER, ""}, {"exec sleep 1000", CC_MSEC, ""}};
	int err = 0;

	cc_nursery_scope(n, &err)
		for (int i = 0; i < 3; i++)
			cc_spawn(n, run, .c = &commands[i]);
	for (int i = 0; i < 3; i++)
		printf("%s: %s\n", commands[i].text, commands[i].result);
	return err;
}
