/* poll_test.c - cc__poll by itself: kicks, deadlines, what it needs from the system.
 *
 * link-wrap: epoll_ctl */
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "hosts.h"
#include "raw.h"
#include "tasks.h"

/* ---- run and kick ---- */

/* A poll without a runtime: waiters are threads, which it does not tell from fibers. */
static struct cc__poll poll;

static void *zeroed(void *context, size_t size)
{
	(void)context;
	return calloc(1, size);
}

static void release(void *context, void *p, size_t size)
{
	(void)context, (void)size;
	free(p);
}

static void poll_begin(void)
{
	static const CCAllocator allocator = {zeroed, release, NULL};
	int end[2];

	cc__poll_init(&poll, &allocator);
	CHECK(!cc__poll_claim(&poll));
	CHECK(!cc__poll_run(&poll, CC_FOREVER));
	new_pipe(end);
	CHECK_EQ(cc__poll_wait(&poll, end[0], CC_FD_READ, cc_now() + CC_MSEC), ETIMEDOUT);
	close_both(end);
}

static int poll_one(void *fd)
{
	return cc__poll_wait(&poll, *(int *)fd, CC_FD_READ, CC_FOREVER);
}

static int poll_room(void *fd)
{
	return cc__poll_wait(&poll, *(int *)fd, CC_FD_WRITE, CC_FOREVER);
}

struct runner {
	cc__a32 started, rung;
};

/* Until the bell has been rung: a sleep may end for no reason, too. */
static int run_until_rung(void *arg)
{
	struct runner *r = arg;

	cc__store(&r->started, 1, CC__RELEASE);
	do
		CHECK(!cc__poll_run(&poll, CC_FOREVER));
	while (cc__load(&r->rung, CC__ACQUIRE) == 0);
	return 0;
}

static void ring_for(struct runner *r)
{
	cc__store(&r->rung, 1, CC__RELEASE);
	cc__poll_ring(poll.bell);
}

static bool somebody_sleeps(void)
{
	return cc__load(&poll.claimed, CC__ACQUIRE) != 0;
}

TEST(poll_kick_ends_sleep)
{
	struct sleeper s;

	poll_begin();
	for (int i = 0; i < 200; i++) {
		struct runner r = {.rung = {0}};

		sleeper_start(&s, NULL, THREAD, run_until_rung, &r);
		TEST_UNTIL(cc__load(&r.started, CC__ACQUIRE) != 0);
		if (i % 2 == 0)
			TEST_UNTIL(somebody_sleeps());
		ring_for(&r);
		CHECK_EQ(sleeper_join(&s), 0);
	}
	cc__poll_fini(&poll);
}

TEST(poll_sleep_keeps_its_deadline)
{
	poll_begin();
	for (int i = 0; i < 20; i++) {
		const cc_time deadline = cc_now() + 300 * CC_USEC;

		while (!cc__poll_run(&poll, deadline) && cc_now() < deadline)
			continue;
		CHECK(cc_now() >= deadline);
	}
	cc__poll_fini(&poll);
}

/* Has the right to sleep, and does not give it back for no reason. */
static int claim_and_sleep(void *arg)
{
	struct cc__poll_found found;
	struct gate *g = arg;

	CHECK(cc__poll_claim(&poll));
	hold_worker_at(g);
	cc__poll_sleep(&poll, CC_FOREVER, &found);
	return cc__poll_wake(&poll, &found);
}

TEST(poll_one_sleeps_at_a_time)
{
	struct gate g = {0};
	struct sleeper s;

	poll_begin();
	sleeper_start(&s, NULL, THREAD, claim_and_sleep, &g);
	TEST_UNTIL(cc__load(&g.arrived, CC__ACQUIRE) != 0);
	CHECK(!cc__poll_claim(&poll));
	CHECK(!cc__poll_run(&poll, CC_FOREVER));
	CHECK(!cc__poll_run(&poll, CC_NOW));
	cc__store(&g.open, 1, CC__RELEASE);
	cc__poll_ring(poll.bell);
	CHECK_EQ(sleeper_join(&s), 0);
	CHECK(cc__poll_claim(&poll));
	cc__poll_release(&poll);
	cc__poll_fini(&poll);
}

/* The busy one's look wakes who waits, and leaves the kick to the next sleeper. */
TEST(poll_look_hears_no_kick)
{
	struct sleeper s;
	int end[2];

	poll_begin();
	new_pipe(end);
	cc__poll_ring(poll.bell);
	CHECK(!cc__poll_run(&poll, CC_NOW));
	sleeper_start(&s, NULL, THREAD, poll_one, &end[0]);
	until_parked(&s);
	CHECK_EQ(cc__poll_waiting(&poll), 1);
	put(end[1]);
	TEST_UNTIL(cc__poll_run(&poll, CC_NOW));
	CHECK_EQ(sleeper_join(&s), 0);
	CHECK(!cc__poll_run(&poll, CC_FOREVER));	/* the kick */
	close_both(end);
	cc__poll_fini(&poll);
}

/* Who rings late meets the bell's next owner, and its descriptor is no one else's. */
TEST(poll_bell_rung_after_the_end)
{
	struct cc__bell *bell;
	int fd;

	poll_begin();
	bell = poll.bell;
	fd = bell->fd;
	cc__poll_fini(&poll);
	cc__poll_ring(bell);
	poll_begin();
	CHECK(poll.bell == bell && bell->fd == fd);
	CHECK(!cc__poll_run(&poll, CC_FOREVER));
	cc__poll_fini(&poll);
}

