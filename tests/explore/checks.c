/* checks.c - the explorer's own table of known answers: everything but orders.
 *
 * What it must find (.expect), and beside it what it must not take for one. */
#include <string.h>

#include "engine.h"

static cc__a32 x, flag;
static int data, result[4];

/* ---- plain accesses ---- */

static void write_then_flag_relaxed(void)
{
	data = 1;
	cc__store(&flag, 1, CC__RELAXED);
}

static void write_then_flag_release(void)
{
	data = 1;
	cc__store(&flag, 1, CC__RELEASE);
}

static void read_if_flag_acquire(void)
{
	if (cc__load(&flag, CC__ACQUIRE))
		MC_ASSERT(data == 1);
}

static void read_if_flag_relaxed(void)
{
	if (cc__load(&flag, CC__RELAXED))
		result[0] = data;
}
SCENARIO(race_flag_relaxed_by_writer, .body = {write_then_flag_relaxed, read_if_flag_acquire},
         .expect = "race")
SCENARIO(race_flag_relaxed_by_reader, .body = {write_then_flag_release, read_if_flag_relaxed},
         .expect = "race")
SCENARIO(race_free_flag, .body = {write_then_flag_release, read_if_flag_acquire})

/* What comes after the release is not released. */
static void flag_then_write(void)
{
	cc__store(&flag, 1, CC__RELEASE);
	data = 1;
}

static void fence_then_write(void)
{
	cc__fence(CC__RELEASE);
	data = 1;
	cc__store(&flag, 1, CC__RELAXED);
}

static void unlock_then_write(void)
{
	mc_lock(&x);
	cc__store(&flag, 1, CC__RELAXED);
	mc_unlock(&x);
	data = 1;
}

static void read_locked(void)
{
	bool set;

	mc_lock(&x);
	set = cc__load(&flag, CC__RELAXED);
	mc_unlock(&x);
	if (set)
		result[0] = data;
}
SCENARIO(race_after_release, .body = {flag_then_write, read_if_flag_acquire}, .expect = "race")
SCENARIO(race_after_release_fence, .body = {fence_then_write, read_if_flag_acquire},
         .expect = "race")
SCENARIO(race_after_unlock, .body = {unlock_then_write, read_locked}, .expect = "race")

static void write_data(void)
{
	data = mc_self();
}

static void read_data(void)
{
	result[mc_self()] = data;
}
SCENARIO(race_write_write, .body = {write_data, write_data}, .expect = "race")
SCENARIO(race_read_write, .body = {write_data, read_data}, .expect = "race")
SCENARIO(race_free_readers, .body = {read_data, read_data, read_data})

/* seq_cst orders its own accesses and fences; other data only through acquire
 * and release. */
static void write_fence_flag(void)
{
	cc__store(&flag, 1, CC__RELAXED);
	data = 1;
	cc__fence(CC__SEQ_CST);
	cc__load(&x, CC__RELAXED);
}

static void flag_fence_read(void)
{
	cc__store(&x, 1, CC__RELAXED);
	cc__fence(CC__SEQ_CST);
	if (cc__load(&flag, CC__RELAXED))
		result[1] = data;
}
SCENARIO(race_fences_alone_do_not_publish, .body = {write_fence_flag, flag_fence_read},
         .expect = "race")

static struct {
	bool left, right;
	char text[6];
} neighbours;

static void write_left(void)
{
	neighbours.left = true;
	memset(neighbours.text, 'l', 3);
}

static void write_right(void)
{
	neighbours.right = true;
	memset(neighbours.text + 3, 'r', 3);
}

static void write_text(void)
{
	memcpy(neighbours.text + 2, "xx", 2);
}
SCENARIO(race_free_neighbours, .body = {write_left, write_right})
SCENARIO(race_by_memcpy, .body = {write_left, write_text}, .expect = "race")

static void lock_and_count(void)
{
	mc_lock(&x);
	data++;
	mc_unlock(&x);
}

static void counted_three(void)
{
	MC_ASSERT(data == 3);
}
SCENARIO(race_free_lock, .body = {lock_and_count}, .threads = 3, .final = counted_three)

static void count_unlocked(void)
{
	data++;
}
SCENARIO(race_lock_on_one_side, .body = {lock_and_count, count_unlocked}, .expect = "race")

/* ---- plain and atomic accesses to one word ---- */

static cc__a32 *made;
static CC__ATOMIC(cc__a32 *) published;

static void make_and_publish(void)
{
	made = mc_alloc(sizeof *made);
	cc__init(made, 7);
	cc__store(&published, made, CC__RELEASE);
}

static void use_published(void)
{
	cc__a32 *a = cc__load(&published, CC__ACQUIRE);

	if (a != NULL)
		MC_ASSERT(cc__add(a, 1, CC__RELAXED) == 7);
}
SCENARIO(init_before_sharing, .body = {make_and_publish, use_published})

