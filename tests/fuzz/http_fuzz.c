/* http_fuzz.c - any bytes as the head of a request: what is accepted keeps what http.h promises, and
 * whether a head is accepted does not depend on the pieces that it arrives in.  See driver.h. */
#define FUZZ_NAME "http_fuzz"
#include "driver.h"

#include "../../examples/servers/http.c"

static void fail_unless(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "http_fuzz: %s\n", what);
	abort();
}

/* The bytes in memory of their own, so that a sanitizer sees a read behind them. */
static int parse_copy(const uint8_t *bytes, size_t size, struct http_request *r, size_t *used)
{
	char *copy = malloc(size + (size == 0));
	int status;

	memcpy(copy, bytes, size);
	status = http_parse(copy, size, r, used);
	free(copy);
	return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct http_request r, part;
	size_t used, ignored;
	const int status = parse_copy(bytes, size, &r, &used);

	fail_unless(used <= size, "more bytes than there are");
	fail_unless(status <= HTTP_MORE || (status >= 400 && status <= 505), "an unknown status");
	if (status == HTTP_COMPLETE) {
		fail_unless(used >= 4 && memcmp(bytes + used - 4, "\r\n\r\n", 4) == 0, "no end");
		fail_unless(r.path[0] == '/' && !climbs(r.path), "a path outside of the root");
		fail_unless(!r.has_range || r.suffix || r.from <= r.to, "a range that is none");
		for (size_t n = used; n-- > 0;)
			fail_unless(parse_copy(bytes, n, &part, &ignored) == HTTP_MORE,
			            "a part of a head is not incomplete");
	} else if (status == HTTP_MORE) {
		fail_unless(size < HTTP_HEAD_MAX, "a head without a limit");
	}
	return 0;
}
