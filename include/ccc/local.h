/* local.h - storage of a task: what thread-local variables are to a thread.
 *
 * A fiber that waits may go on in another thread, and the compiler may keep the address of a
 * thread-local variable meanwhile.  What belongs to the task is kept here instead, under a key,
 * and ends with it.  In a thread outside of any fiber it belongs to that thread.
 *
 *      static CCLocal request;                         // cc_local_new(&request, free), once
 *
 *      cc_local_set(request, strdup(id));              // in the task ...
 *      log_line(cc_local_get(request));                // ... and whatever it calls */
#ifndef CCC_LOCAL_H
#define CCC_LOCAL_H

#include <ccc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* So many keys there can be at once, and so often destructors are called for values that
 * destructors have set. */
#define CC_LOCAL_KEYS 128
#define CC_LOCAL_ROUNDS 4

/* A key; 0 is none.  One that is deleted never comes back as another. */
typedef uint64_t CCLocal;

/* A key, under which every task and every thread has the value NULL.  When a task ends with
 * another value, that becomes NULL and `destructor` is called with what it was, unless it is
 * NULL: by the task itself, which may wait in it, before anybody sees that it has ended: who
 * joins it, or its nursery.  For a thread: when it exits, as for pthread_key_create.  The order
 * of several is not defined.  EINVAL: no out; EAGAIN: there are CC_LOCAL_KEYS already.  Any
 * thread; never parks. */
CC_API CC_MUST_CHECK int cc_local_new(CCLocal *out, void (*destructor)(void *value));

/* No destructor is called any more for values that are left.  EINVAL: no such key.  Any
 * thread, a destructor too; never parks. */
CC_API int cc_local_delete(CCLocal key);

/* The caller's value; NULL before it has set one, or without such a key.  Any thread; never
 * parks. */
CC_API void *cc_local_get(CCLocal key);

/* EINVAL: no such key; ENOMEM.  Any thread; never parks. */
CC_API CC_MUST_CHECK int cc_local_set(CCLocal key, void *value);

#ifdef __cplusplus
}
#endif
#endif
