/* memory.c - atomics under C11 weak memory, operationally.
 *
 * Each location has its stores in modification order, each with a timestamp and
 * the view that reading it with acquire brings.  A thread may read any store
 * that is not older than what it has seen there, and may put its own store
 * behind any of those, except between an RMW and the store it read (glued).
 * Number of choices other than the newest: bounds.weak.
 *
 *   release      the store carries the writer's view; after a release fence
 *                even a relaxed one carries the view at that fence
 *   RMW          carries on the view of the store it read: a release sequence,
 *                as C20 has it, which a plain store by the same thread is not
 *   seq_cst      takes away places that its total order forbids (seqcst.c), and
 *                gives no happens-before beyond acquire and release
 *
 * A load never reads a store that comes later in the execution: load buffering
 * is not explored. */
#include <string.h>

#include "mc.h"

enum {
	MESSAGES = 1 << 14,
	VIEW_WORDS = 1 << 20,
	GAP = 1 << 16, /* between timestamps: room for stores in between */
	VISIBLE = 64,  /* most stores one access may choose among */
};

const char *const order_name[] = {"relaxed", "acquire", "release", "acq_rel", "seq_cst"};

static struct msg messages[MESSAGES];
static mc_ts view_words[VIEW_WORDS];
static struct loc locs[SLOTS];
static int n_messages, n_words;

static bool acquires(int order)
{
	return order == CC__ACQUIRE || order == CC__ACQ_REL || order == CC__SEQ_CST;
}

static bool releases(int order)
{
	return order == CC__RELEASE || order == CC__ACQ_REL || order == CC__SEQ_CST;
}

void memory_reset(void)
{
	sc_reset();
	slots = CLOCKS;
	n_messages = n_words = 0;
	memset(threads[MAIN].cur, 0, sizeof(mc_ts) * CLOCKS);
	memset(threads[MAIN].acq, 0, sizeof(mc_ts) * CLOCKS);
	threads[MAIN].cur[MAIN] = 1;
	threads[MAIN].has_acq = threads[MAIN].has_rel = false;
	threads[MAIN].locks = 0;
}

void view_omniscient(void)
{
	struct thread *m = &threads[MAIN];

	for (int i = 0; i < n_threads; i++)
		join(m->cur, threads[i].cur, 0, CLOCKS);
	for (int i = CLOCKS; i < slots; i++)
		m->cur[i] = locs[i].newest->ts;
}

void view_newest(int thread)
{
	for (int i = CLOCKS; i < slots; i++)
		threads[thread].cur[i] = locs[i].newest->ts;
}

struct loc *loc_at(int slot)
{
	return &locs[slot];
}

void view_publish(mc_ts *to)
{
	struct thread *t = &threads[me];

	join(to, t->cur, 0, slots);
	t->cur[me]++;
}

void view_acquire(const mc_ts *from)
{
	join(threads[me].cur, from, 0, slots);
}

/* ---- locations ---- */

static uint64_t fetch(const void *p, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, p, size); /* little endian */
	return value;
}

static uint64_t cut(uint64_t value, size_t size)
{
	return size == 8 ? value : value & (((uint64_t)1 << (size * 8)) - 1);
}

static struct msg *message(uint64_t value, mc_ts ts)
{
	struct msg *m;

	if (n_messages == MESSAGES)
		limit("stores");
	m = &messages[n_messages++];
	*m = (struct msg){.value = value, .ts = ts, .by = (uint8_t)me, .node = -1};
	return m;
}

static struct loc *loc_new(struct granule *g, void *p, size_t size)
{
	struct loc *l;

	if (slots == SLOTS)
		limit("locations");
	l = &locs[slots];
	*l = (struct loc){
	    .p = p, .size = (uint8_t)size, .slot = (uint16_t)slots, .next = g->locs, .granule = g};
	g->locs = l;
	for (int i = 0; i <= MAIN; i++)
		threads[i].cur[slots] = threads[i].acq[slots] = threads[i].rel[slots] = 0;
	slots++;
	l->newest = message(fetch(p, size), 0);
	return l;
}

