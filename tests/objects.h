/* objects.h - memory objects in tests: made, mapped, shared with an obedient peer, waited on. */
#ifndef TEST_OBJECTS_H
#define TEST_OBJECTS_H

#include "peers.h"

enum { SIZE = 8192, WORDS = SIZE / 4 };

/* An object, mapped once here. */
struct object {
	CCMemory *memory;
	CCParkSpace *space;
	uint32_t *word;		/* its first */
};

/* False: the system has not what it takes. */
static inline bool object_make(struct object *o, size_t size)
{
	void *at = NULL;
	int err;

	memset(o, 0, sizeof *o);
	CHECK_EQ(cc_memory_new(&o->memory, size), 0);
	err = cc_memory_park_space(o->memory, &o->space);
	if (err == ENOTSUP) {
		CHECK_EQ(cc_memory_close(o->memory), 0);
		return false;
	}
	CHECK_EQ(err, 0);
	CHECK_EQ(cc_memory_map(o->memory, &at), 0);
	o->word = at;
	return true;
}

#define NEED_OBJECT(o) \
	do { \
		if (!object_make(o, SIZE)) \
			SKIP("no shared futexes here"); \
	} while (0)

static inline CCMemoryInfo info_of(const struct object *o)
{
	CCMemoryInfo i = {0};

	CHECK_EQ(cc_memory_info(o->memory, &i), 0);
	return i;
}

static inline void *map_again(const struct object *o)
{
	void *at = NULL;

	CHECK_EQ(cc_memory_map(o->memory, &at), 0);
	return at;
}

/* Nothing of it is in use, and the books agree. */
static inline void object_drop(struct object *o)
{
	const CCMemoryInfo i = info_of(o);

	CHECK_EQ(i.waits, 0);
	CHECK_EQ(i.slots_used, 0);
	CHECK_EQ(cc_memory_close(o->memory), 0);
}

/* ---- those who wait in this process ---- */

struct wait {
	struct sleeper s;
	CCParkSpace *space;
	const uint32_t *word;
	cc_time deadline;
	CCParkStatus status;
};

static inline int wait_main(void *arg)
{
	struct wait *w = arg;

	return cc_park_wait(w->space, w->word, 0, w->deadline, &w->status);
}

static inline void wait_start(struct wait *w, CCRuntime *rt, enum kind kind, CCParkSpace *space,
                              const uint32_t *word)
{
	w->space = space;
	w->word = word;
	w->deadline = CC_FOREVER;
	w->status = (CCParkStatus)77;
	sleeper_start(&w->s, rt, kind, wait_main, w);
}

static inline uint32_t wake(CCParkSpace *space, const uint32_t *word, uint32_t most)
{
	uint32_t woken = 99;

	CHECK_EQ(cc_park_wake(space, word, most, &woken), 0);
	return woken;
}

/* Until so many waits are going on in it. */
static inline void until_waiting(const struct object *o, uint32_t waits)
{
	TEST_UNTIL(info_of(o).waits == waits);
}

static inline int wait_join(struct wait *w, CCParkStatus expected)
{
	const int err = sleeper_join(&w->s);

	CHECK_EQ(w->status, expected);
	return err;
}

/* ---- an obedient peer that has it ---- */

static inline struct peer partner_of(const struct object *o, size_t size)
{
	struct peer p = peer_start("obeys");

	peer_tell(&p, (struct peer_call){.op = PEER_RECEIVE, .size = size});
	CHECK_EQ(cc_memory_send(o->memory, p.socket), 0);
	CHECK_EQ(peer_hear(&p).err, 0);
	return p;
}

/* The same, and the number of a mapping that lies elsewhere than ours. */
static inline struct peer partner(const struct object *o, uint32_t *mapping)
{
	struct peer p = partner_of(o, SIZE);
	struct peer_answer a;

	*mapping = 0;
	while ((a = peer_ask(&p, (struct peer_call){.op = PEER_MAP})).err == 0 &&
	       a.address == (uintptr_t)o->word)
		++*mapping;
	CHECK_EQ(a.err, 0);
	return p;
}

#endif
