/* idle.c - how soon does an idle worker start what another one has left, and what does it cost
 * to wait for little? */
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

static int by_time(const void *a, const void *b)
{
	const cc_time x = *(const cc_time *)a, y = *(const cc_time *)b;

	return (x > y) - (x < y);
}

static long part_us(const cc_time *sorted, long n, double part)
{
	return (long)(sorted[(long)((double)(n - 1) * part)] / CC_USEC);
}

static void compute_for(cc_time span)
{
	const cc_time end = cc_now() + span;

	while (cc_now() < end)
		continue;
}

/* ---- a task behind a fiber that computes ---- */

struct start {
	cc_time spawned, begun;
};

static int begins(void *arg)
{
	((struct start *)arg)->begun = cc_now();
	return 0;
}

enum { TALK = 16 };

static int listens(void *arg)
{
	int word;

	while (cc_chan_recv(arg, &word, sizeof word) == 0)
		continue;
	return 0;
}

/* Two fibers, this one and another, and a channel between them. */
static void talk_for(cc_time span)
{
	const cc_time end = cc_now() + span;
	CCChan *c = cc_chan_new(sizeof(int), TALK);
	CCTask task;

	bench_check(c != NULL, "no channel");
	bench_spawn(&task, listens, c);
	for (int word = 0; cc_now() < end; word++)
		bench_check(cc_chan_send(c, &word, sizeof word) == 0, "a send failed");
	bench_check(cc_chan_close(c) == 0, "a close failed");
	bench_join(task);
	bench_check(cc_chan_free(c) == 0, "a channel is in use");
}

/* It computes for gap=4000 us, spawns a task and computes for as long as its name says: when does
 * the task begin?  With talk=50 two fibers talk for 50 ms instead of the gap. */
static void start_delay(const char *name)
{
	const cc_time span = atol(name + sizeof "start_delay_" - 1) * CC_MSEC;
	const cc_time talk = bench_arg("talk", 0) * CC_MSEC, gap = bench_arg("gap", 4000) * CC_USEC;
	const long n = bench_arg("n", talk != 0 ? 30 : 2 * CC_SEC / (gap + span));
	cc_time *delay = bench_array(n, sizeof *delay), ns = -cc_now();

	for (long i = 0; i < n; i++) {
		struct start s;
		CCTask task;

		if (talk != 0)
			talk_for(talk);
		else
			compute_for(gap);
		s.spawned = cc_now();
		bench_spawn(&task, begins, &s);
		compute_for(span);
		bench_join(task);
		delay[i] = s.begun - s.spawned;
	}
	ns += cc_now();
	qsort(delay, (size_t)n, sizeof *delay, by_time);
	bench_report(name, n, ns, "\"delay_p50_us\":%ld,\"delay_p90_us\":%ld,\"delay_p99_us\":%ld,"
	             "\"talk_ms\":%ld", part_us(delay, n, 0.5), part_us(delay, n, 0.9),
	             part_us(delay, n, 0.99), (long)(talk / CC_MSEC));
	free(delay);
}

/* ---- one request a millisecond ---- */

/* Another process: it asks, waits for the answer, and asks again a millisecond later. */
static pid_t start_client(int fd[2], long n)
{
	pid_t client;

	bench_check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) == 0, "no socket");
	if ((client = fork()) != 0)
		return client;
	close(fd[0]);
	for (char byte = 0; n > 0; n--) {
		usleep(1000);
		if (write(fd[1], &byte, 1) != 1 || read(fd[1], &byte, 1) != 1)
			_exit(1);
	}
	_exit(0);
}

struct service {
	int fd;
	long answered;
};

static int answers(void *arg)
{
	struct service *s = arg;
	char byte;
	ssize_t got;

	for (;;) {
		while ((got = recv(s->fd, &byte, 1, MSG_DONTWAIT)) < 0)
			bench_check(cc_wait_fd(s->fd, CC_FD_READ, CC_FOREVER) == 0, "a wait failed");
		if (got == 0)
			return 0;
		bench_check(send(s->fd, &byte, 1, MSG_NOSIGNAL) == 1, "a send failed");
		s->answered++;
	}
}

/* What the process burns for a request, and how often it asks others and the kernel. */
static void light_load(const char *name)
{
	const long n = bench_arg("n", 1000);
	struct service s = {0};
	long cpu_us;
	CCStats before, after;
	cc_time ns;
	CCTask task;
	int fd[2], status;
	pid_t client = start_client(fd, n);

	bench_check(client > 0, "no process");
	close(fd[1]);
	s.fd = fd[0];
	bench_start();
	before = bench_stats();
	cpu_us = -bench_cpu_us();
	ns = -cc_now();
	bench_spawn(&task, answers, &s);
	bench_join(task);
	ns += cc_now();
	cpu_us += bench_cpu_us();
	after = bench_stats();
	bench_check(waitpid(client, &status, 0) == client && status == 0 && s.answered == n,
	            "a request is lost");
	bench_report(name, n, ns, "\"cpu_us_per_request\":%.2f,\"sleeps_per_request\":%.2f,"
	             "\"looks_per_request\":%.2f,\"polls_per_request\":%.2f",
	             (double)cpu_us / (double)n,
	             (double)(after.sleeps - before.sleeps) / (double)n,
	             (double)(after.looks - before.looks) / (double)n,
	             (double)(after.polls - before.polls) / (double)n);
	close(fd[0]);
	bench_stop();
}

const struct bench_case bench_idle_cases[] = {
    {"start_delay_20", start_delay, 0},
    {"start_delay_4", start_delay, 0},
    {"start_delay_*", start_delay, 0},
    {"light_load", light_load, BENCH_THREAD},
    {NULL, NULL, 0},
};
