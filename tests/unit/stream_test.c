/* stream_test.c - buffered reading and writing, over descriptors and in memory.
 * link-wrap: malloc */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "hosts.h"
#include "io/stream.h"
#include "tasks.h"

/* ---- memory that is not there ---- */

static cc__a32 refused;		/* so many calls more fail */

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
	if (cc__load(&refused, CC__RELAXED) == 0)
		return __real_malloc(size);
	cc__sub(&refused, 1, CC__RELAXED);
	return NULL;
}

/* ---- both kinds of pairs ---- */

enum backing { MEMORY, SOCKETS, BACKINGS };

static void open_pair(enum backing backing, CCStream *s[2])
{
	int end[2];

	if (backing == MEMORY) {
		CHECK_EQ(cc_stream_pair(s, 0), 0);
		return;
	}
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, end), 0);
	CHECK_EQ(cc_stream_open(&s[0], end[0]), 0);
	CHECK_EQ(cc_stream_open(&s[1], end[1]), 0);
	CHECK_EQ(cc_stream_fd(s[0]), end[0]);
	CHECK(fcntl(end[0], F_GETFL) & O_NONBLOCK);
}

static void close_pair(CCStream *s[2])
{
	CHECK_EQ(cc_stream_close(s[0], CC_NOW), 0);
	CHECK_EQ(cc_stream_close(s[1], CC_NOW), 0);
}

static void say(CCStream *s, const char *text)
{
	size_t n = 0;

	CHECK_EQ(cc_stream_write(s, text, strlen(text), &n, CC_NOW), 0);
	CHECK_EQ(n, strlen(text));
	CHECK_EQ(cc_stream_flush(s, CC_NOW), 0);
}

/* What is unread, and nothing behind it. */
static void check_rest(CCStream *s, const char *expected)
{
	char text[256] = "";
	size_t n = 0;

	CHECK_EQ(cc_stream_read(s, text, sizeof text - 1, &n, CC_NOW), 0);
	CHECK_EQ(n, strlen(expected));
	CHECK_STR(text, expected);
}

/* ---- lines ---- */

TEST(line_is_read_without_its_ending)
{
	CCStream *s[2];
	char text[16];
	size_t n;

	for (enum backing b = 0; b < BACKINGS; b++) {
		open_pair(b, s);
		say(s[1], "one\ntwo\r\n\n\r\nthree");
		CHECK_EQ(cc_stream_read_line(s[0], text, sizeof text, &n, CC_NOW), 0);
		CHECK_STR(text, "one");
		CHECK_EQ(n, 3);
		CHECK_EQ(cc_stream_read_line(s[0], text, sizeof text, &n, CC_NOW), 0);
		CHECK_STR(text, "two");
		CHECK_EQ(cc_stream_read_line(s[0], text, sizeof text, &n, CC_NOW), 0);
		CHECK_EQ(n, 0);
		CHECK_EQ(cc_stream_read_line(s[0], text, sizeof text, NULL, CC_NOW), 0);
		CHECK_STR(text, "");
		CHECK_EQ(cc_stream_read_line(s[0], text, sizeof text, &n, CC_NOW), EAGAIN);
		say(s[1], "\nfour");
		CHECK_EQ(cc_stream_read_line(s[0], text, sizeof text, &n, CC_NOW), 0);
		CHECK_STR(text, "three");
		CHECK_EQ(cc_stream_shutdown(s[1], CC_NOW), 0);
		n = 7;
		CHECK_EQ(cc_stream_read_line(s[0], text, sizeof text, &n, CC_NOW), EPIPE);
		CHECK_EQ(n, 0);
		check_rest(s[0], "four");	/* not lost */
		CHECK_EQ(cc_stream_read(s[0], text, 1, &n, CC_FOREVER), EPIPE);
		close_pair(s);
	}
}

