/* seqcst.c - the total order of seq_cst, as constraints.
 *
 * Execution order is not that order: a seq_cst load may come after a seq_cst
 * store in the execution and before it in the order.  So the order is kept as
 * what is known of it: a graph of nodes, one for each seq_cst access and fence,
 * transitively closed, that must stay without a cycle.  An access that would
 * close one may not read or write at that place.
 *
 *   node -> node    by happens-before;
 *   a -> b          where a reads or writes before b in modification order of
 *                   one location (b writes what comes after a), from a itself if
 *                   it is seq_cst and from every fence that happens before a, to
 *                   b itself if it is seq_cst and to every fence before which b,
 *                   or a read of b, happens;
 *   fence -> fence  where a store after the first is read before the second.
 *
 * This is RC11's psc, stronger in two corners: happens-before counts whatever
 * its path (as in C11), and a seq_cst access orders before a fence also through
 * somebody's relaxed read.  No known machine shows the difference.
 * After NODES of them an execution goes on with newest values only. */
#include <string.h>

#include "mc.h"

enum { NODES = 128 };

static struct node {
	mask before; /* all that precede it */
	mask chain;  /* those of its thread, with itself */
	mc_ts clock;
	int16_t prev;  /* of its thread, or -1 */
	int16_t fence; /* the last fence of its thread up to here, or -1 */
	mc_ts *seen;   /* fence: the thread's view at it; else NULL */
	int slots;     /* of seen */
} nodes[NODES];
static int n_nodes;
static int16_t latest[CLOCKS]; /* of each thread, or -1 */
static mask fences;

static mask bit(int node)
{
	return (mask)1 << node;
}

void sc_reset(void)
{
	n_nodes = 0;
	fences = 0;
	memset(latest, -1, sizeof latest);
}

bool sc_full(void)
{
	return n_nodes == NODES;
}

static int lowest(mask set)
{
	return (uint64_t)set ? __builtin_ctzll((uint64_t)set)
	                     : 64 + __builtin_ctzll((uint64_t)(set >> 64));
}

static mask with_before(int node)
{
	return nodes[node].before | bit(node);
}

static mask closure(mask set)
{
	mask all = 0;

	for (; set; set &= set - 1)
		all |= with_before(lowest(set));
	return all;
}

/* What happens before an access of thread `self` that acquires `from`.  Of each
 * thread that is a beginning of its chain, closed by the last of it. */
struct past {
	mask nodes, fences; /* closed */
	mask own_fences;    /* the fences themselves */
};

static struct past past(int self, const struct msg *from)
{
	const mc_ts *cur = threads[self].cur;
	struct past past = {0};

	for (int t = 0; t < CLOCKS; t++) {
		mc_ts seen = cur[t];
		int i = latest[t];

		if (i < 0)
			continue;
		if (from != NULL && from->slots > 0 && from->view[t] > seen)
			seen = from->view[t];
		while (i >= 0 && nodes[i].clock > seen)
			i = nodes[i].prev;
		if (i < 0)
			continue;
		past.nodes |= with_before(i);
		past.own_fences |= nodes[i].chain & fences;
		if (nodes[i].fence >= 0)
			past.fences |= with_before(nodes[i].fence);
	}
	return past;
}

/* What an access that reads s, or writes right behind it, comes before. */
static mask successors(const struct loc *l, const struct msg *s)
{
	mask all = 0;

	for (const struct msg *m = s->newer; m != NULL; m = m->newer)
		if (m->node >= 0)
			all |= bit(m->node);
	for (mask left = fences; left; left &= left - 1) {
		int i = lowest(left);

		if (l->slot < nodes[i].slots && nodes[i].seen[l->slot] > s->ts)
			all |= bit(i);
	}
	return all;
}

/* What a seq_cst store right behind s comes after, beside happens-before. */
static mask predecessors(const struct msg *s)
{
	mask all = 0;

	for (; s != NULL; s = s->older)
		all |= s->written | s->read;
	return all;
}

bool sc_allows(const struct loc *l, const struct msg *s, int order, bool acquires, bool writes,
               struct sc_access *a)
{
	struct past p;

	*a = (struct sc_access){.seq_cst = order == CC__SEQ_CST};
	if (n_nodes == 0 && !a->seq_cst)
		return true;
	if (a->seq_cst && sc_full()) {
		a->seq_cst = false;
		return s->newer == NULL;
	}
	p = past(me, acquires ? s : NULL);
	a->sources = p.own_fences;
	a->before = a->seq_cst ? p.nodes : p.fences;
	if (a->seq_cst && writes)
		a->before |= closure(predecessors(s));
	/* Nobody has seen anything newer than the newest. */
	if (s->newer != NULL && (a->seq_cst || a->sources))
		a->after = successors(l, s);
	return (a->before & a->after) == 0;
}

static int node_add(mask before, int thread)
{
	struct node *n = &nodes[n_nodes];

	*n = (struct node){.before = before,
	                   .clock = threads[thread].cur[thread],
	                   .chain = bit(n_nodes),
	                   .prev = latest[thread],
	                   .fence = -1};
	if (n->prev >= 0) {
		n->chain |= nodes[n->prev].chain;
		n->fence = nodes[n->prev].fence;
	}
	latest[thread] = (int16_t)n_nodes;
	return n_nodes++;
}

/* Everything in `from` precedes everything in `to`; both closed, no cycle. */
static void order(mask from, mask to)
{
	for (int i = 0; i < n_nodes; i++)
		if ((to & bit(i)) || (nodes[i].before & to))
			nodes[i].before |= from;
}

int sc_happens(struct sc_access *a)
{
	int node = -1;

	if (a->seq_cst) {
		node = node_add(a->before, me);
		a->sources |= bit(node);
		a->before |= bit(node);
	}
	if (a->after)
		order(a->before, a->after);
	return node;
}

/* Thread t executes a seq_cst fence, after everything in `also`. */
static int fence(int t, mask also)
{
	mask before = also | past(t, NULL).nodes;
	int node;

	for (int i = CLOCKS; i < slots; i++)
		for (const struct msg *m = loc_at(i)->newest; m != NULL; m = m->older)
			if (m->ts < threads[t].cur[i])
				before |= m->written | m->read;
			else if (m->ts == threads[t].cur[i])
				before |= m->written & fences;
	node = node_add(closure(before), t);
	nodes[node].seen = view_copy(threads[t].cur);
	nodes[node].slots = slots;
	nodes[node].fence = (int16_t)node;
	fences |= bit(node);
	return node;
}

void sc_fence(void)
{
	if (sc_full())
		view_newest(me);
	else
		fence(me, 0);
}

/* The caller's fence, then one of everybody else, then the caller's again. */
void sc_fence_everywhere(void)
{
	mask all;

	if (n_nodes + n_threads + 1 > NODES) {
		n_nodes = NODES;
		for (int i = 0; i < n_threads; i++)
			view_newest(i);
		return;
	}
	all = bit(fence(me, 0));
	for (int i = 0; i < n_threads; i++)
		if (i != me)
			all |= bit(fence(i, all & fences));
	fence(me, all);
}
