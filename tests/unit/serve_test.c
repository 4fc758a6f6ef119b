/* serve_test.c - the accept loop: limits, errors of one connection, and the stop.
 * link-wrap: accept4 */
#include <ccc/serve.h>

#include <string.h>
#include <sys/socket.h>

#include "hosts.h"
#include "tasks.h"

/* ---- a system without descriptors ---- */

static cc__a32 accept_shortages;	/* so many calls more find none */

int __real_accept4(int fd, struct sockaddr *from, socklen_t *size, int flags);
int __wrap_accept4(int fd, struct sockaddr *from, socklen_t *size, int flags);

int __wrap_accept4(int fd, struct sockaddr *from, socklen_t *size, int flags)
{
	if (cc__load(&accept_shortages, CC__ACQUIRE) == 0)
		return __real_accept4(fd, from, size, flags);
	cc__sub(&accept_shortages, 1, CC__RELEASE);
	errno = EMFILE;
	return -1;
}

/* ---- a server of lines ---- */

struct app {
	int listener;
	char address[CC_NET_ADDRESS_SIZE];
	CCServeOptions options;
	cc__a32 begun, done, together, most, last_error;
	struct gate gate;		/* "wait" waits here */
	CCNursery nursery;		/* around cc_serve */
	cc__a32 opened;
	struct sleeper s;
};

static void app_ended(void *user, int result)
{
	struct app *a = user;

	cc__store(&a->last_error, (uint32_t)result, CC__RELAXED);
	cc__sub(&a->together, 1, CC__RELAXED);
	cc__add(&a->done, 1, CC__RELEASE);
}

static void count_begun(struct app *a)
{
	const uint32_t now = cc__add(&a->together, 1, CC__RELAXED) + 1;

	cc__add(&a->begun, 1, CC__RELEASE);
	if (now > cc__load(&a->most, CC__RELAXED))
		cc__store(&a->most, now, CC__RELAXED);
}

static int answer(CCStream *stream, struct app *a, const char *line, size_t n)
{
	if (strcmp(line, "fail") == 0)
		return EILSEQ;
	if (strcmp(line, "wait") == 0)
		wait_at(&a->gate);
	if (strcmp(line, "sleep") == 0)
		return cc_sleep_until(CC_FOREVER);
	cc_try(cc_stream_write(stream, line, n, NULL, CC_FOREVER));
	return cc_stream_write(stream, "\n", 1, NULL, CC_FOREVER);
}

static cc_serve_fn(talk, struct app *a)
{
	char line[64];
	size_t n;
	int err = 0;

	count_begun(a);
	while (err == 0 && (err = cc_serve_next(stream, CC_FOREVER)) == 0)
		if ((err = cc_stream_read_line(stream, line, sizeof line, &n, CC_FOREVER)) == 0)
			err = answer(stream, a, line, n);
	return err;
}

static int run_app(void *arg)
{
	struct app *a = arg;
	int err;

	CHECK_EQ(cc_nursery_init(&a->nursery, NULL), 0);
	cc__store(&a->opened, 1, CC__RELEASE);
	err = cc_serve_on(a->listener, talk, a, &a->options);
	CHECK_EQ(cc_nursery_join(&a->nursery), 0);
	return err;
}

static void app_begin(struct app *a, struct host *h, enum kind kind)
{
	CHECK_EQ(cc_net_listen(&a->listener, "127.0.0.1:0", NULL), 0);
	CHECK_EQ(cc_net_local_address(a->listener, a->address, sizeof a->address), 0);
	a->options.ended = app_ended;
	sleeper_start(&a->s, h->rt, kind, run_app, a);
	TEST_UNTIL(cc__load(&a->opened, CC__ACQUIRE) != 0);
}

static int app_stop(struct app *a)
{
	int err;

	CHECK_EQ(cc_nursery_cancel(&a->nursery, 0), 0);
	err = sleeper_join(&a->s);
	CHECK_EQ(cc__load(&a->together, CC__RELAXED), 0);
	CHECK_EQ(cc_fd_close(a->listener), 0);
	return err;
}

static CCStream *dial(const struct app *a)
{
	CCStream *s = NULL;
	int fd = -1;

	CHECK_EQ(cc_net_dial(&fd, a->address, NULL, cc_after(5 * CC_SEC)), 0);
	CHECK_EQ(cc_stream_open(&s, fd), 0);
	return s;
}

static void tell(CCStream *s, const char *text)
{
	CHECK_EQ(cc_stream_write(s, text, strlen(text), NULL, CC_FOREVER), 0);
	CHECK_EQ(cc_stream_flush(s, CC_FOREVER), 0);
}

static void hear(CCStream *s, const char *expected)
{
	char line[64] = "";

	CHECK_EQ(cc_stream_read_line(s, line, sizeof line, NULL, cc_after(20 * CC_SEC)), 0);
	CHECK_STR(line, expected);
}

