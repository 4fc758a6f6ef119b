/* Memory that is freed all at once: <ccc/arena.h>. */
#include <assert.h>
#include <string.h>

#include <ccc/ccc.h>

/* Everything that belongs to one request is freed with the arena. */
static void make_and_free(void)
{
	CCArena *arena = cc_arena_new();
	char *text = cc_arena_alloc(arena, 6);

	assert(text != NULL);
	strcpy(text, "hello");
	assert(cc_arena_free(arena) == 0);
}

/* All allocations come from a buffer of the caller. */
static void use_a_buffer(void)
{
	static char memory[4096];
	const CCArenaOptions options = {.buffer = memory, .buffer_size = sizeof memory};
	CCArena *arena;
	char *p;

	assert(cc_arena_create(&arena, &options) == 0);
	p = cc_arena_alloc(arena, 100);
	assert(p >= memory && p < memory + sizeof memory);
	assert(cc_arena_alloc(arena, sizeof memory) == NULL);	/* no room */
	assert(cc_arena_free(arena) == 0);
}

static void align(void)
{
	CCArena *arena = cc_arena_new();
	void *page;

	assert(cc_arena_alloc_aligned(arena, 100, 4096, &page) == 0);
	assert((uintptr_t)page % 4096 == 0);
	assert(cc_arena_alloc_aligned(arena, 100, 3, &page) == EINVAL);
	assert(cc_arena_free(arena) == 0);
}

/* A piece can be freed before the arena. */
static void get_and_put(void)
{
	CCArena *arena = cc_arena_new();
	void *piece, *again;

	assert(cc_arena_get(arena, 64, &piece) == 0);
	assert(cc_arena_put(arena, piece, 64) == 0);
	assert(cc_arena_get(arena, 64, &again) == 0);
	assert(again == piece);		/* reused */
	assert(cc_arena_free(arena) == 0);
}

struct node {
	struct node *next;
	int value;
};

/* A cursor makes many small allocations cheap. */
static void use_a_cursor(void)
{
	CCArena *arena = cc_arena_new();
	CCArenaCursor cursor = cc_arena_cursor(arena);
	struct node *list = NULL;
	int sum = 0;

	for (int i = 1; i <= 100; i++) {
		struct node *n = cc_arena_take(&cursor, sizeof *n);

		assert(n != NULL);
		n->next = list;
		n->value = i;
		list = n;
	}
	cc_arena_done(cursor);
	for (; list != NULL; list = list->next)
		sum += list->value;
	assert(sum == 5050);
	assert(cc_arena_free(arena) == 0);
}

/* What was allocated after a mark is freed by restore, or kept. */
static void mark_and_restore(void)
{
	CCArena *arena = cc_arena_new();
	CCArenaMark before;
	CCArenaStats s;

	assert(cc_arena_mark(arena, &before) == 0);
	assert(cc_arena_alloc(arena, 1000) != NULL);
	assert(cc_arena_restore(arena, before) == 0);	/* the 1000 bytes are free */
	assert(cc_arena_stats(arena, &s) == 0 && s.asked == 0);

	assert(cc_arena_mark(arena, &before) == 0);
	assert(cc_arena_alloc(arena, 500) != NULL);
	assert(cc_arena_keep(arena, before) == 0);	/* the 500 bytes stay */
	assert(cc_arena_stats(arena, &s) == 0 && s.asked == 500);
	assert(cc_arena_free(arena) == 0);
}

/* One arena serves one request after another. */
static void reset_and_trim(void)
{
	CCArena *arena = cc_arena_new();
	CCArenaStats s;

	for (int request = 0; request < 3; request++) {
		assert(cc_arena_alloc(arena, 2000) != NULL);
		assert(cc_arena_reset(arena) == 0);	/* frees the memory, keeps the block */
	}
	assert(cc_arena_stats(arena, &s) == 0 && s.asked == 0 && s.held > 0);
	assert(cc_arena_trim(arena) == 0);		/* gives the block back */
	assert(cc_arena_stats(arena, &s) == 0 && s.held == 0);
	assert(cc_arena_free(arena) == 0);
}

int main(void)
{
	make_and_free();
	use_a_buffer();
	align();
	get_and_put();
	use_a_cursor();
	mark_and_restore();
	reset_and_trim();
	return 0;
}
