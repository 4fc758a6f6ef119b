/* futex_test.c - what cc__futex_wait makes of each answer of the kernel.
 *
 * link-wrap: syscall */
#include "test.h"

#include <errno.h>
#include <sys/syscall.h>

#include "os/atomic.h"
#include "syscalls.h"

static _Thread_local int answer;	/* the error of the next futex call; 0: the call is made */

RAW static long on_syscall(long number, const long *a)
{
	if (number == SYS_futex && answer != 0) {
		errno = answer;
		return -1;
	}
	return real_syscall(number, a);
}

static int wait_answered(int err, cc_time deadline, bool wide)
{
	cc__a32 narrow_word = {0};
	cc__a64 wide_word = {0};
	int result;

	answer = err;
	result = wide ? cc__futex_wait64(&wide_word, 0, deadline)
	              : cc__futex_wait(&narrow_word, 0, deadline);
	answer = 0;
	return result;
}

/* A signal (EINTR) or a changed word (EAGAIN) ends the sleep before its deadline.  A caller that
 * is told ETIMEDOUT gives up what it waits for. */
TEST(futex_wait_times_out_at_its_deadline_alone)
{
	static const cc_time deadline[] = {CC_FOREVER, CC_FOREVER - 1, 1};

	for (unsigned i = 0; i < sizeof deadline / sizeof *deadline; i++)
		for (int wide = 0; wide < 2; wide++) {
			CHECK_EQ(wait_answered(EINTR, deadline[i], wide), 0);
			CHECK_EQ(wait_answered(EAGAIN, deadline[i], wide), 0);
			CHECK_EQ(wait_answered(ETIMEDOUT, deadline[i], wide), ETIMEDOUT);
		}
}

/* By the kernel itself: the deadline has passed, or the word is another one. */
TEST(futex_wait_ends_by_the_clock_or_the_word)
{
	cc__a32 word = {7};
	cc__a64 wide = {7};

	CHECK_EQ(cc__futex_wait(&word, 7, 1), ETIMEDOUT);
	CHECK_EQ(cc__futex_wait(&word, 7, -1), ETIMEDOUT);
	CHECK_EQ(cc__futex_wait64(&wide, 7, cc__now() + CC_USEC), ETIMEDOUT);
	CHECK_EQ(cc__futex_wait(&word, 8, CC_FOREVER), 0);
	CHECK_EQ(cc__futex_wait64(&wide, 8, CC_FOREVER), 0);
}