TEST(poll_descriptors_are_not_inherited)
{
	poll_begin();
	CHECK(fcntl(poll.poller.epoll, F_GETFD) & FD_CLOEXEC);
	CHECK(fcntl(poll.bell->fd, F_GETFD) & FD_CLOEXEC);
	cc__poll_fini(&poll);
}

/* ---- what it needs ---- */

static cc__a32 refusing;	/* the kernel arms nothing */

int __real_epoll_ctl(int epoll, int how, int fd, struct epoll_event *e);
int __wrap_epoll_ctl(int epoll, int how, int fd, struct epoll_event *e);
RAW int __wrap_epoll_ctl(int epoll, int how, int fd, struct epoll_event *e)
{
	if (cc__load(&refusing, CC__RELAXED) == 0 || how == EPOLL_CTL_DEL)
		return __real_epoll_ctl(epoll, how, fd, e);
	errno = ENOSPC;
	return -1;
}

/* Data ends the wait of the reader.  The writers, more than a batch, would have to be armed for
 * again, which is refused: no event will come for them, so all of them are woken, and none counts
 * as waiting any more. */
TEST(poll_waiters_that_cannot_be_armed_for_again_are_woken_and_counted_out)
{
	enum { WRITERS = CC__BATCH_MAX + 3 };
	struct sleeper reader, writer[WRITERS];
	int end[2];

	poll_begin();
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, end), 0);
	nonblocking(end[0]);
	nonblocking(end[1]);
	fill(end[0]);
	sleeper_start(&reader, NULL, THREAD, poll_one, &end[0]);
	for (int i = 0; i < WRITERS; i++)
		sleeper_start(&writer[i], NULL, THREAD, poll_room, &end[0]);
	until_parked(&reader);
	for (int i = 0; i < WRITERS; i++)
		until_parked(&writer[i]);
	CHECK_EQ(cc__poll_waiting(&poll), WRITERS + 1);
	put(end[1]);
	cc__store(&refusing, 1, CC__RELAXED);
	TEST_UNTIL(cc__poll_run(&poll, CC_NOW));
	cc__store(&refusing, 0, CC__RELAXED);
	CHECK_EQ(sleeper_join(&reader), 0);
	for (int i = 0; i < WRITERS; i++)
		CHECK_EQ(sleeper_join(&writer[i]), 0);
	CHECK_EQ(cc__poll_waiting(&poll), 0);
	close_both(end);
	cc__poll_fini(&poll);
}

static cc__a32 failing;	/* the allocator has nothing */

static void *alloc_unless(void *context, size_t size)
{
	(void)context;
	return cc__load(&failing, CC__RELAXED) != 0 ? NULL : calloc(1, size);
}

static int wait_for_ever(void *arg)
{
	return cc_wait_fd(*(int *)arg, CC_FD_READ, CC_FOREVER);
}

TEST(fd_no_memory_is_told)
{
	CCRuntime *rt;
	CCConfig c;
	int end[2];

	new_pipe(end);
	CHECK_EQ(cc_config_init(&c), 0);
	c.allocator = (CCAllocator){alloc_unless, release, NULL};
	REQUIRE_EQ(cc_runtime_new(&rt, &c), 0);
	cc__store(&failing, 1, CC__RELAXED);
	CHECK_EQ(join(spawn(rt, wait_for_ever, &end[0])), ENOMEM);
	cc__store(&failing, 0, CC__RELAXED);
	CHECK_EQ(cc_runtime_free(rt), 0);
	close_both(end);
}

static void limit_descriptors(rlim_t most)
{
	struct rlimit limit;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = most == 0 ? limit.rlim_max : most;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* In a child, which exits with the number of the step that went wrong: no descriptor
 * is to be had, then one where two are needed (unless a bell is left from a test
 * before), then as many as anybody wants. */
static void child_without_descriptors(void *arg)
{
	int first_free, err;
	struct host h;
	struct wait w;

	(void)arg;
	host_begin(&h);
	first_free = dup(h.end[0]);
	close(first_free);
	limit_descriptors((rlim_t)first_free);
	for (int i = 0; i < 3; i++) {
		wait_begin(&w, &h, FIBER, h.end[0], CC_FD_READ, CC_FOREVER);
		if (sleeper_join(&w.s) != EMFILE)
			_exit(1);
	}
	limit_descriptors((rlim_t)first_free + 1);
	wait_begin(&w, &h, FIBER, h.end[0], CC_FD_READ, CC_MSEC);
	if ((err = sleeper_join(&w.s)) != EMFILE && err != ETIMEDOUT)
		_exit(2);
	limit_descriptors(0);
	wait_for_data(&w, &h, FIBER);
	put(h.end[1]);
	if (sleeper_join(&w.s) != 0)
		_exit(3);
	host_end(&h);
}

TEST(fd_without_descriptors_for_itself)
{
	static struct test_death d;

	REQUIRE_EQ(test_dies(child_without_descriptors, NULL, &d), 0);
	CHECK(WIFEXITED(d.status));
	CHECK_EQ(WEXITSTATUS(d.status), 0);
}