TEST(line_that_is_too_long_is_an_error_and_stays)
{
	CCStream *s[2];
	char text[4], all[64];
	size_t n = 7;

	for (enum backing b = 0; b < BACKINGS; b++) {
		open_pair(b, s);
		say(s[1], "abc\r\nabcd\nx");
		CHECK_EQ(cc_stream_read_line(s[0], text, 0, &n, CC_NOW), EINVAL);
		CHECK_EQ(cc_stream_read_line(s[0], text, 4, &n, CC_NOW), 0);
		CHECK_STR(text, "abc");
		CHECK_EQ(cc_stream_read_line(s[0], text, 4, &n, CC_NOW), EMSGSIZE);
		CHECK_EQ(n, 0);
		CHECK_EQ(cc_stream_read_line(s[0], all, sizeof all, &n, CC_NOW), 0);
		CHECK_STR(all, "abcd");
		check_rest(s[0], "x");
		say(s[1], "12345678");		/* no line feed in sight */
		CHECK_EQ(cc_stream_read_line(s[0], text, 4, &n, CC_FOREVER), EMSGSIZE);
		check_rest(s[0], "12345678");
		close_pair(s);
	}
}

TEST(read_until_stops_behind_the_delimiter)
{
	CCStream *s[2];
	char text[8] = "";
	size_t n;

	for (enum backing b = 0; b < BACKINGS; b++) {
		open_pair(b, s);
		say(s[1], "key=value;1234567;");
		CHECK_EQ(cc_stream_read_until(s[0], '=', text, 4, &n, CC_NOW), 0);
		CHECK(n == 4 && memcmp(text, "key=", 4) == 0);
		CHECK_EQ(cc_stream_read_until(s[0], ';', text, 5, &n, CC_NOW), EMSGSIZE);
		CHECK_EQ(n, 0);
		CHECK_EQ(cc_stream_read_until(s[0], ';', text, 6, &n, CC_NOW), 0);
		CHECK(n == 6 && memcmp(text, "value;", 6) == 0);
		CHECK_EQ(cc_stream_read_until(s[0], '\n', text, 8, &n, CC_FOREVER), EMSGSIZE);
		check_rest(s[0], "1234567;");
		close_pair(s);
	}
}

/* ---- some, all, in place ---- */

TEST(read_all_takes_from_the_buffer_and_then_from_the_backend)
{
	static char text[3 * CC__BUFFER_FIRST];
	CCStream *s[2];
	size_t n;

	for (enum backing b = 0; b < BACKINGS; b++) {
		open_pair(b, s);
		say(s[1], "abcdefg");
		CHECK_EQ(cc_stream_read(s[0], text, 2, &n, CC_NOW), 0);
		CHECK_EQ(n, 2);
		CHECK_EQ(cc_stream_read_all(s[0], text, 3, &n, CC_NOW), 0);
		CHECK(memcmp(text, "cde", 3) == 0);
		CHECK_EQ(cc_stream_read_all(s[0], text, sizeof text, &n, CC_NOW), EAGAIN);
		CHECK_EQ(n, 2);
		CHECK(memcmp(text, "fg", 2) == 0);
		say(s[1], "hi");
		CHECK_EQ(cc_stream_shutdown(s[1], CC_NOW), 0);
		CHECK_EQ(cc_stream_read_all(s[0], text, sizeof text, &n, CC_NOW), EPIPE);
		CHECK_EQ(n, 2);
		CHECK_EQ(cc_stream_read(s[0], text, 0, &n, CC_NOW), 0);
		close_pair(s);
	}
}

TEST(peek_shows_and_consume_discards)
{
	CCStream *s[2];
	const char *data;
	size_t n;

	for (enum backing b = 0; b < BACKINGS; b++) {
		open_pair(b, s);
		CHECK_EQ(cc_stream_peek(s[0], 0, &data, &n, CC_NOW), 0);
		CHECK_EQ(n, 0);
		CHECK_EQ(cc_stream_peek(s[0], 1, &data, &n, CC_NOW), EAGAIN);
		say(s[1], "abc");
		CHECK_EQ(cc_stream_peek(s[0], 0, &data, &n, CC_NOW), 0);
		CHECK_EQ(n, 0);
		CHECK_EQ(cc_stream_peek(s[0], 1, &data, &n, CC_NOW), 0);
		CHECK(n == 3 && memcmp(data, "abc", 3) == 0);
		CHECK_EQ(cc_stream_consume(s[0], 4), EINVAL);
		CHECK_EQ(cc_stream_consume(s[0], 2), 0);
		CHECK_EQ(cc_stream_peek(s[0], 2, &data, &n, CC_NOW), EAGAIN);
		CHECK(n == 1 && *data == 'c');
		say(s[1], "defg");
		CHECK_EQ(cc_stream_peek(s[0], 2, &data, &n, CC_NOW), 0);
		CHECK(n == 5 && memcmp(data, "cdefg", 5) == 0);
		CHECK_EQ(cc_stream_shutdown(s[1], CC_NOW), 0);
		CHECK_EQ(cc_stream_peek(s[0], 6, &data, &n, CC_NOW), EPIPE);
		CHECK(n == 5 && memcmp(data, "cdefg", 5) == 0);
		close_pair(s);
	}
}

