/* freed_test.c - calls on objects that have been freed: an error, or a message that names the object;
 * never a spin or a hang.
 *
 * link-wrap: free */
#include "chans.h"
#include "nurseries.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* The allocator may do as it likes with what was freed; here it leaves it alone. */
static bool nothing_is_freed;
void __real_free(void *p);
void __wrap_free(void *p);

void __wrap_free(void *p)
{
	if (!nothing_is_freed)
		__real_free(p);
}

/* ---- channels ---- */

struct channel_use {
	const char *message;
	void (*use)(CCChan *c);
};

static int item;

/* What calls return that do not return. */
static int result;
static size_t length;
static void *memory;

static void send_it(CCChan *c)
{
	result = cc_chan_send(c, &item, sizeof item);
}

static void recv_it(CCChan *c)
{
	result = cc_chan_recv(c, &item, sizeof item);
}

static void try_send(CCChan *c)
{
	result = cc_chan_try_send(c, &item, sizeof item);
}

static void try_recv(CCChan *c)
{
	result = cc_chan_try_recv(c, &item, sizeof item);
}

static void send_later(CCChan *c)
{
	result = cc_chan_send_until(c, &item, sizeof item, cc_after(CC_MSEC));
}

static void recv_later(CCChan *c)
{
	result = cc_chan_recv_until(c, &item, sizeof item, cc_after(CC_MSEC));
}

static void send_many(CCChan *c)
{
	size_t moved;

	result = cc_chan_send_many(c, &item, sizeof item, 1, CC_FOREVER, &moved);
}

static void recv_many(CCChan *c)
{
	size_t moved;

	result = cc_chan_recv_many(c, &item, sizeof item, 1, CC_FOREVER, &moved);
}

static void close_it(CCChan *c)
{
	result = cc_chan_close(c);
}

static void close_error(CCChan *c)
{
	result = cc_chan_close_error(c, EIO);
}

static void close_recv(CCChan *c)
{
	result = cc_chan_close_recv(c, EIO);
}

static void ask_length(CCChan *c)
{
	length = cc_chan_len(c);
}

static void ask_closed(CCChan *c)
{
	result = cc_chan_closed(c);
}

static void free_it(CCChan *c)
{
	result = cc_chan_free(c);
}

static void select_it(CCChan *c)
{
	const CCCase cases[] = {cc_case_recv(c, &item, sizeof item), cc_case_default()};

	result = cc_select(cases, 2, CC_FOREVER, NULL);
}

static void autoclose_it(CCChan *c)
{
	int err;

	cc_nursery_scope(n, &err)
		result = cc_nursery_autoclose(n, c);
}

/* It was there when it was given to the nursery. */
static void free_before_autoclose(CCChan *c)
{
	CCChan *other = cc_chan_new(sizeof item, 0);
	int err;

	(void)c;
	cc_nursery_scope(n, &err) {
		result = cc_nursery_autoclose(n, other);
		result = cc_chan_free(other);
	}
}

static void subscribe_to_it(CCChan *c)
{
	CCChanRx rx;

	result = cc_chan_subscribe(c, &rx);
}

static const struct channel_use channel_uses[] = {
    {"cc_chan_close or cc_chan_closed", subscribe_to_it},
    {"a send", send_it},
    {"a receive", recv_it},
    {"a send", try_send},
    {"a receive", try_recv},
    {"a send", send_later},
    {"a receive", recv_later},
    {"cc_chan_send_many", send_many},
    {"cc_chan_recv_many", recv_many},
    {"cc_chan_close", close_it},
    {"cc_chan_close", close_error},
    {"cc_chan_close", close_recv},
    {"cc_chan_len", ask_length},
    {"cc_chan_closed", ask_closed},
    {"a second cc_chan_free", free_it},
    {"a receive", select_it},
    {"cc_chan_close", autoclose_it},
    {"cc_chan_close", free_before_autoclose},
};

struct channel_death {
	const struct channel_use *use;
	const struct setting *setting;
	char *address;	/* of the channel, as it is printed; shared with the child */
};

