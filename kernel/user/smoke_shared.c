/* smoke_shared.c - words of memory objects, which several processes map where they like. */
#include <errno.h>

#include "check.h"
#include "ring.h"

enum { READ_WRITE = MAP_READ | MAP_WRITE };

/* The words of an object. */
enum { WAITED, GO, WORDS };

static cc__a32 *word_at(uintptr_t base, unsigned i)
{
	return (cc__a32 *)base + i;
}

static uint32_t new_object(uintptr_t base)
{
	const uint32_t cap = (uint32_t)sys_call(CALL_OBJECT, 1, 0, 0, 0);

	CHECK_EQ(sys_call(CALL_MAP_OBJECT, cap, base, READ_WRITE, 0), 0);
	return cap;
}

static uint32_t derive(uint32_t object)
{
	return (uint32_t)sys_call(CALL_DERIVE, object, 0, 0, 0);
}

/* All that this process has of the object. */
static void let_go(uint32_t object, uint32_t space, uintptr_t base)
{
	CHECK_EQ(release(object), 0);
	CHECK_EQ(release(space), 0);
	CHECK_EQ(sys_call(CALL_UNMAP, base, 0, 0, 0), 0);
}

/* In another process, which has got the object as its only capability of that kind. */
static uint32_t map_given(uintptr_t base)
{
	const uint32_t object = cap_of(CC_CAP_MEMORY_OBJECT);

	return sys_call(CALL_MAP_OBJECT, object, base, READ_WRITE, 0) == 0 ? object : 0;
}

/* ---- wait here, wake there ---- */

static int wait_there(uint64_t status)
{
	const uint32_t space = derive(map_given(THERE));

	if (park_with(space, word_at(THERE, WAITED), 0, CC_CAP_NEVER) != (int32_t)status)
		return 1;
	return ring_strays() == 0 ? 0 : 2;
}

TEST(a_wait_in_one_process_is_woken_from_another)	/* covers: PRK-84/k PRK-15/k PRK-08/k */
{
	const uint32_t object = new_object(HERE), space = derive(object);
	const int64_t child = process_start(wait_there, CC_PARK_WOKEN, object);

	UNTIL(sys_look(LOOK_PINS) == 1);
	CHECK_EQ(unpark_with(space, word_at(HERE, GO), 1), 0);	/* another word */
	CHECK_EQ(unpark_with(space, word_at(HERE, WAITED), 9), 1);
	CHECK_EQ(process_wait(child), 0);
	CHECK_EQ(ring_strays(), 0);	/* the waiter's completion was for his own ring */
	CHECK_EQ(sys_look(LOOK_PINS), 0);
	let_go(object, space, HERE);
}

TEST(a_word_of_another_object_is_refused)	/* covers: PRK-14/k PRK-21/k */
{
	const uint32_t a = new_object(HERE), b = new_object(THERE);
	const uint32_t space_a = derive(a), space_b = derive(b);
	static cc__a32 private;

	CHECK_EQ(park_with(space_a, word_at(THERE, WAITED), 0, 0), CC_CAP_E_OBJECT);
	CHECK_EQ(unpark_with(space_a, word_at(THERE, WAITED), 1), CC_CAP_E_OBJECT);
	CHECK_EQ(park_with(space_a, &private, 0, 0), CC_CAP_E_OBJECT);
	CHECK_EQ(unpark_with(space_a, word_at(ELSEWHERE, WAITED), 1), CC_CAP_E_FAULT);
	CHECK_EQ(park_with(space_a, word_at(HERE, WAITED), 0, 0), CC_PARK_TIMED_OUT);
	let_go(a, space_a, HERE);
	let_go(b, space_b, THERE);
}

TEST(a_park_space_is_not_passed_on)	/* covers: PRK-05/k */
{
	CHECK_EQ(process_start(wait_there, 0, cap_of(CC_CAP_PARK_SPACE)), -EPERM);
	CHECK_EQ(process_start(wait_there, 0, cap_of(CC_CAP_THREAD_SPAWNER)), -EPERM);
	CHECK_EQ(process_start(wait_there, 0, 12345), -EBADF);
}

/* ---- equal addresses ---- */

static cc__a32 own;		/* in each process, at the same address */

static void wait_on_own(uint64_t argument)
{
	(void)argument;
	park(&own, 0, CC_CAP_NEVER);
}

/* Parks a thread on a word of its own; when it is told to go on, that one must still be there. */
static int wait_on_equal_address(uint64_t argument)
{
	const uint32_t space = derive(map_given(THERE));
	int woken;

	(void)argument;
	thread_start(wait_on_own, 0);
	UNTIL_PARKED(1);
	park_with(space, word_at(THERE, GO), 0, CC_CAP_NEVER);
	woken = unpark(&own, 9);
	threads_join();
	return woken;
}

TEST(a_wake_does_not_reach_equal_addresses_of_another_process)	/* covers: PRK-06/k PRK-17/k */
{
	const uint32_t object = new_object(HERE), space = derive(object);
	const int64_t child = process_start(wait_on_equal_address, 0, object);

	UNTIL(sys_look(LOOK_PINS) == 1);
	CHECK_EQ(sys_look(LOOK_ALL_WAITS), 2);
	CHECK_EQ(unpark(&own, 9), 0);
	CHECK_EQ(unpark_with(space, word_at(HERE, GO), 1), 1);
	CHECK_EQ(process_wait(child), 1);
	let_go(object, space, HERE);
}