struct loc *loc_of(struct granule *g, const void *p, size_t size, const struct mc_site *site)
{
	struct loc *l;

	for (l = g->locs; l != NULL; l = l->next) {
		if (l->p == p && l->size == size)
			break;
		if ((uintptr_t)p < (uintptr_t)l->p + l->size &&
		    (uintptr_t)l->p < (uintptr_t)p + size)
			mc_fail("race: atomics of %zu and %d bytes overlap at %s (%s:%d)", size,
			        l->size, site->text, base_name(site->file), site->line);
	}
	if (l == NULL) {
		if ((uintptr_t)p % size != 0)
			mc_fail("assert: atomic %s is not aligned (%s:%d)", site->text,
			        base_name(site->file), site->line);
		l = loc_new(g, (void *)p, size);
	}
	if (UNLIKELY(l->newest->lazy)) {
		l->newest->value = fetch(p, size);
		l->newest->lazy = false;
	}
	return l;
}

uint64_t loc_newest(struct loc *l)
{
	return l->newest->lazy ? fetch(l->p, l->size) : l->newest->value;
}

/* A plain write, ordered after everything (plain.c has checked): nobody can
 * legally read an older store any more, and the value follows. */
void loc_plain_write(struct loc *l)
{
	struct msg *m = l->newest;

	if (!m->lazy) {
		m = message(0, m->ts + GAP);
		m->lazy = true;
		m->older = l->newest;
		l->newest->newer = m;
		l->newest = m;
	}
	threads[me].cur[l->slot] = m->ts;
}

/* ---- reading and writing at a place in modification order ---- */

/* A place in modification order for an access: m itself to read, or right
 * behind it to write. */
struct place {
	struct msg *m;
	struct sc_access sc;
};

/* Nothing older than m is left for this thread. */
static bool seen(const struct loc *l, const struct msg *m)
{
	return m->ts <= threads[me].cur[l->slot];
}

static bool can_insert(const struct msg *m)
{
	return m->newer == NULL || !m->newer->glued;
}

static void read_at(struct loc *l, const struct msg *m, int order)
{
	struct thread *t = &threads[me];

	if (t->cur[l->slot] < m->ts)
		t->cur[l->slot] = m->ts;
	if (m->slots == 0)
		return;
	if (acquires(order)) {
		join(t->cur, m->view, 0, m->slots);
	} else {
		join(t->acq, m->view, 0, m->slots);
		t->has_acq = true;
	}
}

void read_newest(struct loc *l, int order)
{
	read_at(l, l->newest, order);
}

mc_ts *view_copy(const mc_ts *view)
{
	mc_ts *copy = &view_words[n_words];

	if (n_words + slots > VIEW_WORDS)
		limit("views");
	n_words += slots;
	memcpy(copy, view, (size_t)slots * sizeof *view);
	return copy;
}

static void carry(struct msg *m, const mc_ts *view, int n)
{
	if (m->view != NULL) {
		join(m->view, view, 0, n);
		return;
	}
	m->view = view_copy(view);
	m->slots = (uint16_t)slots;
	memset(m->view + n, 0, (size_t)(slots - n) * sizeof *view);
}

static void write_after(struct loc *l, struct place *at, uint64_t value, int order, bool rmw)
{
	struct thread *t = &threads[me];
	struct msg *prev = at->m, *m;
	mc_ts ts = prev->ts + GAP;

	if (prev->newer != NULL) {
		ts = prev->ts + (prev->newer->ts - prev->ts) / 2;
		if (ts == prev->ts)
			limit("timestamps");
	}
	m = message(value, ts);
	m->glued = rmw;
	m->older = prev;
	m->newer = prev->newer;
	prev->newer = m;
	if (m->newer != NULL)
		m->newer->older = m;
	else
		l->newest = m;
	t->cur[l->slot] = ts;
	m->node = (int16_t)sc_happens(&at->sc);
	m->written = at->sc.sources;
	if (releases(order))
		carry(m, t->cur, slots);
	else if (t->has_rel)
		carry(m, t->rel, slots);
	if (rmw && prev->slots > 0)
		carry(m, prev->view, prev->slots);
	if (releases(order))
		t->cur[me]++;
	heap_save(l->granule);
	memcpy(l->p, &l->newest->value, l->size);
	stored();
}

