/* select_fd_test.c - descriptors and signals as cases of a select, in fibers and in threads.
 * mutate: src/io/poll_case.c */
#include "hosts.h"

#include <ccc/signal.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include "tasks.h"

/* A select of a descriptor, a channel and a token. */
struct pick {
	int fd;
	unsigned events;
	unsigned ready;
	CCChan *chan;
	CCToken *token;
	cc_time deadline;
	int item;
	size_t which;
	struct sleeper s;
};

static int pick_main(void *arg)
{
	struct pick *p = arg;
	const CCCase cases[] = {cc_case_recv(p->chan, &p->item, sizeof p->item),
	                        cc_case_fd(p->fd, p->events, &p->ready),
	                        cc_case_token(p->token)};

	return cc_select(cases, 3, p->deadline, &p->which);
}

static void pick_begin(struct pick *p, struct host *h, enum kind kind)
{
	p->ready = 0;
	p->which = 77;
	sleeper_start(&p->s, h->rt, kind, pick_main, p);
}

static void pick_sleeps(struct pick *p, struct host *h, enum kind kind)
{
	pick_begin(p, h, kind);
	until_parked(&p->s);
}

static struct pick pick_of(int fd, unsigned events)
{
	return (struct pick){.fd = fd,
	                     .events = events,
	                     .deadline = CC_FOREVER,
	                     .chan = cc_chan_new(sizeof(int), 1),
	                     .token = cc_token_new()};
}

static void pick_end(struct pick *p)
{
	CHECK_EQ(cc_chan_free(p->chan), 0);
	CHECK_EQ(cc_token_free(p->token), 0);
}

TEST(descriptor_that_is_ready_is_chosen_at_once)
{
	struct host h;
	struct pick p;

	host_begin(&h);
	p = pick_of(h.end[0], CC_FD_READ);
	put(h.end[1]);
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		pick_begin(&p, &h, kind);
		CHECK_EQ(sleeper_join(&p.s), 0);
		CHECK_EQ(p.which, 1);
		CHECK_EQ(p.ready, CC_FD_READ);
	}
	pick_end(&p);
	host_end(&h);
}

TEST(descriptor_ends_a_select_and_tells_the_direction)
{
	struct host h;
	struct pick p;
	int end[2];

	host_begin(&h);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, end), 0);
	fill(end[0]);
	p = pick_of(end[0], CC_FD_READ | CC_FD_WRITE);
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		pick_sleeps(&p, &h, kind);
		put(end[1]);
		CHECK_EQ(sleeper_join(&p.s), 0);
		CHECK_EQ(p.which, 1);
		CHECK_EQ(p.ready, CC_FD_READ);
		drain(end[0]);

		pick_sleeps(&p, &h, kind);
		drain(end[1]);
		CHECK_EQ(sleeper_join(&p.s), 0);
		CHECK_EQ(p.ready, CC_FD_WRITE);
		fill(end[0]);
	}
	CHECK_EQ(cc__poll_waiting(h.poll), 0);
	close_both(end);
	pick_end(&p);
	host_end(&h);
}

TEST(other_case_ends_a_select_with_a_descriptor)
{
	struct host h;
	struct pick p;
	int v = 5;

	host_begin(&h);
	p = pick_of(h.end[0], CC_FD_READ);
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		pick_sleeps(&p, &h, kind);
		CHECK_EQ(cc_chan_send(p.chan, &v, sizeof v), 0);
		CHECK_EQ(sleeper_join(&p.s), 0);
		CHECK_EQ(p.which, 0);
		CHECK_EQ(p.item, 5);
		CHECK_EQ(p.ready, 0);
		CHECK_EQ(cc__poll_waiting(h.poll), 0);
	}
	p.deadline = cc_after(2 * CC_MSEC);
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		pick_begin(&p, &h, kind);
		CHECK_EQ(sleeper_join(&p.s), ETIMEDOUT);
		CHECK_EQ(p.which, 3);
	}
	CHECK_EQ(cc__poll_waiting(h.poll), 0);
	p.deadline = CC_FOREVER;
	pick_sleeps(&p, &h, THREAD);
	CHECK_EQ(cc_token_set(p.token), 0);
	CHECK_EQ(sleeper_join(&p.s), 0);
	CHECK_EQ(p.which, 2);
	pick_end(&p);
	host_end(&h);
}

TEST(close_ends_a_select_of_a_fiber_and_of_a_thread)
{
	struct host h;
	struct pick p[KINDS];
	int end[2];

	host_begin(&h);
	new_pipe(end);
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		p[kind] = pick_of(end[0], CC_FD_READ);
		pick_sleeps(&p[kind], &h, kind);
	}
	CHECK_EQ(cc_fd_close(end[0]), 0);
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		CHECK_EQ(sleeper_join(&p[kind].s), EBADF);
		CHECK_EQ(p[kind].which, 1);
		pick_end(&p[kind]);
	}
	close(end[1]);
	host_end(&h);
}

/* More than a batch. */
TEST(every_select_on_a_descriptor_is_woken)
{
	enum { SELECTS = 40 };
	static struct pick p[SELECTS];
	struct host h;

	host_begin(&h);
	for (int i = 0; i < SELECTS; i++) {
		p[i] = pick_of(h.end[0], CC_FD_READ);
		pick_sleeps(&p[i], &h, i % 8 == 7 ? THREAD : FIBER);
	}
	put(h.end[1]);
	for (int i = 0; i < SELECTS; i++) {
		CHECK_EQ(sleeper_join(&p[i].s), 0);
		CHECK_EQ(p[i].which, 1);
		pick_end(&p[i]);
	}
	CHECK_EQ(cc__poll_waiting(h.poll), 0);
	host_end(&h);
}

