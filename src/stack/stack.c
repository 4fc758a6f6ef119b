/* stack.c - regions and the pool. */
#include "stack/stack.h"

#include <errno.h>
#include <stdio.h>

#include "os/pages.h"
#include "base/slab.h"

/* Stacks of the first region, of ordinary ones and of an order above, where one may be all
 * that is wanted; each further one has twice as many. */
enum { REGION_FIRST = 16, REGION_FIRST_LARGE = 1, REGION_LAST = 1024 };
/* Mappings left to the rest of the program where each guard costs two. */
enum { MAPS_RESERVED = 1000 };
/* 7 and the number of colours have no common divisor. */
enum { COLOUR_STEP = 7 };

_Static_assert((int)CC__STACK_ORDERS <= (int)CC__COLOUR_BYTES, "an order below the colour");

/* Type-stable, for the fault handler walks all of them without a lock. */
struct cc__stack_region {
	CC__ATOMIC(char *) base;	/* NULL: retired */
	cc__a64 bytes;
	const struct cc__stack_shelf *shelf;	/* constant while base is set */
	struct cc__stack *stacks;		/* descriptors, pages of their own */
	unsigned count, carved;			/* carved: the pool's lock */
	struct cc__stack_region *next;		/* the pool's list, or the slab's */
};

static struct cc__slab regions = CC__SLAB_INIT(struct cc__stack_region, next);
/* Descriptors of stacks that came from hooks. */
struct hooked {
	struct cc__stack stack;
	struct cc__timer alarm;
};
static struct cc__slab hooked = CC__SLAB_INIT(struct hooked, stack.next);

static struct cc__stack_shelf *shelf_of(struct cc__stack_pool *p, const struct cc__stack *s)
{
	return &p->shelf[cc__stack_order(s)];
}

/* ---- where an address lies, without a lock, for the fault handler ---- */

static bool find_in_region(void *object, void *arg)
{
	struct cc__stack_region *r = object;
	const struct cc__stack_shelf *shelf = r->shelf;
	struct cc__stack_area *a = arg;
	/* Acquire: pairs with the release in new_region; a stray pointer may lead
	 * any thread here. */
	char *base = cc__load(&r->base, CC__ACQUIRE);
	size_t number;

	if (base == NULL || a->address < base ||
	    a->address >= base + cc__load(&r->bytes, CC__RELAXED))
		return true;
	number = (size_t)(a->address - base) / shelf->size;
	a->guard = base + number * shelf->size;
	a->bottom = a->guard + shelf->guard_size;
	a->size = shelf->size;
	a->who = r->stacks[number].waiter.who;
	return false;
}

struct cc__stack_area cc__stack_area_of(const char *address)
{
	struct cc__stack_area a = {.address = address};

	cc__slab_walk(&regions, find_in_region, &a);
	return a;
}

/* ---- regions; all of it under the pool's lock ---- */

/* The descriptors, and then the alarms. */
static size_t descriptor_bytes(unsigned count)
{
	const size_t page = cc__page_size();
	const size_t both = sizeof(struct cc__stack) + sizeof(struct cc__timer);

	return (count * both + page - 1) / page * page;
}

static unsigned next_count(const struct cc__stack_pool *p, unsigned order)
{
	const struct cc__stack_region *last = p->shelf[order].regions;

	if (last == NULL)
		return order == 0 ? REGION_FIRST : REGION_FIRST_LARGE;
	return last->count < REGION_LAST ? last->count * 2 : REGION_LAST;
}

static struct cc__stack_region *new_region(struct cc__stack_pool *p, unsigned order)
{
	struct cc__stack_region *r = cc__slab_get(&regions);
	struct cc__stack_shelf *shelf = &p->shelf[order];
	const unsigned count = next_count(p, order);
	char *base;

	if (r == NULL)
		return NULL;
	if ((r->stacks = cc__pages_map(descriptor_bytes(count))) == NULL)
		goto put_region;
	if ((base = cc__pages_map(count * shelf->size)) == NULL)
		goto unmap_stacks;
	r->count = count;
	r->carved = 0;
	r->shelf = shelf;
	r->next = shelf->regions;
	shelf->regions = r;
	/* Relaxed: published by the base.  Release: to fault_in_region. */
	cc__store(&r->bytes, count * shelf->size, CC__RELAXED);
	cc__store(&r->base, base, CC__RELEASE);
	return r;
unmap_stacks:
	cc__pages_unmap(r->stacks, descriptor_bytes(count));
put_region:
	cc__slab_put(&regions, r);
	return NULL;
}

