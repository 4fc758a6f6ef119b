/* park.h - sleep while a word has a value, and wake whoever sleeps on it.
 *
 * The word is the program's: it changes it by atomic operations of its own, and calls only
 * when somebody has to wait.  Locks and the like are made of it; those of sync.h are.
 *
 *      while (!atomic_load(&ready))                    atomic_store(&ready, 1);
 *              cc_park_wait(space, &ready, 0, ...);    cc_park_wake(space, &ready, 1, NULL);
 *
 * The look at the word and the falling asleep are one step to a wake: it finds the sleeper,
 * or the sleeper has seen what was written before the wake. */
#ifndef CCC_PARK_H
#define CCC_PARK_H

#include <ccc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The right to wait and to wake in one address space.  It gives no access to memory. */
typedef struct CCParkSpace CCParkSpace;

/* How a wait ended. */
typedef enum CCParkStatus {
	CC_PARK_WOKEN = 0,		/* by a wake, never for no reason */
	CC_PARK_VALUE_MISMATCH = 1,	/* at once: the word had another value */
	CC_PARK_TIMED_OUT = 2,
	CC_PARK_INTERRUPTED = 3,	/* the caller is cancelled, or the word's mapping ends */
} CCParkStatus;

/* That of the program itself, which is trusted: a word may lie anywhere, on a stack too,
 * for as long as somebody sleeps on it.  Any thread; never parks. */
CC_API CCParkSpace *cc_park_space(void);

/* Sleep while *word is `expected`, until a wake or the deadline.  0, and how it ended in
 * *status; `status` may be NULL.  ECANCELED, or ETIMEDOUT if it was the deadline of a
 * nursery: INTERRUPTED.  EINVAL: no space, no word, or one that is not aligned to 4 bytes;
 * ENOMEM, ENOTSUP as for cc_chan_recv_until; *status is left alone then.  Any thread; may
 * park; a cancel point. */
CC_API CC_MUST_CHECK int cc_park_wait(CCParkSpace *space, const uint32_t *word, uint32_t expected,
                                      cc_time deadline, CCParkStatus *status);

/* Wake up to `max` of those who sleep on that word, who came first first; how many in
 * *woken, which may be NULL.  The word is not looked at.  EINVAL: as above, or max is 0;
 * ENOTSUP.  Any thread; never parks. */
CC_API int cc_park_wake(CCParkSpace *space, const uint32_t *word, uint32_t max, uint32_t *woken);

/* ---- words that several processes share ----
 *
 * A memory object is memory of a fixed size (a sealed memfd) that processes hand to each
 * other over Unix sockets.  Who has one can map it, several times if he likes, and has a
 * park space for its words: a wait through one mapping and a wake through another, here or
 * in another process, meet if they mean the same place in the object.  The kernel keeps
 * those who wait; no list of ours lies in memory that others can write.
 *
 *      cc_memory_new(&m, 4096);                        cc_memory_receive(&m, socket, 4096);
 *      cc_memory_send(m, socket);                      cc_memory_map(m, &at);
 *      cc_memory_map(m, &at);                          cc_memory_park_space(m, &space);
 *
 * In a process each object is there once, however often it comes in.  All calls: 0 or an
 * error number; EINVAL for what is NULL or no handle any more, ENOTSUP where the system
 * cannot do it and in a child of fork that has no workers (once a fiber has waited on such
 * a word, that is every child).  Any thread; none parks unless it says so. */
typedef struct CCMemory CCMemory;

/* What an object is, to whoever looks: as the kernel says. */
typedef struct CCMemoryIdentity {
	uint64_t device, inode, generation;
} CCMemoryIdentity;

/* And what this process has of it. */
typedef struct CCMemoryInfo {
	CCMemoryIdentity identity;
	size_t size;
	uint32_t handles;	/* to be closed, each */
	uint32_t mappings;
	uint32_t waits;		/* that are going on in it */
	uint32_t slots_used;	/* of the process: waits in all objects, ... */
	uint32_t slots;		/* ... and how many there may be */
} CCMemoryInfo;

/* Memory of `size` bytes, all zero. */
CC_API CC_MUST_CHECK int cc_memory_new(CCMemory **out, size_t size);

/* Whatever another one made: `fd` stays the caller's.  `size` has to be right.  EBADF;
 * EINVAL: it is no memfd; EPERM: it is not sealed against shrinking, growing and further
 * seals; ERANGE: it has another size. */
CC_API CC_MUST_CHECK int cc_memory_import(CCMemory **out, int fd, size_t size);

/* Over a connected Unix socket.  EAGAIN: not now (see cc_wait_fd).  Receive also returns
 * EPIPE at the end of the stream, EPROTO for a message without such a descriptor, and
 * what cc_memory_import returns: nothing that the sender says is relied on. */
CC_API CC_MUST_CHECK int cc_memory_send(CCMemory *m, int socket);
CC_API CC_MUST_CHECK int cc_memory_receive(CCMemory **out, int socket, size_t size);

/* Its descriptor, which stays the object's: to be passed on in other ways. */
CC_API CC_MUST_CHECK int cc_memory_fd(CCMemory *m, int *fd);
CC_API int cc_memory_info(CCMemory *m, CCMemoryInfo *out);

/* Map all of it, to read and write; each call maps it once more. */
CC_API CC_MUST_CHECK int cc_memory_map(CCMemory *m, void **at);

/* End a mapping.  Who waits on a word through it is INTERRUPTED, and has left the memory
 * when this returns.  EINVAL: `at` is not from cc_memory_map.  May park. */
CC_API int cc_memory_unmap(CCMemory *m, void *at);

/* Give the handle back.  Waits go on, and keep the object; with the last of handles and
 * waits its mappings end, and its descriptor is closed. */
CC_API int cc_memory_close(CCMemory *m);

/* The right to wait and to wake on its words, for as long as the caller has a handle.
 * cc_park_wait and cc_park_wake take addresses in mappings of this object then; EFAULT:
 * the word is in none.  A wait whose mapping ends returns 0 and INTERRUPTED; ENOBUFS: as
 * many wait as there are slots. */
CC_API CC_MUST_CHECK int cc_memory_park_space(CCMemory *m, CCParkSpace **out);

#ifdef __cplusplus
}
#endif
#endif