/* ---- buffers ---- */

TEST(waiting_stream_has_no_buffer)
{
	CCStream *s[2];
	char text[8];
	size_t n;

	for (enum backing b = 0; b < BACKINGS; b++) {
		open_pair(b, s);
		CHECK_EQ(cc_stream_read(s[0], text, 1, &n, CC_NOW), EAGAIN);
		CHECK(s[0]->in.at == NULL);
		say(s[1], "a\n");
		CHECK(s[1]->out.at == NULL);	/* flushed */
		CHECK_EQ(cc_stream_read_line(s[0], text, sizeof text, &n, CC_NOW), 0);
		CHECK_EQ(cc_stream_read_line(s[0], text, sizeof text, &n, CC_NOW), EAGAIN);
		CHECK(s[0]->in.at == NULL);
		say(s[1], "b");
		CHECK_EQ(cc_stream_read_line(s[0], text, sizeof text, &n, CC_NOW), EAGAIN);
		CHECK(s[0]->in.at != NULL);	/* it holds the b */
		close_pair(s);
	}
}

TEST(no_memory_is_an_error_that_loses_nothing)
{
	CCStream *s[2], *more = NULL;
	char text[8];
	size_t n = 7;

	open_pair(MEMORY, s);
	cc__store(&refused, 1, CC__RELAXED);
	CHECK_EQ(cc_stream_write(s[1], "abc", 3, &n, CC_NOW), ENOMEM);
	CHECK_EQ(n, 0);
	say(s[1], "abc");
	cc__store(&refused, 1, CC__RELAXED);
	CHECK_EQ(cc_stream_read(s[0], text, sizeof text, &n, CC_NOW), ENOMEM);
	check_rest(s[0], "abc");
	cc__store(&refused, 1, CC__RELAXED);
	CHECK_EQ(cc_stream_open(&more, 0), ENOMEM);
	cc__store(&refused, 1, CC__RELAXED);
	CHECK_EQ(cc_stream_pair(s, 0), ENOMEM);
	CHECK_EQ(cc__load(&refused, CC__RELAXED), 0);
	close_pair(s);
}

/* The unread bytes survive every growth and every move of the buffer. */
TEST(random_pieces_arrive_in_order)
{
	uint64_t seed = test_seed();
	CCStream *s[2];
	unsigned char text[700];
	uint8_t next_out = 0, next_in = 0;
	size_t n = 0, behind = 0;

	for (unsigned round = 0; round < 4000; round++) {
		const size_t size = test_random(&seed) % sizeof text;
		const char *data;

		if (round % 1000 == 0)
			open_pair(round % 2000 == 0 ? MEMORY : SOCKETS, s);
		for (size_t i = 0; i < size; i++)
			text[i] = next_out++;
		CHECK_EQ(cc_stream_write(s[1], text, size, &n, CC_NOW), 0);
		CHECK_EQ(cc_stream_flush(s[1], CC_NOW), 0);
		behind += size;
		const size_t want = test_random(&seed) % (behind + 1);

		REQUIRE_EQ(cc_stream_peek(s[0], want, &data, &n, CC_NOW), 0);
		for (size_t i = 0; i < want; i++)
			REQUIRE_EQ((uint8_t)data[i], next_in++);
		CHECK_EQ(cc_stream_consume(s[0], want), 0);
		behind -= want;
		while (behind > 1500 || (round % 1000 == 999 && behind > 0)) {
			REQUIRE_EQ(cc_stream_read(s[0], text, sizeof text, &n, CC_NOW), 0);
			for (size_t i = 0; i < n; i++)
				REQUIRE_EQ(text[i], next_in++);
			behind -= n;
		}
		if (round % 1000 == 999)
			close_pair(s);
	}
}