TEST(select_refuses_what_is_no_event_and_tells_of_what_is_no_descriptor)
{
	unsigned ready = 9;
	size_t which;

	CHECK_EQ(cc_select((CCCase[]){cc_case_fd(0, 0, NULL)}, 1, CC_NOW, NULL), EINVAL);
	CHECK_EQ(cc_select((CCCase[]){cc_case_fd(0, 4, NULL)}, 1, CC_NOW, NULL), EINVAL);
	CHECK_EQ(cc_select((CCCase[]){cc_case_fd(-1, CC_FD_READ, &ready)}, 1, CC_FOREVER, &which),
	         EBADF);
	CHECK_EQ(which, 0);
	CHECK_EQ(cc_select((CCCase[]){cc_case_fd(INT32_MAX, CC_FD_READ, &ready)}, 1, CC_FOREVER,
	                   &which),
	         EBADF);
	CHECK_EQ(ready, 9);
}

TEST(select_that_does_not_wait_asks_the_descriptor)
{
	struct host h;
	CCCase cases[2];
	size_t which;

	host_begin(&h);
	cases[0] = cc_case_fd(h.end[0], CC_FD_READ, NULL);
	cases[1] = cc_case_default();
	CHECK_EQ(cc_select(cases, 2, CC_FOREVER, &which), 0);
	CHECK_EQ(which, 1);
	CHECK_EQ(cc_select(cases, 1, CC_NOW, &which), EAGAIN);
	put(h.end[1]);
	CHECK_EQ(cc_select(cases, 2, CC_FOREVER, &which), 0);
	CHECK_EQ(which, 0);
	host_end(&h);
}

/* ---- the same without a select ---- */

TEST(fd_ready_tells_the_direction)
{
	unsigned ready = 9;
	int end[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, end), 0);
	CHECK_EQ(cc_fd_ready(end[0], CC_FD_READ, &ready, CC_NOW), EAGAIN);
	CHECK_EQ(ready, 9);
	CHECK_EQ(cc_fd_ready(end[0], CC_FD_READ | CC_FD_WRITE, &ready, CC_FOREVER), 0);
	CHECK_EQ(ready, CC_FD_WRITE);
	put(end[1]);
	CHECK_EQ(cc_fd_ready(end[0], CC_FD_READ | CC_FD_WRITE, &ready, CC_FOREVER), 0);
	CHECK_EQ(ready, CC_FD_READ | CC_FD_WRITE);
	CHECK_EQ(cc_fd_ready(end[0], 0, &ready, CC_FOREVER), EINVAL);
	CHECK_EQ(cc_fd_ready(end[0], CC_FD_READ, NULL, CC_FOREVER), EINVAL);
	CHECK_EQ(cc_fd_ready(-1, CC_FD_READ, &ready, CC_FOREVER), EBADF);
	close_both(end);
}

/* ---- signals ---- */

struct signals {
	int fd;
	int which;
	CCChan *chan;
	struct sleeper s;
};

static int match_signal(void *arg)
{
	struct signals *g = arg;
	int v, err;
	cc_chan_type(Ints, int);
	Ints in = {.chan = g->chan};

	cc_match(&err) {
	cc_on_recv(in, &v)
		err = 1000 + v;
	cc_on_signal(g->fd, &g->which)
		err = 2000;
	}
	return err;
}

TEST(signal_is_a_case)
{
	struct signals g = {.chan = cc_chan_new(sizeof(int), 1)};
	struct host h;
	sigset_t set;
	int v = 1;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	CHECK_EQ(cc_signal_open(NULL, &set), EINVAL);
	CHECK_EQ(cc_signal_open(&g.fd, NULL), EINVAL);
	CHECK_EQ(cc_signal_open(&g.fd, &set), 0);
	host_begin(&h);
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		sleeper_start(&g.s, h.rt, kind, match_signal, &g);
		until_parked(&g.s);
		CHECK_EQ(kill(getpid(), SIGUSR2), 0);
		CHECK_EQ(sleeper_join(&g.s), 2000);
		CHECK_EQ(g.which, SIGUSR2);
		CHECK_EQ(cc_signal_wait(&set, CC_NOW, NULL), EAGAIN);	/* it is taken */
		sleeper_start(&g.s, h.rt, kind, match_signal, &g);
		CHECK_EQ(cc_chan_send(g.chan, &v, sizeof v), 0);
		CHECK_EQ(sleeper_join(&g.s), 1001);
	}
	host_end(&h);
	CHECK_EQ(cc_fd_close(g.fd), 0);
	CHECK_EQ(cc_chan_free(g.chan), 0);
}

static int match_fd(void *arg)
{
	const int *end = arg;
	unsigned ready = 0;
	int err, got = 0;

	cc_match(&err) {
	cc_on_fd(end[0], CC_FD_READ, &ready)
		got = 1;
	cc_on_timeout(cc_after(20 * CC_SEC))
		got = 2;
	}
	return err != 0 ? err : got == 1 && ready == CC_FD_READ ? 0 : EIO;
}

TEST(match_has_descriptors)
{
	struct sleeper s;
	struct host h;

	host_begin(&h);
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		sleeper_start(&s, h.rt, kind, match_fd, h.end);
		until_parked(&s);
		put(h.end[1]);
		CHECK_EQ(sleeper_join(&s), 0);
		drain(h.end[0]);
	}
	host_end(&h);
}