static void end_region(struct cc__stack_pool *p, struct cc__stack_region *r)
{
	char *base = cc__load(&r->base, CC__RELAXED);	/* Relaxed: ours */

	for (unsigned i = 0; i < r->carved; i++)
		cc__stack_tools_fini(&r->stacks[i].tools, cc__stack_bottom(&r->stacks[i]),
		                     cc__stack_usable(p, &r->stacks[i]));
	cc__store(&r->base, NULL, CC__RELAXED);	/* Relaxed: as in new_region */
	cc__pages_unmap(base, r->count * r->shelf->size);
	cc__pages_unmap(r->stacks, descriptor_bytes(r->count));
	cc__slab_put(&regions, r);
}

/* ---- making one stack, to be guarded (T6); under the pool's lock ---- */

static struct cc__stack *carve(struct cc__stack_pool *p, unsigned order)
{
	const struct cc__stack_shelf *shelf = &p->shelf[order];
	struct cc__stack_region *r = shelf->regions;
	struct cc__stack *s;
	char *memory;

	if ((r == NULL || r->carved == r->count) && (r = new_region(p, order)) == NULL)
		return NULL;
	/* Relaxed: written under this lock. */
	memory = cc__load(&r->base, CC__RELAXED) + r->carved * shelf->size;
	s = &r->stacks[r->carved];
	s->place = (uintptr_t)memory + shelf->guard_size;
	s->alarm = (uint32_t)((r->count - r->carved) * sizeof *s +
	                      r->carved * sizeof(struct cc__timer));
	r->carved++;
	return s;
}

static struct cc__stack *make_hooked(struct cc__stack_pool *p, unsigned order)
{
	struct hooked *h = cc__slab_get(&hooked);
	const size_t size = p->shelf[order].size;
	void *memory;

	if (h == NULL)
		return NULL;
	memory = p->hooks.acquire(p->hooks.context, size);
	if (memory != NULL && (uintptr_t)memory % cc__page_size() == 0) {
		h->stack.place = (uintptr_t)memory;
		h->stack.alarm = offsetof(struct hooked, alarm);
		return &h->stack;
	}
	if (memory != NULL)	/* not as promised: better none */
		p->hooks.release(p->hooks.context, memory, size);
	cc__slab_put(&hooked, h);
	return NULL;
}

static struct cc__stack *make_new(struct cc__stack_pool *p, unsigned order)
{
	struct cc__stack *s = p->hooks.acquire != NULL ? make_hooked(p, order) : carve(p, order);

	if (s == NULL)
		return NULL;
	s->place += p->made * COLOUR_STEP % CC__COLOURS * CC__COLOUR_BYTES + order;
	s->waiter.who = NULL;
	cc__stack_tools_init(&s->tools, cc__stack_bottom(s), cc__stack_usable(p, s));
	return s;
}

static void end_hooked(struct cc__stack_pool *p, struct cc__stack *s)
{
	cc__stack_tools_fini(&s->tools, cc__stack_bottom(s), cc__stack_usable(p, s));
	p->hooks.release(p->hooks.context, cc__stack_bottom(s), shelf_of(p, s)->size);
	cc__slab_put(&hooked, s);
}

/* It counts, or it does not. */
static void count(struct cc__stack_pool *p, const struct cc__stack *s, int by)
{
	p->made += (size_t)by;
	shelf_of(p, s)->made += (size_t)by;
}

static struct cc__stack *pop_coldest(struct cc__stack_shelf *shelf)
{
	struct cc__stack *s = NULL;

	for (unsigned age = CC__STACK_AGES; age > 0 && s == NULL; age--)
		s = cc__stack_pop(&shelf->free[age - 1]);
	return s;
}

/* For one more, T5.  (Not where mappings are what is lacking: the guard keeps its own.) */
static bool make_room(struct cc__stack_pool *p)
{
	struct cc__stack *s = NULL;

	if (p->made < p->ceiling)
		return true;
	for (unsigned order = 0; order < CC__STACK_ORDERS && s == NULL && !p->ceiling_is_maps;
	     order++)
		s = pop_coldest(&p->shelf[order]);
	if (s == NULL)
		return false;
	count(p, s, -1);
	if (p->hooks.acquire != NULL) {
		end_hooked(p, s);
	} else {
		cc__pages_discard(cc__stack_bottom(s), cc__stack_usable(p, s));
		cc__stack_push(&shelf_of(p, s)->uncounted, s);
	}
	return true;
}

static struct cc__stack *make_stack(struct cc__stack_pool *p, unsigned order)
{
	struct cc__stack *s;

	if (!make_room(p))
		return NULL;
	if ((s = cc__stack_pop(&p->shelf[order].uncounted)) == NULL)
		s = make_new(p, order);
	if (s != NULL)
		count(p, s, 1);
	return s;
}

/* ---- the pool ---- */

/* A quarter of the stack, in whole pages: it costs address space only, and the
 * usual large local buffer does not reach across it. */
