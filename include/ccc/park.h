/* park.h - sleep while a 32-bit word has a given value, and wake the sleepers of a word.
 *
 * It is a futex for fibers and threads.  A program can build locks and other primitives from it;
 * those of sync.h are built this way.  The word belongs to the program.  The program changes it
 * with its own atomic operations and calls this library only to sleep and to wake sleepers:
 *
 *      // the waiter                                   // the waker
 *      while (atomic_load(&ready) == 0)                atomic_store(&ready, 1);
 *              cc_park_wait(space, &ready, 0, ...);    cc_park_wake(space, &ready, 1, NULL);
 *
 * No wake is lost, because cc_park_wait compares the word and falls asleep in one step.  A
 * cc_park_wake either comes after this step and finds the sleeper, or it comes before; then the
 * comparison sees the value that the waker stored before it called cc_park_wake. */
#ifndef CCC_PARK_H
#define CCC_PARK_H

#include <ccc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A park space: the right to wait and to wake on the words of one address space or one memory
 * object.  It gives no access to memory.  There are three kinds: the program's own
 * (cc_park_space), that of a memory object (cc_memory_park_space), and that of a strand in a
 * domain (cc_strand_park_space in cap.h).  The fields are private. */
typedef struct CCParkSpace CCParkSpace;

/* How a wait ended. */
typedef enum CCParkStatus {
	CC_PARK_WOKEN = 0,		/* by a wake that counted this sleeper, never spuriously */
	CC_PARK_VALUE_MISMATCH = 1,	/* immediately: the word had another value */
	CC_PARK_TIMED_OUT = 2,		/* the deadline of the call passed */
	CC_PARK_INTERRUPTED = 3,	/* the caller was cancelled, or the word's mapping ended */
} CCParkStatus;

/* Returns the park space of the program itself.  Its words may lie anywhere in memory, also on a
 * stack.  A word must remain readable while a caller waits on it.
 *
 * Any thread.  Never parks. */
CC_API CCParkSpace *cc_park_space(void);

/* Sleeps while *word equals `expected`, until a wake or at most until `deadline`.  If the word has
 * another value, the call returns immediately, whatever the deadline.  The word is only read.
 *
 * Returns 0, and *status receives how the wait ended, unless `status` is NULL; or
 *   ECANCELED   a nursery around the caller was cancelled, or the calling fiber's runtime is
 *               ending; *status is CC_PARK_INTERRUPTED
 *   ETIMEDOUT   the deadline of a nursery around the caller passed; *status is
 *               CC_PARK_INTERRUPTED
 *   EINVAL      `space` or `word` is NULL, `word` is not aligned to 4 bytes, the last handle of
 *               the memory object is closed, or `word` is no address of user space (of a strand)
 *   ENOMEM      no memory for the first wait of a thread, or the system cannot start the thread
 *               that serves the waits of fibers on memory objects
 *   EFAULT      `word` is not in a mapping of the memory object, or in no region of the strand's
 *               domain that may be read
 *   ENOBUFS     CCMemoryInfo.slots waits on memory objects are in progress in this process
 *   ESHUTDOWN   the strand or its domain has ended; *status is CC_PARK_INTERRUPTED
 *   EPERM       the strand belongs to another fiber or thread
 *   ENOTSUP     in a child of fork (runtime.h)
 * After an error for which the list names no status, *status is unchanged.  If the deadline of the
 * call passes, the result is 0 with CC_PARK_TIMED_OUT, also for CC_NOW.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_park_wait(CCParkSpace *space, const uint32_t *word, uint32_t expected,
                                      cc_time deadline, CCParkStatus *status);

/* Wakes up to `max` sleepers of the word, in the order in which they fell asleep.  The word is not
 * read.  To wake all sleepers, pass UINT32_MAX.
 *
 * Returns 0, and *woken receives the number of sleepers that were woken, unless `woken` is NULL; or
 *   EINVAL      `max` is 0, `space` or `word` is NULL, `word` is not aligned to 4 bytes, the last
 *               handle of the memory object is closed, or `word` is no address of user space (of
 *               a strand)
 *   EFAULT      `word` is not in a mapping of the memory object
 *   ESHUTDOWN   the strand or its domain has ended
 *   EPERM       the strand belongs to another fiber or thread
 *   ENOTSUP     in a child of fork (runtime.h)
 * After an error no sleeper was woken and *woken is unchanged.
 *
 * Any thread.  Never parks. */
