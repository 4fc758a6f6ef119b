/* moved.c - errno in functions whose fiber goes on in another thread half-way.
 *
 * Each pattern uses errno, moves, has a call fail, and looks at errno again.  Meanwhile another
 * fiber keeps the thread that was left, and has put a number of its own into errno there.  So a
 * stale address shows every time.  With -DPLAIN the C library's errno is used, for comparison.
 *
 * Prints how often the fiber moved and how often each pattern saw the wrong errno; the status is 0
 * if none did. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <ccc/ccc.h>

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef PLAIN
#include <errno.h>
#else
#include <ccc/errno.h>
#endif

enum { ROUNDS = 4, FOREIGN = 77, PATTERNS = 3 };

/* Both ends of a move. */
struct move {
	CCChan *go;
	long left;		/* the thread that the traveller leaves */
	atomic_int arrived;	/* the traveller is awake again, wherever */
};

/* (pthread_self may be computed once, like the address of errno.) */
static long this_thread(void)
{
	return syscall(SYS_gettid);
}

/* Runs where the traveller was, puts another number into that thread's errno, and keeps the
 * thread until the traveller has been stolen by another worker. */
static int keep_thread(void *arg)
{
	struct move *m = arg;
	const char one = 1;

	errno = FOREIGN;
	if (cc_chan_send(m->go, &one, sizeof one) != 0)
		abort();
	while (this_thread() == m->left && atomic_load(&m->arrived) == 0)
		continue;
	return 0;
}

/* Returns in another thread. */
static __attribute__((noinline)) void move(void)
{
	struct move m = {.go = cc_chan_new(1, 1), .left = this_thread()};
	bool same;

	if (m.go == NULL)
		abort();
	do {
		CCTask keeper;
		char one;

		atomic_store(&m.arrived, 0);
		if (cc_task_spawn(NULL, &keeper, NULL, keep_thread, &m) != 0 ||
		    cc_chan_recv(m.go, &one, sizeof one) != 0)
			abort();
		same = this_thread() == m.left;	/* the keeper was stolen instead */
		atomic_store(&m.arrived, 1);
		/* It uses m; and a wait here would move us again. */
		while (cc_task_join(keeper, CC_NOW, NULL) == EAGAIN)
			continue;
	} while (same);
	cc_chan_free(m.go);
}

/* An error is looked at, the fiber waits, another error is looked at. */
static __attribute__((noinline)) int straight_line(void)
{
	if (close(-1) == 0 || errno != EBADF)
		return 1;
	move();
	if (open("/nonexistent/x", O_RDONLY) >= 0)
		return 2;
	return errno == ENOENT ? 0 : 3;
}

static __attribute__((noinline)) int clear_and_parse(void)
{
	errno = 0;
	move();
	errno = 0;
	(void)!strtol("99999999999999999999999", NULL, 10);
	return errno == ERANGE ? 0 : 1;
}

/* Nothing to read, a wait, and still nothing: the loop must see EAGAIN both times. */
static __attribute__((noinline)) int read_loop(int fd)
{
	int waits = 0;
	char c;

	while (read(fd, &c, 1) < 0 && errno == EAGAIN && waits < 3) {
		move();
		waits++;
	}
	return waits == 3 ? 0 : 1;
}

static int travel(void *arg)
{
	int *wrong = arg, fds[2];

	if (pipe2(fds, O_NONBLOCK) != 0)
		abort();
	for (int i = 0; i < ROUNDS; i++) {
		wrong[0] += straight_line() != 0;
		wrong[1] += clear_and_parse() != 0;
		wrong[2] += read_loop(fds[0]) != 0;
	}
	return 0;
}

int main(void)
{
	int wrong[PATTERNS] = {0};
	CCRuntime *rt;
	CCConfig c;
	CCTask t;

	if (cc_config_init(&c) != 0)
		return 2;
	c.workers = c.workers_max = 2;
	if (cc_runtime_new(&rt, &c) != 0 || cc_task_spawn(rt, &t, NULL, travel, wrong) != 0 ||
	    cc_task_join(t, CC_FOREVER, NULL) != 0)
		return 2;
	printf("rounds %d wrong: straight line %d, errno = 0 %d, read loop %d\n", ROUNDS, wrong[0],
	       wrong[1], wrong[2]);
	return wrong[0] + wrong[1] + wrong[2] == 0 ? 0 : 1;
}