/* ---- choices ---- */

static int weak_choice(char kind, int n)
{
	int c;

	if (n <= 1 || (strategy != REPLAY && used.weak >= bounds.weak))
		return 0;
	c = choose(kind, n);
	if (c > 0)
		used.weak++;
	return c;
}

/* Before each access: let others run, and check that the memory is there and
 * no plain access races. */
static struct loc *arrive(const void *p, size_t size, bool write, bool writes_for_sure,
                          const struct mc_site *site)
{
	struct granule *g = point(p, write, site);
	unsigned kind = writes_for_sure ? WRITE | ATOMIC : READ | ATOMIC;

	access_in(g, p, size, kind, (uintptr_t)site);
	return loc_of(g, p, size, site);
}

static void check_order(bool ok, int order, const struct mc_site *site)
{
	if (!ok)
		mc_fail("assert: order %s does not fit %s (%s:%d)",
		        (unsigned)order <= CC__SEQ_CST ? order_name[order] : "?", site->text,
		        base_name(site->file), site->line);
}

/* What a load has done to the graph and to this thread. */
static void loaded(struct loc *l, struct place *at, int order, bool stale)
{
	struct thread *t = &threads[me];

	read_at(l, at->m, order);
	sc_happens(&at->sc);
	at->m->read |= at->sc.sources;
	if (stale) {
		t->stale = true;
		t->stale_loc = l;
	}
}

uint64_t mc_load(const void *p, size_t size, int order, const struct mc_site *site)
{
	struct place place[VISIBLE];
	struct loc *l;
	int n = 0, c;

	check_order(order != CC__RELEASE && order != CC__ACQ_REL, order, site);
	l = arrive(p, size, false, false, site);
	for (struct msg *m = l->newest; m != NULL && n < VISIBLE; m = m->older) {
		place[n].m = m;
		n += sc_allows(l, m, order, acquires(order), false, &place[n].sc);
		if (seen(l, m))
			break;
	}
	c = weak_choice('r', n);
	loaded(l, &place[c], order, c > 0);
	if (tracing)
		trace_op(site, "load    %s -> %s  %s%s", site->text, number(place[c].m->value),
		         order_name[order], c > 0 ? "   (STALE)" : "");
	return place[c].m->value;
}

/* Stores behind which one of this thread may go: newest first. */
static int places(const struct loc *l, int order, bool reads, struct place *place)
{
	int n = 0;

	for (struct msg *m = l->newest; m != NULL && n < VISIBLE; m = m->older) {
		if (can_insert(m)) {
			place[n].m = m;
			n += sc_allows(l, m, order, reads && acquires(order), true, &place[n].sc);
		}
		if (seen(l, m))
			break;
	}
	return n;
}

void mc_store(void *p, size_t size, uint64_t value, int order, const struct mc_site *site)
{
	struct place place[VISIBLE];
	struct loc *l;
	int n, c;

	check_order(order != CC__ACQUIRE && order != CC__ACQ_REL, order, site);
	l = arrive(p, size, true, true, site);
	value = cut(value, size);
	n = places(l, order, false, place);
	c = weak_choice('w', n);
	if (tracing)
		trace_op(site, "store   %s = %s  %s%s", site->text, number(value),
		         order_name[order], c > 0 ? "   (MO-EARLIER)" : "");
	write_after(l, &place[c], value, order, false);
}

static uint64_t apply(enum mc_rmw op, uint64_t old, uint64_t value)
{
	switch (op) {
	case MC_XCHG:
		break;
	case MC_ADD:
		return old + value;
	case MC_SUB:
		return old - value;
	case MC_OR:
		return old | value;
	case MC_AND:
		return old & value;
	}
	return value;
}

