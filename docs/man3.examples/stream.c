/* Streams: <ccc/stream.h>. */
#include <assert.h>
#include <string.h>
#include <sys/socket.h>

#include <ccc/ccc.h>

/* Two ends in memory: code for a protocol is tested without a network. */
static void write_lines(void)
{
	CCStream *ends[2];
	char line[32];
	size_t n;

	assert(cc_stream_pair(ends, 0) == 0);
	assert(cc_stream_write(ends[0], "one\ntwo\n", 8, NULL, CC_FOREVER) == 0);
	assert(cc_stream_flush(ends[0], CC_FOREVER) == 0);
	assert(cc_stream_read_line(ends[1], line, sizeof line, &n, cc_after(CC_SEC)) == 0);
	assert(n == 3 && strcmp(line, "one") == 0);
	assert(cc_stream_close(ends[0], CC_FOREVER) == 0);	/* "two" is still there */
	assert(cc_stream_read_line(ends[1], line, sizeof line, &n, cc_after(CC_SEC)) == 0);
	assert(cc_stream_read_line(ends[1], line, sizeof line, &n, cc_after(CC_SEC)) == EPIPE);
	assert(cc_stream_close(ends[1], CC_FOREVER) == 0);
}

static void read_in_other_ways(void)
{
	CCStream *ends[2];
	char text[32];
	size_t n;

	assert(cc_stream_pair(ends, 0) == 0);
	assert(cc_stream_write(ends[0], "headname;rest", 13, NULL, CC_FOREVER) == 0);
	assert(cc_stream_flush(ends[0], CC_FOREVER) == 0);
	assert(cc_stream_read_all(ends[1], text, 4, NULL, CC_FOREVER) == 0);	/* exactly 4 */
	assert(cc_stream_read_until(ends[1], ';', text, sizeof text, &n, CC_FOREVER) == 0);
	assert(n == 5 && memcmp(text, "name;", 5) == 0);
	assert(cc_stream_read(ends[1], text, sizeof text, &n, CC_FOREVER) == 0);
	assert(n == 4 && memcmp(text, "rest", 4) == 0);	/* what is there */
	assert(cc_stream_close(ends[0], CC_FOREVER) == 0);
	assert(cc_stream_close(ends[1], CC_FOREVER) == 0);
}

/* A parser looks at the bytes in the buffer and takes what it has understood. */
static void peek(void)
{
	CCStream *ends[2];
	const char *data;
	size_t count;

	assert(cc_stream_pair(ends, 0) == 0);
	assert(cc_stream_write(ends[0], "GET /", 5, NULL, CC_FOREVER) == 0);
	assert(cc_stream_flush(ends[0], CC_FOREVER) == 0);
	assert(cc_stream_peek(ends[1], 4, &data, &count, CC_FOREVER) == 0);
	assert(count == 5 && memcmp(data, "GET /", 5) == 0);
	assert(cc_stream_consume(ends[1], 4) == 0);
	assert(cc_stream_peek(ends[1], 1, &data, &count, CC_FOREVER) == 0);
	assert(count == 1 && data[0] == '/');
	assert(cc_stream_close(ends[0], CC_FOREVER) == 0);
	assert(cc_stream_close(ends[1], CC_FOREVER) == 0);
}

/* Over a socket; the stream owns the descriptor. */
static void open_a_socket(void)
{
	CCStream *here, *there;
	char line[16];
	int fd[2];

	assert(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
	assert(cc_stream_open(&here, fd[0]) == 0);
	assert(cc_stream_open(&there, fd[1]) == 0);
	assert(cc_stream_fd(here) == fd[0]);
	cc_stream_idle_limit(there, CC_MSEC);	/* a peer that is silent for so long is given up */
	assert(cc_stream_read_line(there, line, sizeof line, NULL, CC_FOREVER) == ETIMEDOUT);
	assert(cc_stream_write(here, "end\n", 4, NULL, CC_FOREVER) == 0);
	assert(cc_stream_shutdown(here, CC_FOREVER) == 0);	/* flushes; reading goes on */
	assert(cc_stream_read_line(there, line, sizeof line, NULL, CC_FOREVER) == 0);
	assert(cc_stream_close(there, CC_FOREVER) == 0);
	assert(cc_stream_close(here, CC_FOREVER) == 0);
}

/* A backend of the program: endless zeros. */
static int read_zeros(void *object, void *buffer, size_t size, size_t *count)
{
	(void)object;
	memset(buffer, 0, size);
	*count = size;
	return 0;
}

static int write_nowhere(void *object, const void *buffer, size_t size, size_t *count)
{
	(void)buffer;
	*(size_t *)object += size;
	*count = size;
	return 0;
}

static int never_waits(void *object, unsigned event, cc_time deadline)
{
	(void)object, (void)event, (void)deadline;
	return 0;
}

static int close_nothing(void *object)
{
	(void)object;
	return 0;
}

static void bring_a_backend(void)
{
	static const CCStreamBackend zeros = {.read = read_zeros, .write = write_nowhere,
	                                      .wait = never_waits, .close = close_nothing};
	size_t written = 0;
	CCStream *s;
	char text[4];

	assert(cc_stream_new(&s, &zeros, &written) == 0);
	assert(cc_stream_read_all(s, text, 4, NULL, CC_FOREVER) == 0 && text[3] == 0);
	assert(cc_stream_write(s, "hello", 5, NULL, CC_FOREVER) == 0);
	assert(cc_stream_close(s, CC_FOREVER) == 0);
	assert(written == 5);
}

int main(void)
{
	write_lines();
	read_in_other_ways();
	peek();
	open_a_socket();
	bring_a_backend();
	return 0;
}
