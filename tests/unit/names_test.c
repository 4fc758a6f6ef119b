/* names_test.c - name servers that do not answer, and several addresses of a name.
 * link-wrap: getaddrinfo freeaddrinfo pthread_create
 * mutate: src/io/names.c src/serve/dial.c */
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "hosts.h"
#include "io/names.h"
#include "tasks.h"

#include <ccc/blocking.h>

/* ---- the name server ---- */

static cc__a32 answers;	/* 1: "dead.test" is answered too */
static cc__a32 running, most;	/* lookups at a time */
static cc__a32 threads_fail;	/* no thread can be started */
static cc__a32 alive;		/* threads */
static struct addrinfo *found_first;

int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *want,
                       struct addrinfo **found);
void __wrap_freeaddrinfo(struct addrinfo *list);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*main)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*main)(void *),
                          void *arg);

int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *want,
                       struct addrinfo **found)
{
	const uint32_t now = cc__add(&running, 1, CC__RELAXED) + 1;
	uint32_t before = cc__load(&most, CC__RELAXED);
	struct addrinfo *first;

	(void)service, (void)want;
	while (before < now && !cc__cas_weak(&most, &before, now, CC__RELAXED, CC__RELAXED))
		continue;
	if (strcmp(host, "dead.test") == 0)
		TEST_UNTIL(cc__load(&answers, CC__ACQUIRE) != 0);
	*found = first = found_first;
	cc__sub(&running, 1, CC__RELEASE);	/* the test may go on */
	return first != NULL ? 0 : EAI_NONAME;
}

void __wrap_freeaddrinfo(struct addrinfo *list)
{
	CHECK(list != NULL);
}

struct start {
	void *(*main)(void *arg);
	void *arg;
};

static void *run_thread(void *arg)
{
	struct start s = *(struct start *)arg;

	free(arg);
	s.main(s.arg);
	cc__sub(&alive, 1, CC__RELEASE);
	return NULL;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*main)(void *),
                          void *arg)
{
	struct start *s = malloc(sizeof *s);

	if (s == NULL || cc__load(&threads_fail, CC__ACQUIRE) != 0) {
		free(s);
		return EAGAIN;
	}
	*s = (struct start){main, arg};
	cc__add(&alive, 1, CC__RELAXED);
	return __real_pthread_create(thread, attr, run_thread, s);
}

static void server_dies(void)
{
	found_first = NULL;
	cc__store(&most, 0, CC__RELEASE);
	cc__store(&answers, 0, CC__RELEASE);
}

static void server_answers(void)
{
	cc__store(&answers, 1, CC__RELEASE);
	TEST_UNTIL(cc__load(&running, CC__ACQUIRE) == 0);
}

/* ---- lookups ---- */

static int dial_dead(void *arg)
{
	int fd;

	(void)arg;
	return cc_net_dial(&fd, "dead.test:80", NULL, CC_FOREVER);
}

static int add_one(void *arg)
{
	++*(int *)arg;
	return 0;
}

static int block_often(void *arg)
{
	int n = 0;

	(void)arg;
	for (int i = 0; i < 100; i++)
		CHECK_EQ(cc_blocking(add_one, &n, NULL), 0);
	return n == 100 ? 0 : EIO;
}