uint64_t mc_rmw(void *p, size_t size, enum mc_rmw op, uint64_t value, int order,
                const struct mc_site *site)
{
	static const char *const name[] = {"xchg", "add", "sub", "or", "and"};
	struct place place[VISIBLE];
	struct loc *l = arrive(p, size, true, true, site);
	int n = places(l, order, true, place);
	int c = weak_choice('w', n);
	uint64_t old = place[c].m->value, new = cut(apply(op, old, value), size);

	read_at(l, place[c].m, order);
	if (tracing)
		trace_op(site, "%-7s %s: %s -> %s  %s%s", name[op], site->text, number(old),
		         number(new), order_name[order], c > 0 ? "   (MO-EARLIER)" : "");
	write_after(l, &place[c], new, order, true);
	return old;
}

/* What a compare-exchange may meet: a store it does not match, as a load may;
 * one it does, if its own store can go right behind. */
static int cas_places(const struct loc *l, uint64_t expected, int order, int on_failure,
                      struct place *place)
{
	int n = 0;

	for (struct msg *m = l->newest; m != NULL && n < VISIBLE; m = m->older) {
		bool match = m->value == expected;
		int o = match ? order : on_failure;

		place[n].m = m;
		n += (!match || can_insert(m)) &&
		     sc_allows(l, m, o, acquires(o), match, &place[n].sc);
		if (seen(l, m))
			break;
	}
	return n;
}

struct mc_cas_result mc_cas(void *p, size_t size, uint64_t expected, uint64_t value, bool weak,
                            int order, int on_failure, const struct mc_site *site)
{
	struct place place[VISIBLE], *at;
	struct loc *l;
	bool done, spurious = false;
	int n, c;

	check_order(on_failure != CC__RELEASE && on_failure != CC__ACQ_REL, on_failure, site);
	l = arrive(p, size, true, false, site);
	expected = cut(expected, size);
	value = cut(value, size);
	n = cas_places(l, expected, order, on_failure, place);
	c = weak_choice('w', n);
	at = &place[c];
	done = at->m->value == expected;
	if (done && weak && left(used.spurious, bounds.spurious) && choose('f', 2) == 1) {
		used.spurious++;
		spurious = true;
		done = !sc_allows(l, at->m, on_failure, acquires(on_failure), false, &at->sc);
	}
	if (tracing)
		trace_op(site, "cas     %s: %s -> %s  %s%s%s", site->text, number(at->m->value),
		         number(value), order_name[done ? order : on_failure],
		         done       ? ""
		         : spurious ? "   (SPURIOUS)"
		                    : "   (failed)",
		         c > 0 ? done ? "   (MO-EARLIER)" : "   (STALE)" : "");
	if (done) {
		access_in(l->granule, p, size, WRITE | ATOMIC, (uintptr_t)site);
		read_at(l, at->m, order);
		write_after(l, at, value, order, true);
	} else {
		loaded(l, at, on_failure, c > 0);
	}
	return (struct mc_cas_result){at->m->value, done};
}

/* ---- fences ----
 * A fence is seen by others only through the accesses around it: no choice
 * before it, but for the one that other threads execute as well. */

static void fence_release(struct thread *t)
{
	memcpy(t->rel, t->cur, (size_t)slots * sizeof(mc_ts));
	t->has_rel = true;
	t->cur[t - threads]++;
}

static void fence_acquire(struct thread *t)
{
	if (t->has_acq)
		join(t->cur, t->acq, 0, slots);
}

void mc_fence(int order, const struct mc_site *site)
{
	struct thread *t = &threads[me];

	if (tracing)
		trace_op(site, "fence   %s", order_name[order]);
	if (acquires(order))
		fence_acquire(t);
	if (order == CC__SEQ_CST)
		sc_fence();
	if (releases(order))
		fence_release(t);
}

void mc_fence_heavy(const struct mc_site *site)
{
	static uint64_t everybody;

	share(&everybody);
	point(&everybody, true, site);
	pending = 0; /* it operates on everything */
	if (tracing)
		trace_op(site, "fence   by all threads");
	for (int i = 0; i < n_threads; i++)
		fence_acquire(&threads[i]);
	sc_fence_everywhere();
	for (int i = 0; i < n_threads; i++)
		fence_release(&threads[i]);
}
