/* plain.c - the shadow of memory: who accessed which bytes, and when.
 *
 * Library and scenarios are compiled with -fsanitize=thread and linked against
 * the entry points below instead of that library, so every plain access of the
 * real code arrives here, just before it happens.
 *
 * A granule (eight bytes) keeps cells: bytes, kind, thread, that thread's clock.
 * Two accesses race if they overlap, one writes, not both are atomic, and the
 * later thread's view does not hold the earlier one's clock.  A cell is dropped
 * when a later access, ordered after it, conflicts with all that it would. */
#include <string.h>

#include "mc.h"

enum { SLOTS_MAX = 1 << 16, GRANULES = 1 << 13 };

static struct slot table[SLOTS_MAX];
static int n_slots, n_granules;
struct granule granules[GRANULES];
uint32_t epoch;

void plain_reset(void)
{
	n_granules = 0;
	if (++epoch != 0)
		return;
	for (int i = 0; i < SLOTS_MAX; i++)
		table[i].epoch = 0;
	epoch = 1;
}

static void renew(struct slot *s)
{
	if (n_granules == GRANULES)
		limit("shadow memory");
	s->epoch = epoch;
	s->index = (uint16_t)n_granules++;
	s->first = NOBODY;
	granules[s->index].p = (uint64_t *)((s->key - 1) << 3);
	granules[s->index].locs = NULL;
	granules[s->index].count = 0;
	granules[s->index].saved = false;
}

/* Neighbours in memory are neighbours in the table; blocks of 64 KB, such as
 * stacks, lie apart. */
struct slot *slot_of(const void *p)
{
	uintptr_t key = ((uintptr_t)p >> 3) + 1;
	size_t i = (key + (key >> 13) * 1021) % SLOTS_MAX;

	while (UNLIKELY(table[i].key != key)) {
		if (table[i].key == 0) {
			if (++n_slots > SLOTS_MAX / 2)
				limit("shadow memory");
			table[i].key = key;
			break;
		}
		i = (i + 1) % SLOTS_MAX;
	}
	if (UNLIKELY(table[i].epoch != epoch))
		renew(&table[i]);
	return &table[i];
}

static bool conflict(unsigned a, unsigned b)
{
	return ((a | b) & WRITE) && !(a & b & ATOMIC);
}

/* Everything that would race with a cell of kind `old` would with `new`. */
static bool covers(unsigned new, unsigned old)
{
	if (new == WRITE || new == old)
		return true;
	return old == (READ | ATOMIC);
}

static _Noreturn void race(const struct cell *c, const void *p, unsigned kind, uintptr_t where)
{
	char first[160];

	strncpy(first, where_text(c->where, c->kind), sizeof first - 1);
	first[sizeof first - 1] = '\0';
	mc_fail("race: %s %s%s at %s and %s %s%s at %s are not ordered (%p)",
	        thread_name(c->thread), c->kind & ATOMIC ? "atomic " : "",
	        c->kind & WRITE ? "write" : "read", first, thread_name(me),
	        kind & ATOMIC ? "atomic " : "", kind & WRITE ? "write" : "read",
	        where_text(where, kind), p);
}

const struct cell *unordered(const void *p)
{
	const struct granule *g = granule_of(p);

	for (int i = 0; i < g->count; i++)
		if (g->cell[i].clock > threads[me].cur[g->cell[i].thread])
			return &g->cell[i];
	return NULL;
}

/* Our own last access stands for this one: same clock, no fewer bytes, no less
 * a conflict. */
static bool repeated(const struct granule *g, unsigned mask, unsigned kind)
{
	const struct cell *c = &g->cell[g->count - 1];

	return g->count > 0 && c->thread == me && c->clock == threads[me].cur[me] &&
	       !(mask & ~c->mask) && covers(c->kind, kind) && (kind != WRITE || g->locs == NULL);
}