static size_t guard_size(size_t stack)
{
	const size_t page = cc__page_size(), quarter = stack / 4 / page * page;

	return quarter > page ? quarter : page;
}

int cc__stack_pool_init(struct cc__stack_pool *p, const CCConfig *config)
{
	*p = (struct cc__stack_pool){.hooks = config->stacks};
	for (unsigned order = 0; order < CC__STACK_ORDERS; order++) {
		struct cc__stack_shelf *shelf = &p->shelf[order];

		shelf->size = config->stack_size << order;
		shelf->guard_size = p->hooks.acquire != NULL ? 0 : guard_size(shelf->size);
	}
	p->map_max = cc__map_count_max();
	p->ceiling = config->stacks_max != 0 ? config->stacks_max : SIZE_MAX;
	if (p->hooks.acquire != NULL)
		return 0;
	p->guard = config->guard == CC_GUARD_AUTO    ? (int)cc__guard_best()
	           : config->guard == CC_GUARD_LIGHT ? CC__GUARD_LIGHT
	                                             : CC__GUARD_SPLIT;
	if (config->guard == CC_GUARD_LIGHT && cc__guard_best() != CC__GUARD_LIGHT)
		return ENOTSUP;
	if (p->guard == CC__GUARD_SPLIT) {
		size_t most = p->map_max > 2 * MAPS_RESERVED
		                  ? (size_t)(p->map_max - MAPS_RESERVED) / 2
		                  : (size_t)p->map_max / 4;

		p->ceiling_is_maps = most < p->ceiling;
		p->ceiling = p->ceiling_is_maps ? most : p->ceiling;
	}
	return 0;
}

/* Under the lock. */
static struct cc__stack *pop_warmest(struct cc__stack_shelf *shelf)
{
	struct cc__stack *s = NULL;

	for (enum cc__stack_age age = 0; age < CC__STACK_AGES && s == NULL; age++)
		s = cc__stack_pop(&shelf->free[age]);
	return s;
}

/* How many it has lying there. */
static size_t end_shelf(struct cc__stack_pool *p, struct cc__stack_shelf *shelf)
{
	struct cc__stack_region *r;
	struct cc__stack *s;
	size_t count = 0;

	for (; (s = pop_warmest(shelf)) != NULL; count++)
		if (p->hooks.acquire != NULL)
			end_hooked(p, s);
	while ((r = shelf->regions) != NULL) {
		shelf->regions = r->next;
		end_region(p, r);
	}
	return count;
}

void cc__stack_pool_fini(struct cc__stack_pool *p)
{
	size_t free = 0;

	for (unsigned order = 0; order < CC__STACK_ORDERS; order++)
		free += end_shelf(p, &p->shelf[order]);
	CC__CHECK(free == p->made, "T3: a stack outlives its pool");
}

unsigned cc__stack_order_for(const struct cc__stack_pool *p, size_t size)
{
	unsigned order = size <= CC__STACK_MAX ? 0 : CC__STACK_ORDERS;

	while (order < CC__STACK_ORDERS && p->shelf[order].size < size)
		order++;
	return order;
}

/* ---- getting stacks ---- */

/* A new one. */
static bool guard(const struct cc__stack_pool *p, const struct cc__stack *s)
{
	const size_t size = p->shelf[cc__stack_order(s)].guard_size;

	return p->hooks.acquire != NULL ||
	       cc__pages_guard(cc__stack_bottom(s) - size, size, (enum cc__guard_kind)p->guard) == 0;
}

/* One that could not be guarded, for the next try.  Under the lock. */
static void take_back(struct cc__stack_pool *p, struct cc__stack *s)
{
	count(p, s, -1);
	cc__stack_push(&shelf_of(p, s)->uncounted, s);
}

struct cc__stack *cc__stack_get(struct cc__stack_pool *p, unsigned order)
{
	struct cc__stack *s;
	bool made;

	cc__lock(&p->lock, CC__RANK_POOL);
	s = pop_warmest(&p->shelf[order]);
	made = s == NULL && (s = make_stack(p, order)) != NULL;
	cc__unlock(&p->lock);
	if (!made || guard(p, s))
		return s;
	cc__lock(&p->lock, CC__RANK_POOL);
	take_back(p, s);
	cc__unlock(&p->lock);
	return NULL;
}

bool cc__stack_pool_stock(struct cc__stack_pool *p, unsigned order)
{
	struct cc__stack_shelf *shelf = &p->shelf[order];
	struct cc__stack *s;
	bool any;

	cc__lock(&p->lock, CC__RANK_POOL);
	if (shelf->made == 0 && (s = make_stack(p, order)) != NULL) {
		if (guard(p, s))
			cc__stack_push(&shelf->free[CC__STACK_COLD], s);
		else
			take_back(p, s);
	}
	any = shelf->made > 0;
	cc__unlock(&p->lock);
	return any;
}

