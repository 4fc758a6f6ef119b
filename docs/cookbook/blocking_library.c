/* A library whose calls block: they run in threads of their own, and the fiber waits. */
#include <assert.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>

#include <ccc/ccc.h>

struct lookup {
	const char *host;
	struct addrinfo *found;
};

/* In a thread.  Its result is the library's own number, not an error of this call. */
static int look_up(void *arg)
{
	struct lookup *l = arg;
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};

	return getaddrinfo(l->host, NULL, &hints, &l->found);
}

static cc_task_fn(resolve, const char *host; int *family;)
{
	struct lookup l = {.host = self->host};
	int result = 0;

	cc_try(cc_blocking(look_up, &l, &result));
	if (result != 0)
		return ENOENT;
	*self->family = l.found->ai_family;
	freeaddrinfo(l.found);
	return 0;
}

int main(void)
{
	int first = 0, second = 0, err = 0;

	cc_nursery_scope(n, &err) {		/* both at the same time */
		cc_spawn(n, resolve, .host = "127.0.0.1", .family = &first);
		cc_spawn(n, resolve, .host = "::1", .family = &second);
	}
	assert(err == 0 && first == AF_INET && second == AF_INET6);
	return 0;
}