static void use_freed_channel(void *arg)
{
	const struct channel_death *d = arg;
	CCChan *c = chan_of(d->setting);

	if (cc_chan_free(c) != 0)
		return;
	d->use->use(c);
}

static bool died_of(const struct test_death *death, const char *kind, const char *use)
{
	const char *at = strstr(death->text, " was freed, and ");

	return WIFSIGNALED(death->status) && WTERMSIG(death->status) == SIGABRT && at != NULL &&
	       strstr(death->text, kind) != NULL && strstr(at, use) != NULL;
}

TEST(a_freed_channel_is_named)	/* covers: CHN-52/u */
{
	static const struct setting settings[] = {
	    {.kind = CC_CHAN_KIND_PLAIN, .capacity = 0},
	    {.kind = CC_CHAN_KIND_PLAIN, .capacity = 16},
	};
	static struct test_death death;

	for (size_t s = 0; s < sizeof settings / sizeof *settings; s++)
		for (size_t i = 0; i < sizeof channel_uses / sizeof *channel_uses; i++) {
			struct channel_death d = {&channel_uses[i], &settings[s], NULL};

			REQUIRE_EQ(test_dies(use_freed_channel, &d, &death), 0);
			CHECK(died_of(&death, "libccc: channel 0x", d.use->message));
			/* chan_of names them; the one of free_before_autoclose has no name. */
			CHECK(strstr(death.text, " under test was freed") != NULL ||
			      d.use->use == free_before_autoclose);
		}
}

/* Sizes differ, or the kind does: an error, as for a channel that is there. */
TEST(what_is_wrong_otherwise_is_an_error_of_a_freed_channel)
{
	CCChan *c = cc_chan_new(sizeof(int), 16);
	long other = 0;

	CHECK_EQ(cc_chan_free(c), 0);
	CHECK_EQ(cc_chan_cap(c), 0);
	CHECK_EQ(cc_chan_send(c, &other, sizeof other), EINVAL);
	CHECK_EQ(cc_chan_recv(c, &other, sizeof other), EINVAL);
	CHECK_EQ(cc_chan_spawn(c, NULL, nothing, NULL, CC_NOW), EINVAL);
}

/* ---- tokens ---- */

static void wait_token(CCToken *t)
{
	result = cc_token_wait(t, CC_FOREVER);
}

static void set_token(CCToken *t)
{
	result = cc_token_set(t);
}

static void free_token(CCToken *t)
{
	result = cc_token_free(t);
}

static void (*const token_uses[])(CCToken *t) = {wait_token, set_token, free_token};

static void use_freed_token(void *use)
{
	CCToken *t = cc_token_new();

	nothing_is_freed = true;
	if (cc_token_free(t) == 0)
		(*(void (*const *)(CCToken *t))use)(t);
}

TEST(a_freed_token_is_named_while_its_memory_is_untouched)
{
	static const char *const names[] = {"cc_token_wait", "cc_token_set",
	                                    "a second cc_token_free"};
	static struct test_death death;

	for (int i = 0; i < 3; i++) {
		REQUIRE_EQ(test_dies(use_freed_token, (void *)(uintptr_t)&token_uses[i], &death), 0);
		CHECK(died_of(&death, "libccc: token 0x", names[i]));
	}
}

/* ---- arenas ---- */

static void alloc_small(CCArena *a)
{
	memory = cc_arena_alloc(a, 8);
}

static void alloc_large(CCArena *a)
{
	memory = cc_arena_alloc(a, 100000);
}

static void alloc_aligned(CCArena *a)
{
	void *p;

	result = cc_arena_alloc_aligned(a, 8, 256, &p);
}

static void get_piece(CCArena *a)
{
	void *p;

	result = cc_arena_get(a, 100, &p);
}

static void put_piece(CCArena *a)
{
	static _Alignas(16) char piece[128];

	result = cc_arena_put(a, piece, 100);
}

static void take_by_cursor(CCArena *a)
{
	CCArenaCursor c = cc_arena_cursor(a);

	memory = cc_arena_take(&c, 8);
}

static void mark_it(CCArena *a)
{
	CCArenaMark m;

	result = cc_arena_mark(a, &m);
}

static void reset_it(CCArena *a)
{
	result = cc_arena_reset(a);
}

