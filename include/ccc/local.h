/* local.h - task-local storage: for a task what thread-local variables are for a thread.
 *
 * A fiber that waits may continue in another thread, and the compiler may keep the address of a
 * thread-local variable across the wait.  Values that belong to a task are therefore stored here,
 * under a key, and end with the task.  In a thread outside of any fiber they belong to the thread.
 *
 *      static CCLocal request;                         // cc_local_new(&request, free), once
 *
 *      cc_local_set(request, strdup(id));              // in the task ...
 *      log_line(cc_local_get(request));                // ... and in all that it calls */
#ifndef CCC_LOCAL_H
#define CCC_LOCAL_H

#include <ccc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Maximum number of keys at a time, and maximum number of destructor rounds at the end of a task,
 * because a destructor may set values again. */
#define CC_LOCAL_KEYS 128
#define CC_LOCAL_ROUNDS 4

/* A key.  0 is no key.  A deleted key never becomes valid again. */
typedef uint64_t CCLocal;

/* Creates a key and stores it in *out.  Every task and every thread has the value NULL under it.
 *
 * If a task ends with another value and `destructor` is not NULL, the value is set to NULL and the
 * task calls `destructor` with the old value.  The destructor may park.  It runs before joiners and
 * the nursery see the end of the task.  In a thread the destructor runs at thread exit, as with
 * pthread_key_create.  The order of several destructors is not defined.
 *
 * Returns 0, or
 *   EINVAL      `out` is NULL
 *   EAGAIN      CC_LOCAL_KEYS keys exist already
 *   ENOTSUP     in a child of fork (runtime.h)
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_local_new(CCLocal *out, void (*destructor)(void *value));

/* Deletes a key.  Destructors are no longer called for the values that remain.
 *
 * Returns 0, or
 *   EINVAL      there is no such key
 *   ENOTSUP     in a child of fork (runtime.h)
 *
 * Any thread, also in a destructor.  Never parks. */
CC_API int cc_local_delete(CCLocal key);

/* Returns the caller's value under `key`; NULL if none was set or there is no such key.
 *
 * Any thread.  Never parks. */
CC_API void *cc_local_get(CCLocal key);

/* Sets the caller's value under `key`.
 *
 * Returns 0, or
 *   EINVAL      there is no such key
 *   ENOMEM      no memory
 *   ENOTSUP     in a child of fork (runtime.h)
 * After an error the old value remains.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_local_set(CCLocal key, void *value);

#ifdef __cplusplus
}
#endif
#endif