/* ---- what holds an object ---- */

/* Everything that names the object goes while a sibling waits. */
static void wait_shared(uint64_t space)
{
	CHECK_EQ(park_with((uint32_t)space, word_at(THERE, WAITED), 0, CC_CAP_NEVER), CC_PARK_WOKEN);
}

static int wait_without_capabilities(uint64_t argument)
{
	const uint32_t object = map_given(THERE), space = derive(object);

	(void)argument;
	thread_start(wait_shared, space);
	UNTIL_PARKED(1);
	if (sys_look(LOOK_LISTED) != 0)
		return 1;
	if (release(object) != 0 || release(space) != 0)
		return 2;
	if (unpark_with(space, word_at(THERE, WAITED), 1) != CC_CAP_E_CAP)
		return 3;
	/* Say so, to whoever still can. */
	cc__store(word_at(THERE, GO), 1, CC__RELEASE);
	threads_join();
	return check_failures() ? 4 : 0;
}

TEST(a_wait_outlives_the_capabilities_it_began_with)
	/* covers: PRK-72/k PRK-80/fk PRK-86/fk RES-49/k */
{
	const uint32_t object = new_object(HERE), space = derive(object);
	const int64_t child = process_start(wait_without_capabilities, 0, object);

	CHECK_EQ(release(object), 0);
	UNTIL(cc__load(word_at(HERE, GO), CC__ACQUIRE) == 1);
	CHECK_EQ(sys_look(LOOK_PINS), 1);
	CHECK_EQ(unpark_with(space, word_at(HERE, WAITED), 9), 1);
	CHECK_EQ(process_wait(child), 0);
	CHECK_EQ(sys_look(LOOK_OBJECTS), 1);
	CHECK_EQ(release(space), 0);
	CHECK_EQ(sys_call(CALL_UNMAP, HERE, 0, 0, 0), 0);
	CHECK_EQ(sys_look(LOOK_OBJECTS), 0);
}

static void wait_interrupted(uint64_t space)
{
	CHECK_EQ(park_with((uint32_t)space, word_at(HERE, WAITED), 0, CC_CAP_NEVER),
	         CC_PARK_INTERRUPTED);
}

/* The last mapping goes as well: what has been interrupted and has not come back is all that
 * holds the object, until it is back. */
TEST(an_object_lives_until_its_last_wait_is_over)	/* covers: PRK-80/fk PRK-86/fk RES-49/k */
{
	const uint32_t object = new_object(HERE), space = derive(object);
	const int64_t pinned = sys_look(LOOK_PINNED);

	thread_start(wait_interrupted, space);
	UNTIL_PARKED(1);
	let_go(object, space, HERE);
	threads_join();
	CHECK_EQ(sys_look(LOOK_PINNED), pinned + 1);
	CHECK_EQ(sys_look(LOOK_OBJECTS), 0);
}

/* ---- the end of processes ---- */

static void wait_for_process(uint64_t id)
{
	process_wait((int64_t)id);
}

static void enter_for_ever(uint64_t argument)
{
	(void)argument;
	ring_enter(1, CC_CAP_NEVER);
}

/* Exits while one thread waits for a process that does not end, and another one for a
 * completion that does not come. */
static int exit_inside_calls(uint64_t argument)
{
	const int64_t child = process_start(wait_there, CC_PARK_WOKEN, cap_of(CC_CAP_MEMORY_OBJECT));

	(void)argument;
	thread_start(wait_for_process, (uint64_t)child);
	thread_start(enter_for_ever, 0);
	UNTIL(sys_look(LOOK_ASLEEP) == 2 && sys_look(LOOK_PINS) == 1);
	return 4;
}

TEST(an_exit_ends_calls_that_wait_and_orphans_run_on)	/* covers: PRK-65/k PRK-78/k */
{
	const uint32_t object = new_object(HERE), space = derive(object);

	CHECK_EQ(process_wait(process_start(exit_inside_calls, 0, object)), 4);
	CHECK_EQ(sys_look(LOOK_PROCESSES), 2);
	CHECK_EQ(unpark_with(space, word_at(HERE, WAITED), 9), 1);
	UNTIL(sys_look(LOOK_PROCESSES) == 1);
	let_go(object, space, HERE);
}

static int wait_and_exit(uint64_t argument)
{
	const uint32_t space = derive(map_given(THERE));

	(void)argument;
	thread_start(wait_shared, space);
	thread_start(wait_shared, space);
	UNTIL_PARKED(2);
	return 5;
}

TEST(an_exit_leaves_no_wait_in_an_object)	/* covers: PRK-65/k PRK-80/fk RES-49/k */
{
	const uint32_t object = new_object(HERE), space = derive(object);

	CHECK_EQ(process_wait(process_start(wait_and_exit, 0, object)), 5);
	CHECK_EQ(sys_look(LOOK_PINS), 0);
	CHECK_EQ(unpark_with(space, word_at(HERE, WAITED), 9), 0);
	let_go(object, space, HERE);
	CHECK_EQ(sys_look(LOOK_OBJECTS), 0);
}
