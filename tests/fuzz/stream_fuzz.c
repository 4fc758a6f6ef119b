/* stream_fuzz.c - reads a string of bytes as calls on the two ends of a stream: whatever is called in
 * whatever order, the bytes arrive once, in order, and each call keeps what stream.h promises.  See
 * driver.h. */
#include <errno.h>

#define FUZZ_NAME "stream_fuzz"
#include "driver.h"

enum { PIPE = 64, ALL = 1 << 16, PIECE = 300 };

static struct run {
	const uint8_t *bytes;
	size_t left;
	CCStream *end[2];	/* one writes, the other reads */
	char sent[ALL];		/* every byte that was accepted */
	size_t accepted, read;
} run;

static void fail_unless(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "stream_fuzz: %s\n", what);
	abort();
}

static unsigned next_byte(void)
{
	if (run.left == 0)
		return 0;
	run.left--;
	return *run.bytes++;
}

static size_t next_size(void)
{
	return next_byte() * (PIECE / 255) + next_byte() % 7;
}

/* Some bytes are delimiters. */
static char byte_at(size_t at)
{
	static const char some[] = "abc\nde\r\nfghijklmnopqrst\n\nuvw";

	return some[at * 11 % (sizeof some - 1)];
}

static void try_write(size_t size)
{
	char text[ALL];
	size_t n = 0;

	if (size > ALL - run.accepted)
		return;
	for (size_t i = 0; i < size; i++)
		run.sent[run.accepted + i] = text[i] = byte_at(run.accepted + i);
	const int err = cc_stream_write(run.end[0], text, size, &n, CC_NOW);
	fail_unless(n <= size && (err == EAGAIN || (err == 0 && n == size)), "write");
	run.accepted += n;
}

/* These bytes have come; `consumed`: they are not in the stream any more. */
static void check_bytes(const char *data, size_t n, bool consumed)
{
	fail_unless(n <= run.accepted - run.read, "more bytes than were written");
	fail_unless(memcmp(data, run.sent + run.read, n) == 0, "other bytes than were written");
	run.read += consumed ? n : 0;
}

static void try_read(size_t size, bool all)
{
	char *text = malloc(size + 1);	/* of its own, so that a sanitizer sees a write behind it */
	size_t n = size + 1;
	const int err = all ? cc_stream_read_all(run.end[1], text, size, &n, CC_NOW)
	                    : cc_stream_read(run.end[1], text, size, &n, CC_NOW);

	fail_unless(n <= size && (err == 0 || err == EAGAIN), "read");
	fail_unless(err != 0 || (all ? n == size : n > 0 || size == 0), "read of too little");
	fail_unless(all || err == 0 || n == 0, "an error with bytes");
	check_bytes(text, n, true);
	free(text);
}

static void try_read_until(size_t size, char delimiter)
{
	char *text = malloc(size + 1);
	size_t n = size + 1;
	const int err = cc_stream_read_until(run.end[1], delimiter, text, size, &n, CC_NOW);

	fail_unless(err == 0 || ((err == EAGAIN || err == EMSGSIZE) && n == 0), "read_until");
	if (err == 0)
		fail_unless(n <= size && memchr(text, delimiter, n) == text + n - 1, "delimiter");
	if (err == EMSGSIZE)
		fail_unless(memchr(run.sent + run.read, delimiter, size) == NULL, "too long?");
	check_bytes(text, n, true);
	free(text);
}

static void try_read_line(size_t size)
{
	char *text = malloc(size + 1);
	const char *from = run.sent + run.read;
	size_t n = size + 1, whole;
	const int err = cc_stream_read_line(run.end[1], text, size, &n, CC_NOW);

	if (size == 0) {
		fail_unless(err == EINVAL, "a line without room");
	} else if (err == 0) {
		fail_unless(n < size && text[n] == 0, "no final 0");
		check_bytes(text, n, false);
		whole = n + (from[n] == '\r');
		fail_unless(whole < run.accepted - run.read && from[whole] == '\n', "no line feed");
		run.read += whole + 1;
	} else {
		fail_unless((err == EAGAIN || err == EMSGSIZE) && n == 0, "read_line");
	}
	free(text);
}

static void try_peek(size_t size)
{
	const char *data;
	size_t n;
	const int err = cc_stream_peek(run.end[1], size, &data, &n, CC_NOW);

	fail_unless(err == 0 ? n >= size : err == EAGAIN && n < size, "peek");
	check_bytes(data, n, false);
	size = next_size();
	fail_unless((cc_stream_consume(run.end[1], size) == 0) == (size <= n), "consume");
	run.read += size <= n ? size : 0;
}

static void make_call(unsigned which)
{
	int err;

	switch (which % 8) {
	case 0: try_write(next_size()); break;
	case 1: try_write(next_byte() * 40); break;
	case 2:
		err = cc_stream_flush(run.end[0], CC_NOW);
		fail_unless(err == 0 || err == EAGAIN, "flush");
		break;
	case 3: try_read(next_size(), false); break;
	case 4: try_read(next_size(), true); break;
	case 5: try_read_until(next_size(), "\na\r"[next_byte() % 3]); break;
	case 6: try_read_line(next_size()); break;
	default: try_peek(next_size()); break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	run.bytes = bytes;
	run.left = size;
	run.accepted = run.read = 0;
	fail_unless(cc_stream_pair(run.end, PIPE) == 0, "no memory");
	while (run.left > 0)
		make_call(next_byte());
	/* What is still on its way arrives. */
	while (cc_stream_flush(run.end[0], CC_NOW) == EAGAIN)
		try_read(PIECE, false);
	for (size_t before = run.read + 1; run.read < run.accepted && before != run.read;) {
		before = run.read;
		try_read(PIECE, false);
	}
	fail_unless(run.read == run.accepted, "bytes are lost");
	cc_stream_close(run.end[0], CC_NOW);
	cc_stream_close(run.end[1], CC_NOW);
	return 0;
}
