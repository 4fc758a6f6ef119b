/* shared_test.c - park words in memory that processes share: who meets whom, how a wait
 * ends, and what is refused. */
#include <sys/mman.h>

#include "objects.h"

const struct peer_play peer_plays[] = {{"obeys", peer_obeys}, {NULL, NULL}};

/* ---- between processes ---- */

/* covers: PRK-08/x, PRK-15/x, PRK-17/x, PRK-84/x */
TEST(shared_wait_here_and_wake_there)
{
	CCRuntime *rt;
	struct object o;
	struct peer p;
	uint32_t mapping;

	NEED_OBJECT(&o);
	rt = test_runtime_of(2);
	p = partner(&o, &mapping);
	for (enum kind k = FIBER; k < KINDS; k++) {
		struct peer_call call = {
		    .op = PEER_WAKE, .mapping = mapping, .offset = 4096 + 12, .value = 1};
		struct peer_answer a;
		struct wait w;

		wait_start(&w, rt, k, o.space, o.word + (4096 + 12) / 4);
		do
			a = peer_ask(&p, call);
		while (a.err == 0 && a.woken == 0);
		CHECK_EQ(a.err, 0);
		CHECK_EQ(a.woken, 1);
		CHECK_EQ(wait_join(&w, CC_PARK_WOKEN), 0);
		CHECK_EQ(peer_ask(&p, call).woken, 0);
		CHECK_EQ(peer_ask(&p, (struct peer_call){.op = PEER_INFO}).info.waits, 0);
	}
	CHECK_EQ(peer_wait_for(&p), 0);
	object_drop(&o);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(shared_wait_there_and_wake_here)
{
	struct object o;
	struct peer p;
	uint32_t mapping;

	NEED_OBJECT(&o);
	p = partner(&o, &mapping);
	for (enum kind k = FIBER; k < KINDS; k++) {
		struct peer_answer a;

		peer_tell(&p, (struct peer_call){.op = k == FIBER ? PEER_WAIT_FIBER : PEER_WAIT,
		                                 .mapping = mapping, .offset = 8});
		TEST_UNTIL(wake(o.space, o.word + 2, 5) == 1);
		a = peer_hear(&p);
		CHECK_EQ(a.err, 0);
		CHECK_EQ(a.status, CC_PARK_WOKEN);
		CHECK_EQ(wake(o.space, o.word + 2, 5), 0);
	}
	CHECK_EQ(peer_wait_for(&p), 0);
	object_drop(&o);
}

/* What a peer says of an object is what it found out; and there and back again is the one
 * that was there.  covers: PRK-108/x, PRK-109/x */
TEST(shared_identity_is_found_by_whoever_receives)
{
	struct object o, other;
	struct peer p;
	struct peer_answer a;
	CCMemory *again = NULL;
	CCMemoryInfo mine, its;

	NEED_OBJECT(&o);
	CHECK(object_make(&other, SIZE));
	p = partner_of(&o, SIZE);
	mine = info_of(&o);
	its = info_of(&other);
	a = peer_ask(&p, (struct peer_call){.op = PEER_INFO});
	CHECK_EQ(a.err, 0);
	CHECK_EQ(a.info.identity.device, mine.identity.device);
	CHECK_EQ(a.info.identity.inode, mine.identity.inode);
	CHECK_EQ(a.info.identity.generation, mine.identity.generation);
	CHECK_EQ(a.info.size, SIZE);
	CHECK(mine.identity.inode != its.identity.inode ||
	      mine.identity.generation != its.identity.generation);

	peer_tell(&p, (struct peer_call){.op = PEER_SEND});
	TEST_UNTIL(cc_memory_receive(&again, p.socket, SIZE) != EAGAIN);
	CHECK_EQ(peer_hear(&p).err, 0);
	CHECK(again == o.memory);
	CHECK_EQ(info_of(&o).handles, 2);
	CHECK_EQ(cc_memory_close(again), 0);
	CHECK_EQ(peer_wait_for(&p), 0);
	object_drop(&other);
	object_drop(&o);
}

/* The receiver looks for itself: another size than it wants, and what is no such memory. */
TEST(shared_a_peer_refuses_what_it_is_sent)	/* covers: PRK-107/x, PRK-109/x */
{
	const int unsealed = memfd_create("unsealed", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	struct object o;
	CCMemory *m = NULL;
	struct peer p;

	NEED_OBJECT(&o);
	p = peer_start("obeys");
	peer_tell(&p, (struct peer_call){.op = PEER_RECEIVE, .size = SIZE + 4096});
	CHECK_EQ(cc_memory_send(o.memory, p.socket), 0);
	CHECK_EQ(peer_hear(&p).err, ERANGE);
	peer_tell(&p, (struct peer_call){.op = PEER_RECEIVE, .size = SIZE});
	CHECK_EQ(write(p.socket, "text", 4), 4);
	CHECK_EQ(peer_hear(&p).err, EPROTO);
	CHECK_EQ(ftruncate(unsealed, SIZE), 0);
	CHECK_EQ(cc_memory_import(&m, unsealed, SIZE), EPERM);
	CHECK_EQ(peer_wait_for(&p), 0);
	close(unsealed);
	object_drop(&o);
}

/* ---- what is refused ---- */

/* covers: PRK-07/u, PRK-14/u, PRK-21/u */
TEST(shared_word_has_to_be_in_a_mapping_of_that_object)
{
	struct object o, other;
	CCParkStatus status = (CCParkStatus)77;
	uint32_t local = 0, woken = 77;
	const uint32_t *bad[6];

	NEED_OBJECT(&o);
	CHECK(object_make(&other, SIZE));
	bad[0] = other.word;
	bad[1] = &local;
	bad[2] = o.word + WORDS;
	bad[3] = o.word - 1;
	bad[4] = map_again(&o);
	CHECK_EQ(cc_memory_unmap(o.memory, (void *)(uintptr_t)bad[4]), 0);
	bad[5] = (const uint32_t *)(uintptr_t)4;
	for (unsigned i = 0; i < 6; i++) {
		CHECK_EQ(cc_park_wait(o.space, bad[i], 0, CC_NOW, &status), EFAULT);
		CHECK_EQ(cc_park_wait(o.space, bad[i], 0, CC_FOREVER, &status), EFAULT);
		CHECK_EQ(cc_park_wake(o.space, bad[i], 1, &woken), EFAULT);
	}
	for (unsigned i = 1; i < 4; i++) {
		const uint32_t *odd = (const uint32_t *)(uintptr_t)((char *)o.word + i);

		CHECK_EQ(cc_park_wait(o.space, odd, 0, CC_NOW, &status), EINVAL);
		CHECK_EQ(cc_park_wake(o.space, odd, 1, &woken), EINVAL);
	}
	CHECK_EQ(cc_park_wake(o.space, o.word, 0, &woken), EINVAL);
	CHECK_EQ(status, 77);
	CHECK_EQ(woken, 77);
	/* The last word there is. */
	CHECK_EQ(cc_park_wait(o.space, o.word + WORDS - 1, 0, CC_NOW, &status), 0);
	CHECK_EQ(status, CC_PARK_TIMED_OUT);
	object_drop(&other);
	object_drop(&o);
}

/* ---- keys ---- */

/* covers: PRK-13/u, PRK-16/u, PRK-17/u */
TEST(shared_key_is_object_and_offset)
{
	CCRuntime *rt;
	struct object o, other;
	const uint32_t *alias;

	NEED_OBJECT(&o);
	rt = test_runtime_of(2);
	CHECK(object_make(&other, SIZE));
	alias = map_again(&o);
	CHECK(alias != o.word);
	for (enum kind k = FIBER; k < KINDS; k++) {
		struct wait w, private_one;

		wait_start(&w, rt, k, o.space, o.word + 7);
		wait_start(&private_one, rt, k, cc_park_space(), o.word + 7);
		until_waiting(&o, 1);
		until_parked(&private_one.s);
		CHECK_EQ(wake(o.space, o.word + 8, 9), 0);
		CHECK_EQ(wake(o.space, alias + 6, 9), 0);
		CHECK_EQ(wake(other.space, other.word + 7, 9), 0);
		/* A private word is its address, and nothing else. */
		CHECK_EQ(wake(cc_park_space(), alias + 7, 9), 0);
		TEST_UNTIL(wake(o.space, alias + 7, 9) == 1);
		CHECK_EQ(wait_join(&w, CC_PARK_WOKEN), 0);
		CHECK_EQ(state_of(sleeper_who(&private_one.s)), CC__PARKED);
		CHECK_EQ(wake(cc_park_space(), o.word + 7, 9), 1);
		CHECK_EQ(wait_join(&private_one, CC_PARK_WOKEN), 0);
	}
	object_drop(&other);
	object_drop(&o);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- how a wait ends ---- */

enum { MANY = 20 };

TEST(shared_wakes_as_many_as_asked_for)
{
	CCRuntime *rt;
	struct object o;
	struct wait w[MANY];
	uint32_t woken = 0;

	NEED_OBJECT(&o);
	rt = test_runtime_of(2);
	for (int i = 0; i < MANY; i++)
		wait_start(&w[i], rt, i % 2 ? THREAD : FIBER, o.space, o.word);
	TEST_UNTIL((woken += wake(o.space, o.word, 3)) >= 3);
	CHECK(woken < MANY);
	TEST_UNTIL((woken += wake(o.space, o.word, UINT32_MAX)) == MANY);
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(wait_join(&w[i], CC_PARK_WOKEN), 0);
	CHECK_EQ(wake(o.space, o.word, 1), 0);
	object_drop(&o);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

static int ends_of_a_wait(void *arg)
{
	const struct object *o = arg;
	CCParkStatus status = CC_PARK_WOKEN;

	CHECK_EQ(cc_park_wait(o->space, o->word, 1, CC_FOREVER, &status), 0);
	CHECK_EQ(status, CC_PARK_VALUE_MISMATCH);
	CHECK_EQ(cc_park_wait(o->space, o->word, 1, CC_NOW, &status), 0);
	CHECK_EQ(status, CC_PARK_VALUE_MISMATCH);
	CHECK_EQ(cc_park_wait(o->space, o->word, 0, CC_NOW, &status), 0);
	CHECK_EQ(status, CC_PARK_TIMED_OUT);
	status = CC_PARK_WOKEN;
	CHECK_EQ(cc_park_wait(o->space, o->word, 0, cc_after(CC_MSEC), &status), 0);
	CHECK_EQ(status, CC_PARK_TIMED_OUT);
	CHECK_EQ(cc_park_wait(o->space, o->word, 0, cc_after(CC_MSEC), NULL), 0);
	CHECK_EQ(cc_park_wait(o->space, o->word, 0, 1, &status), 0);
	CHECK_EQ(status, CC_PARK_TIMED_OUT);
	return 0;
}

TEST(shared_mismatch_and_deadline)
{
	CCRuntime *rt;
	struct object o;

	NEED_OBJECT(&o);
	rt = test_runtime_of(1);
	for (enum kind k = FIBER; k < KINDS; k++) {
		struct sleeper s;

		sleeper_start(&s, rt, k, ends_of_a_wait, &o);
		CHECK_EQ(sleeper_join(&s), 0);
	}
	object_drop(&o);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- cancellation ---- */

struct cut {
	const struct object *o;
	CCNursery *nursery;	/* set by its owner */
	cc__a32 ready;
	cc_time deadline;	/* of the nursery, from now; 0: it is cancelled */
	CCParkStatus status;
	int err;
};

static int waits_in_its_nursery(void *arg)
{
	struct cut *c = arg;
	const CCNurseryOptions options = {.deadline = c->deadline != 0 ? cc_after(c->deadline) : 0};
	int ignored = 0;

	cc_nursery_scope_with(n, &ignored, &options)
	{
		c->nursery = n;
		cc__store(&c->ready, 1, CC__RELEASE);
		c->err = cc_park_wait(c->o->space, c->o->word, 0, CC_FOREVER, &c->status);
		/* What would wait again is refused, what need not is not. */
		CHECK_EQ(cc_park_wait(c->o->space, c->o->word, 0, CC_FOREVER, NULL), c->err);
		CHECK_EQ(cc_park_wait(c->o->space, c->o->word, 1, CC_FOREVER, NULL), 0);
		cc__store(&c->ready, 2, CC__RELEASE);
		TEST_UNTIL(cc__load(&c->ready, CC__ACQUIRE) == 3);
	}
	return 0;
}

TEST(shared_cancellation_interrupts)
{
	CCRuntime *rt;
	struct object o;

	NEED_OBJECT(&o);
	rt = test_runtime_of(2);
	for (int i = 0; i < 4; i++) {
		struct cut c = {.o = &o, .deadline = i < 2 ? 0 : CC_MSEC};
		struct sleeper s;

		sleeper_start(&s, rt, i % 2 ? THREAD : FIBER, waits_in_its_nursery, &c);
		if (c.deadline == 0) {
			TEST_UNTIL(cc__load(&c.ready, CC__ACQUIRE) == 1);
			until_waiting(&o, 1);
			CHECK_EQ(cc_nursery_cancel(c.nursery, EIO), 0);
		}
		TEST_UNTIL(cc__load(&c.ready, CC__ACQUIRE) == 2);
		cc__store(&c.ready, 3, CC__RELEASE);
		sleeper_join(&s);
		CHECK_EQ(c.err, c.deadline == 0 ? ECANCELED : ETIMEDOUT);
		CHECK_EQ(c.status, CC_PARK_INTERRUPTED);
		CHECK_EQ(wake(o.space, o.word, 1), 0);
	}
	object_drop(&o);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* Woken is who was woken: not he whom somebody unparks for no reason, time and again. */
TEST(shared_woken_is_never_for_no_reason)	/* covers: PRK-100/f */
{
	CCRuntime *rt;
	struct object o;
	struct wait w[4];
	uint64_t haunted;

	NEED_OBJECT(&o);
	rt = test_runtime_of(2);
	ghost_begin();
	for (int i = 0; i < 4; i++)
		wait_start(&w[i], rt, i % 2 ? THREAD : FIBER, o.space, o.word);
	until_waiting(&o, 4);
	haunted = cc__load(&ghost.wakes, CC__RELAXED);
	TEST_UNTIL(cc__load(&ghost.wakes, CC__RELAXED) > haunted + 100);
	CHECK_EQ(info_of(&o).waits, 4);
	ghost_end();
	for (uint32_t woken = 0; woken < 4;)
		woken += wake(o.space, o.word, 4);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(wait_join(&w[i], CC_PARK_WOKEN), 0);
	object_drop(&o);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- the end of a mapping, of a handle, of the object ---- */

TEST(shared_unmap_interrupts_who_waits_through_it)
{
	CCRuntime *rt;
	struct object o;
	struct wait w[MANY], other;
	uint32_t *alias;

	NEED_OBJECT(&o);
	rt = test_runtime_of(2);
	alias = map_again(&o);
	for (int i = 0; i < MANY; i++)
		wait_start(&w[i], rt, i % 2 ? THREAD : FIBER, o.space, alias + i % 3);
	wait_start(&other, rt, THREAD, o.space, o.word);
	until_waiting(&o, MANY + 1);
	CHECK_EQ(cc_memory_unmap(o.memory, alias), 0);
	CHECK_EQ(info_of(&o).waits, 1);
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(wait_join(&w[i], CC_PARK_INTERRUPTED), 0);
	CHECK_EQ(cc_park_wait(o.space, alias, 0, CC_FOREVER, NULL), EFAULT);
	TEST_UNTIL(wake(o.space, o.word, MANY) == 1);
	CHECK_EQ(wait_join(&other, CC_PARK_WOKEN), 0);
	object_drop(&o);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* Mappings of this process. */
static int objects_mapped(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	int n = 0;

	CHECK(f != NULL);
	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		n += strstr(line, "memfd:ccc") != NULL;
	if (f != NULL)
		fclose(f);
	return n;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* A peer wakes somebody who waits in an object whose last handle is closed: nobody here could.
 * covers: PRK-79/x, PRK-80/f, PRK-86/f, RES-49/x */
TEST(shared_wait_keeps_the_object)
{
	CCRuntime *rt = test_runtime_of(2);

	for (enum kind k = FIBER; k < KINDS; k++) {
		struct object o;
		struct peer p;
		struct wait w;
		uint32_t mapping;
		int fd;

		NEED_OBJECT(&o);
		p = partner(&o, &mapping);
		wait_start(&w, rt, k, o.space, o.word);
		until_waiting(&o, 1);
		CHECK_EQ(cc_memory_fd(o.memory, &fd), 0);
		CHECK_EQ(cc_memory_close(o.memory), 0);
		/* The right to wait and to wake is gone; who waits is not. */
		CHECK_EQ(cc_memory_close(o.memory), EINVAL);
		CHECK_EQ(cc_park_wake(o.space, o.word, 1, NULL), EINVAL);
		CHECK_EQ(cc_park_wait(o.space, o.word, 0, CC_FOREVER, NULL), EINVAL);
		CHECK(is_open(fd));
		/* The peer is as it was. */
		CHECK_EQ(peer_ask(&p, (struct peer_call){.op = PEER_WAIT, .mapping = mapping,
		                                         .offset = 64, .within = CC_MSEC}).status,
		         CC_PARK_TIMED_OUT);
		while (peer_ask(&p, (struct peer_call){.op = PEER_WAKE, .mapping = mapping,
		                                       .value = 1}).woken == 0)
			continue;
		CHECK_EQ(wait_join(&w, CC_PARK_WOKEN), 0);
		CHECK(!is_open(fd));
		CHECK_EQ(objects_mapped(), 0);
		CHECK_EQ(peer_wait_for(&p), 0);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* Nothing of ours is in the memory: it holds what the program wrote there. */
TEST(shared_nothing_of_ours_is_in_the_memory)	/* covers: PRK-111/u, PRK-72/u */
{
	CCRuntime *rt;
	struct object o;
	struct wait w[MANY];
	uint32_t woken = 0;

	NEED_OBJECT(&o);
	rt = test_runtime_of(2);
	for (int i = 0; i < MANY; i++)
		wait_start(&w[i], rt, i % 2 ? THREAD : FIBER, o.space, o.word + 100);
	until_waiting(&o, MANY);
	for (int i = 0; i < WORDS; i++)
		CHECK_EQ(o.word[i], 0);
	while (woken < MANY)
		woken += wake(o.space, o.word + 100, MANY);
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(wait_join(&w[i], CC_PARK_WOKEN), 0);
	for (int i = 0; i < WORDS; i++)
		CHECK_EQ(o.word[i], 0);
	object_drop(&o);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- a child of fork ---- */

static int tries_everything(const struct object *o)
{
	CCMemory *m = NULL;
	CCParkSpace *space;
	CCMemoryInfo info;
	CCParkStatus status;
	uint32_t woken;
	void *at;
	int fd, call = 1;
	const int answers[] = {
	    cc_memory_new(&m, SIZE),
	    cc_memory_import(&m, 0, SIZE),
	    cc_memory_receive(&m, 0, SIZE),
	    cc_memory_send(o->memory, 0),
	    cc_memory_fd(o->memory, &fd),
	    cc_memory_info(o->memory, &info),
	    cc_memory_map(o->memory, &at),
	    cc_memory_unmap(o->memory, o->word),
	    cc_memory_park_space(o->memory, &space),
	    cc_memory_close(o->memory),
	    cc_park_wait(o->space, o->word, 0, CC_FOREVER, &status),
	    cc_park_wake(o->space, o->word, 1, &woken),
	};

	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++, call++)
		if (answers[i] != ENOTSUP)
			return call;
	return 0;
}

/* Once a fiber has waited there is a thread that a child has not, even without a runtime.
 * covers: RES-59/u */
TEST(shared_child_of_fork_is_told)
{
	CCRuntime *rt;
	struct object o;
	struct sleeper s;
	int status = 0;
	pid_t pid;

	NEED_OBJECT(&o);
	rt = test_runtime_of(1);
	sleeper_start(&s, rt, FIBER, ends_of_a_wait, &o);
	CHECK_EQ(sleeper_join(&s), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
	if ((pid = fork()) == 0)
		_exit(tries_everything(&o));
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
	CHECK_EQ(wake(o.space, o.word, 1), 0);
	object_drop(&o);
}
