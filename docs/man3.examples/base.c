/* Time, versions, errno, C++: <ccc/base.h>, <ccc/errno.h>, <ccc/cxx.h>. */
#include <assert.h>
#include <unistd.h>

#include <ccc/ccc.h>
#include <ccc/errno.h>

static void measure_time(void)
{
	const cc_time begin = cc_now(), soon = cc_after(50 * CC_MSEC);

	assert(soon >= begin + 50 * CC_MSEC);
	assert(cc_after(CC_FOREVER) == CC_FOREVER);	/* a deadline that never comes */
}

/* The headers that the program was compiled with, and the library that it runs with. */
static void compare_versions(void)
{
	assert(cc_version() >> 16 == CC_VERSION_MAJOR);
}

/* A last message may be lost: the program ends in any case. */
static void ignore_a_result(void)
{
	CCChan *log = cc_chan_new(sizeof(int), 1);
	int code = 1;

	cc_ignore(cc_chan_try_send(log, &code, sizeof code));
	assert(cc_chan_len(log) == 1);
	assert(cc_chan_free(log) == 0);
}

/* errno of the thread in which the fiber runs, also after a wait. */
static void read_errno(void)
{
	assert(close(-1) == -1);
	assert(errno == EBADF);
	assert(*cc_errno_location() == EBADF);
}

/* After dlopen of an object that was compiled without these headers. */
static void register_cxx(void)
{
	const int err = cc_cxx_register(NULL);

	assert(err == 0 || err == ENOENT);	/* ENOENT: a program without C++ */
}

int main(void)
{
	measure_time();
	compare_versions();
	ignore_a_result();
	read_errno();
	register_cxx();
	return 0;
}
