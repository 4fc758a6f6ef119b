/* connections.c - what do 10,000 silent connections cost, and do 100,000 waits for a descriptor that end
 * at the same moment all end, and in time? */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench.h"

static void pause_for(cc_time span)
{
	bench_check(cc_sleep_until(cc_after(span)) == 0, "no sleep");
}

/* ---- silent connections ---- */

static long served;	/* atomic */

static int wait_for_request(CCStream *stream, void *unused)
{
	(void)unused;
	__atomic_fetch_add(&served, 1, __ATOMIC_RELAXED);
	return cc_serve_next(stream, CC_FOREVER);
}

static int serve_all(void *arg)
{
	return cc_serve((int)(intptr_t)arg, wait_for_request, NULL, NULL);
}

static long resident(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	bench_check(f != NULL && fscanf(f, "%*d %ld", &pages) == 1, "no /proc");
	fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

static void silent_connections(const char *name)
{
	const long n = bench_arg("connections", 10000);
	int *fd = calloc((size_t)n, sizeof *fd);
	char address[64];
	struct rlimit limit;
	int listener;
	CCTask task;
	long before, cpu;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	bench_check(fd != NULL && (long)limit.rlim_cur > 2 * n + 100, "too few descriptors");
	snprintf(address, sizeof address, "unix:@ccc-bench-%d", (int)getpid());
	bench_check(cc_net_listen(&listener, address, NULL) == 0, "no listener");
	bench_spawn(&task, serve_all, (void *)(intptr_t)listener);
	bench_check(cc_net_dial(&fd[0], address, NULL, CC_FOREVER) == 0, "no connection");
	before = resident();
	for (long i = 1; i < n; i++)
		bench_check(cc_net_dial(&fd[i], address, NULL, CC_FOREVER) == 0, "no connection");
	while (__atomic_load_n(&served, __ATOMIC_RELAXED) < n)
		pause_for(CC_MSEC);
	pause_for(100 * CC_MSEC);
	before = resident() - before;
	cpu = bench_cpu_us();
	pause_for(CC_SEC);
	cpu = bench_cpu_us() - cpu;
	for (long i = 0; i < n; i++)
		cc_fd_close(fd[i]);
	cc_fd_close(listener);
	bench_join(task);
	bench_report(name, n, CC_SEC, "\"connections\":%ld,\"bytes_each\":%ld,\"cpu_us\":%ld", n,
	             before / (n - 1), cpu);
	free(fd);
}

/* ---- many at the same moment ---- */

struct moment {
	CCNursery nursery;
	cc_time deadline;	/* of the waits */
	cc_time at;		/* when they are to end; atomic */
	int expected;
	int end[2];
	long waiting, ended, late;	/* atomic */
};

static int wait_until_then(void *arg)
{
	struct moment *m = arg;
	cc_time late;
	long most;

	__atomic_fetch_add(&m->waiting, 1, __ATOMIC_RELAXED);
	if (cc_wait_fd(m->end[0], CC_FD_READ, m->deadline) == m->expected)
		__atomic_fetch_add(&m->ended, 1, __ATOMIC_RELAXED);
	late = cc_now() - __atomic_load_n(&m->at, __ATOMIC_ACQUIRE);
	most = __atomic_load_n(&m->late, __ATOMIC_RELAXED);
	while (most < late && !__atomic_compare_exchange_n(&m->late, &most, late, 0, __ATOMIC_RELAXED,
	                                                   __ATOMIC_RELAXED))
		continue;
	return 0;
}

static void run_moment(const char *name, struct moment *m, cc_time soon)
{
	const long n = bench_arg("n", 100000);

	bench_check(pipe2(m->end, O_NONBLOCK | O_CLOEXEC) == 0, "no pipe");
	bench_check(cc_nursery_init(&m->nursery, NULL) == 0, "no nursery");
	m->at = m->deadline = soon == CC_FOREVER ? CC_FOREVER : cc_after(soon);
	for (long i = 0; i < n; i++)
		bench_check(cc_nursery_spawn(&m->nursery, NULL, wait_until_then, m) == 0, "no task");
	while (__atomic_load_n(&m->waiting, __ATOMIC_RELAXED) < n)
		pause_for(CC_MSEC);
	pause_for(50 * CC_MSEC);
	if (soon == CC_FOREVER) {
		__atomic_store_n(&m->at, cc_now(), __ATOMIC_RELEASE);
		cc_nursery_cancel(&m->nursery, 0);
	} else {
		bench_check(cc_now() < m->deadline, "starting took too long: soon_ms=MORE");
	}
	cc_ignore(cc_nursery_join(&m->nursery));
	bench_report(name, n, m->late, "\"ended\":%ld,\"late_ms\":%.1f", m->ended,
	             (double)m->late / CC_MSEC);
	close(m->end[0]);
	close(m->end[1]);
}

static void fd_timeouts(const char *name)
{
	struct moment m = {.expected = ETIMEDOUT};

	run_moment(name, &m, bench_arg("soon_ms", 8000) * CC_MSEC);
}

static void fd_cancels(const char *name)
{
	struct moment m = {.expected = ECANCELED};

	run_moment(name, &m, CC_FOREVER);
}

const struct bench_case bench_connection_cases[] = {
    {"silent_connections", silent_connections, BENCH_LONG},
    {"fd_timeouts_100k", fd_timeouts, BENCH_LONG},
    {"fd_cancels_100k", fd_cancels, BENCH_LONG},
    {NULL, NULL, 0},
};
