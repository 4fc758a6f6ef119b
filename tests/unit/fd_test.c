/* fd_test.c - fibers and threads that wait for a descriptor. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>

#include "hosts.h"
#include "io/use.h"

/* ---- one descriptor ---- */

TEST(fd_data_wakes_reader)
{
	struct host h;
	struct wait w;

	host_begin(&h);
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		wait_for_data(&w, &h, kind);
		data_wakes(&w, &h);
		drain(h.end[0]);
	}
	host_end(&h);
}

TEST(fd_what_is_ready_before_the_wait_ends_it)
{
	struct host h;
	struct wait w;

	host_begin(&h);
	put(h.end[1]);
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		wait_begin(&w, &h, kind, h.end[0], CC_FD_READ, CC_FOREVER);
		CHECK_EQ(sleeper_join(&w.s), 0);
		wait_begin(&w, &h, kind, h.end[1], CC_FD_WRITE, CC_FOREVER);
		CHECK_EQ(sleeper_join(&w.s), 0);
	}
	host_end(&h);
}

TEST(fd_room_wakes_writer)
{
	struct host h;
	struct wait w;

	host_begin(&h);
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		fill(h.end[1]);
		wait_begin(&w, &h, kind, h.end[1], CC_FD_WRITE, CC_FOREVER);
		until_asleep(&w);
		drain(h.end[0]);
		CHECK_EQ(sleeper_join(&w.s), 0);
	}
	host_end(&h);
}

TEST(fd_hang_up_wakes_reader_and_writer)
{
	struct host h;
	struct wait w;
	int end[2];

	host_begin(&h);
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		new_pipe(end);
		wait_begin(&w, &h, kind, end[0], CC_FD_READ, CC_FOREVER);
		until_asleep(&w);
		CHECK_EQ(close(end[1]), 0);
		CHECK_EQ(sleeper_join(&w.s), 0);
		CHECK_EQ(close(end[0]), 0);

		new_pipe(end);
		fill(end[1]);
		wait_begin(&w, &h, kind, end[1], CC_FD_WRITE, CC_FOREVER);
		until_asleep(&w);
		CHECK_EQ(close(end[0]), 0);
		CHECK_EQ(sleeper_join(&w.s), 0);
		CHECK_EQ(close(end[1]), 0);
	}
	host_end(&h);
}

/* The writer is woken, the reader is not, and is armed for all the same. */
TEST(fd_directions_are_told_apart)
{
	struct host h;
	struct wait reader, writer, either;
	int end[2];

	host_begin(&h);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, end), 0);
	fill(end[0]);
	wait_begin(&reader, &h, FIBER, end[0], CC_FD_READ, CC_FOREVER);
	until_asleep(&reader);
	wait_begin(&writer, &h, FIBER, end[0], CC_FD_WRITE, CC_FOREVER);
	wait_begin(&either, &h, FIBER, end[0], CC_FD_READ | CC_FD_WRITE, CC_FOREVER);
	until_asleep(&writer);
	until_asleep(&either);
	CHECK_EQ(cc__poll_waiting(h.poll), 3);
	drain(end[1]);
	CHECK_EQ(sleeper_join(&writer.s), 0);
	CHECK_EQ(sleeper_join(&either.s), 0);
	CHECK_EQ(cc__poll_waiting(h.poll), 1);
	until_asleep(&reader);
	CHECK_EQ(reader.tries, 0);
	put(end[1]);
	CHECK_EQ(sleeper_join(&reader.s), 0);
	close_both(end);
	host_end(&h);
}

/* More than one batch, and a few who are not concerned. */
TEST(fd_all_readers_of_one_descriptor_are_woken)
{
	enum { READERS = 40, WRITERS = 3 };
	static struct wait w[READERS + WRITERS];
	struct host h;
	int end[2];

	host_begin(&h);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, end), 0);
	fill(end[0]);
	for (int i = 0; i < READERS + WRITERS; i++)
		wait_begin(&w[i], &h, FIBER, end[0], i % 14 == 7 ? CC_FD_WRITE : CC_FD_READ,
		           CC_FOREVER);
	for (int i = 0; i < READERS + WRITERS; i++)
		until_asleep(&w[i]);
	put(end[1]);
	for (int i = 0; i < READERS + WRITERS; i++)
		if (w[i].events == CC_FD_READ)
			CHECK_EQ(sleeper_join(&w[i].s), 0);
	CHECK_EQ(cc__poll_waiting(h.poll), WRITERS);
	drain(end[1]);
	for (int i = 0; i < READERS + WRITERS; i++)
		if (w[i].events == CC_FD_WRITE)
			CHECK_EQ(sleeper_join(&w[i].s), 0);
	close_both(end);
	host_end(&h);
}

/* ---- deadlines ---- */

TEST(fd_deadline_ends_wait)
{
	struct host h;
	struct wait w;

	host_begin(&h);
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		const cc_time before = cc_now();

		wait_begin(&w, &h, kind, h.end[0], CC_FD_READ, 20 * CC_MSEC);
		CHECK_EQ(sleeper_join(&w.s), ETIMEDOUT);
		CHECK(cc_now() - before >= 20 * CC_MSEC);
		wait_begin(&w, &h, kind, h.end[0], CC_FD_READ, -CC_SEC);
		CHECK_EQ(sleeper_join(&w.s), ETIMEDOUT);
	}
	host_end(&h);
}

