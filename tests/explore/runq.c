/* runq.c - a worker's run queue: its owner pushes and pops with plain stores while
 * thieves ask, wait and seize.  Nothing is taken twice or lost (R1, R2), what must
 * stay does (R3), and a ring that is given back is not read any more.
 *
 * A thief asks for a turn or seizes at once, which is a choice of the scenario.
 *
 * sources: sched/runq.c */
#include "shim_runq.h"

static struct cc__runq q;
static struct cc__loot loot[MC_THREADS];	/* each thief's own */

/* Pages of a ring that has grown: memory that can be freed. */
void *cc__pages_map(size_t size)
{
	return mc_alloc(size);
}

void cc__pages_populate(void *p, size_t size)
{
	(void)p, (void)size;
}

void cc__pages_unmap(void *p, size_t size)
{
	(void)size;
	mc_free(p);
}

static void empty(void)
{
	cc__runq_init(&q);
}

static void push(int i, enum cc__kind kind)
{
	MC_ASSERT(cc__runq_push(&q, fill(i), kind));
}

static void pop(void)
{
	struct cc__fiber *f = cc__runq_pop(&q);

	if (f != NULL)
		take(f);
}

static void steal(unsigned what)
{
	struct cc__loot *mine = &loot[mc_self()];

	if (cc__runq_steal(&q, what, (unsigned)mc_pick(2), mine))
		take_loot(mine);
}

static void thief(void)
{
	steal(CC__TAKE_ANY);
}

static void thief_twice(void)
{
	thief();
	thief();
}

/* The rest is the owner's; then everything has been somewhere once. */
static void drain(int n)
{
	struct cc__fiber *f = cc__runq_take_offer(&q);

	if (f != NULL)
		take(f);
	for (enum cc__kind kind = 0; kind < CC__KINDS; kind++)
		while ((f = cc__runq_pop_kind(&q, kind)) != NULL)
			take(f);
	all_taken(n);
	MC_ASSERT(cc__peek(&q.want) == CC__NOBODY && cc__peek(&q.busy) == 0);
	cc__runq_fini(&q);
}

/* ---- push and pop against thieves ---- */

static void push_then_pop(void)
{
	push(0, CC__READY);
	push(1, CC__READY);
	pop();
	pop();
}

static void two_once(void)
{
	drain(2);
}
SCENARIO(runq_owner_and_thief, .init = empty, .body = {push_then_pop, thief}, .final = two_once)
/* covers: RES-64/m */
SCENARIO(runq_thief_comes_twice, .init = empty, .body = {push_then_pop, thief_twice},
         .final = two_once, .bound = 2, .weak = 1)

/* Unstarted ones: the owner takes the newest, thieves the oldest, and the last one
 * is wanted by both. */
static void with_one_fresh(void)
{
	empty();
	push(0, CC__FRESH);
}

static void one_once(void)
{
	drain(1);
}

static void push_and_pop(void)
{
	push(1, CC__FRESH);
	pop();
}

static void push_fresh_then_pop(void)
{
	push(1, CC__FRESH);
	pop();
	pop();
}
SCENARIO(runq_both_want_the_last, .init = with_one_fresh, .body = {pop, thief}, .final = one_once)
SCENARIO(runq_fresh_from_both_ends, .init = with_one_fresh, .body = {push_fresh_then_pop, thief},
         .final = two_once)

SCENARIO(runq_owner_and_two_thieves, .init = with_one_fresh, .body = {push_and_pop, thief, thief},
         .final = two_once, .weak = 1)

/* ---- the owner's other ways ---- */

/* As the scheduler uses them: what they leave to be done is done slowly. */
static void append(int i, enum cc__kind kind)
{
	struct cc__fiber *f = fill(i);

	if (!cc__runq_append(&q, f, kind))
		MC_ASSERT(cc__runq_push(&q, f, kind));
}

static void oldest(void)
{
	struct cc__fiber *f = cc__runq_oldest(&q);

	if (f != NULL)
		take(f);
	else
		pop();
}

static void append_then_oldest(void)
{
	append(1, CC__READY);
	oldest();
}

static void with_one_ready(void)
{
	empty();
	push(0, CC__READY);
}
SCENARIO(runq_usual_ways_and_a_thief, .init = with_one_ready, .body = {append_then_oldest, thief},
         .bound = 2, .final = two_once)

/* Who yields is in the queue while it runs still: until it has left. */
static void turn(void)
{
	struct cc__fiber *next = cc__runq_turn(&q, fill(1));

	if (next == NULL) {
		push(1, CC__READY);
		return;
	}
	fill(1);
	cc__runq_leave(&q);
	take(next);
}
SCENARIO(runq_turn_and_a_thief, .init = with_one_ready, .body = {turn, thief}, .final = two_once)

static void with_two_fresh(void)
{
	with_one_fresh();
	push(1, CC__FRESH);
}

static void take_the_older(void)
{
	if (cc__runq_take(&q, &fiber[0]))
		take(&fiber[0]);
}

/* No nursery's, as it happens. */
static void take_the_newest(void)
{
	struct cc__fiber *f = cc__runq_take_child(&q, NULL, false);

	if (f != NULL)
		take(f);
}
SCENARIO(runq_take_and_a_thief, .init = with_two_fresh, .body = {take_the_older, thief},
         .final = two_once)
SCENARIO(runq_take_child_and_a_thief, .init = with_one_fresh, .body = {take_the_newest, thief},
         .final = one_once)

