/* base.h - what every other header uses: attributes of declarations, time, version.
 *
 * Time is counted in nanoseconds of the monotonic clock.  Calls that may wait take a deadline,
 * which is a point in time, not a span; cc_after computes it from a span:
 *
 *      err = cc_chan_recv_until(chan, &item, sizeof item, cc_after(50 * CC_MSEC)); */
#ifndef CCC_BASE_H
#define CCC_BASE_H

#include <stddef.h>
#include <stdint.h>

#include <ccc/cxx.h>
#include <ccc/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Marks functions that the shared library exports. */
#define CC_API __attribute__((visibility("default")))

/* Marks functions whose result must be used; the compiler warns if it is not.
 *
 * A function is marked if it can fail in a correct program and its error means that something did
 * not happen: no value was moved, no lock is held, nothing was created, a task does not run or
 * has not ended.  Three groups are not marked: calls that fail only because of a mistake of the
 * caller (close, unlock, free, cancel); spawns into a nursery, because a child that cannot be
 * started is an error of the nursery; and sleeps, because the next call that has to wait reports
 * the cancellation again.
 *
 * gcc also warns if the result is cast to void.  To ignore a result on purpose, pass it to
 * cc_ignore. */
#define CC_MUST_CHECK __attribute__((warn_unused_result))

/* Inlines a function even without optimization: so that CC_DEBUG_HOLD can name the place that locks
 * by its return address, and so that a fork calls its branches directly. */
#define CC_IN_CALLER __attribute__((always_inline))

/* The text "NAME FILE:LINE" of the line that the macro stands in, for messages and dumps. */
#define CC_PLACE(name) #name " " CC_PLACE_FILE ":" CC_PLACE_TEXT(__LINE__)
#define CC_PLACE_TEXT(line) CC_PLACE_TEXT_OF(line)
#define CC_PLACE_TEXT_OF(line) #line
#ifdef __FILE_NAME__
#define CC_PLACE_FILE __FILE_NAME__
#else
#define CC_PLACE_FILE __FILE__
#endif

/* Ignores the result of a call whose failure makes no difference to the caller.
 *
 * Any thread.  Never parks. */
static inline void cc_ignore(int result)
{
	(void)result;
}

/* A point in time or a span, in nanoseconds of the monotonic clock.  A deadline is a point. */
typedef int64_t cc_time;

/* Deadlines.  With CC_NOW a call does not wait; where it would have to, it returns EAGAIN.  With
 * CC_FOREVER it waits without a limit. */
#define CC_NOW ((cc_time)0)
#define CC_FOREVER ((cc_time)INT64_MAX)

#define CC_USEC ((cc_time)1000)		/* a span of one microsecond */
#define CC_MSEC ((cc_time)1000000)	/* a span of one millisecond */
#define CC_SEC ((cc_time)1000000000)	/* a span of one second */

/* Returns the time of the monotonic clock in nanoseconds.
 *
 * Any thread.  Never parks. */
CC_API cc_time cc_now(void);

/* Returns the point in time that is `span` nanoseconds from now; CC_FOREVER if a cc_time cannot
 * represent it.
 *
 * Any thread.  Never parks. */
static inline cc_time cc_after(cc_time span)
{
	const cc_time now = cc_now();

	return span > CC_FOREVER - now ? CC_FOREVER : now + span;
}

/* Returns the version of the library that the program runs with, in the form of CC_VERSION.
 *
 * Any thread.  Never parks. */
CC_API int cc_version(void);

#ifdef __cplusplus
}
#endif
#endif
