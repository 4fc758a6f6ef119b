/* slab.c - type-stable memory: two that take and give, one that walks.
 * sources: base/slab.c base/lock.c */
#include "shim_pages.h"
#include "base/slab.h"

struct object {
	cc__a32 mark;
	struct object *next;
	uint32_t owner;		/* plain: races if one is handed out twice */
};

static struct cc__slab slab = CC__SLAB_INIT(struct object, next);

void cc__say_all(const char *first, ...)
{
	(void)first;
}

static struct object *take(void)
{
	struct object *o = cc__slab_get(&slab);

	MC_ASSERT(o != NULL);
	o->owner = (uint32_t)mc_self();
	cc__store(&o->mark, 1, CC__RELAXED);
	return o;
}

static void take_and_give(void)
{
	struct object *o = take();

	MC_ASSERT(o->owner == (uint32_t)mc_self());
	cc__slab_put(&slab, o);
}

static void take_two_give_two(void)
{
	unsigned count;
	struct object *o = cc__slab_get_chain(&slab, 2, &count);

	MC_ASSERT(count == 2 && o->next != NULL && o->next->next == NULL);
	o->owner = o->next->owner = (uint32_t)mc_self();
	cc__slab_put_chain(&slab, o, o->next);
}

static bool look(void *object, void *arg)
{
	struct object *o = object;

	(void)arg;
	MC_ASSERT(cc__load(&o->mark, CC__RELAXED) <= 1);
	return true;
}

static void walk(void)
{
	cc__slab_walk(&slab, look, NULL);
}

static void count_made(void)
{
	MC_ASSERT(cc__slab_made(&slab) <= 3);
}

/* Each once, none lost. */
static bool count_one(void *object, void *arg)
{
	(void)object;
	++*(unsigned *)arg;
	return true;
}

static void all_are_free(void)
{
	unsigned made = 0, count;
	struct object *o;

	cc__slab_walk(&slab, count_one, &made);
	o = cc__slab_get_chain(&slab, made, &count);
	for (unsigned i = 0; i < made; i++, o = o->next)
		MC_ASSERT(o != NULL);
	MC_ASSERT(count == made && o == NULL);
}

SCENARIO(slab_take_and_give, .body = {take_and_give, take_two_give_two, take_and_give},
         .final = all_are_free)
SCENARIO(slab_walked_while_it_grows, .body = {take_and_give, take_two_give_two, walk},
         .final = all_are_free)
SCENARIO(slab_counted_while_it_grows, .body = {take_and_give, take_and_give, count_made},
         .final = all_are_free)
