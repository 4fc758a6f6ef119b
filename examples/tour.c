/* tour.c - what libccc does today, in the order a newcomer would ask.
 *
 * Run it with `make run`.  It ends with a small table of figures, measured here
 * and now; bench/ has the careful ones. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ccc/ccc.h>

static void must(int err, const char *what)
{
	if (err == 0)
		return;
	fprintf(stderr, "tour: %s: %s\n", what, strerror(err));
	exit(1);
}

/* ---- 1. a task, and its result ---- */

static int add(void *arg)
{
	const int *pair = arg;

	return pair[0] + pair[1];
}

static void spawn_and_join(void)
{
	int pair[2] = {40, 2}, sum;
	CCTask task;

	must(cc_task_spawn(NULL, &task, NULL, add, pair), "spawn");
	must(cc_task_join(task, CC_FOREVER, &sum), "join");
	printf("1. a task ran and returned %d\n", sum);
	printf("   joining it once more: %s\n", strerror(cc_task_join(task, CC_FOREVER, &sum)));
}

/* ---- 2. fibers take turns ---- */

struct player {
	CCChan *mine, *theirs;	/* whose element says that it is this player's turn */
};

static int count_to_three(void *arg)
{
	const struct player *me = arg;
	char name[16], turn;

	cc_fiber_name(name);
	for (int i = 1; i <= 3; i++) {
		must(cc_chan_recv(me->mine, &turn, sizeof turn), "receive");
		printf(" %s%d", name, i);
		must(cc_chan_send(me->theirs, &turn, sizeof turn), "send");
	}
	return 0;
}

static int take_turns(void *arg)
{
	CCChan *to_a = cc_chan_new(1, 1), *to_b = cc_chan_new(1, 1);
	struct player first = {to_a, to_b}, second = {to_b, to_a};
	CCTask a, b;

	(void)arg;
	must(cc_task_spawn(NULL, &a, &(CCTaskOptions){.name = "a"}, count_to_three, &first), "spawn");
	must(cc_task_spawn(NULL, &b, &(CCTaskOptions){.name = "b"}, count_to_three, &second), "spawn");
	must(cc_chan_send(to_a, "", 1), "send");	/* a begins */
	must(cc_task_join(a, CC_FOREVER, NULL), "join");
	must(cc_task_join(b, CC_FOREVER, NULL), "join");
	must(cc_chan_free(to_a), "free");
	must(cc_chan_free(to_b), "free");
	return 0;
}

/* Runs main(arg) as a fiber and waits for it. */
static int run(cc_task_main *main, void *arg)
{
	CCTask task;
	int result;

	must(cc_task_spawn(NULL, &task, NULL, main, arg), "spawn");
	must(cc_task_join(task, CC_FOREVER, &result), "join");
	return result;
}

/* ---- 3. time ---- */

static int nap(void *arg)
{
	return cc_sleep_until(cc_now() + *(cc_time *)arg);
}

static void deadlines(void)
{
	cc_time long_nap = 20 * CC_MSEC, begin = cc_now();
	CCTask task;

	must(cc_task_spawn(NULL, &task, NULL, nap, &long_nap), "spawn");
	printf("3. joining a sleeper for 1 ms: %s\n",
	       strerror(cc_task_join(task, cc_now() + CC_MSEC, NULL)));
	must(cc_task_join(task, CC_FOREVER, NULL), "join");
	printf("   joining it for good: after %.1f ms\n", (double)(cc_now() - begin) / 1e6);
}

/* ---- 4. who is there ---- */

static int print_fiber(const CCFiberInfo *f, void *arg)
{
	static const char *const state[] = {"queued", "running", "parked", "done"};

	(void)arg;
	printf("   fiber %llu '%s' is %s\n", (unsigned long long)f->id, f->name, state[f->state]);
	return 0;
}

static int look_around(void *arg)
{
	cc_time forty = 40 * CC_MSEC;
	CCTask task;

	(void)arg;
	must(cc_task_spawn(NULL, &task, &(CCTaskOptions){.name = "sleeper"}, nap, &forty), "spawn");
	cc_yield();
	printf("4. all fibers there are:\n");
	cc_fiber_each(print_fiber, NULL);
	must(cc_task_join(task, CC_FOREVER, NULL), "join");
	return 0;
}

/* ---- 5. channels ---- */