static void use_unordered(void)
{
	cc__a32 *a = cc__load(&published, CC__RELAXED);

	if (a != NULL)
		cc__add(a, 1, CC__RELAXED);
}
SCENARIO(race_init_unordered, .body = {make_and_publish, use_unordered}, .expect = "race")

static void store_x(void)
{
	cc__store(&x, 5, CC__RELAXED);
}

static void peek_x(void)
{
	result[1] = (int)cc__peek(&x);
}
SCENARIO(race_peek_while_shared, .body = {store_x, peek_x}, .expect = "race")

/* A plain write puts an end to all older stores. */
static void reuse_word(void)
{
	cc__store(&x, 1, CC__RELAXED);
	cc__init(&x, 2);
	MC_ASSERT(cc__load(&x, CC__RELAXED) == 2);
	cc__init(&x, 3);
	cc__store(&flag, 1, CC__RELEASE);
}

static void see_reuse(void)
{
	if (cc__load(&flag, CC__ACQUIRE))
		MC_ASSERT(cc__load(&x, CC__RELAXED) == 3);
}
SCENARIO(plain_write_starts_a_new_history, .body = {reuse_word, see_reuse})

static cc__a64 wide;
static void mix_sizes(void)
{
	cc__store(&wide, 1, CC__RELAXED);
	cc__load((cc__a32 *)&wide, CC__RELAXED);
}
SCENARIO(race_mixed_sizes, .body = {mix_sizes}, .expect = "overlap")

/* ---- memory ---- */

static int *object;

static void allocate(void)
{
	object = mc_alloc(sizeof *object);
	*object = 1;
}

static void free_then_flag(void)
{
	mc_free(object);
	cc__store(&flag, 1, CC__RELEASE);
}

static void use_after_flag(void)
{
	mc_wait_while(&flag, 0);
	result[1] = *object;
}

static void use_object(void)
{
	result[1] = *object;
}

static void free_object(void)
{
	mc_free(object);
}

static void write_behind(void)
{
	object[1] = 1;
}
SCENARIO(use_after_free, .init = allocate, .body = {free_then_flag, use_after_flag},
         .expect = "use after free")
SCENARIO(race_free_unordered, .init = allocate, .body = {use_object, free_object},
         .expect = "race|use after free")
SCENARIO(double_free, .init = allocate, .body = {free_then_flag}, .final = free_object,
         .expect = "double free")
SCENARIO(out_of_bounds, .init = allocate, .body = {write_behind}, .expect = "out of bounds")
SCENARIO(leak, .init = allocate, .body = {use_object}, .leaks = true, .expect = "leak")
SCENARIO(no_leak, .init = allocate, .body = {free_object}, .leaks = true)

/* ---- locks ---- */

static int lock_a, lock_b;

static void take_a_then_b(void)
{
	mc_lock(&lock_a);
	mc_lock(&lock_b);
	mc_unlock(&lock_b);
	mc_unlock(&lock_a);
}

static void take_b_then_a(void)
{
	mc_lock(&lock_b);
	mc_lock(&lock_a);
	mc_unlock(&lock_a);
	mc_unlock(&lock_b);
}

static void take_twice(void)
{
	mc_lock(&lock_a);
	mc_lock(&lock_a);
}

static void take_only(void)
{
	mc_lock(&lock_a);
}

static void drop_only(void)
{
	mc_unlock(&lock_a);
}

static void try_b_then_a(void)
{
	mc_lock(&lock_b);
	if (mc_trylock(&lock_a))
		mc_unlock(&lock_a);
	mc_unlock(&lock_b);
}
SCENARIO(deadlock_lock_order, .body = {take_a_then_b, take_b_then_a}, .expect = "deadlock")
SCENARIO(no_deadlock_lock_order, .body = {take_a_then_b, take_a_then_b, take_a_then_b})
SCENARIO(no_deadlock_trylock, .body = {take_a_then_b, try_b_then_a})
SCENARIO(lock_taken_twice, .body = {take_twice}, .expect = "lock: T0 takes")
SCENARIO(lock_of_somebody_else, .body = {drop_only}, .expect = "does not hold")
SCENARIO(lock_kept_at_the_end, .body = {take_only}, .expect = "ends with a lock held")

/* ---- threads and their record ---- */

static void child(void *arg)
{
	MC_ASSERT(cc__tls_get() == NULL && arg == &data && data == 1);
	cc__tls_set(&result[1], NULL);
	data = 2;
}

static void parent(void)
{
	struct cc__os_thread t;

	data = 1;
	cc__tls_set(&result[0], NULL);
	MC_ASSERT(cc__thread_start(&t, child, &data, "child") == 0);
	cc__thread_join(t);
	MC_ASSERT(data == 2 && cc__tls_get() == &result[0]);
}

static void parent_too_early(void)
{
	struct cc__os_thread t;

	cc__thread_start(&t, child, &data, "child");
	data = 1;
	cc__thread_join(t);
}

