/* scenarios.c NAME: runs one scenario of tools/walk three times on one worker and prints, for each
 * function that the library enters during the third, its address and that of the call, a pair a
 * line.
 *
 * What is recorded is the act itself.  The fiber that starts a scenario and joins it sleeps in the
 * join meanwhile, and that is not recorded: a join with a deadline would add the timers to an
 * element that goes through a channel. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ccc/ccc.h>

enum { CALLS = 100000, ROUNDS = 3 };

#define QUIET __attribute__((no_instrument_function))

static struct {
	void *function, *from;
} entered[CALLS];
static unsigned count;
static volatile bool recording;
static unsigned round_number;

void __cyg_profile_func_enter(void *function, void *caller) QUIET;
void __cyg_profile_func_exit(void *function, void *caller) QUIET;

void __cyg_profile_func_enter(void *function, void *caller)
{
	if (recording && count < CALLS) {
		entered[count].function = function;
		entered[count++].from = caller;
	}
}

void __cyg_profile_func_exit(void *function, void *caller)
{
	(void)function, (void)caller;
}

QUIET static void begin(void)
{
	recording = round_number == ROUNDS - 1;
}

QUIET static void end(void)
{
	recording = false;
}

QUIET static void must(int err)
{
	if (err != 0) {
		fprintf(stderr, "scenarios: %s\n", strerror(err));
		exit(1);
	}
}

/* ---- the scenarios ---- */

QUIET static int nothing(void *arg)
{
	(void)arg;
	return 0;
}

QUIET static int spawn_join(void *arg)
{
	const cc_time deadline = cc_after(10 * CC_SEC);
	CCTask t;

	(void)arg;
	begin();
	must(cc_task_spawn(NULL, &t, NULL, nothing, NULL));
	must(cc_task_join(t, deadline, NULL));
	end();
	return 0;
}

QUIET static int receive(void *arg)
{
	int item;

	begin();
	must(cc_chan_recv(arg, &item, sizeof item));
	end();
	return 0;
}

/* The receiver parks first, then the element is sent, and the receiver runs when the sender
 * yields. */
QUIET static int through(size_t capacity)
{
	CCChan *chan = cc_chan_new(sizeof(int), capacity);
	const int item = 1;
	CCTask t;

	must(cc_task_spawn(NULL, &t, NULL, receive, chan));
	(void)cc_yield();
	must(cc_chan_send(chan, &item, sizeof item));
	(void)cc_yield();
	must(cc_task_join(t, cc_after(10 * CC_SEC), NULL));
	cc_chan_free(chan);
	return 0;
}

QUIET static int buffered(void *arg)
{
	(void)arg;
	return through(16);
}

QUIET static int rendezvous(void *arg)
{
	(void)arg;
	return through(0);
}

QUIET static int sleeping(void *arg)
{
	const cc_time deadline = cc_after(5 * CC_MSEC);

	(void)arg;
	begin();
	must(cc_sleep_until(deadline));
	end();
	return 0;
}

QUIET static int wait_readable(void *arg)
{
	const int *ends = arg;

	(void)cc_yield();
	if (write(ends[1], "", 1) != 1)
		return 1;
	begin();
	must(cc_wait_fd(ends[0], CC_FD_READ, CC_FOREVER));
	end();
	return 0;
}

/* The byte is there before the wait.  The wait does not look for it: the worker finds it in the
 * kernel, when it has nothing else to run. */
QUIET static int descriptor(void *arg)
{
	int ends[2];
	CCTask t;

	(void)arg;
	if (pipe(ends) != 0)
		return 1;
	must(cc_task_spawn(NULL, &t, NULL, wait_readable, ends));
	(void)cc_yield();
	must(cc_task_join(t, CC_FOREVER, NULL));
	(void)cc_fd_close(ends[0]);
	close(ends[1]);
	return 0;
}

QUIET static int receive_nothing(void *arg)
{
	int item;

	return cc_chan_recv(arg, &item, sizeof item);
}

QUIET static int cancel_join(void *arg)
{
	CCChan *chan = cc_chan_new(sizeof(int), 16);
	CCNursery n;

	(void)arg;
	must(cc_nursery_init(&n, NULL));
	must(cc_nursery_spawn(&n, NULL, receive_nothing, chan));
	(void)cc_yield();
	begin();
	must(cc_nursery_cancel(&n, 0));
	(void)!cc_nursery_join(&n);
	end();
	cc_chan_free(chan);
	return 0;
}

static const struct {
	const char *name;
	cc_task_main *main;
} scenarios[] = {
    {"spawn_join", spawn_join}, {"buffered", buffered},     {"rendezvous", rendezvous},
    {"sleep", sleeping},        {"descriptor", descriptor}, {"cancel_join", cancel_join},
};

QUIET static int find(const char *name)
{
	for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
		if (strcmp(scenarios[i].name, name) == 0)
			return (int)i;
	return -1;
}

QUIET int main(int argc, char **argv)
{
	const int which = argc == 2 ? find(argv[1]) : -1;

	if (which < 0)
		return 2;
	for (; round_number < ROUNDS; round_number++) {
		CCTask t;

		must(cc_task_spawn(NULL, &t, NULL, scenarios[which].main, NULL));
		must(cc_task_join(t, cc_after(10 * CC_SEC), NULL));
	}
	for (unsigned i = 0; i < count; i++)
		printf("%p %p\n", entered[i].function, entered[i].from);
	return 0;
}
