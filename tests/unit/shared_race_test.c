/* shared_race_test.c - shared words against time: unmap and wait, wake and deadline, held
 * at their places and in a crowd; without memory to allocate; with no slot left.
 *
 * link-wrap: malloc calloc realloc mmap pthread_create */
#include <sys/mman.h>

#include "objects.h"
#include "points.h"

#include "park/memory.h"

/* ---- no memory ---- */

static cc__a32 poisoned, asked;

static bool refuse(void)
{
	if (cc__load(&poisoned, CC__ACQUIRE) == 0)
		return false;
	cc__add(&asked, 1, CC__RELAXED);
	return true;
}

#define WRAP(type, name, parameters, arguments, nothing) \
	type __real_##name parameters; \
	type __wrap_##name parameters; \
	type __wrap_##name parameters \
	{ \
		return refuse() ? (errno = ENOMEM, nothing) : __real_##name arguments; \
	}
WRAP(void *, malloc, (size_t size), (size), NULL)
WRAP(void *, calloc, (size_t n, size_t size), (n, size), NULL)
WRAP(void *, realloc, (void *p, size_t size), (p, size), NULL)
WRAP(void *, mmap, (void *at, size_t size, int access, int flags, int fd, off_t from),
     (at, size, access, flags, fd, from), MAP_FAILED)
WRAP(int, pthread_create,
     (pthread_t *t, const pthread_attr_t *a, void *(*main)(void *), void *arg), (t, a, main, arg),
     EAGAIN)

struct busy {
	struct sleeper s;
	const struct object *o;
	const uint32_t *word;
	cc__a32 told;		/* the test's: 1 go on, 2 end */
	cc__a32 stage;		/* its own: 1 warm, 2 has waited a little, 3 no more waits */
};

static int waits_again_and_again(void *arg)
{
	struct busy *b = arg;
	CCParkStatus status;
	int err;

	CHECK_EQ(cc_park_wait(b->o->space, b->word, 0, cc_after(CC_USEC), &status), 0);
	cc__store(&b->stage, 1, CC__RELEASE);
	while (cc__load(&b->told, CC__ACQUIRE) == 0)
		cc_yield();
	for (int i = 0; i < 50; i++) {
		CHECK_EQ(cc_park_wait(b->o->space, b->word, 0, cc_after(CC_USEC), &status), 0);
		CHECK_EQ(cc_park_wait(b->o->space, b->word, 1, CC_FOREVER, &status), 0);
		CHECK_EQ(status, CC_PARK_VALUE_MISMATCH);
	}
	cc__store(&b->stage, 2, CC__RELEASE);
	while ((err = cc_park_wait(b->o->space, b->word, 0, CC_FOREVER, &status)) == 0 &&
	       status == CC_PARK_WOKEN)
		continue;
	/* Woken at the last moment, he finds the mapping gone. */
	CHECK(err == 0 ? status == CC_PARK_INTERRUPTED : err == EFAULT);
	cc__store(&b->stage, 3, CC__RELEASE);
	while (cc__load(&b->told, CC__ACQUIRE) == 1)
		cc_yield();
	return 0;
}

