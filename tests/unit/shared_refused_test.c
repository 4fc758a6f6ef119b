/* shared_refused_test.c - a system without what shared words need: it is said, and there is
 * no way around it.
 *
 * link-wrap: syscall */
#include <sys/syscall.h>

#include "environment.h"
#include "test.h"

#include <errno.h>

#include "os/uring.h"
#include "syscalls.h"

enum { URING_SETUP = 425, URING_REGISTER = 427, FUTEX_WAITV = 449 };

/* Which call fails, and how; 0: none.  REGISTER "succeeds" and finds no operation. */
static long failing;
static int failure;

RAW static long on_syscall(long number, const long *a)
{
	if (number != failing)
		return real_syscall(number, a);
	errno = failure;
	return failure == 0 ? 0 : -1;
}

static int space_when(long call, int err)
{
	CCMemory *m = NULL;
	CCParkSpace *space = NULL;
	int result;

	CHECK_EQ(cc_memory_new(&m, 4096), 0);
	failing = call;
	failure = err;
	result = cc_memory_park_space(m, &space);
	failing = 0;
	CHECK(space == NULL || result == 0);
	CHECK_EQ(cc_memory_close(m), 0);
	return result;
}

/* First what is not there; once it has been found, it stays.  covers: PRK-09/u */
TEST(shared_refused_where_the_kernel_has_not_what_it_takes)
{
	const struct {
		long call;
		int err;
	} refused[] = {
	    {URING_SETUP, ENOSYS}, {URING_SETUP, EPERM},    {URING_REGISTER, 0},
	    {FUTEX_WAITV, ENOSYS}, {URING_REGISTER, EINVAL},
	};

	for (unsigned i = 0; i < sizeof refused / sizeof *refused; i++)
		CHECK_EQ(space_when(refused[i].call, refused[i].err), ENOTSUP);
	/* What is lacking for now is called by its name, unless the kernel has none anyway. */
	if (space_when(URING_SETUP, EMFILE) != ENOTSUP)
		CHECK_EQ(space_when(URING_SETUP, ENOMEM), ENOMEM);
	CHECK(space_when(0, 0) == 0 || space_when(0, 0) == ENOTSUP);
}

/* ---- the ring itself: as the kernel is seen to do it ---- */

static struct cc__uring ring;
static cc__a32 word;

static struct cc__uring_report next_report(void)
{
	struct cc__uring_report r;

	CHECK_EQ(cc__uring_run(&ring, &r, 1), 1);
	return r;
}

TEST(uring_reports_each_wait_once)	/* covers: RES-59/u */
{
	struct cc__uring_report r;

	if (cc__uring_open(&ring, 4) != 0)
		SKIP("no io_uring here");
	cc__uring_wait(&ring, &word, 7, true, 1);
	r = next_report();
	CHECK_EQ(r.name, 1);
	CHECK_EQ(r.result, EAGAIN);
	cc__uring_wait(&ring, &word, 0, true, 2);
	cc__uring_wait(&ring, &word, 0, false, 3);
	cc__uring_cancel(&ring, 2);
	r = next_report();
	CHECK_EQ(r.name, 2);
	CHECK_EQ(r.result, ECANCELED);
	cc__uring_cancel(&ring, 2);	/* meets nothing, and is not reported */
	cc__futex_wake(&word, 1);
	r = next_report();
	CHECK_EQ(r.name, 3);
	CHECK_EQ(r.result, 0);
	cc__uring_close(&ring);
}

static void asks_and_ends(void *arg)
{
	struct cc__uring_report r;

	(void)arg;
	cc__uring_wait(&ring, &word, 0, true, 4);
	cc__uring_wait(&ring, &word, 1, true, 5);
	CHECK_EQ(cc__uring_run(&ring, &r, 1), 1);	/* the second, at once */
	CHECK_EQ(r.name, 5);
}

/* Why one thread asks and never ends.  covers: RES-59/f */
TEST(uring_wait_does_not_outlive_its_thread)
{
	struct cc__os_thread t;
	struct cc__uring_report r;

	if (cc__uring_open(&ring, 4) != 0)
		SKIP("no io_uring here");
	CHECK_EQ(cc__thread_start(&t, asks_and_ends, NULL, "asks"), 0);
	cc__thread_join(t);
	r = next_report();
	CHECK_EQ(r.name, 4);
	CHECK_EQ(r.result, ECANCELED);
	cc__uring_close(&ring);
}