static int send_squares(void *squares)
{
	for (int i = 1; i <= 5; i++) {
		const int square = i * i;

		must(cc_chan_send(squares, &square, sizeof square), "send");
	}
	return cc_chan_close(squares);
}

static void receive_from_either(void)
{
	CCChan *squares = cc_chan_new(sizeof(int), 0), *silent = cc_chan_new(sizeof(int), 0);
	int n;
	CCCase cases[] = {cc_case_recv(squares, &n, sizeof n), cc_case_recv(silent, &n, sizeof n)};
	size_t which;

	must(cc_task_spawn(NULL, NULL, NULL, send_squares, squares), "spawn");
	printf("5. a select over two channels received");
	while (cc_select(cases, 2, CC_FOREVER, &which) == 0)
		printf(" %d", n);
	printf(", and then that number %zu is closed\n", which);
	must(cc_chan_free(squares), "free");
	must(cc_chan_free(silent), "free");
}

/* ---- 6. a nursery, and its cancellation ---- */

static cc_task_fn(wait_for_ever, CCToken *never; CCToken *there; int number;)
{
	int err;

	cc_token_set(self->there);
	err = cc_token_wait(self->never, CC_FOREVER);
	printf("   child %d: %s\n", self->number, strerror(err));
	return err;
}

static void cancel_children(void)
{
	CCToken *never = cc_token_new(), *there = cc_token_new();
	int err = 0;

	puts("6. a nursery whose children wait for what never comes is cancelled:");
	cc_nursery_scope(n, &err) {
		must(cc_spawn(n, wait_for_ever, .never = never, .there = there, .number = 1), "spawn");
		must(cc_token_wait(there, CC_FOREVER), "token");
		must(cc_nursery_cancel(n, 0), "cancel");
	}
	printf("   they have ended, and the block returns: %s\n", strerror(err));
	must(cc_token_free(never), "free");
	must(cc_token_free(there), "free");
}

/* ---- 7. figures ---- */

enum { YIELDS = 1000000, SPAWNS = 200000, SENDS = 1000000 };

static int send_often(void *numbers)
{
	for (int i = 0; i < SENDS; i++)
		must(cc_chan_send(numbers, &i, sizeof i), "send");
	return cc_chan_close(numbers);
}

static int send_and_receive(void *arg)
{
	CCChan *numbers = cc_chan_new(sizeof(int), 64);
	int n;

	(void)arg;
	must(cc_task_spawn(NULL, NULL, NULL, send_often, numbers), "spawn");
	while (cc_chan_recv(numbers, &n, sizeof n) == 0)
		continue;
	return cc_chan_free(numbers);
}

static int yield_often(void *arg)
{
	(void)arg;
	for (int i = 0; i < YIELDS / 2; i++)
		cc_yield();
	return 0;
}

static int yield_pair(void *arg)
{
	CCTask a, b;

	must(cc_task_spawn(NULL, &a, NULL, yield_often, arg), "spawn");
	must(cc_task_spawn(NULL, &b, NULL, yield_often, arg), "spawn");
	must(cc_task_join(a, CC_FOREVER, NULL), "join");
	must(cc_task_join(b, CC_FOREVER, NULL), "join");
	return 0;
}

static int nothing(void *arg)
{
	(void)arg;
	return 0;
}

static int spawn_often(void *arg)
{
	(void)arg;
	for (int i = 0; i < SPAWNS; i++)
		run(nothing, NULL);
	return 0;
}

static double nanoseconds_each(cc_task_main *main, int count)
{
	cc_time begin = cc_now();

	run(main, NULL);
	return (double)(cc_now() - begin) / count;
}

int main(void)
{
	spawn_and_join();
	printf("2. two fibers take turns:");
	fflush(stdout);
	run(take_turns, NULL);
	putchar('\n');
	deadlines();
	run(look_around, NULL);
	receive_from_either();
	cancel_children();
	puts("7. figures of this machine, this minute");
	printf("   %-28s %8.1f ns\n", "yield between two fibers",
	       nanoseconds_each(yield_pair, YIELDS));
	printf("   %-28s %8.1f ns\n", "spawn a task and join it",
	       nanoseconds_each(spawn_often, SPAWNS));
	printf("   %-28s %8.1f ns\n", "pass a number on",
	       nanoseconds_each(send_and_receive, SENDS));
	must(cc_shutdown(), "shutdown");
	return 0;
}