/* Whoever is ready when its time is over is ready, looked after or not. */
TEST(fd_ready_at_a_deadline_long_past)
{
	struct host h;
	struct wait w;

	host_begin(&h);
	put(h.end[1]);
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		wait_begin(&w, &h, kind, h.end[0], CC_FD_READ, -CC_SEC);
		CHECK_EQ(sleeper_join(&w.s), 0);
	}
	host_end(&h);
}

TEST(fd_now_only_looks)
{
	struct host h;
	struct wait w;

	host_begin(&h);
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		wait_begin(&w, &h, kind, h.end[0], CC_FD_READ, CC_NOW);
		CHECK_EQ(sleeper_join(&w.s), EAGAIN);
		put(h.end[1]);
		wait_begin(&w, &h, kind, h.end[0], CC_FD_READ, CC_NOW);
		CHECK_EQ(sleeper_join(&w.s), 0);
		wait_begin(&w, &h, kind, h.end[0], CC_FD_WRITE, CC_NOW);
		CHECK_EQ(sleeper_join(&w.s), EAGAIN);
		drain(h.end[0]);
	}
	CHECK_EQ(cc__load(&h.poll->opened, CC__ACQUIRE), 0);	/* nobody waited */
	host_end(&h);
}

/* ---- mistakes, and what cannot be waited for ---- */

static void interrupted(int signal)
{
	(void)signal;
}

TEST(fd_thread_survives_signals)
{
	const struct sigaction act = {.sa_handler = interrupted};
	struct sigaction before;
	struct host h;
	struct wait w;

	host_begin(&h);
	CHECK_EQ(sigaction(SIGUSR1, &act, &before), 0);
	wait_for_data(&w, &h, THREAD);
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(pthread_kill(w.s.thread, SIGUSR1), 0);
		cc_sleep_until(cc_now() + CC_MSEC);
	}
	data_wakes(&w, &h);
	CHECK_EQ(w.tries, 1);
	CHECK_EQ(sigaction(SIGUSR1, &before, NULL), 0);
	host_end(&h);
}

static const struct mistake {
	int fd;
	unsigned events;
	int err;
} mistakes[] = {
    {0, 0, EINVAL},
    {0, 4, EINVAL},
    {-1, 8 | CC_FD_READ, EINVAL},
    {-1, CC_FD_READ, EBADF},
    {INT32_MIN, CC_FD_READ, EBADF},
    {19999, CC_FD_READ, EBADF},
    {INT32_MAX, CC_FD_WRITE, EBADF},
    {INT32_MAX - 64, CC_FD_WRITE, EBADF},
};

TEST(fd_mistakes_are_told)
{
	static const cc_time span[] = {CC_NOW, CC_SEC, CC_FOREVER};
	struct host h;
	struct wait w;

	host_begin(&h);
	for (enum kind kind = FIBER; kind < KINDS; kind++)
		for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
			for (int s = 0; s < 3; s++) {
				wait_begin(&w, &h, kind, mistakes[i].fd, mistakes[i].events,
				           span[s]);
				CHECK_EQ(sleeper_join(&w.s), mistakes[i].err);
			}
	CHECK_EQ(cc_fd_close(-1), EBADF);
	CHECK_EQ(cc_fd_close(INT32_MAX), EBADF);
	host_end(&h);
}

TEST(fd_closed_descriptor_in_a_chunk_that_is_there)
{
	struct host h;
	struct wait w;
	int end[2];

	host_begin(&h);
	new_pipe(end);
	put(end[1]);
	wait_begin(&w, &h, FIBER, end[0], CC_FD_READ, CC_FOREVER);
	CHECK_EQ(sleeper_join(&w.s), 0);
	close_both(end);
	wait_begin(&w, &h, FIBER, end[0], CC_FD_READ, CC_FOREVER);
	CHECK_EQ(sleeper_join(&w.s), EBADF);
	host_end(&h);
}

TEST(fd_regular_file_is_always_ready)
{
	FILE *file = tmpfile();
	struct host h;
	struct wait w;

	REQUIRE(file != NULL);
	host_begin(&h);
	for (enum kind kind = FIBER; kind < KINDS; kind++)
		for (unsigned events = 1; events <= 3; events++) {
			wait_begin(&w, &h, kind, fileno(file), events, CC_FOREVER);
			CHECK_EQ(sleeper_join(&w.s), 0);
		}
	fclose(file);
	host_end(&h);
}

/* A number far up: a chunk of its own. */
TEST(fd_high_numbers_work)
{
	struct host h;
	struct wait w;
	int high;

	host_begin(&h);
	for (int from = 63; from < 9000; from = from * 2 + 1) {
		if ((high = fcntl(h.end[0], F_DUPFD, from)) < 0)
			break;	/* the limit of this process */
		wait_begin(&w, &h, FIBER, high, CC_FD_READ, CC_FOREVER);
		until_asleep(&w);
		data_wakes(&w, &h);
		drain(high);
		CHECK_EQ(cc_fd_close(high), 0);
	}
	host_end(&h);
}

