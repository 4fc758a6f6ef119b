/* base.h - what every public header stands on: visibility, time, version. */
#ifndef CCC_BASE_H
#define CCC_BASE_H

#include <stddef.h>
#include <stdint.h>

#include <ccc/cxx.h>
#include <ccc/version.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CC_API __attribute__((visibility("default")))

/* The compiler warns if the result of such a call is dropped.
 *
 * A call is marked if it can fail in a correct program and its error means that something did
 * not happen: no value was moved, no lock is held, nothing was created, a task does not run or
 * has not ended.  Three groups are not marked: calls that fail only through a mistake of the
 * caller (close, unlock, free, cancel); spawns into a nursery, because a child that cannot be
 * started is that nursery's error; and sleeps, because the next call that has to wait reports
 * a cancellation again.
 *
 * gcc warns about a result that is cast to void, too: to drop one on purpose, cc_ignore it. */
#define CC_MUST_CHECK __attribute__((warn_unused_result))

/* Inlines a function even without optimization: so that CC_DEBUG_HOLD can name the place that locks
 * by its return address, and so that a fork calls its branches directly. */
#define CC_IN_CALLER __attribute__((always_inline))

/* Drops the result of a call whose failure changes nothing for the caller.  Any thread; never
 * parks. */
static inline void cc_ignore(int result)
{
	(void)result;
}

/* Nanoseconds of the monotonic clock.  A deadline is a point of that clock. */
typedef int64_t cc_time;

#define CC_NOW ((cc_time)0)		/* do not wait: EAGAIN where one would have to */
#define CC_FOREVER ((cc_time)INT64_MAX)	/* no deadline */

#define CC_USEC ((cc_time)1000)
#define CC_MSEC ((cc_time)1000000)
#define CC_SEC ((cc_time)1000000000)

/* The monotonic clock.  Any thread; never parks. */
CC_API cc_time cc_now(void);

/* The deadline a span from now: CC_FOREVER if that is out of reach.  Any thread. */
static inline cc_time cc_after(cc_time span)
{
	const cc_time now = cc_now();

	return span > CC_FOREVER - now ? CC_FOREVER : now + span;
}

/* CC_VERSION of the library that is linked in.  Any thread. */
CC_API int cc_version(void);

#ifdef __cplusplus
}
#endif
#endif
