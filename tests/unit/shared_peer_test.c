/* shared_peer_test.c - peers that die while they wait, and one that does what it likes.
 *
 * SHARED_KILLS=N: so many peers are killed, instead of a few. */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "objects.h"

#include "park/memory.h"

/* ---- peers that die ---- */

enum { SLEEPERS = 3, FEW = 24, AT_ONCE = 8 };

/* Waits as a fiber and as threads, on words that nobody wakes; tells when they sleep. */
static int sleeps(int socket)
{
	struct peer_things t = {.socket = socket, .call = {.size = SIZE}};
	struct wait w[SLEEPERS];
	CCRuntime *rt;

	if (peer_receives(&t) != 0 || peer_maps(&t) != 0)
		return 1;
	rt = test_runtime_of(1);
	for (int i = 0; i < SLEEPERS; i++) {
		wait_start(&w[i], rt, i == 0 ? FIBER : THREAD, t.space,
		           (const uint32_t *)t.at[0] + i);
		until_parked(&w[i].s);
	}
	if (write(socket, "z", 1) != 1)
		return 2;
	for (;;)
		pause();
}

static unsigned kills(void)
{
	const char *n = getenv("SHARED_KILLS");

	return n != NULL ? (unsigned)strtoul(n, NULL, 10) : FEW;
}

static void start_sleepers(struct peer *p, unsigned n, const struct object *o)
{
	char z;

	for (unsigned i = 0; i < n; i++) {
		p[i] = peer_start("sleeps");
		CHECK_EQ(cc_memory_send(o->memory, p[i].socket), 0);
	}
	for (unsigned i = 0; i < n; i++)
		CHECK_EQ(read(p[i].socket, &z, 1), 1);
}

/* Words that the dead waited on, and one on which somebody of ours waits all the time.
 * covers: PRK-110/x */
TEST(shared_killed_peers_leave_nobody_behind)
{
	CCRuntime *rt;
	struct object o;
	struct wait ours;
	struct peer p[AT_ONCE];

	NEED_OBJECT(&o);
	rt = test_runtime_of(1);
	wait_start(&ours, rt, FIBER, o.space, o.word + 9);
	until_waiting(&o, 1);
	for (unsigned killed = 0; killed < kills() && test_has_time(); killed += AT_ONCE) {
		start_sleepers(p, AT_ONCE, &o);
		for (unsigned i = 0; i < AT_ONCE; i++)
			peer_kill(&p[i]);
		for (int i = 0; i < SLEEPERS; i++)
			CHECK_EQ(wake(o.space, o.word + i, UINT32_MAX), 0);
		CHECK_EQ(info_of(&o).waits, 1);
		CHECK_EQ(info_of(&o).slots_used, 1);
	}
	TEST_UNTIL(wake(o.space, o.word + 9, UINT32_MAX) == 1);
	CHECK_EQ(wait_join(&ours, CC_PARK_WOKEN), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
	object_drop(&o);
}

/* ---- one that does what it likes ---- */

enum { FUTEXES = 20000 };

static void any_futex(const uint32_t *at, uint64_t *seed)
{
	enum { WAIT = 0, WAKE = 1, REQUEUE = 3, CMP_REQUEUE = 4, WAKE_OP = 5, UNLOCK_PI = 7,
	       TRYLOCK_PI = 8, WAKE_BITSET = 10, CMP_REQUEUE_PI = 12 };
	static const int ops[] = {WAKE, WAKE, REQUEUE, CMP_REQUEUE, WAKE_OP, WAIT, WAKE_BITSET,
	                          CMP_REQUEUE_PI, UNLOCK_PI, TRYLOCK_PI};
	const struct timespec soon = {0, 1000};
	const uint64_t r = test_random(seed);
	const int op = ops[r % (sizeof ops / sizeof *ops)];
	const void *fourth = op == WAIT ? (const void *)&soon
	                                : (const void *)(uintptr_t)(r >> 40 & 7);

	syscall(SYS_futex, at + (r >> 8) % WORDS, op, (int)(r >> 32 & 7), fourth,
	        at + (r >> 20) % WORDS, (uint32_t)(r >> 50 & 3));
}

static void any_call(struct peer_things *t, int fd, uint64_t *seed)
{
	const uint64_t r = test_random(seed);
	char *const at = t->at[0];

	switch (r % 8) {
	case 0:
		if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		              (off_t)(r >> 8 & 1) * 4096, 4096) == 0)
			return;
		break;
	case 1:	/* both refused, by the seals */
		if (ftruncate(fd, (r >> 8) % SIZE) == 0 || fcntl(fd, F_ADD_SEALS, 8) == 0)
			_exit(3);
		break;
	case 2:
		mprotect(at, SIZE, r >> 8 & 1 ? PROT_READ : PROT_READ | PROT_WRITE);
		mprotect(at, SIZE, PROT_READ | PROT_WRITE);
		break;
	case 3:
		madvise(at, SIZE, MADV_REMOVE);
		break;
	case 4:
		t->call.value = (uint32_t)(r >> 8 & 3);
		t->call.offset = (uint32_t)(r >> 16) % SIZE;
		t->call.within = 1000;
		peer_waits(t);
		break;
	default:
		t->call.value = (uint32_t)(r >> 8 & 7);
		t->call.offset = (uint32_t)(r >> 16) % SIZE;
		peer_wakes(t);
		memset(at + (r >> 32) % SIZE / 2, (int)(r >> 24), SIZE / 2);
	}
}

