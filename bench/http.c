/* http.c - what does a request cost a server that does nothing else?
 *
 *     ccc-bench http_raw workers=1 port=18080 & wrk -t1 -c64 -d3 http://127.0.0.1:18080/; kill %1
 *
 * Answers every request on every connection with the same page, until SIGTERM.  Then it reports
 * how many there were and the CPU time of one. */
#include <signal.h>
#include <stdio.h>

#include "bench.h"

static const char page[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
			   "Content-Length: 13\r\n\r\nHello, World!";

static long requests;	/* relaxed additions by connections that have ended */

/* Requests in `text` that end there; *last is its last four bytes, before and after. */
static long requests_in(const char *text, size_t size, uint32_t *last)
{
	long n = 0;

	for (size_t i = 0; i < size; i++) {
		*last = *last << 8 | (uint8_t)text[i];
		n += *last == 0x0d0a0d0a;
	}
	return n;
}

static int answer_all(int fd, long n)
{
	int err = 0;

	while (n-- > 0 && err == 0)
		err = cc_fd_write_all(fd, page, sizeof page - 1, NULL, CC_FOREVER);
	return err;
}

static int serve_connection(void *arg)
{
	const int fd = (int)(intptr_t)arg;
	char text[4096];
	uint32_t last = 0;
	size_t size;
	long n, total = 0;

	while (cc_fd_read(fd, text, sizeof text, &size, CC_FOREVER) == 0) {
		n = requests_in(text, size, &last);
		if (answer_all(fd, n) != 0)
			break;
		total += n;
	}
	cc_fd_close(fd);
	__atomic_fetch_add(&requests, total, __ATOMIC_RELAXED);
	return 0;
}

static int accept_all(void *arg)
{
	int fd;

	while (cc_net_accept((int)(intptr_t)arg, &fd, CC_FOREVER) == 0)
		bench_spawn(NULL, serve_connection, (void *)(intptr_t)fd);
	return 0;
}

static void http_raw(const char *name)
{
	const CCNetOptions options = {.no_delay = 1};
	char address[32];
	CCTask task;
	cc_time ns;
	sigset_t end;
	int listener, signal;

	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	bench_check(sigprocmask(SIG_BLOCK, &end, NULL) == 0, "no signal mask");
	snprintf(address, sizeof address, "127.0.0.1:%ld", bench_arg("port", 18080));
	bench_check(cc_net_listen(&listener, address, &options) == 0, "no listener");
	bench_start();
	ns = -cc_now();
	bench_spawn(&task, accept_all, (void *)(intptr_t)listener);
	bench_check(sigwait(&end, &signal) == 0, "no signal");
	ns += cc_now();
	cc_fd_close(listener);
	bench_join(task);
	/* Clients may still be there: their connections are not waited for. */
	requests = __atomic_load_n(&requests, __ATOMIC_RELAXED);
	bench_report(name, requests > 0 ? requests : 1, ns, "\"cpu_us_per_request\":%.2f",
	             (double)bench_cpu_us() / (double)(requests > 0 ? requests : 1));
	bench_stop();
}

const struct bench_case bench_http_cases[] = {
    {"http_raw", http_raw, BENCH_THREAD | BENCH_LONG},
    {NULL, NULL, 0},
};