/* What was stolen elsewhere may be stolen again. */
static void push_two_stolen(void)
{
	struct cc__loot *mine = &loot[mc_self()];

	*mine = (struct cc__loot){.kind = CC__FRESH, .count = 2, .fiber = {fill(0), fill(1)}};
	MC_ASSERT(cc__runq_push_stolen(&q, mine));
	pop();
}
SCENARIO(runq_push_stolen_and_a_thief, .init = empty, .body = {push_two_stolen, thief},
         .final = two_once)

/* ---- an open queue ---- */

/* The owner wakes a worker after its push, computes, and comes back sooner or later. */
static void push_open_then_pop(void)
{
	push(0, CC__FRESH);
	push(1, CC__FRESH);
	cc__runq_open(&q);
	pop();
	pop();
}

/* It opens what a thief may be at already, and again. */
static void open_push_open_then_pop(void)
{
	cc__runq_open(&q);
	push(1, CC__FRESH);
	cc__runq_open(&q);
	pop();
}
SCENARIO(runq_open_to_a_thief, .init = empty, .body = {push_open_then_pop, thief},
         .final = two_once)
SCENARIO(runq_open_to_a_thief_twice, .init = empty, .body = {push_open_then_pop, thief_twice},
         .final = two_once, .bound = 2, .weak = 1)
SCENARIO(runq_opened_again, .init = with_one_fresh, .body = {open_push_open_then_pop, thief},
         .final = two_once)
SCENARIO(runq_open_to_two_thieves, .init = with_one_fresh,
         .body = {open_push_open_then_pop, thief, thief}, .final = two_once, .bound = 2,
         .weak = 1)

/* ---- the offer (R4) ---- */

static void offer(int i)
{
	MC_ASSERT(cc__runq_offer(&q, fill(i)));
}

/* The owner's next: the offer before the ring. */
static void pick(void)
{
	struct cc__fiber *f = cc__runq_take_offer(&q);

	if (f != NULL)
		take(f);
	else
		pop();
}

static void offer_then_pick(void)
{
	offer(0);
	push(1, CC__READY);
	pick();
	pick();
}

/* The place is free again, for the next. */
static void offer_twice(void)
{
	offer(0);
	pick();
	offer(1);
	pick();
}

static void with_an_offer(void)
{
	empty();
	offer(0);
}
SCENARIO(runq_offer_goes_to_owner_or_thief, .init = empty, .body = {offer_then_pick, thief},
         .final = two_once)
SCENARIO(runq_offers_one_after_another, .init = empty, .body = {offer_twice, thief_twice},
         .final = two_once)
SCENARIO(runq_offer_and_two_thieves, .init = with_an_offer, .body = {pick, thief, thief},
         .final = one_once)

/* ---- ask and give ---- */

/* An owner that only comes by: it hands out half, or waits outside. */
static void with_four(void)
{
	empty();
	push(0, CC__URGENT);
	push(1, CC__FRESH);
	push(2, CC__READY);
	push(3, CC__READY);
}

static void come_by(void)
{
	push(4, CC__READY);
}

static void pop_urgent(void)
{
	struct cc__fiber *f = cc__runq_pop_kind(&q, CC__URGENT);

	if (f != NULL)
		take(f);
}

static void four_once(void)
{
	drain(4);
}

static void thief_of_started(void)
{
	steal(CC__TAKE_STARTED);
	for (uint32_t i = 0; i < loot[mc_self()].count; i++)
		MC_ASSERT(loot[mc_self()].fiber[i] != &fiber[1]);
}

static void five_once(void)
{
	drain(5);
}
SCENARIO(runq_both_want_the_urgent, .init = with_four, .body = {pop_urgent, thief},
         .final = four_once)
SCENARIO(runq_owner_gives, .init = with_four, .body = {come_by, thief}, .final = five_once)
SCENARIO(runq_owner_gives_started_ones_only, .init = with_four, .body = {come_by, thief_of_started},
         .final = five_once)
SCENARIO(runq_gift_collected_before_the_next, .init = with_four, .body = {come_by, thief_twice},
         .final = five_once, .bound = 2)

/* ---- what must stay (R3) ---- */

static void with_one_that_stays(void)
{
	empty();
	fiber[0].home = CC_MIGRATE_STICKY;
	push(0, CC__READY);
	push(1, CC__READY);
}

static void thief_of_the_other(void)
{
	thief();
	for (uint32_t i = 0; i < loot[mc_self()].count; i++)
		MC_ASSERT(loot[mc_self()].fiber[i] != &fiber[0]);
}
SCENARIO(runq_what_stays_is_not_taken, .init = with_one_that_stays,
         .body = {pop, thief_of_the_other}, .final = two_once)

/* ---- memory of a ring that has grown ---- */

/* The ring has grown for 257 and is empty but for one. */
static void grown(void)
{
	struct cc__lane *r = &q.lane[CC__READY];

	empty();
	MC_ASSERT(cc__runq_grow(&q, CC__READY) && r->slot != q.first_slots[CC__READY]);
	push(0, CC__READY);
}

static void pop_and_trim(void)
{
	pop();
	cc__runq_trim(&q);
	push(1, CC__READY);
}

/* The thief has taken the last by then, or is about to read it. */
static void trim(void)
{
	cc__runq_trim(&q);
}
SCENARIO(runq_trim_while_the_last_is_taken, .init = grown, .body = {trim, thief},
         .final = one_once, .leaks = true)
SCENARIO(runq_trim_against_a_thief, .init = grown, .body = {pop_and_trim, thief}, .final = two_once,
         .leaks = true)