static void trim_it(CCArena *a)
{
	result = cc_arena_trim(a);
}

static void ask_figures(CCArena *a)
{
	CCArenaStats s;

	result = cc_arena_stats(a, &s);
}

static void free_arena(CCArena *a)
{
	result = cc_arena_free(a);
}

static const struct arena_use {
	const char *message;
	void (*use)(CCArena *a);
} arena_uses[] = {
    {"an allocation", alloc_small},
    {"an allocation", alloc_large},
    {"an allocation", alloc_aligned},
    {"an allocation", get_piece},
    {"cc_arena_put", put_piece},
    {"an allocation", take_by_cursor},
    {"cc_arena_mark", mark_it},
    {"cc_arena_reset", reset_it},
    {"cc_arena_trim", trim_it},
    {"cc_arena_stats", ask_figures},
    {"a second cc_arena_free", free_arena},
};

static void use_freed_arena(void *arg)
{
	const struct arena_use *use = arg;
	CCArena *a = cc_arena_new();
	void *p;

	memory = cc_arena_alloc(a, 8);
	if (cc_arena_get(a, 100, &p) != 0 || cc_arena_put(a, p, 100) != 0)
		return;
	nothing_is_freed = true;
	if (cc_arena_free(a) == 0)
		use->use(a);
}

TEST(a_freed_arena_is_named_while_its_memory_is_untouched)
{
	static struct test_death death;

	for (size_t i = 0; i < sizeof arena_uses / sizeof *arena_uses; i++) {
		REQUIRE_EQ(test_dies(use_freed_arena, (void *)(uintptr_t)&arena_uses[i], &death), 0);
		CHECK(died_of(&death, "libccc: arena 0x", arena_uses[i].message));
	}
}

/* ---- nurseries and tasks: errors ---- */

static void check_closed(CCNursery *n, CCChan *c)
{
	CHECK_EQ(cc_nursery_spawn(n, NULL, nothing, NULL), EINVAL);
	CHECK_EQ(cc_nursery_spawn_daemon(n, NULL, nothing, NULL), EINVAL);
	CHECK_EQ(cc_nursery_spawn_copy(n, NULL, nothing, "x", 1), EINVAL);
	CHECK_EQ(cc_nursery_autoclose(n, c), EINVAL);
	CHECK_EQ(cc_nursery_seal(n), EINVAL);
	CHECK_EQ(cc_nursery_cancel(n, EIO), EINVAL);
	CHECK_EQ(cc_nursery_join(n), EINVAL);
	CHECK(cc_nursery_arena(n) == NULL);
	cc_nursery_fini(n);
}

TEST(a_joined_nursery_refuses_every_call)
{
	CCChan *c = cc_chan_new(sizeof(int), 0);
	CCNursery n;

	CHECK_EQ(cc_nursery_init(&n, NULL), 0);
	CHECK_EQ(cc_nursery_spawn(&n, NULL, nothing, NULL), 0);
	CHECK_EQ(cc_nursery_join(&n), 0);
	check_closed(&n, c);
	free_chan(c);
}

TEST(a_consumed_handle_is_refused)
{
	CCRuntime *rt = test_runtime_of(1);
	CCTask joined = spawn(rt, nothing, NULL), detached = spawn(rt, nothing, NULL), next;
	size_t i = 9;

	CHECK_EQ(join(joined), 0);
	CHECK_EQ(cc_task_detach(detached), 0);
	/* Their frames may have been used again. */
	for (int round = 0; round < 100; round++) {
		const CCTask old[] = {joined, detached};

		next = spawn(rt, nothing, NULL);
		for (int k = 0; k < 2; k++) {
			const CCCase c = cc_case_task(old[k], NULL);

			CHECK_EQ(cc_task_join(old[k], CC_FOREVER, NULL), EINVAL);
			CHECK_EQ(cc_task_detach(old[k]), EINVAL);
			CHECK_EQ(cc_task_recall(old[k]), EINVAL);
			CHECK_EQ(cc_select(&c, 1, CC_FOREVER, &i), EINVAL);
		}
		CHECK_EQ(join(next), 0);
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}