/* EPIPE, or ECONNRESET if the server had not read all. */
static void hear_the_end(CCStream *s)
{
	char c;
	const int err = cc_stream_read(s, &c, 1, NULL, cc_after(20 * CC_SEC));

	CHECK(err == EPIPE || err == ECONNRESET);
}

static void hang_up(CCStream *s)
{
	CHECK_EQ(cc_stream_close(s, CC_NOW), 0);
}

/* ---- tests ---- */

TEST(each_connection_is_served_by_fiber_and_thread)
{
	struct host h;

	host_begin(&h);
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		struct app a = {0};
		CCStream *c[5];

		app_begin(&a, &h, kind);
		for (int i = 0; i < 5; i++)
			tell(c[i] = dial(&a), "one\ntwo\n");
		for (int i = 4; i >= 0; i--) {
			hear(c[i], "one");
			hear(c[i], "two");
			hang_up(c[i]);
		}
		TEST_UNTIL(cc__load(&a.done, CC__ACQUIRE) == 5);
		CHECK_EQ(cc__load(&a.last_error, CC__RELAXED), EPIPE);
		CHECK_EQ(app_stop(&a), ECANCELED);
	}
	host_end(&h);
}

TEST(error_of_one_connection_does_not_end_the_others)
{
	struct app a = {0};
	CCStream *good, *bad;
	struct host h;

	host_begin(&h);
	app_begin(&a, &h, FIBER);
	good = dial(&a);
	bad = dial(&a);
	tell(bad, "fail\n");
	hear_the_end(bad);
	TEST_UNTIL(cc__load(&a.done, CC__ACQUIRE) == 1);
	CHECK_EQ(cc__load(&a.last_error, CC__RELAXED), EILSEQ);
	tell(good, "still there\n");
	hear(good, "still there");
	hang_up(good);
	hang_up(bad);
	CHECK_EQ(app_stop(&a), ECANCELED);
	host_end(&h);
}

TEST(connections_are_limited)
{
	struct app a = {.options = {.connections = 2}};
	CCStream *c[6];
	struct host h;

	host_begin(&h);
	app_begin(&a, &h, FIBER);
	for (int i = 0; i < 6; i++)
		tell(c[i] = dial(&a), "here\n");
	hear(c[0], "here");
	hear(c[1], "here");
	CHECK_EQ(cc__load(&a.begun, CC__ACQUIRE), 2);
	for (int i = 2; i < 6; i++) {
		hang_up(c[i - 2]);
		hear(c[i], "here");
	}
	CHECK_EQ(cc__load(&a.most, CC__RELAXED), 2);
	hang_up(c[4]);
	hang_up(c[5]);
	CHECK_EQ(app_stop(&a), ECANCELED);
	host_end(&h);
}

TEST(shortage_of_descriptors_does_not_end_the_server)
{
	struct app a = {0};
	CCStream *c;
	struct host h;

	host_begin(&h);
	cc__store(&accept_shortages, 5, CC__RELEASE);
	app_begin(&a, &h, FIBER);
	tell(c = dial(&a), "at last\n");
	hear(c, "at last");
	CHECK_EQ(cc__load(&accept_shortages, CC__RELAXED), 0);
	hang_up(c);
	CHECK_EQ(app_stop(&a), ECANCELED);
	host_end(&h);
}

TEST(silent_connection_ends_at_the_idle_limit)
{
	struct app a = {.options = {.idle = 2 * CC_MSEC}};
	CCStream *c;
	struct host h;

	host_begin(&h);
	app_begin(&a, &h, FIBER);
	c = dial(&a);
	hear_the_end(c);
	TEST_UNTIL(cc__load(&a.done, CC__ACQUIRE) == 1);
	CHECK_EQ(cc__load(&a.last_error, CC__RELAXED), ETIMEDOUT);
	hang_up(c);
	CHECK_EQ(app_stop(&a), ECANCELED);
	host_end(&h);
}

TEST(next_ends_with_the_connections_time)
{
	struct app a = {.options = {.total = 3 * CC_MSEC}};
	CCStream *c;
	struct host h;

	host_begin(&h);
	app_begin(&a, &h, FIBER);
	c = dial(&a);
	hear_the_end(c);
	TEST_UNTIL(cc__load(&a.done, CC__ACQUIRE) == 1);
	CHECK_EQ(cc__load(&a.last_error, CC__RELAXED), ETIMEDOUT);
	hang_up(c);
	CHECK_EQ(app_stop(&a), ECANCELED);
	host_end(&h);
}

/* ---- the stop ---- */

