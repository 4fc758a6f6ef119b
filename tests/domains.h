/* domains.h - strict domains in tests: a domain with words in it, entries, strands that wait
 * in the ring. */
#ifndef DOMAINS_H
#define DOMAINS_H

#include "sleepers.h"

#include "park/domain.h"
#include "park/user.h"

enum { WORDS = 64 };

struct world {
	CCDomain *d;
	uint32_t space;			/* its PARK_SPACE */
	uint32_t word[WORDS];		/* mapped, if asked for */
};

static inline void world_open_with(struct world *w, const CCDomainOptions *o)
{
	memset(w, 0, sizeof *w);
	CHECK_EQ(cc_domain_create(&w->d, o), 0);
	w->space = cc_domain_cap(w->d, CC_CAP_PARK_SPACE);
	CHECK(w->space != 0);
	CHECK_EQ(cc_domain_map(w->d, w->word, sizeof w->word, CC_CAP_READ | CC_CAP_WRITE), 0);
}

static inline void world_open(struct world *w)
{
	world_open_with(w, NULL);
}

static inline CCDomainLedger ledger(CCDomain *d)
{
	CCDomainLedger l;

	cc_domain_ledger(d, &l);
	return l;
}

/* One that asks no strand, which may be held. */
static inline uint32_t ledger_promised(CCDomain *d)
{
	uint32_t promised;

	cc__lock(&d->ring.done.lock, CC__RANK_DONE);
	promised = d->ring.promised;
	cc__unlock(&d->ring.done.lock);
	return promised;
}

static inline void world_close(struct world *w)
{
	CHECK_EQ(ledger(w->d).waits, 0);
	CHECK_EQ(ledger(w->d).promised - ledger(w->d).timers, 0);
	CHECK_EQ(cc_domain_free(w->d), 0);
}

static inline CCStrand *joined(CCDomain *d)
{
	CCStrand *s = NULL;

	CHECK_EQ(cc_domain_join(d, &s), 0);
	return s;
}

static inline CCCapSubmission park_entry(uint32_t cap, const CCStrand *s, const void *word,
                                         uint32_t expected, uint64_t timeout)
{
	return (CCCapSubmission){.opcode = CC_CAP_OP_PARK,
	                         .flags = CC_CAP_THREAD_OWNED,
	                         .cap = cap,
	                         .owner = cc_strand_id(s),
	                         .user_data = 0x1111,
	                         .address = (uintptr_t)word,
	                         .length = expected,
	                         .dependency = timeout};
}

static inline CCCapSubmission unpark_entry(uint32_t cap, const void *word, uint32_t most)
{
	return (CCCapSubmission){.opcode = CC_CAP_OP_UNPARK,
	                         .cap = cap,
	                         .user_data = 0x2222,
	                         .address = (uintptr_t)word,
	                         .length = most};
}

static inline CCCapSubmission nop_entry(uint64_t user_data)
{
	return (CCCapSubmission){.opcode = CC_CAP_OP_NOP, .user_data = user_data};
}

static inline void push(CCDomain *d, CCCapSubmission e)
{
	CHECK_EQ(cc_cap_push(d, &e), 0);
}

/* No completion: NOTHING. */
enum { NOTHING = -999 };

static inline int pop(CCDomain *d, uint64_t *user_data)
{
	CCCapCompletion c;

	if (cc_cap_pop(d, &c) != 0)
		return NOTHING;
	CHECK(c.flags == 0 && c.reserved[0] == 0 && c.reserved[1] == 0);
	if (user_data != NULL)
		*user_data = c.user_data;
	return c.result;
}

/* The result of one entry that does not sleep. */
static inline int result_of(CCStrand *s, CCCapSubmission e)
{
	uint64_t user_data = 0;
	int result;

	push(s->domain, e);
	CHECK_EQ(cc_cap_enter(s, 0, 0), 1);
	result = pop(s->domain, &user_data);
	CHECK_EQ(user_data, e.user_data);
	CHECK_EQ(pop(s->domain, NULL), NOTHING);
	return result;
}

/* ---- strands that wait in the ring ---- */

struct waiting {
	CCDomain *d;
	CCCapSubmission entry;		/* owner is filled in */
	CCStrand *strand;
	CC__ATOMIC(uint32_t) id;
	int entered;			/* what enter returned */
	struct sleeper s;
};

/* They submit one after another, as users see to it. */
static struct cc__lock submitting;

static inline int waiting_main(void *arg)
{
	struct waiting *w = arg;

	CHECK_EQ(cc_domain_join(w->d, &w->strand), 0);
	w->entry.owner = cc_strand_id(w->strand);
	cc__lock(&submitting, CC__RANK_RUNTIME);
	push(w->d, w->entry);
	cc__unlock(&submitting);
	cc__store(&w->id, w->entry.owner, CC__RELEASE);
	w->entered = cc_cap_enter(w->strand, 1, CC_CAP_NEVER);
	return cc_domain_leave(w->strand);
}

static inline bool is_waiting(CCDomain *d, uint32_t id)
{
	struct cc__strands *all = &d->strands;
	struct cc__node *n = &all->strand[id & (CC__SLOTS_MAX - 1)].node;

	return cc__strand_lives(all, id) && cc__node_waits(n);
}

/* It sleeps in the ring with this entry when that returns. */
static inline void start_waiting(struct waiting *w, CCRuntime *rt, enum kind kind, CCDomain *d,
                                 CCCapSubmission entry)
{
	uint32_t id;

	*w = (struct waiting){.d = d, .entry = entry};
	sleeper_start(&w->s, rt, kind, waiting_main, w);
	TEST_UNTIL((id = cc__load(&w->id, CC__ACQUIRE)) != 0);
	TEST_UNTIL(is_waiting(d, id));
}

/* A world, and a strand of it that is the test itself. */
struct own {
	struct world w;
	CCStrand *s;
};

static inline void own_open_with(struct own *o, const CCDomainOptions *options)
{
	world_open_with(&o->w, options);
	o->s = joined(o->w.d);
}

static inline void own_open(struct own *o)
{
	own_open_with(o, NULL);
}

static inline void own_close(struct own *o)
{
	CHECK_EQ(cc_domain_leave(o->s), 0);
	world_close(&o->w);
}

#endif