TEST(buffer_grows_with_its_contents)
{
	static unsigned char text[3 * CC__BUFFER_FIRST];
	const char *data;
	CCStream *s[2];
	size_t n;

	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (unsigned char)(i * 7 >> 3);
	for (enum backing b = 0; b < BACKINGS; b++) {
		open_pair(b, s);
		for (size_t sent = 0; sent < sizeof text; sent += 1024) {
			CHECK_EQ(cc_stream_write(s[1], text + sent, 1024, &n, CC_NOW), 0);
			CHECK_EQ(cc_stream_flush(s[1], CC_NOW), 0);
			REQUIRE_EQ(cc_stream_peek(s[0], sent + 1024, &data, &n, CC_NOW), 0);
			CHECK_EQ(n, sent + 1024);
			CHECK(memcmp(data, text, n) == 0);
		}
		close_pair(s);
	}
}

/* ---- writing ---- */

TEST(writes_are_collected_until_a_flush)
{
	CCStream *s[2];
	char c;

	for (enum backing b = 0; b < BACKINGS; b++) {
		open_pair(b, s);
		CHECK_EQ(cc_stream_write(s[1], "abc", 3, NULL, CC_NOW), 0);
		CHECK_EQ(cc_stream_write(s[1], "de", 2, NULL, CC_NOW), 0);
		CHECK_EQ(cc_stream_read(s[0], &c, 1, NULL, CC_NOW), EAGAIN);
		CHECK_EQ(cc_stream_flush(s[1], CC_NOW), 0);
		check_rest(s[0], "abcde");
		CHECK_EQ(cc_stream_write(s[1], "last", 4, NULL, CC_NOW), 0);
		CHECK_EQ(cc_stream_close(s[1], CC_NOW), 0);	/* flushes */
		check_rest(s[0], "last");
		CHECK_EQ(cc_stream_read(s[0], &c, 1, NULL, CC_NOW), EPIPE);
		CHECK_EQ(cc_stream_close(s[0], CC_NOW), 0);
	}
}

TEST(write_to_a_peer_that_has_gone_is_epipe)
{
	CCStream *s[2];

	for (enum backing b = 0; b < BACKINGS; b++) {
		open_pair(b, s);
		CHECK_EQ(cc_stream_close(s[0], CC_NOW), 0);
		CHECK_EQ(cc_stream_write(s[1], "x", 1, NULL, CC_NOW), 0);
		CHECK_EQ(cc_stream_flush(s[1], CC_FOREVER), EPIPE);	/* and no SIGPIPE */
		CHECK_EQ(cc_stream_close(s[1], CC_NOW), EPIPE);
	}
	CHECK_EQ(cc_stream_close(NULL, CC_NOW), 0);
}

TEST(flush_that_fails_keeps_what_was_not_sent)
{
	static char text[10000], got[10000];
	CCStream *s[2];
	size_t n = 0, have = 0;

	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (char)(i * 31 >> 3);
	CHECK_EQ(cc_stream_pair(s, 100), 0);
	CHECK_EQ(cc_stream_write(s[1], text, sizeof text, &n, CC_NOW), 0);
	while (have < sizeof got) {
		const int err = cc_stream_flush(s[1], CC_NOW);

		CHECK(err == EAGAIN || err == 0);
		REQUIRE_EQ(cc_stream_read(s[0], got + have, sizeof got - have, &n, CC_NOW), 0);
		have += n;
	}
	CHECK(memcmp(text, got, sizeof got) == 0);
	CHECK_EQ(cc_stream_flush(s[1], CC_NOW), 0);
	close_pair(s);
}

/* ---- much, both ways, between fibers ---- */

struct flow {
	CCStream *s;
	size_t bytes, piece;
	bool writes;
	struct sleeper who;
};