/* What comes out of its socket is no more use. */
static void any_message(const struct peer_things *t, int fd, uint64_t *seed)
{
	char text[64] = {0};
	int fds[20];
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof fds)];
	struct iovec iov = {text, 1 + test_random(seed) % sizeof text};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = room};
	const unsigned n = 1 + (unsigned)test_random(seed) % 20;
	struct cmsghdr *c;

	for (unsigned i = 0; i < n; i++)
		fds[i] = test_random(seed) % 2 ? fd : t->socket;
	m.msg_controllen = (socklen_t)CMSG_SPACE(n * sizeof *fds);
	memset(room, 0, sizeof room);
	c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = (socklen_t)CMSG_LEN(n * sizeof *fds);
	memcpy(CMSG_DATA(c), fds, n * sizeof *fds);
	sendmsg(t->socket, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static int is_hostile(int socket)
{
	struct peer_things t = {.socket = socket, .call = {.size = SIZE}};
	uint64_t seed;
	int fd;

	if (read(socket, &seed, sizeof seed) != sizeof seed || peer_receives(&t) != 0 ||
	    peer_maps(&t) != 0 || cc_memory_fd(t.memory, &fd) != 0)
		return 1;
	for (unsigned i = 0; i < FUTEXES; i++) {
		((uint32_t *)t.at[0])[test_random(&seed) % WORDS] = (uint32_t)test_random(&seed) % 3;
		any_futex(t.at[0], &seed);
		if (i % 16 == 0)
			any_call(&t, fd, &seed);
		if (i % 64 == 0)
			any_message(&t, fd, &seed);
	}
	return 0;
}

/* ---- those who live with it ---- */

struct honest {
	struct sleeper s;
	const struct object *given, *kept;	/* it has one of them */
	uint64_t seed;
	cc__a32 *over;
	cc__a32 waits;
};

/* In what the peer has anything may come of a wait, but nothing else than that. */
static int lives_with_it(void *arg)
{
	struct honest *h = arg;

	do {
		const uint64_t r = test_random(&h->seed);
		const uint32_t *word = h->given->word + (r >> 8) % WORDS;
		CCParkStatus status = (CCParkStatus)77;

		CHECK_EQ(cc_park_wait(h->given->space, word, (uint32_t)r % 3,
		                      cc_after((cc_time)(r >> 32) % CC_MSEC), &status),
		         0);
		CHECK(status == CC_PARK_WOKEN || status == CC_PARK_VALUE_MISMATCH ||
		      status == CC_PARK_TIMED_OUT);
		wake(h->given->space, word, 1 + (uint32_t)(r >> 40) % 3);
		cc__add(&h->waits, 1, CC__RELAXED);
	} while (cc__load(h->over, CC__ACQUIRE) == 0);
	return 0;
}

/* In what it has not, all is as if it were not there: a ball goes from one to the other,
 * and the wait that comes to an end is the one that was meant. */
static int plays(void *arg)
{
	struct honest *h = arg;
	const uint32_t me = h->seed & 1;
	cc__a32 *turn = (cc__a32 *)(void *)h->kept->word;

	for (;;) {
		CCParkStatus status = CC_PARK_VALUE_MISMATCH;

		while (cc__load(turn, CC__ACQUIRE) == !me && cc__load(h->over, CC__ACQUIRE) == 0) {
			CHECK_EQ(cc_park_wait(h->kept->space, h->kept->word, !me, CC_FOREVER, &status),
			         0);
			CHECK(status == CC_PARK_WOKEN || status == CC_PARK_VALUE_MISMATCH);
		}
		if (cc__load(h->over, CC__ACQUIRE) != 0)
			break;
		cc__store(turn, !me, CC__RELEASE);
		CHECK(wake(h->kept->space, h->kept->word, 5) <= 1);
		cc__add(&h->waits, 1, CC__RELAXED);
	}
	return 0;
}

/* Whatever it sends: an object, which is the one that we know, or an error. */
static void take_what_it_sends(const struct peer *p, const struct object *given)
{
	CCMemory *m = NULL;
	int err;

	do {
		err = cc_memory_receive(&m, p->socket, SIZE);
		if (err == 0) {
			CHECK(m == given->memory);
			CHECK_EQ(cc_memory_close(m), 0);
		}
	} while (err == 0 || err == EPROTO || err == EINVAL || err == ERANGE || err == EPERM);
	CHECK(err == EAGAIN || err == EPIPE || err == ECONNRESET);
}

static int descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* covers: PRK-111/x */
TEST(shared_hostile_peer_disturbs_only_what_it_was_given)
{
	CCRuntime *rt;
	struct object given, kept;
	struct honest h[6];
	cc__a32 over = {0};
	struct peer p;
	uint64_t seed = test_seed();
	int status = 0, before;

	NEED_OBJECT(&given);
	CHECK(object_make(&kept, SIZE));
	rt = test_runtime_of(2);
	for (unsigned i = 0; i < 6; i++) {
		h[i] = (struct honest){.given = &given, .kept = &kept, .seed = seed + i, .over = &over};
		sleeper_start(&h[i].s, rt, i / 2 % 2 ? THREAD : FIBER, i < 4 ? lives_with_it : plays,
		              &h[i]);
	}
	before = descriptors();
	p = peer_start("hostile");
	CHECK_EQ(write(p.socket, &seed, sizeof seed), sizeof seed);
	CHECK_EQ(cc_memory_send(given.memory, p.socket), 0);
	while (waitpid(p.pid, &status, WNOHANG) == 0) {
		take_what_it_sends(&p, &given);
		sched_yield();
	}
	take_what_it_sends(&p, &given);
	close(p.socket);
	CHECK_EQ(status, 0);
	for (unsigned i = 4; i < 6; i++)
		TEST_UNTIL(cc__load(&h[i].waits, CC__RELAXED) > 20);
	cc__store(&over, 1, CC__RELEASE);
	cc__store((cc__a32 *)(void *)kept.word, 2, CC__RELEASE);
	wake(kept.space, kept.word, 5);
	for (unsigned i = 0; i < 6; i++)
		CHECK_EQ(sleeper_join(&h[i].s), 0);
	CHECK_EQ(descriptors(), before);
	CHECK_EQ(cc_runtime_free(rt), 0);
	object_drop(&kept);
	object_drop(&given);
}

const struct peer_play peer_plays[] = {
    {"obeys", peer_obeys}, {"sleeps", sleeps}, {"hostile", is_hostile}, {NULL, NULL}};
