/* arena.c - what does an allocation cost, next to a bare pointer that moves? */
#include <stdatomic.h>
#include <stdlib.h>

#include "bench.h"

/* Each allocation is written, as its user would. */
struct node {
	struct node *next;
	long value;
};

enum { ROUND = 1 << 15, ROUNDS_MAX = 4000 };

/* Keeps a list from being optimised away, and costs nothing. */
static void keep(const void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

static void check_list(const struct node *n, long count)
{
	long i = count;

	for (; n != NULL; n = n->next)
		bench_check(n->value == --i, "a node has changed");
	bench_check(i == 0, "nodes are missing");
}

/* ---- the bare loop ---- */

static char *buffer;

static struct node *bare(void)
{
	char *at = buffer, *end = buffer + ROUND * sizeof(struct node);
	struct node *list = NULL;

	for (long i = 0; i < ROUND; i++) {
		struct node *n = (struct node *)(void *)at;

		if ((size_t)(end - at) < sizeof *n)
			break;
		at += sizeof *n;
		*n = (struct node){list, i};
		list = n;
	}
	return list;
}

/* ---- ours ---- */

static CCArena *arena;

static struct node *by_cursor(void)
{
	CCArenaCursor c = cc_arena_cursor(arena);
	struct node *list = NULL;

	for (long i = 0; i < ROUND; i++) {
		struct node *n = cc_arena_take(&c, sizeof *n);

		if (n == NULL)
			break;
		*n = (struct node){list, i};
		list = n;
	}
	cc_arena_done(c);
	return list;
}

static struct node *by_alloc(void)
{
	struct node *list = NULL;

	for (long i = 0; i < ROUND; i++) {
		struct node *n = cc_arena_alloc(arena, sizeof *n);

		if (n == NULL)
			break;
		*n = (struct node){list, i};
		list = n;
	}
	return list;
}

/* ---- one after another, in turn ---- */

static int by_size(const void *a, const void *b)
{
	const cc_time x = *(const cc_time *)a, y = *(const cc_time *)b;

	return (x > y) - (x < y);
}

static double median_ns(cc_time *took, long n)
{
	qsort(took, (size_t)n, sizeof *took, by_size);
	return (double)took[n / 2] / ROUND;
}

static void arena_bump(const char *name)
{
	static struct node *(*const way[])(void) = {bare, by_cursor, by_alloc};
	static cc_time took[3][ROUNDS_MAX];
	const long rounds = bench_arg("n", (long)ROUNDS_MAX * ROUND) / ROUND;
	const cc_time begin = cc_now();
	double ns[3];

	bench_check(rounds > 0 && rounds <= ROUNDS_MAX, "n: 32768 to 131072000");
	bench_check((arena = cc_arena_new()) != NULL, "no arena");
	buffer = bench_array(ROUND, sizeof(struct node));
	for (long r = -3; r < rounds; r++)	/* the first three are not counted */
		for (int w = 0; w < 3; w++) {
			const cc_time t = cc_now();
			struct node *list = way[w]();

			keep(list);
			took[w][r < 0 ? 0 : r] = cc_now() - t;
			if (r < 0)
				check_list(list, ROUND);
			bench_check(cc_arena_reset(arena) == 0, "no reset");
		}
	for (int w = 0; w < 3; w++)
		ns[w] = median_ns(took[w], rounds);
	bench_report(name, rounds * ROUND, (cc_time)(ns[1] * (double)(rounds * ROUND)),
	             "\"op\":\"16 bytes by a cursor\",\"ns_bare\":%.3f,\"ns_cursor\":%.3f,"
	             "\"ns_alloc\":%.3f,\"ratio\":%.2f,\"ratio_alloc\":%.2f,\"total_s\":%.2f",
	             ns[0], ns[1], ns[2], ns[1] / ns[0], ns[2] / ns[0],
	             (double)(cc_now() - begin) / 1e9);
	free(buffer);
	bench_check(cc_arena_free(arena) == 0, "the arena is not freed");
}

/* ---- several at once ---- */

enum { LISTS = 8 };

/* As many tasks as workers, each with its own lists, all from one arena. */
struct sharer {
	struct node *(*way)(void);
	CCTask task;
	cc_time begin, end;
	struct node *list[LISTS];
};

static atomic_long begun;

/* All at the same time, each on its worker. */
static int share(void *arg)
{
	struct sharer *s = arg;

	begun++;
	while (begun < bench_workers())
		continue;
	s->begin = cc_now();
	for (int i = 0; i < LISTS; i++)
		s->list[i] = s->way();
	s->end = cc_now();
	return 0;
}

/* Nothing is lost, and nobody else has written there. */
static void check_sharers(const struct sharer *s, long workers)
{
	CCArenaStats stats;

	for (long w = 0; w < workers; w++)
		for (int i = 0; i < LISTS; i++)
			check_list(s[w].list[i], ROUND);
	bench_check(cc_arena_stats(arena, &stats) == 0, "no figures");
	bench_check(stats.asked == (size_t)(workers * LISTS * ROUND) * sizeof(struct node),
	            "the figures do not add up");
	bench_check(cc_arena_reset(arena) == 0, "no reset");
}

/* Nanoseconds of one pass, from the first begin to the last end. */
static cc_time pass(struct sharer *s, long workers, struct node *(*way)(void))
{
	cc_time begin = CC_FOREVER, end = 0;

	begun = 0;
	for (long w = 0; w < workers; w++) {
		s[w].way = way;
		bench_spawn(&s[w].task, share, &s[w]);
	}
	for (long w = 0; w < workers; w++) {
		bench_join(s[w].task);
		begin = s[w].begin < begin ? s[w].begin : begin;
		end = s[w].end > end ? s[w].end : end;
	}
	check_sharers(s, workers);
	return end - begin;
}

static void arena_shared(const char *name)
{
	const long workers = bench_workers(), each = workers * LISTS * ROUND;
	const long passes = bench_arg("n", 100 * each) / each;
	struct sharer *s = bench_array(workers, sizeof *s);
	cc_time alloc = 0, cursor = 0;

	bench_check(passes > 0, "n is too small");
	bench_check((arena = cc_arena_new()) != NULL, "no arena");
	pass(s, workers, by_alloc);	/* its blocks are there after that */
	for (long i = 0; i < passes; i++) {
		alloc += pass(s, workers, by_alloc);
		cursor += pass(s, workers, by_cursor);
	}
	bench_report(name, passes * each, alloc, "\"op\":\"16 bytes\",\"ns_cursor\":%.3f",
	             (double)cursor / (double)(passes * each));
	bench_check(cc_arena_free(arena) == 0, "the arena is not freed");
	free(s);
}

const struct bench_case bench_arena_cases[] = {
    {"arena_bump", arena_bump, BENCH_THREAD},
    {"arena_shared", arena_shared, 0},
    {NULL, NULL, 0},
};
