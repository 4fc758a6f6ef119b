/* token.h - a flag that is set once and wakes all waiters: done, stop, ready.
 *
 * Thousands of fibers and threads on all cores may wait for one token, alone or in selects: they
 * do not share one lock. */
#ifndef CCC_TOKEN_H
#define CCC_TOKEN_H

#include <ccc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A token.  The fields are private. */
typedef struct CCToken CCToken;

/* Creates a token that is not set.
 *
 * Returns NULL if there is no memory, or in a child of fork (runtime.h).
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK CCToken *cc_token_new(void);

/* Frees a token.  No call on it may be in progress or follow, with one exception: a caller that has
 * seen the token set may free it although the cc_token_set that set it has not returned.  NULL is
 * allowed.
 *
 * The memory goes back to malloc.  As long as malloc does not reuse it, a later cc_token_set,
 * cc_token_wait or cc_token_free aborts the program with a message that names the token.  After
 * that the behaviour is undefined; AddressSanitizer and Valgrind report it.
 *
 * Returns 0, or
 *   EBUSY       a fiber or thread waits for the token
 *   ENOTSUP     in a child of fork (runtime.h)
 * After an error nothing was freed.
 *
 * Any thread.  Never parks. */
CC_API int cc_token_free(CCToken *token);

/* Sets the token and wakes all waiters.  Setting it twice is not an error.  All that the caller
 * wrote before is visible to a caller that sees the token set.
 *
 * Returns 0, or
 *   EINVAL      `token` is NULL
 *   ENOTSUP     in a child of fork (runtime.h)
 *
 * Any thread.  Never parks.  Not in a signal handler. */
CC_API int cc_token_set(CCToken *token);

/* Returns 1 if the token is set, else 0.
 *
 * Any thread.  Never parks. */
CC_API int cc_token_is_set(const CCToken *token);

/* Waits until the token is set, at most until `deadline`.
 *
 * Returns 0, or
 *   ETIMEDOUT   the deadline passed (EAGAIN if it was CC_NOW), or the deadline of a nursery
 *               around the caller passed
 *   ECANCELED   the call would have to wait, and a nursery around the caller was cancelled or the
 *               calling fiber's runtime is ending
 *   EINVAL      `token` is NULL
 *   ENOMEM      no memory for the first wait of a thread
 *   ENOTSUP     in a child of fork (runtime.h)
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_token_wait(CCToken *token, cc_time deadline);

#ifdef __cplusplus
}
#endif
#endif