void cc__stack_put_list(struct cc__stack_pool *p, struct cc__stack_list *list)
{
	struct cc__stack *s;

	cc__lock(&p->lock, CC__RANK_POOL);
	while ((s = cc__stack_pop(list)) != NULL)
		cc__stack_push(&shelf_of(p, s)->free[CC__STACK_WARM], s);
	cc__unlock(&p->lock);
}

void cc__stack_put(struct cc__stack_pool *p, struct cc__stack *s)
{
	struct cc__stack_list one = {0};

	cc__stack_push(&one, s);
	cc__stack_put_list(p, &one);
}

size_t cc__stack_pool_made(struct cc__stack_pool *p)
{
	size_t made;

	cc__lock(&p->lock, CC__RANK_POOL);
	made = p->made;
	cc__unlock(&p->lock);
	return made;
}

void cc__stack_pool_explain(struct cc__stack_pool *p, unsigned order, char *text, size_t size)
{
	const size_t made = cc__stack_pool_made(p);

	if (made >= p->ceiling && !p->ceiling_is_maps)
		snprintf(text, size, "libccc: no stack for a fiber: stacks_max = %zu are in use",
		         p->ceiling);
	else if (p->guard == CC__GUARD_SPLIT && p->hooks.acquire == NULL)
		snprintf(
		    text, size,
		    "libccc: no stack for a fiber: %zu exist, and vm.max_map_count = %ld allows "
		    "about %zu guarded ones; raise it (sysctl -w vm.max_map_count=...)",
		    made, p->map_max, p->ceiling);
	else
		snprintf(text, size,
		         "libccc: no stack for a fiber: %zu exist and the system grants no more of "
		         "%zu KB; lower CC_STACK_SIZE or raise the limits (ulimit -v, cgroup)",
		         made, p->shelf[order].size / 1024);
}

/* ---- giving pages back ---- */

/* The pages of a few stacks of great age, which are nobody's meanwhile.  False: there
 * are no more. */
static bool chill_some(struct cc__stack_pool *p)
{
	enum { A_FEW = 16 };
	struct cc__stack_list some = {0};

	cc__lock(&p->lock, CC__RANK_POOL);
	for (unsigned order = 0; order < CC__STACK_ORDERS; order++) {
		struct cc__stack_list *aged = &p->shelf[order].free[CC__STACK_AGED];

		while (some.count < A_FEW && aged->count > 0)
			cc__stack_push(&some, cc__stack_pop(aged));
	}
	cc__unlock(&p->lock);
	if (some.count == 0)
		return false;
	for (struct cc__stack *s = some.first; s != NULL && p->hooks.acquire == NULL; s = s->next)
		cc__pages_discard(cc__stack_bottom(s), cc__stack_usable(p, s));
	cc__lock(&p->lock, CC__RANK_POOL);
	for (struct cc__stack *s; (s = cc__stack_pop(&some)) != NULL;)
		if (p->hooks.acquire != NULL) {
			count(p, s, -1);
			end_hooked(p, s);
		} else {
			cc__stack_push(&shelf_of(p, s)->free[CC__STACK_COLD], s);
		}
	cc__unlock(&p->lock);
	return true;
}

/* Everybody is a period older; unless somebody is still busy with the last one's.
 * Under the lock. */
static void grow_older(struct cc__stack_shelf *shelf)
{
	if (shelf->free[CC__STACK_AGED].count > 0)
		return;
	shelf->free[CC__STACK_AGED] = shelf->free[CC__STACK_RESTED];
	shelf->free[CC__STACK_RESTED] = shelf->free[CC__STACK_WARM];
	shelf->free[CC__STACK_WARM] = (struct cc__stack_list){0};
}

cc_time cc__stack_pool_age(struct cc__stack_pool *p, cc_time now, cc_time idle)
{
	cc_time again = CC_FOREVER;
	bool over;

	cc__lock(&p->lock, CC__RANK_POOL);
	if ((over = now >= p->age_at))
		p->age_at = idle < CC_FOREVER - now ? now + idle : CC_FOREVER;
	for (unsigned order = 0; order < CC__STACK_ORDERS; order++) {
		struct cc__stack_shelf *shelf = &p->shelf[order];

		if (over)
			grow_older(shelf);
		if (shelf->free[CC__STACK_WARM].count + shelf->free[CC__STACK_RESTED].count > 0)
			again = p->age_at;
	}
	cc__unlock(&p->lock);
	/* Whoever asks has to look for work before it goes on: others rely on that. */
	return chill_some(p) ? now : again;
}