static void access_granule(struct granule *g, const void *p, unsigned mask, unsigned kind,
                           uintptr_t where)
{
	const mc_ts *cur = threads[me].cur;
	int kept = 0;

	if (repeated(g, mask, kind))
		return;
	for (int i = 0; i < g->count; i++) {
		const struct cell *c = &g->cell[i];
		bool ordered = c->clock <= cur[c->thread];

		if (UNLIKELY(!ordered && (c->mask & mask) && conflict(c->kind, kind)))
			race(c, p, kind, where);
		if (ordered && !(c->mask & ~mask) && covers(kind, c->kind))
			continue;
		if (kept != i)
			g->cell[kept] = *c;
		kept++;
	}
	if (kept == CELLS)
		limit("cells");
	g->cell[kept] = (struct cell){cur[me], (uint32_t)where, (uint8_t)mask, (uint8_t)kind,
	                              (uint8_t)me};
	g->count = (uint8_t)(kept + 1);
	if (kind == WRITE) {
		for (struct loc *l = g->locs; l != NULL; l = l->next)
			if (mask & ((1u << l->size) - 1) << ((uintptr_t)l->p & 7))
				loc_plain_write(l);
		heap_save(g);
	}
}

void access_in(struct granule *g, const void *p, size_t size, unsigned kind, uintptr_t where)
{
	if (!in_model)
		return;
	heap_live(p, size);
	access_granule(g, p, ((1u << size) - 1) << ((uintptr_t)p & 7), kind, where);
}

void access_at(const void *p, size_t size, unsigned kind, uintptr_t where)
{
	uintptr_t a = (uintptr_t)p, end = a + size;

	if (!in_model)
		return;
	heap_live(p, size);
	while (a < end) {
		uintptr_t stop = (a | 7) + 1 < end ? (a | 7) + 1 : end;

		access_granule(granule_of((void *)a), (void *)a,
		               ((1u << (stop - a)) - 1) << (a & 7), kind, where);
		a = stop;
	}
}

/* ---- what the compilers call ---- */

#define HERE ((uintptr_t)__builtin_return_address(0))

#define ENTRY(bytes) \
	void __tsan_read##bytes(const void *p); \
	void __tsan_read##bytes(const void *p) \
	{ \
		access_at(p, bytes, READ, HERE); \
	} \
	void __tsan_write##bytes(void *p); \
	void __tsan_write##bytes(void *p) \
	{ \
		access_at(p, bytes, WRITE, HERE); \
	} \
	void __tsan_unaligned_read##bytes(const void *p); \
	void __tsan_unaligned_read##bytes(const void *p) \
	{ \
		access_at(p, bytes, READ, HERE); \
	} \
	void __tsan_unaligned_write##bytes(void *p); \
	void __tsan_unaligned_write##bytes(void *p) \
	{ \
		access_at(p, bytes, WRITE, HERE); \
	} \
	void __tsan_volatile_read##bytes(const void *p); \
	void __tsan_volatile_read##bytes(const void *p) \
	{ \
		access_at(p, bytes, READ, HERE); \
	} \
	void __tsan_volatile_write##bytes(void *p); \
	void __tsan_volatile_write##bytes(void *p) \
	{ \
		access_at(p, bytes, WRITE, HERE); \
	} \
	void __tsan_read_write##bytes(void *p); \
	void __tsan_read_write##bytes(void *p) \
	{ \
		access_at(p, bytes, WRITE, HERE); \
	}

ENTRY(1)
ENTRY(2)
ENTRY(4)
ENTRY(8)
ENTRY(16)

void __tsan_read_range(const void *p, size_t n);
void __tsan_read_range(const void *p, size_t n)
{
	access_at(p, n, READ, HERE);
}

void __tsan_write_range(void *p, size_t n);
void __tsan_write_range(void *p, size_t n)
{
	access_at(p, n, WRITE, HERE);
}

void __tsan_init(void);
void __tsan_init(void) {}

void __tsan_func_entry(void *pc);
void __tsan_func_entry(void *pc)
{
	(void)pc;
}

void __tsan_func_exit(void);
void __tsan_func_exit(void) {}

/* The build renames the calls of instrumented objects to these; newer compilers
 * call the second names. */
#define MEMORY(mc, tsan, parameters, body) \
	void *mc parameters; \
	void *mc parameters body void *tsan parameters; \
	void *tsan parameters body

MEMORY(mc_memcpy, __tsan_memcpy, (void *to, const void *from, size_t n), {
	access_at(from, n, READ, HERE);
	access_at(to, n, WRITE, HERE);
	return memcpy(to, from, n);
})
MEMORY(mc_memmove, __tsan_memmove, (void *to, const void *from, size_t n), {
	access_at(from, n, READ, HERE);
	access_at(to, n, WRITE, HERE);
	return memmove(to, from, n);
})
MEMORY(mc_memset, __tsan_memset, (void *to, int byte, size_t n), {
	access_at(to, n, WRITE, HERE);
	return memset(to, byte, n);
})