/* ---- close and forget ---- */

TEST(fd_forget_wakes_with_ebadf)
{
	enum { MANY = 20 };
	static struct wait w[MANY];
	struct host h;

	host_begin(&h);
	for (int i = 0; i < MANY; i++)
		wait_begin(&w[i], &h, FIBER, h.end[0], CC_FD_READ, CC_FOREVER);
	for (int i = 0; i < MANY; i++)
		until_asleep(&w[i]);
	cc__poll_forget(h.end[0]);
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(sleeper_join(&w[i].s), EBADF);
	cc__poll_forget(h.end[0]);

	/* It is only forgotten, not closed: it can be waited for again. */
	wait_for_data(&w[0], &h, FIBER);
	data_wakes(&w[0], &h);
	host_end(&h);
}

TEST(fd_forget_reaches_every_runtime)
{
	struct host h[3];
	struct wait w[3];
	int end[2];

	new_pipe(end);
	for (int i = 0; i < 3; i++) {
		host_begin(&h[i]);
		wait_begin(&w[i], &h[i], FIBER, end[0], CC_FD_READ, CC_FOREVER);
		until_asleep(&w[i]);
	}
	cc__poll_forget(end[0]);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(sleeper_join(&w[i].s), EBADF);
	close_both(end);
	host_end(&h[1]);	/* out of the middle of the list */
	host_end(&h[0]);
	host_end(&h[2]);
}

/* One fiber of each runtime, and two threads, one of them in a nursery. */
TEST(fd_close_wakes_fibers_and_threads)
{
	static const enum kind kinds[] = {FIBER, FIBER, THREAD, THREAD};
	struct host h[2];
	struct wait w[4];
	int end[2];

	new_pipe(end);
	host_begin(&h[0]);
	host_begin(&h[1]);
	for (int i = 0; i < 4; i++) {
		wait_begin(&w[i], &h[i % 2], kinds[i], end[0], CC_FD_READ, CC_FOREVER);
		until_asleep(&w[i]);
	}
	/* A thread that begins after the close may meet another file of that number. */
	TEST_UNTIL(cc__use_count(end[0]) == 2);
	CHECK_EQ(cc_fd_close(end[0]), 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(sleeper_join(&w[i].s), EBADF);
	CHECK_EQ(cc_fd_close(end[0]), EBADF);
	CHECK_EQ(close(end[1]), 0);
	host_end(&h[0]);
	host_end(&h[1]);
}

static void wait_and_put(struct host *h, int end[2])
{
	struct wait w;

	wait_begin(&w, h, FIBER, end[0], CC_FD_READ, CC_FOREVER);
	until_asleep(&w);
	put(end[1]);
	CHECK_EQ(sleeper_join(&w.s), 0);
	drain(end[0]);
}

/* The same number again: after forget, after a bare close, and after a close that
 * left a duplicate, whose registration the kernel keeps. */
TEST(fd_number_used_again)
{
	enum { AFTER_FORGET, AFTER_CLOSE, AFTER_DUPLICATE, WAYS };
	struct host h;
	int end[2], other[2], duplicate;

	host_begin(&h);
	for (int way = 0; way < WAYS; way++) {
		new_pipe(end);
		new_pipe(other);
		wait_and_put(&h, end);
		duplicate = way == AFTER_DUPLICATE ? dup(end[0]) : -1;
		if (way == AFTER_FORGET)
			cc__poll_forget(end[0]);
		CHECK_EQ(dup2(other[0], end[0]), end[0]);
		if (duplicate >= 0)
			put(end[1]);	/* of the former one: wakes nobody for good */
		CHECK_EQ(close(end[1]), 0);
		CHECK_EQ(close(other[0]), 0);
		other[0] = end[0];
		wait_and_put(&h, other);
		wait_and_put(&h, other);
		close_both(other);
		if (duplicate >= 0)
			CHECK_EQ(close(duplicate), 0);
	}
	host_end(&h);
}

/* The former one's sleeper is still there, and the kernel has forgotten it: the
 * wait for the new one arms for both. */
TEST(fd_closed_under_a_sleeper_and_used_again)
{
	struct host h;
	struct wait former, next;
	int end[2], other[2];

	host_begin(&h);
	new_pipe(end);
	new_pipe(other);
	wait_begin(&former, &h, FIBER, end[0], CC_FD_READ, CC_FOREVER);
	until_asleep(&former);
	CHECK_EQ(dup2(other[0], end[0]), end[0]);
	wait_begin(&next, &h, FIBER, end[0], CC_FD_READ, CC_FOREVER);
	until_asleep(&next);
	put(other[1]);
	CHECK_EQ(sleeper_join(&next.s), 0);
	CHECK_EQ(sleeper_join(&former.s), 0);
	close_both(end);
	close_both(other);
	host_end(&h);
}