static int flow_main(void *arg)
{
	struct flow *f = arg;
	static char zeros[40000];
	char *piece = __real_malloc(f->piece);
	size_t n, done = 0;
	int err = 0;

	for (; err == 0 && done < f->bytes; done += n) {
		n = f->bytes - done < f->piece ? f->bytes - done : f->piece;
		if (f->writes)
			err = cc_stream_write(f->s, zeros, n, &n, CC_FOREVER);
		else
			err = cc_stream_read(f->s, piece, n, &n, CC_FOREVER);
	}
	free(piece);
	return err != 0 || !f->writes ? err : cc_stream_shutdown(f->s, CC_FOREVER);
}

TEST(both_directions_flow_at_once)
{
	static const size_t pieces[] = {1, 100, 5000, 40000};
	struct host h;
	CCStream *s[2];

	host_begin(&h);
	for (unsigned i = 0; i < 4 * BACKINGS; i++) {
		struct flow f[4];

		open_pair(i % BACKINGS, s);
		for (int j = 0; j < 4; j++) {
			f[j] = (struct flow){.s = s[j / 2],
			                     .bytes = 200 * pieces[i / BACKINGS],
			                     .piece = pieces[i / BACKINGS],
			                     .writes = j % 2 != 0};
			sleeper_start(&f[j].who, h.rt, j == 3 ? THREAD : FIBER, flow_main, &f[j]);
		}
		for (int j = 0; j < 4; j++)
			CHECK_EQ(sleeper_join(&f[j].who), 0);
		close_pair(s);
	}
	host_end(&h);
}

/* ---- limits of time ---- */

static int read_a_byte(void *arg)
{
	char c;

	return cc_stream_read(arg, &c, 1, NULL, CC_FOREVER);
}

TEST(idle_limit_ends_a_wait_without_a_deadline)
{
	CCStream *s[2];
	struct sleeper who;
	struct host h;

	host_begin(&h);
	for (enum backing b = 0; b < BACKINGS; b++)
		for (enum kind kind = FIBER; kind < KINDS; kind++) {
			open_pair(b, s);
			cc_stream_idle_limit(s[0], 2 * CC_MSEC);
			sleeper_start(&who, h.rt, kind, read_a_byte, s[0]);
			CHECK_EQ(sleeper_join(&who), ETIMEDOUT);
			CHECK_EQ(read_a_byte(s[0]), ETIMEDOUT);
			cc_stream_idle_limit(s[0], 0);
			say(s[1], "x");
			CHECK_EQ(read_a_byte(s[0]), 0);
			close_pair(s);
		}
	host_end(&h);
}

TEST(closed_descriptor_ends_a_read_of_its_stream)
{
	CCStream *s[2];
	struct sleeper who;
	struct host h;

	host_begin(&h);
	open_pair(SOCKETS, s);
	sleeper_start(&who, h.rt, FIBER, read_a_byte, s[0]);
	until_parked(&who);
	CHECK_EQ(cc_fd_close(cc_stream_fd(s[0])), 0);
	CHECK_EQ(sleeper_join(&who), EBADF);
	CHECK_EQ(cc_stream_close(s[0], CC_NOW), EBADF);
	CHECK_EQ(cc_stream_close(s[1], CC_NOW), 0);
	host_end(&h);
}

/* ---- backends ---- */

static int refuse(void *object)
{
	(void)object;
	return EIO;
}

static int refuse_wait(void *object, unsigned event, cc_time deadline)
{
	(void)object, (void)event, (void)deadline;
	return ENOLCK;
}

static int read_nothing(void *object, void *buffer, size_t size, size_t *count)
{
	(void)object, (void)buffer, (void)size, (void)count;
	return EAGAIN;
}

static int write_nothing(void *object, const void *buffer, size_t size, size_t *count)
{
	(void)object, (void)buffer, (void)size, (void)count;
	return ENOSPC;
}