static void at_exit(void *record)
{
	MC_ASSERT(record == &x && cc__tls_get() == NULL);
	cc__store(&x, 1, CC__RELEASE);
}

static void leave_record(void)
{
	cc__tls_set(&x, at_exit);
}
SCENARIO(threads_start_and_join, .body = {parent})
SCENARIO(race_with_a_started_thread, .body = {parent_too_early}, .expect = "race")
SCENARIO(record_given_back_at_exit, .body = {leave_record})

/* ---- contexts ---- */

static mc_ctx *home, *fiber;
static cc__a32 saved;

static void fiber_twice(void *arg)
{
	for (;;) {
		++*(int *)arg;
		MC_ASSERT(mc_switch_with(home, &data, 5).after == 7);
	}
}

static void run_fiber_twice(void)
{
	home = mc_ctx_self();
	fiber = mc_ctx_new(fiber_twice, &data);
	MC_ASSERT(mc_switch_with(fiber, NULL, 7).after == 5);
	MC_ASSERT(mc_switch_with(fiber, NULL, 7).worker == &data && data == 2);
}
SCENARIO(contexts_come_and_go, .body = {run_fiber_twice})

static mc_ctx *first_home;

static void fiber_moves(void *arg)
{
	(void)arg;
	data = 1;
	mc_switch(first_home);
	MC_ASSERT(mc_self() == 1 && data == 1);
	mc_ctx_end(home);
}

static void run_then_hand_over(void)
{
	first_home = mc_ctx_self();
	fiber = mc_ctx_new(fiber_moves, NULL);
	mc_switch(fiber);
	cc__store(&saved, 1, CC__RELEASE);
}

static void run_then_hand_over_relaxed(void)
{
	first_home = mc_ctx_self();
	fiber = mc_ctx_new(fiber_moves, NULL);
	mc_switch(fiber);
	cc__store(&saved, 1, CC__RELAXED);
}

static void take_over(void)
{
	if (!cc__load(&saved, CC__ACQUIRE))
		return;
	home = mc_ctx_self();
	mc_switch(fiber);
}
SCENARIO(context_moves_to_another_thread, .body = {run_then_hand_over, take_over})
SCENARIO(race_context_moved_without_order, .body = {run_then_hand_over_relaxed, take_over},
         .expect = "race") /* on the variable `fiber`, before the context itself */

static void fiber_announces_itself(void *arg)
{
	(void)arg;
	cc__store(&saved, 1, CC__RELEASE);
	mc_switch(first_home);
	mc_ctx_end(home);
}

static void run_one_that_announces(void)
{
	first_home = mc_ctx_self();
	fiber = mc_ctx_new(fiber_announces_itself, NULL);
	mc_switch(fiber);
}
SCENARIO(context_resumed_while_running, .body = {run_one_that_announces, take_over},
         .expect = "context: 3 resumed")

static void fiber_returns(void *arg)
{
	(void)arg;
}

static void run_one_that_returns(void)
{
	mc_switch(mc_ctx_new(fiber_returns, NULL));
}

static void fiber_ends(void *arg)
{
	mc_ctx_end(arg);
}

static void run_ended(void)
{
	fiber = mc_ctx_new(fiber_ends, mc_ctx_self());
	mc_switch(fiber);
	mc_switch(fiber);
}
SCENARIO(context_function_returns, .body = {run_one_that_returns},
         .expect = "context: the function")
SCENARIO(context_resumed_after_its_end, .body = {run_ended}, .expect = "after its end")

/* ---- the rest ---- */

static void panic(void)
{
	CC__CHECK(mc_self() != 0, "broken");
}

static void jump_to_nowhere(void)
{
	*(int *)(uintptr_t)cc__load(&x, CC__RELAXED) = 1;
}

static void loop_without_end(void)
{
	for (unsigned i = 0; i != 1; i |= 2)
		__asm__("" : "+r"(i));
}

static void show_result(void)
{
	mc_outcome("%d", result[0]);
}

static void pick(void)
{
	result[0] = 10 * mc_pick(2);
	result[0] += mc_pick(3);
}
SCENARIO(panic_is_a_failure, .body = {panic}, .expect = "panic: broken")
SCENARIO(crash_is_a_failure, .body = {jump_to_nowhere}, .expect = "crash")
SCENARIO(endless_loop_is_a_failure, .body = {loop_without_end}, .expect = "without an operation")
SCENARIO(picks_are_explored, .body = {pick}, .final = show_result, .outcomes = "0 1 2 10 11 12")

static void statics_are_fresh(void)
{
	MC_ASSERT(data == 0 && cc__peek(&x) == 0 && neighbours.text[0] == 0);
	data = 9;
	cc__store(&x, 9, CC__RELAXED);
	memset(neighbours.text, 9, sizeof neighbours.text);
	result[0] = mc_pick(2);
}
SCENARIO(statics_start_afresh, .body = {statics_are_fresh})