TEST(lookups_of_a_dead_server_hold_up_no_blocking_calls)
{
	enum { LOOKUPS = 1000 };
	CCRuntime *rt = test_runtime_of(2);
	const CCNurseryOptions o = {.runtime = rt};
	CCNursery n;

	server_dies();
	CHECK_EQ(cc_nursery_init(&n, &o), 0);
	for (int i = 0; i < LOOKUPS; i++)
		CHECK_EQ(cc_nursery_spawn(&n, NULL, dial_dead, NULL), 0);
	TEST_UNTIL(cc__load(&running, CC__ACQUIRE) == CC__NAME_THREADS);
	CHECK_EQ(join(spawn(rt, block_often, NULL)), 0);
	CHECK_EQ(cc_nursery_cancel(&n, 0), 0);
	CHECK_EQ(cc_nursery_join(&n), ECANCELED);
	server_answers();
	CHECK_EQ(cc__load(&most, CC__ACQUIRE), CC__NAME_THREADS);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

static int dial_soon(void *arg)
{
	int fd;

	(void)arg;
	return cc_net_dial(&fd, "dead.test:80", NULL, cc_after(5 * CC_MSEC));
}

/* Those in the queue are taken out of it, so later ones find room. */
TEST(lookup_ends_at_its_deadline_and_leaves_the_queue)
{
	CCRuntime *rt = test_runtime_of(2);
	CCTask t[3 * CC__NAME_THREADS];

	server_dies();
	for (size_t i = 0; i < sizeof t / sizeof *t; i++)
		t[i] = spawn(rt, dial_soon, NULL);
	for (size_t i = 0; i < sizeof t / sizeof *t; i++)
		CHECK_EQ(join(t[i]), ETIMEDOUT);
	server_answers();
	CHECK_EQ(join(spawn(rt, dial_dead, NULL)), ENOENT);
	CHECK_EQ(dial_dead(NULL), ENOENT);	/* by a thread */
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(lookup_without_a_thread_fails)
{
	int fd;

	server_dies();
	server_answers();
	TEST_UNTIL(cc__load(&alive, CC__ACQUIRE) == 0);	/* one would do it */
	cc__store(&threads_fail, 1, CC__RELEASE);
	CHECK_EQ(cc_net_dial(&fd, "dead.test:80", NULL, CC_FOREVER), EAGAIN);
	cc__store(&threads_fail, 0, CC__RELEASE);
	CHECK_EQ(cc_net_dial(&fd, "dead.test:80", NULL, CC_FOREVER), ENOENT);
}

TEST(address_of_a_name_and_of_a_number)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	struct addrinfo found = {
	    .ai_family = AF_INET, .ai_addr = (struct sockaddr *)&at, .ai_addrlen = sizeof at};
	char text[CC_NET_ADDRESS_SIZE];
	CCNetAddress a = {0};

	CHECK_EQ(cc_net_address_text(&a, text, sizeof text), EINVAL);
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	found_first = &found;
	CHECK_EQ(cc_net_address(&a, "live.test:99", CC_FOREVER), 0);
	CHECK_EQ(cc_net_address_text(&a, text, sizeof text), 0);
	CHECK_STR(text, "127.0.0.1:99");
	CHECK_EQ(cc_net_address(&a, "[::1]:7", CC_NOW), 0);
	CHECK_EQ(cc_net_address_text(&a, text, sizeof text), 0);
	CHECK_STR(text, "[::1]:7");
	CHECK_EQ(cc_net_address_text(&a, text, 4), ERANGE);
	CHECK_EQ(cc_net_address(&a, "live.test:99", CC_NOW), EAGAIN);
	CHECK_EQ(cc_net_address(&a, "live.test", CC_NOW), EINVAL);
	CHECK_EQ(cc_net_address(NULL, "live.test:99", CC_NOW), EINVAL);
}

/* ---- several addresses ---- */

enum { QUEUED = 6 };

/* A listener at 127.0.0.2 that answers no more: its queue is full. */
static void listen_silently(int *listener, int queued[QUEUED], const char *port)
{
	const CCNetOptions one = {.backlog = 1};
	char text[64];

	snprintf(text, sizeof text, "127.0.0.2%s", port);
	REQUIRE_EQ(cc_net_listen(listener, text, &one), 0);
	for (int i = 0; i < QUEUED; i++)
		queued[i] = -1;
	for (int i = 0; i < QUEUED; i++)
		if (cc_net_dial(&queued[i], text, NULL, cc_after(test_slowness() * CC_SEC / 4)) != 0)
			return;
	CHECK(false && "the queue takes more than expected");
}

static int dial_live(void *arg)
{
	char at[CC_NET_ADDRESS_SIZE] = "";
	int fd;
	const int err = cc_net_dial(&fd, arg, NULL, CC_FOREVER);

	if (err != 0)
		return err;
	CHECK_EQ(cc_net_peer_address(fd, at, sizeof at), 0);
	CHECK(strncmp(at, "127.0.0.1:", 10) == 0);
	return cc_fd_close(fd);
}

/* The first address does not answer, the second one refuses, the third one connects. */
TEST(address_that_does_not_answer_does_not_hold_up_the_others)
{
	static const uint32_t hosts[] = {INADDR_LOOPBACK + 1, INADDR_LOOPBACK + 2, INADDR_LOOPBACK};
	struct sockaddr_in at[3];
	struct addrinfo found[3] = {0};
	char text[CC_NET_ADDRESS_SIZE], name[64];
	int listener, silent, queued[QUEUED];
	CCRuntime *rt = test_runtime_of(2);

	for (int i = 0; i < 3; i++) {
		at[i] = (struct sockaddr_in){.sin_family = AF_INET,
		                             .sin_addr.s_addr = htonl(hosts[i])};
		found[i] = (struct addrinfo){.ai_family = AF_INET,
		                             .ai_addr = (struct sockaddr *)&at[i],
		                             .ai_addrlen = sizeof at[i],
		                             .ai_next = i < 2 ? &found[i + 1] : NULL};
	}
	found_first = found;
	REQUIRE_EQ(cc_net_listen(&listener, "127.0.0.1:0", NULL), 0);
	CHECK_EQ(cc_net_local_address(listener, text, sizeof text), 0);
	listen_silently(&silent, queued, strrchr(text, ':'));
	snprintf(name, sizeof name, "live.test%s", strrchr(text, ':'));
	CHECK_EQ(join(spawn(rt, dial_live, name)), 0);
	CHECK_EQ(dial_live(name), 0);
	for (int i = 0; i < QUEUED; i++)
		if (queued[i] >= 0)
			cc_fd_close(queued[i]);
	CHECK_EQ(cc_fd_close(silent), 0);
	CHECK_EQ(cc_fd_close(listener), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}