TEST(stop_ends_idle_connections_and_answers_what_has_begun)
{
	struct app a = {.options = {.grace = 3600 * CC_SEC}};
	CCStream *idle, *busy;
	struct host h;

	host_begin(&h);
	app_begin(&a, &h, FIBER);
	idle = dial(&a);
	tell(idle, "x\n");
	hear(idle, "x");
	busy = dial(&a);
	tell(busy, "wait\n");
	TEST_UNTIL(cc__load(&a.gate.arrived, CC__ACQUIRE) == 1);
	CHECK_EQ(cc_nursery_cancel(&a.nursery, 0), 0);
	hear_the_end(idle);
	TEST_UNTIL(cc__load(&a.done, CC__ACQUIRE) == 1);
	CHECK_EQ(cc__load(&a.last_error, CC__RELAXED), ECANCELED);
	cc__store(&a.gate.open, 1, CC__RELEASE);
	hear(busy, "wait");
	hear_the_end(busy);
	CHECK_EQ(sleeper_join(&a.s), ECANCELED);
	CHECK_EQ(cc_fd_close(a.listener), 0);
	hang_up(idle);
	hang_up(busy);
	host_end(&h);
}

TEST(grace_period_ends_handlers_that_wait)
{
	struct host h;

	host_begin(&h);
	for (int i = 0; i < 2; i++) {
		struct app a = {.options = {.grace = i * 2 * CC_MSEC}};
		CCStream *c;

		app_begin(&a, &h, FIBER);
		tell(c = dial(&a), "sleep\n");
		TEST_UNTIL(cc__load(&a.begun, CC__ACQUIRE) == 1);
		CHECK_EQ(app_stop(&a), ECANCELED);
		CHECK_EQ(cc__load(&a.last_error, CC__RELAXED), ECANCELED);
		hang_up(c);
	}
	host_end(&h);
}

TEST(stop_at_the_limit_of_connections)
{
	struct app a = {.options = {.connections = 1, .grace = 3600 * CC_SEC}};
	CCStream *c;
	struct host h;

	host_begin(&h);
	app_begin(&a, &h, FIBER);
	tell(c = dial(&a), "x\n");
	hear(c, "x");
	CHECK_EQ(app_stop(&a), ECANCELED);
	hear_the_end(c);
	hang_up(c);
	host_end(&h);
}

TEST(closed_listener_stops_the_server)
{
	struct app a = {.options = {.grace = 3600 * CC_SEC}};
	CCStream *c;
	struct host h;

	host_begin(&h);
	app_begin(&a, &h, FIBER);
	tell(c = dial(&a), "x\n");
	hear(c, "x");
	CHECK_EQ(cc_fd_close(a.listener), 0);
	hear_the_end(c);
	CHECK_EQ(sleeper_join(&a.s), 0);
	hang_up(c);
	host_end(&h);
}

TEST(wrong_arguments_are_refused)
{
	const CCServeOptions odd = {.idle = -1};
	CCStream *pair[2];
	int end[2];

	CHECK_EQ(cc_serve(-1, talk, NULL, NULL), EBADF);
	CHECK_EQ(cc_serve(0, NULL, NULL, NULL), EINVAL);
	CHECK_EQ(cc_serve(0, talk, NULL, &odd), EINVAL);
	new_pipe(end);
	CHECK_EQ(cc_serve(end[0], talk, NULL, NULL), ENOTSOCK);
	close_both(end);
	CHECK_EQ(cc_stream_pair(pair, 0), 0);
	CHECK_EQ(cc_serve_next(pair[0], CC_NOW), EINVAL);
	hang_up(pair[0]);
	hang_up(pair[1]);
}

/* ---- the waits of cc_serve_next ---- */

static cc_serve_fn(wait_shortly, cc__a32 *result)
{
	int err;

	CHECK_EQ(cc_serve_next(stream, CC_NOW), EAGAIN);
	err = cc_serve_next(stream, cc_after(2 * CC_MSEC));
	cc__store(result, (uint32_t)err, CC__RELEASE);
	return err;
}

struct short_app {
	int listener;
	cc__a32 result;
	struct sleeper s;
};

static int run_short(void *arg)
{
	struct short_app *a = arg;

	return cc_serve_on(a->listener, wait_shortly, &a->result, NULL);
}

TEST(next_ends_at_its_deadline)
{
	char address[CC_NET_ADDRESS_SIZE];
	struct short_app a = {0};
	struct host h;
	int fd;

	host_begin(&h);
	CHECK_EQ(cc_net_listen(&a.listener, "127.0.0.1:0", NULL), 0);
	CHECK_EQ(cc_net_local_address(a.listener, address, sizeof address), 0);
	sleeper_start(&a.s, h.rt, FIBER, run_short, &a);
	CHECK_EQ(cc_net_dial(&fd, address, NULL, cc_after(5 * CC_SEC)), 0);
	TEST_UNTIL(cc__load(&a.result, CC__ACQUIRE) != 0);
	CHECK_EQ(cc__load(&a.result, CC__RELAXED), ETIMEDOUT);
	CHECK_EQ(cc_fd_close(a.listener), 0);
	CHECK_EQ(sleeper_join(&a.s), 0);
	CHECK_EQ(cc_fd_close(fd), 0);
	host_end(&h);
}