/* covers: RES-49/f */
TEST(shared_waits_wakes_and_unmap_allocate_nothing)
{
	CCRuntime *rt;
	struct object o;
	struct busy b[KINDS];
	uint32_t *alias, woken = 0;

	NEED_OBJECT(&o);
	rt = test_runtime_of(1);
	alias = map_again(&o);
	for (enum kind k = FIBER; k < KINDS; k++) {
		b[k] = (struct busy){.o = &o, .word = alias + k};
		sleeper_start(&b[k].s, rt, k, waits_again_and_again, &b[k]);
		TEST_UNTIL(cc__load(&b[k].stage, CC__ACQUIRE) == 1);
	}
	cc__store(&poisoned, 1, CC__SEQ_CST);
	for (enum kind k = FIBER; k < KINDS; k++)
		cc__store(&b[k].told, 1, CC__RELEASE);
	for (enum kind k = FIBER; k < KINDS; k++)
		TEST_UNTIL(cc__load(&b[k].stage, CC__ACQUIRE) == 2);
	while (woken < 10)
		for (enum kind k = FIBER; k < KINDS; k++)
			woken += wake(o.space, o.word + k, 5);
	until_waiting(&o, KINDS);
	CHECK_EQ(cc_memory_unmap(o.memory, alias), 0);
	for (enum kind k = FIBER; k < KINDS; k++)
		TEST_UNTIL(cc__load(&b[k].stage, CC__ACQUIRE) == 3);
	cc__store(&poisoned, 0, CC__SEQ_CST);
	CHECK_EQ(cc__load(&asked, CC__RELAXED), 0);
	for (enum kind k = FIBER; k < KINDS; k++) {
		cc__store(&b[k].told, 2, CC__RELEASE);
		CHECK_EQ(sleeper_join(&b[k].s), 0);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
	object_drop(&o);
}

enum { MILLION = 1000000 };

/* covers: PRK-81/s, RES-49/s */
TEST(shared_a_million_offsets_allocate_nothing)
{
	struct object o;
	CCParkStatus status;
	uint32_t late = 0, woken = 0, n;

	if (!object_make(&o, 4 * (size_t)MILLION))
		SKIP("no shared futexes here");
	CHECK_EQ(cc_park_wait(o.space, o.word, 0, cc_after(CC_USEC), &status), 0);
	cc__store(&poisoned, 1, CC__SEQ_CST);
	for (n = 0; n < MILLION; n++) {
		late += cc_park_wait(o.space, o.word + n, 0, n % 16 ? CC_NOW : cc_after(100),
		                     &status) == 0 && status == CC_PARK_TIMED_OUT;
		woken += wake(o.space, o.word + n, 1);
		if (n % 4096 == 0 && !test_has_time())
			break;
	}
	cc__store(&poisoned, 0, CC__SEQ_CST);
	CHECK_EQ(late, n < MILLION ? n + 1 : n);
	CHECK_EQ(woken, 0);
	CHECK_EQ(cc__load(&asked, CC__RELAXED), 0);
	object_drop(&o);
}

/* Each wait has a slot; who finds none is told, and with the mapping they all come back. */
TEST(shared_slots_are_so_many)	/* covers: RES-49/u */
{
	static struct wait w[CC__SLOTS];
	CCRuntime *rt;
	struct object o;
	uint32_t *alias;

	NEED_OBJECT(&o);
	rt = test_runtime_of(1);
	alias = map_again(&o);
	CHECK_EQ(info_of(&o).slots, CC__SLOTS);
	for (uint32_t i = 0; i < CC__SLOTS; i++)
		wait_start(&w[i], rt, FIBER, o.space, alias + i % WORDS);
	until_waiting(&o, CC__SLOTS);
	CHECK_EQ(info_of(&o).slots_used, CC__SLOTS);
	CHECK_EQ(cc_park_wait(o.space, o.word, 0, CC_FOREVER, NULL), ENOBUFS);
	CHECK_EQ(cc_park_wait(o.space, o.word, 1, CC_FOREVER, NULL), 0);
	CHECK_EQ(cc_memory_unmap(o.memory, alias), 0);
	for (uint32_t i = 0; i < CC__SLOTS; i++)
		CHECK_EQ(wait_join(&w[i], CC_PARK_INTERRUPTED), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
	object_drop(&o);
}

/* ---- held at their places ---- */

struct use {
	struct sleeper s;
	const struct object *o;
	void *at;
	uint32_t woken;
};

static int unmaps(void *arg)
{
	struct use *u = arg;

	return cc_memory_unmap(u->o->memory, u->at);
}

static int wakes(void *arg)
{
	struct use *u = arg;

	return cc_park_wake(u->o->space, u->at, 1, &u->woken);
}

/* Its place is known, and the kernel not yet asked: the mapping stays.
 * covers: PRK-112/f */
TEST(shared_unmap_waits_for_a_wake_on_its_way)
{
	CCRuntime *rt;
	struct object o;
	struct use waker, unmapper;
	struct point *p;
	CCParkStatus status;

	NEED_POINTS();
	NEED_OBJECT(&o);
	rt = test_runtime_of(2);
	for (enum kind k = FIBER; k < KINDS; k++) {
		waker.o = unmapper.o = &o;
		waker.at = unmapper.at = map_again(&o);
		p = point_hold("shared.before_wake", o.memory);
		sleeper_start(&waker.s, rt, THREAD, wakes, &waker);
		point_until_held(p);
		sleeper_start(&unmapper.s, rt, k, unmaps, &unmapper);
		until_parked(&unmapper.s);
		/* It is leaving: nobody new may use it. */
		CHECK_EQ(cc_park_wait(o.space, waker.at, 0, CC_NOW, &status), EFAULT);
		CHECK_EQ(cc_memory_unmap(o.memory, waker.at), EINVAL);
		CHECK_EQ(info_of(&o).mappings, 2);
		CHECK_EQ(*(uint32_t *)waker.at, 0);
		point_release(p);
		CHECK_EQ(sleeper_join(&waker.s), 0);
		CHECK_EQ(waker.woken, 0);
		CHECK_EQ(sleeper_join(&unmapper.s), 0);
		CHECK_EQ(info_of(&o).mappings, 1);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
	object_drop(&o);
}

/* A fiber's wait is pinned before the server knows of it.  covers: RES-59/f */
TEST(shared_unmap_waits_for_a_wait_on_its_way)
{
	CCRuntime *rt;
	struct object o;
	struct use unmapper;
	struct wait w;
	struct point *p;

	NEED_POINTS();
	NEED_OBJECT(&o);
	rt = test_runtime_of(1);
	unmapper.o = &o;
	unmapper.at = map_again(&o);
	p = point_hold("shared.before_ask", NULL);
	wait_start(&w, rt, FIBER, o.space, unmapper.at);
	point_until_held(p);
	sleeper_start(&unmapper.s, rt, THREAD, unmaps, &unmapper);
	until_parked(&unmapper.s);
	CHECK_EQ(info_of(&o).mappings, 2);
	point_release(p);
	CHECK_EQ(wait_join(&w, CC_PARK_INTERRUPTED), 0);
	CHECK_EQ(sleeper_join(&unmapper.s), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
	object_drop(&o);
}

/* Its time is over, but the kernel does not know yet, and somebody is told that he woke
 * one: so he did. */
TEST(shared_wake_that_was_counted_is_told_however_late)
{
	CCRuntime *rt;
	struct object o;
	struct wait w;
	struct point *p;
	uint32_t woken;

	NEED_POINTS();
	NEED_OBJECT(&o);
	rt = test_runtime_of(1);
	p = point_hold("shared.before_cancel", NULL);
	w.space = o.space;
	w.word = o.word;
	w.deadline = cc_after(CC_MSEC);
	sleeper_start(&w.s, rt, FIBER, wait_main, &w);
	point_until_held(p);
	/* The server may still be on its way with it. */
	TEST_UNTIL((woken = wake(o.space, o.word, 1)) == 1);
	point_release(p);
	CHECK_EQ(wait_join(&w, CC_PARK_WOKEN), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
	object_drop(&o);
}

/* What is left for the server while it is about to look, and before it sleeps. */
TEST(shared_server_misses_nothing)
{
	CCRuntime *rt;
	struct object o;
	struct wait w[3];
	struct point *p;

	NEED_POINTS();
	NEED_OBJECT(&o);
	rt = test_runtime_of(1);
	wait_start(&w[0], rt, FIBER, o.space, o.word);
	TEST_UNTIL(wake(o.space, o.word, 1) == 1);
	CHECK_EQ(wait_join(&w[0], CC_PARK_WOKEN), 0);
	p = point_hold("server.before_look", NULL);
	for (int i = 1; i < 3; i++) {
		wait_start(&w[i], rt, FIBER, o.space, o.word + i);
		until_parked(&w[i].s);
		point_until_held(p);
		CHECK_EQ(wake(o.space, o.word + i, 1), 0);
	}
	point_release(p);
	for (int i = 1; i < 3; i++) {
		TEST_UNTIL(wake(o.space, o.word + i, 1) == 1);
		CHECK_EQ(wait_join(&w[i], CC_PARK_WOKEN), 0);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
	object_drop(&o);
}

/* ---- a crowd ---- */

enum { ROUNDS = 400, CROWD = 4 };

/* Wakes all the time, until the socket is closed on its side; how many it woke. */
static int wakes_all_the_time(int socket)
{
	struct peer_things t = {.socket = socket, .call = {.size = SIZE, .value = 1}};
	uint64_t woken = 0;
	char c;

	if (peer_receives(&t) != 0 || peer_maps(&t) != 0 || write(socket, "r", 1) != 1)
		return 1;
	while (recv(socket, &c, 1, MSG_DONTWAIT) < 0) {
		if (peer_wakes(&t) != 0)
			return 2;
		woken += t.answer.woken;
		t.call.offset = (t.call.offset + 4) % 8;
	}
	return write(socket, &woken, sizeof woken) == sizeof woken ? 0 : 3;
}

/* Some wait through a mapping of the one object, some in the same place through one of the
 * other, which no peer has; both mappings end meanwhile. */
static uint64_t crowd_round(CCRuntime *rt, const struct object *given, const struct object *kept,
                            uint64_t *seed)
{
	const struct object *o = test_random(seed) % 2 ? given : kept;
	struct wait w[CROWD];
	uint32_t *at = map_again(o);
	uint64_t woken = 0;

	for (unsigned i = 0; i < CROWD; i++) {
		w[i] = (struct wait){.space = o->space, .word = at + i % 2};
		w[i].deadline = test_random(seed) % 2 ? CC_FOREVER
		                                     : cc_after((cc_time)(test_random(seed) % 200000));
		sleeper_start(&w[i].s, rt, i < CROWD / 2 ? FIBER : THREAD, wait_main, &w[i]);
	}
	for (uint64_t spin = test_random(seed) % 4; spin > 0; spin--)
		sched_yield();
	CHECK_EQ(cc_memory_unmap(o->memory, at), 0);
	for (unsigned i = 0; i < CROWD; i++) {
		const int err = sleeper_join(&w[i].s);

		CHECK(err == 0 || err == EFAULT);
		if (err == 0 && w[i].status == CC_PARK_WOKEN) {
			CHECK(o == given);
			woken++;
		}
	}
	return woken;
}

/* Whoever was counted by the peer knows it, and nobody else thinks so.
 * covers: PRK-112/x */
TEST(shared_unmap_wait_wake_and_deadline_in_a_crowd)
{
	CCRuntime *rt;
	struct object given, kept;
	struct peer p;
	uint64_t seed = test_seed(), woken = 0, counted = 0;
	char ready;

	NEED_OBJECT(&given);
	CHECK(object_make(&kept, SIZE));
	rt = test_runtime_of(2);
	p = peer_start("wakes");
	CHECK_EQ(cc_memory_send(given.memory, p.socket), 0);
	CHECK_EQ(read(p.socket, &ready, 1), 1);
	for (unsigned i = 0; i < ROUNDS && test_has_time(); i++)
		woken += crowd_round(rt, &given, &kept, &seed);
	CHECK_EQ(write(p.socket, "e", 1), 1);
	CHECK_EQ(read(p.socket, &counted, sizeof counted), sizeof counted);
	CHECK_EQ(peer_wait_for(&p), 0);
	CHECK_EQ(woken, counted);
	CHECK_EQ(cc_runtime_free(rt), 0);
	object_drop(&kept);
	object_drop(&given);
}

const struct peer_play peer_plays[] = {
    {"obeys", peer_obeys}, {"wakes", wakes_all_the_time}, {NULL, NULL}};
