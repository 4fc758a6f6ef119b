/* io.load.c - a load for HTTP servers that costs little itself, and the CPU time of the server.
 *
 *     io.load PORT PID CONNECTIONS PIPELINE MILLISECONDS [PATH [GAP_US]]
 *
 * Sends GET PATH on each connection, PIPELINE requests at a time, and the next ones when all have
 * been answered; with GAP_US one request after each such span.  All answers must be as long as the
 * first one.  Prints the figures as JSON: requests, their rate, the CPU microseconds of the process
 * PID for one (not for PID 0), and the 50 and 99 % of the latencies of rounds. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct connection {
	int fd;
	size_t missing;	/* bytes of answers that have not come */
	int64_t sent;
};

enum { MAX_CONNECTIONS = 20000, SAMPLES = 1 << 20 };
static struct connection connections[MAX_CONNECTIONS];
static char request[65536];
static size_t request_size, answer_size;
static unsigned pipeline;
static uint32_t samples[SAMPLES];
static size_t sample_count;
static uint64_t answered;

static void die(const char *what)
{
	fprintf(stderr, "io.load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int64_t now_of(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t) != 0)
		die("clock");
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int connect_to(int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
	                         .sin_port = htons((uint16_t)port),
	                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
		die("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	return fd;
}

/* The size of the whole answer to one request. */
static size_t ask_size(int port, const char *one)
{
	static char text[65536];
	const char *length, *end;
	const int fd = connect_to(port);
	size_t have = 0;
	ssize_t n;

	if (write(fd, one, strlen(one)) < 0)
		die("write");
	while ((end = strstr(text, "\r\n\r\n")) == NULL && have < sizeof text - 1) {
		if ((n = read(fd, text + have, sizeof text - 1 - have)) <= 0)
			die("read");
		have += (size_t)n;
	}
	if (end == NULL || strncmp(text, "HTTP/1.1 200", 12) != 0 ||
	    (length = strcasestr(text, "\r\nContent-Length:")) == NULL || length > end)
		die("the answer is not what is expected");
	close(fd);
	return (size_t)(end + 4 - text) + strtoul(length + 17, NULL, 10);
}

static void send_requests(struct connection *c)
{
	c->missing = answer_size * pipeline;
	c->sent = now_of(CLOCK_MONOTONIC);
	if (write(c->fd, request, request_size) != (ssize_t)request_size)
		die("write of requests");
}

/* True: all that was asked for has come. */
static int read_answers(struct connection *c)
{
	static char waste[1 << 18];
	const ssize_t n = recv(c->fd, waste, sizeof waste, MSG_DONTWAIT);

	if (n <= 0 && !(n < 0 && errno == EAGAIN))
		die("the server has closed");
	if (n > 0 && (size_t)n > c->missing)
		die("more than one answer for a request");
	c->missing -= n > 0 ? (size_t)n : 0;
	if (c->missing > 0)
		return 0;
	answered += pipeline;
	if (sample_count < SAMPLES)
		samples[sample_count++] = (uint32_t)((now_of(CLOCK_MONOTONIC) - c->sent) / 1000);
	return 1;
}

static void run_all(int epoll, int64_t until)
{
	struct epoll_event e[256];

	while (now_of(CLOCK_MONOTONIC) < until)
		for (int i = epoll_wait(epoll, e, 256, 100); i-- > 0;)
			if (read_answers(e[i].data.ptr))
				send_requests(e[i].data.ptr);
}

/* Sleeps for most of the gap. */
static void run_paced(int64_t until, int64_t gap)
{
	int64_t next = now_of(CLOCK_MONOTONIC), left;

	while (next < until) {
		send_requests(&connections[0]);
		while (!read_answers(&connections[0]))
			continue;
		for (next += gap; (left = next - now_of(CLOCK_MONOTONIC)) > 0;)
			if (left > 100000)
				usleep((useconds_t)((left - 60000) / 1000));
	}
}

static int by_size(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static unsigned share(unsigned percent)
{
	return sample_count > 0 ? samples[(sample_count - 1) * percent / 100] : 0;
}

int main(int argc, char **argv)
{
	const int port = argc > 5 ? atoi(argv[1]) : 0, pid = argc > 5 ? atoi(argv[2]) : 0;
	const int count = argc > 5 ? atoi(argv[3]) : 0, epoll = epoll_create1(0);
	const int64_t gap = argc > 7 ? atoll(argv[7]) * 1000 : 0;
	clockid_t clock = CLOCK_MONOTONIC;
	int64_t began, cpu, took;
	char one[512];

	if (argc < 6 || count < 1 || count > MAX_CONNECTIONS ||
	    (pid != 0 && clock_getcpuclockid(pid, &clock) != 0))
		die("usage: io.load PORT PID CONNECTIONS PIPELINE MILLISECONDS [PATH [GAP_US]]");
	pipeline = (unsigned)atoi(argv[4]);
	snprintf(one, sizeof one, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n",
	         argc > 6 ? argv[6] : "/");
	answer_size = ask_size(port, one);
	for (unsigned i = 0; i < pipeline; i++)
		request_size += (size_t)snprintf(request + request_size,
		                                 sizeof request - request_size, "%s", one);
	for (int i = 0; i < count; i++) {
		struct epoll_event e = {.events = EPOLLIN, .data.ptr = &connections[i]};

		connections[i].fd = connect_to(port);
		epoll_ctl(epoll, EPOLL_CTL_ADD, connections[i].fd, &e);
	}
	began = now_of(CLOCK_MONOTONIC);
	cpu = now_of(clock);
	if (gap == 0)
		for (int i = 0; i < count; i++)
			send_requests(&connections[i]);
	if (gap == 0)
		run_all(epoll, began + atoll(argv[5]) * 1000000);
	else
		run_paced(began + atoll(argv[5]) * 1000000, gap);
	took = now_of(CLOCK_MONOTONIC) - began;
	cpu = now_of(clock) - cpu;
	qsort(samples, sample_count, sizeof *samples, by_size);
	printf("{\"requests\":%llu,\"per_s\":%.0f,\"cpu_us\":%.3f,\"p50_us\":%u,\"p99_us\":%u}\n",
	       (unsigned long long)answered, (double)answered * 1e9 / (double)took,
	       pid != 0 && answered > 0 ? (double)cpu / 1000 / (double)answered : 0, share(50),
	       share(99));
	return 0;
}
