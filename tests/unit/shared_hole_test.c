/* shared_hole_test.c - a page of the object is taken out while the kernel looks at it, and a
 * mapping that is not readable any more: the one is not told, the other is.
 *
 * link-wrap: syscall */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "objects.h"
#include "os/shared.h"
#include "syscalls.h"

const struct peer_play peer_plays[] = {{"obeys", peer_obeys}, {NULL, NULL}};

enum { URING_ENTER = 426, FUTEX_WAITV = 449, FUTEX_WAKES = 1 };

/* So often its first page is not there: for waits, for wakes. */
static cc__a32 wait_holes, wake_holes;
static struct object shared;

/* Only of a fiber's wait the kernel itself has to be told. */
RAW static long without_page(long number, const long *a)
{
	long result = -1;
	int err = EFAULT;

	if (number == URING_ENTER) {
		mprotect(shared.word, 4096, PROT_NONE);
		result = real_syscall(number, a);
		err = errno;
		mprotect(shared.word, 4096, PROT_READ | PROT_WRITE);
	}
	errno = err;
	return result;
}

/* Once a wait is counted nobody reads the word but the kernel.  (The server's own bell may
 * use up some.) */
RAW static cc__a32 *holes_for(long number, const long *a)
{
	if (number == FUTEX_WAITV ||
	    (number == URING_ENTER && a[1] > 0 && info_of(&shared).waits > 0))
		return &wait_holes;
	return number == SYS_futex && a[1] == FUTEX_WAKES && a[0] == (long)shared.word ? &wake_holes
	                                                                              : NULL;
}

RAW static long on_syscall(long number, const long *a)
{
	cc__a32 *holes = holes_for(number, a);
	uint32_t n = holes != NULL ? cc__load(holes, CC__RELAXED) : 0;

	while (n > 0)
		if (cc__cas_weak(holes, &n, n - 1, CC__RELAXED, CC__RELAXED))
			return without_page(number, a);
	return real_syscall(number, a);
}

/* With an object and a runtime, for a fiber and for a thread. */
static void for_both(void (*body)(CCRuntime *rt, enum kind k))
{
	CCRuntime *rt;

	NEED_OBJECT(&shared);
	rt = test_runtime_of(2);
	for (enum kind k = FIBER; k < KINDS; k++)
		body(rt, k);
	object_drop(&shared);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

static void wait_beside_holes(CCRuntime *rt, enum kind k)
{
	struct wait w;

	cc__store(&wait_holes, CC__FUTEX_FAULTS - 1, CC__RELAXED);
	wait_start(&w, rt, k, shared.space, shared.word);
	TEST_UNTIL(cc__load(&wait_holes, CC__RELAXED) == 0);
	until_waiting(&shared, 1);
	TEST_UNTIL(wake(shared.space, shared.word, 1) == 1);
	CHECK_EQ(wait_join(&w, CC_PARK_WOKEN), 0);
}

/* Anybody who has the object may do that at any time.  covers: PRK-111/x */
TEST(shared_hole_is_not_told)
{
	for_both(wait_beside_holes);
}

static void wake_beside_holes(CCRuntime *rt, enum kind k)
{
	struct wait w;
	uint32_t woken;

	wait_start(&w, rt, k, shared.space, shared.word);
	do {
		until_waiting(&shared, 1);
		cc__store(&wake_holes, CC__FUTEX_FAULTS - 1, CC__RELAXED);
		woken = wake(shared.space, shared.word, 1);
	} while (woken == 0);	/* it does not sleep yet */
	CHECK_EQ(wait_join(&w, CC_PARK_WOKEN), 0);
}

/* Held up for that long, a wake still counts whom it wakes. */
TEST(shared_hole_does_not_lose_a_wake)
{
	for_both(wake_beside_holes);
}

static void wait_where_nothing_is(CCRuntime *rt, enum kind k)
{
	struct wait w;

	cc__store(&wait_holes, 1000, CC__RELAXED);
	cc__store(&wake_holes, 1000, CC__RELAXED);
	wait_start(&w, rt, k, shared.space, shared.word);
	CHECK_EQ(wait_join(&w, (CCParkStatus)77), EFAULT);
	CHECK(cc__load(&wait_holes, CC__RELAXED) <= 1000 - CC__FUTEX_FAULTS);
	CHECK_EQ(wake(shared.space, shared.word, 1), 0);
	CHECK_EQ(cc__load(&wake_holes, CC__RELAXED), 1000 - CC__FUTEX_FAULTS);
	cc__store(&wait_holes, 0, CC__RELAXED);
	cc__store(&wake_holes, 0, CC__RELAXED);
}

TEST(shared_wait_where_nothing_can_be_read_ends)
{
	for_both(wait_where_nothing_is);
}