CC_API int cc_park_wake(CCParkSpace *space, const uint32_t *word, uint32_t max, uint32_t *woken);

/* ---- words that several processes share ----
 *
 * A memory object is memory of a fixed size (a sealed memfd) that processes pass to each other over
 * Unix sockets.  A process that has a handle of the object can map it, once or several times, and
 * has a park space for its words.  A wait through one mapping and a wake through another meet if
 * both addresses stand for the same offset in the object, in one process or in two.
 *
 *      // one process                                  // the other
 *      cc_memory_new(&m, 4096);                        cc_memory_receive(&m, socket, 4096);
 *      cc_memory_send(m, socket);                      cc_memory_map(m, &at);
 *      cc_memory_map(m, &at);                          cc_memory_park_space(m, &space);
 *
 * The kernel keeps the queues of sleepers, so another process can change words and wake sleepers
 * but cannot damage this library's data.
 *
 * A process has one record for each object.  If the same object arrives again, the call returns the
 * same address and counts one more handle; each handle must be closed.
 *
 * Fork.  Once a fiber of a process has waited on a word of a memory object, every later child of
 * fork gets ENOTSUP from the calls below (see runtime.h). */

/* A memory object.  The fields are private. */
typedef struct CCMemory CCMemory;

/* Identity of a memory object as the kernel reports it; it is the same in every process. */
typedef struct CCMemoryIdentity {
	/* `device` and `inode` are st_dev and st_ino of fstat.  `generation` distinguishes inodes
	 * that had the same number one after another; 0 if the kernel does not report it. */
	uint64_t device, inode, generation;
} CCMemoryIdentity;

/* What this process has of a memory object. */
typedef struct CCMemoryInfo {
	CCMemoryIdentity identity;	/* identity of the object */
	size_t size;			/* size of the object in bytes */
	uint32_t handles;		/* handles that are not closed yet */
	uint32_t mappings;		/* mappings of cc_memory_map */
	uint32_t waits;			/* waits in progress on words of this object */
	uint32_t slots_used;		/* waits in progress on words of all objects */
	uint32_t slots;			/* largest possible value of slots_used */
} CCMemoryInfo;

