/* arenas.h - what the tests of arenas share: an allocator that counts and may refuse, and
 * allocations that carry their own proof. */
#ifndef TEST_ARENAS_H
#define TEST_ARENAS_H

#include <ccc/ccc.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/atomic.h"
#include "test.h"

/* ---- an allocator ---- */

struct counted {
	cc__a64 calls, refused;	/* of alloc */
	cc__a64 blocks, bytes;	/* held */
	cc__a64 refuse_at;	/* the number of the call; 0: none */
	cc__a64 refuse_each;	/* every so-manieth; 0: none */
};

static inline void *counted_alloc(void *context, size_t size)
{
	struct counted *c = context;
	const uint64_t call = cc__add(&c->calls, 1, CC__RELAXED) + 1;
	const uint64_t each = cc__load(&c->refuse_each, CC__RELAXED);
	void *p = NULL;

	if (call != cc__load(&c->refuse_at, CC__RELAXED) && (each == 0 || call % each != 0))
		p = calloc(1, size);
	if (p == NULL) {
		cc__add(&c->refused, 1, CC__RELAXED);
		return NULL;
	}
	cc__add(&c->blocks, 1, CC__RELAXED);
	cc__add(&c->bytes, size, CC__RELAXED);
	return p;
}

static inline void counted_free(void *context, void *p, size_t size)
{
	struct counted *c = context;

	memset(p, 0xdd, size);	/* all of it may be written */
	cc__sub(&c->blocks, 1, CC__RELAXED);
	cc__sub(&c->bytes, size, CC__RELAXED);
	free(p);
}

/* A runtime whose allocator that is; nobody runs on it. */
static inline CCRuntime *counted_runtime(struct counted *c)
{
	CCConfig config;
	CCRuntime *rt = NULL;

	memset(c, 0, sizeof *c);
	CHECK_EQ(cc_config_init(&config), 0);
	config.workers = 1;
	config.allocator = (CCAllocator){counted_alloc, counted_free, c};
	CHECK_EQ(cc_runtime_new(&rt, &config), 0);
	return rt;
}

/* ---- arenas ---- */

static inline CCArena *arena_with(CCArenaOptions o)
{
	CCArena *a = NULL;

	CHECK_EQ(cc_arena_create(&a, &o), 0);
	return a;
}

static inline CCArenaStats stats_of(CCArena *a)
{
	CCArenaStats s;

	memset(&s, 0xee, sizeof s);
	CHECK_EQ(cc_arena_stats(a, &s), 0);
	CHECK_EQ(s.held, s.given + s.unused + s.waste);
	CHECK(s.asked <= s.given && s.given <= s.held);
	return s;
}

/* ---- allocations that know what must be in them ---- */

struct filled {
	unsigned char *p;
	size_t size;
	unsigned char tag;
};

static inline struct filled fill(void *p, size_t size, unsigned tag)
{
	struct filled f = {p, size, (unsigned char)tag};

	CHECK(p != NULL);
	if (p != NULL)
		memset(p, f.tag, size);
	return f;
}

static inline bool is_intact(const struct filled *f)
{
	for (size_t i = 0; f->p != NULL && i < f->size; i++)
		if (f->p[i] != f->tag)
			return false;
	return true;
}

/* None has been written by another. */
static inline void check_all(const struct filled *f, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (!CHECK(is_intact(&f[i])))
			return;
}

#endif
