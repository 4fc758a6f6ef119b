/* signal_wait_test.c - waiting for signals, and nurseries that end with one. */
#include "hosts.h"

#include <ccc/signal.h>

#include <signal.h>

#include "tasks.h"

/* The runner's other threads, if there are any, inherit the mask of main. */
static sigset_t block_two(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	return set;
}

TEST(pending_signal_is_taken_without_a_wait)
{
	const sigset_t set = block_two();
	int which = 0;

	CHECK_EQ(cc_signal_wait(&set, CC_NOW, &which), EAGAIN);
	CHECK_EQ(which, 0);
	CHECK_EQ(kill(getpid(), SIGUSR2), 0);
	CHECK_EQ(cc_signal_wait(&set, CC_NOW, &which), 0);
	CHECK_EQ(which, SIGUSR2);
	CHECK_EQ(cc_signal_wait(&set, CC_NOW, NULL), EAGAIN);	/* once */
	CHECK_EQ(cc_signal_wait(&set, cc_after(2 * CC_MSEC), NULL), ETIMEDOUT);
	CHECK_EQ(cc_signal_wait(NULL, CC_NOW, NULL), EINVAL);
}

struct signal_wait {
	sigset_t set;
	int which;
	struct sleeper s;
};

static int wait_signal(void *arg)
{
	struct signal_wait *w = arg;

	return cc_signal_wait(&w->set, CC_FOREVER, &w->which);
}

TEST(signal_wakes_a_fiber_and_a_thread)
{
	struct signal_wait w = {.set = block_two()};
	struct host h;

	host_begin(&h);
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		sleeper_start(&w.s, h.rt, kind, wait_signal, &w);
		if (kind == FIBER)
			until_parked(&w.s);
		CHECK_EQ(kill(getpid(), SIGUSR1), 0);
		CHECK_EQ(sleeper_join(&w.s), 0);
		CHECK_EQ(w.which, SIGUSR1);
	}
	host_end(&h);
}

static int sleep_for_ever(void *arg)
{
	CHECK_EQ(cc_sleep_until(CC_FOREVER), ECANCELED);
	CHECK_EQ(cc_cancel_reason(), EINTR);
	(void)arg;
	return ECANCELED;
}

TEST(signal_cancels_the_nursery_with_eintr)
{
	sigset_t mask;
	int err = 0;

	cc_nursery_scope(n, &err) {
		CHECK_EQ(cc_nursery_cancel_on(n, SIGALRM), 0);
		pthread_sigmask(SIG_BLOCK, NULL, &mask);
		CHECK_EQ(sigismember(&mask, SIGALRM), 1);	/* or it would end the program */
		CHECK_EQ(cc_nursery_spawn(n, NULL, sleep_for_ever, NULL), 0);
		CHECK_EQ(kill(getpid(), SIGALRM), 0);
	}
	CHECK_EQ(err, EINTR);
}

TEST(nursery_whose_signal_does_not_come_ends_as_usual)
{
	int err = 1;

	cc_nursery_scope(n, &err) {
		CHECK_EQ(cc_nursery_cancel_on(n, SIGALRM), 0);
		CHECK_EQ(cc_nursery_cancel_on(n, 12345), EINVAL);
		CHECK_EQ(cc_nursery_spawn(n, NULL, nothing, NULL), 0);
	}
	CHECK_EQ(err, 0);
}