TEST(errors_of_a_backend_are_passed_on)
{
	const CCStreamBackend b = {.read = read_nothing,
	                           .write = write_nothing,
	                           .wait = refuse_wait,
	                           .close = refuse};
	CCStream *s;
	char c;
	int object;

	CHECK_EQ(cc_stream_new(&s, &(CCStreamBackend){0}, &object), EINVAL);
	CHECK_EQ(cc_stream_new(&s, &b, NULL), EINVAL);
	CHECK_EQ(cc_stream_new(NULL, &b, &object), EINVAL);
	CHECK_EQ(cc_stream_open(NULL, 0), EINVAL);
	CHECK_EQ(cc_stream_open(&s, -1), EBADF);
	CHECK_EQ(cc_stream_pair(NULL, 0), EINVAL);
	CHECK_EQ(cc_stream_new(&s, &b, &object), 0);
	CHECK_EQ(cc_stream_fd(s), -1);
	CHECK_EQ(cc_stream_read(s, &c, 1, NULL, CC_FOREVER), ENOLCK);
	CHECK_EQ(cc_stream_write(s, &c, 1, NULL, CC_FOREVER), 0);
	CHECK_EQ(cc_stream_shutdown(s, CC_FOREVER), ENOTSUP);
	CHECK_EQ(cc_stream_flush(s, CC_FOREVER), ENOSPC);
	CHECK_EQ(cc_stream_close(s, CC_FOREVER), ENOSPC);
	CHECK_EQ(cc_stream_new(&s, &b, &object), 0);
	CHECK_EQ(cc_stream_close(s, CC_FOREVER), EIO);
}

/* ---- two steps in one ---- */

TEST(print_writes_short_and_long_text)
{
	static char text[6000];
	CCStream *s[2];
	size_t n;

	CHECK_EQ(cc_stream_pair(s, sizeof text), 0);
	CHECK_EQ(cc_stream_print(s[0], CC_NOW, "%d %s\n", 42, "short"), 0);
	CHECK_EQ(cc_stream_print(s[0], CC_NOW, "%0*d\n", 5000, 7), 0);
	CHECK_EQ(cc_stream_flush(s[0], CC_NOW), 0);
	CHECK_EQ(cc_stream_read_line(s[1], text, sizeof text, &n, CC_NOW), 0);
	CHECK_STR(text, "42 short");
	CHECK_EQ(cc_stream_read_line(s[1], text, sizeof text, &n, CC_NOW), 0);
	CHECK_EQ(n, 5000);
	CHECK(text[0] == '0' && text[4999] == '7');
	cc__store(&refused, 1, CC__RELAXED);
	CHECK_EQ(cc_stream_print(s[0], CC_NOW, "%0*d", 5000, 7), ENOMEM);
	CHECK_EQ(cc_stream_close(s[0], CC_NOW), 0);
	CHECK_EQ(cc_stream_close(s[1], CC_NOW), 0);
}

TEST(dial_opens_a_stream_or_leaves_nothing)
{
	char at[CC_NET_ADDRESS_SIZE];
	CCStream *s, *peer;
	int listener, fd;
	char c = 0;

	REQUIRE_EQ(cc_net_listen(&listener, "127.0.0.1:0", NULL), 0);
	CHECK_EQ(cc_net_local_address(listener, at, sizeof at), 0);
	CHECK_EQ(cc_stream_dial(&s, at, NULL, CC_FOREVER), 0);
	CHECK_EQ(cc_net_accept(listener, &fd, CC_FOREVER), 0);
	CHECK_EQ(cc_stream_open(&peer, fd), 0);
	CHECK_EQ(cc_stream_print(s, CC_FOREVER, "x"), 0);
	CHECK_EQ(cc_stream_close(s, CC_FOREVER), 0);
	CHECK_EQ(cc_stream_read(peer, &c, 1, NULL, CC_FOREVER), 0);
	CHECK_EQ(c, 'x');
	CHECK_EQ(cc_stream_read(peer, &c, 1, NULL, CC_FOREVER), EPIPE);
	CHECK_EQ(cc_stream_close(peer, CC_FOREVER), 0);

	cc__store(&refused, 1, CC__RELAXED);
	CHECK_EQ(cc_stream_dial(&s, at, NULL, CC_FOREVER), ENOMEM);
	CHECK_EQ(cc_net_accept(listener, &fd, CC_FOREVER), 0);
	CHECK_EQ(cc_fd_read(fd, &c, 1, NULL, CC_FOREVER), EPIPE);	/* it was closed */
	CHECK_EQ(cc_fd_close(fd), 0);
	CHECK_EQ(cc_fd_close(listener), 0);
	CHECK_EQ(cc_stream_dial(&s, at, NULL, CC_FOREVER), ECONNREFUSED);
	CHECK_EQ(cc_stream_dial(NULL, at, NULL, CC_FOREVER), EINVAL);
}
