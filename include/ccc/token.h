/* token.h - a flag that is set once and wakes everybody: done, stop, ready.
 *
 * Thousands may wait for one token, alone or in selects, on all cores: they do not
 * meet in one lock. */
#ifndef CCC_TOKEN_H
#define CCC_TOKEN_H

#include <ccc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CCToken CCToken;

/* Not set.  NULL: no memory, or in a child of fork (runtime.h).  Any thread; never parks. */
CC_API CC_MUST_CHECK CCToken *cc_token_new(void);

/* When no call is in progress and none will come; but whoever has seen it set may free it
 * while the call that set it has yet to return.  EBUSY, and nothing is freed: somebody
 * waits for it.  0 for NULL; ENOTSUP: in a child of fork.  Any thread; never parks.
 *
 * The memory goes back to malloc.  As long as that leaves it alone, a later cc_token_set,
 * cc_token_wait or cc_token_free stops the program with a message that names the token;
 * otherwise the behaviour is undefined, and AddressSanitizer or Valgrind report it. */
CC_API int cc_token_free(CCToken *token);

/* Set it, and wake everybody who waits.  0, the second time too; EINVAL: NULL;
 * ENOTSUP.  What was written before is seen by whoever sees it set.  Any thread, but not a
 * signal handler; never parks. */
CC_API int cc_token_set(CCToken *token);

/* 1 if it is set.  Any thread; never parks. */
CC_API int cc_token_is_set(const CCToken *token);

/* Until it is set.  0, ETIMEDOUT, EAGAIN for CC_NOW, ECANCELED, ENOMEM, ENOTSUP as for
 * cc_chan_recv_until; EINVAL: NULL.  Any thread; may park; a cancel point. */
CC_API CC_MUST_CHECK int cc_token_wait(CCToken *token, cc_time deadline);

#ifdef __cplusplus
}
#endif
#endif