/* Creates a memory object of `size` bytes, all zero, and stores a handle in *out.
 *
 * Returns 0, or
 *   EINVAL      `out` is NULL, or `size` is 0 or too large
 *   ENOMEM      no memory
 *   ENOTSUP     the system has no memfd_create, or in a child of fork
 *   (other)     an error of memfd_create or ftruncate, for example EMFILE
 * After an error no object was created.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_memory_new(CCMemory **out, size_t size);

/* Opens the memory object of a descriptor and stores a handle in *out.  `size` is the expected size
 * in bytes.  The call copies the descriptor; `fd` still belongs to the caller.
 *
 * Returns 0, or
 *   EBADF       `fd` is not open
 *   EINVAL      `out` is NULL, `fd` is no memfd, or the object is empty
 *   EPERM       the memfd is not sealed against shrinking, growing and further seals
 *   ERANGE      the object has another size
 *   EMFILE      too many open descriptors
 *   ENOMEM      no memory
 *   ENOTSUP     in a child of fork
 * After an error *out is unchanged.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_memory_import(CCMemory **out, int fd, size_t size);

/* Sends the object over `socket`, a connected Unix socket, as a message of one byte with a
 * descriptor.  The caller keeps its handle.
 *
 * Returns 0, or
 *   EAGAIN      the socket has no room; wait with cc_wait_fd and try again
 *   EINVAL      `m` is NULL or has no open handle
 *   ENOTSUP     in a child of fork
 *   (other)     an error of sendmsg, for example EPIPE
 * After an error nothing was sent.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_memory_send(CCMemory *m, int socket);

/* Receives an object that cc_memory_send has sent, and stores a handle in *out.  `size` is the
 * expected size in bytes.  The call checks the descriptor as cc_memory_import does and trusts
 * nothing that the sender says.
 *
 * Returns 0, or
 *   EAGAIN      no message has arrived; wait with cc_wait_fd and try again
 *   EPIPE       the peer has closed the connection
 *   EPROTO      the message does not contain exactly one descriptor
 *   ENOTSUP     in a child of fork
 *   (other)     an error of recvmsg
 *   and the errors of cc_memory_import
 * After an error *out is unchanged.  A message that was refused is gone, and its descriptors are
 * closed.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_memory_receive(CCMemory **out, int socket, size_t size);

/* Stores the descriptor of the object in *fd, so that the program can pass it on in other ways.
 * The descriptor belongs to the object: do not close it.
 *
 * Returns 0, or
 *   EINVAL      `m` or `fd` is NULL, or `m` has no open handle
 *   ENOTSUP     in a child of fork
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_memory_fd(CCMemory *m, int *fd);

/* Fills *out with what this process has of the object.
 *
 * Returns 0, or
 *   EINVAL      `m` or `out` is NULL, or `m` has no open handle
 *   ENOTSUP     in a child of fork
 *
 * Any thread.  Never parks. */
CC_API int cc_memory_info(CCMemory *m, CCMemoryInfo *out);

/* Maps the whole object for reading and writing and stores the address in *at.  Each call makes
 * another mapping.
 *
 * Returns 0, or
 *   EINVAL      `m` or `at` is NULL, or `m` has no open handle
 *   ENOMEM      no memory, or too many mappings
 *   ENOTSUP     in a child of fork
 *   (other)     an error of mmap
 * After an error *at is unchanged.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_memory_map(CCMemory *m, void **at);

/* Ends the mapping that begins at `at`.  Waits on words in this mapping end with
 * CC_PARK_INTERRUPTED.  The call waits until these waiters no longer use the memory and then unmaps
 * it.
 *
 * Returns 0, or
 *   EINVAL      `m` or `at` is NULL, `m` has no open handle, or no mapping of cc_memory_map begins
 *               at `at`
 *   ENOTSUP     in a child of fork
 *
 * Any thread.  May park.  Not a cancellation point. */
CC_API int cc_memory_unmap(CCMemory *m, void *at);

/* Closes one handle of the object.  Waits in progress continue and keep the object.  When the last
 * handle is closed and the last wait has ended, the library unmaps all mappings of the object in
 * this process and closes its descriptor.
 *
 * Returns 0, or
 *   EINVAL      `m` is NULL or has no open handle
 *   ENOTSUP     in a child of fork
 *
 * Any thread.  Never parks. */
CC_API int cc_memory_close(CCMemory *m);

/* Stores in *out the park space for the words of the object.  It is valid while the caller has a
 * handle.  cc_park_wait and cc_park_wake then take addresses in mappings of this object, and return
 * EFAULT for other addresses.
 *
 * Returns 0, or
 *   EINVAL      `m` or `out` is NULL, or `m` has no open handle
 *   ENOTSUP     the kernel has no futexes in io_uring (Linux 6.7), their use is forbidden, or in a
 *               child of fork
 *   (other)     the kernel could not set up io_uring, for example ENOMEM or EMFILE
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_memory_park_space(CCMemory *m, CCParkSpace **out);

#ifdef __cplusplus
}
#endif
#endif
