/* resp_fuzz.c - any bytes as commands of the Redis protocol: arguments lie in the input, and a part of a
 * command is incomplete, never wrong.  See driver.h. */
#define FUZZ_NAME "resp_fuzz"
#include "driver.h"

#include "../../examples/servers/resp.c"

static void fail_unless(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "resp_fuzz: %s\n", what);
	abort();
}

static void check_complete(const char *data, const struct resp_command *c, size_t used)
{
	struct resp_command part;
	size_t wanted;

	for (unsigned i = 0; i < c->count; i++)
		fail_unless(c->arg[i].at >= data && c->arg[i].size <= used &&
		            c->arg[i].at + c->arg[i].size < data + used,
		            "an argument outside of the input");
	for (size_t n = used; n-- > 0;) {
		fail_unless(resp_parse(data, n, &part, &wanted) == RESP_MORE,
		            "a part of a command is not incomplete");
		fail_unless(wanted > n && wanted <= used, "a wrong number of bytes is asked for");
	}
}

/* All commands, one after another. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *copy = malloc(size + (size == 0)), *at = copy;
	struct resp_command c;
	size_t used;

	memcpy(copy, bytes, size);
	while (resp_parse(at, size, &c, &used) == RESP_COMPLETE) {
		fail_unless(used > 0 && used <= size, "a command of no bytes, or of too many");
		check_complete(at, &c, used);
		at += used;
		size -= used;
	}
	free(copy);
	return 0;
}
