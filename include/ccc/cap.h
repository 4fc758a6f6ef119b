/* cap.h - domains: waiting and waking on words, with capabilities and checked addresses.
 *
 * A domain stands for a process inside the program.  Programs that need no capabilities use park.h
 * or sync.h instead.  A domain has
 *   - an address space: regions of memory that the domain declares with cc_domain_map
 *   - a table of capabilities: numbers that name a right, for example to wait on words
 *   - strands: the fibers and OS threads that have joined the domain; they are its threads
 *   - two rings: users write requests (submissions, 64 bytes each) into one and read the results
 *     (completions, 32 bytes each) from the other
 *
 * A strand waits on a word with the operation PARK and wakes the waiters of a word with UNPARK;
 * both work as cc_park_wait and cc_park_wake in park.h do, and check the capability and the address
 * first.  The client at the end of this header writes and reads the rings for its callers:
 *
 *      cc_domain_create(&domain, NULL);
 *      cc_domain_map(domain, words, sizeof words, CC_CAP_READ);
 *      cc_cap_client_create(&client, domain);
 *      space = cc_domain_cap(domain, CC_CAP_PARK_SPACE);
 *
 *      cc_domain_join(domain, &self);                  // in each fiber or thread
 *      cc_cap_client_park(client, self, space, &words[3], 0, CC_CAP_NEVER, &status);
 *      cc_domain_leave(self);
 *
 * A program that uses the rings itself writes submissions (cc_cap_push), lets the domain execute
 * them (cc_cap_enter) and reads the completions (cc_cap_pop).
 *
 * All domains of a program share its memory.  So a domain protects against misuse of this
 * interface, not against stray writes.  Only the calls that create something, and cc_domain_join,
 * allocate memory.
 *
 * Calls return 0 or a positive error number.  Completions, cc_cap_enter and cc_cap_poll have error
 * numbers of their own: the negative values CC_CAP_E_....  docs/park.md has the layout of the rings
 * in tables. */
#ifndef CCC_CAP_H
#define CCC_CAP_H

#include <ccc/base.h>
#include <ccc/park.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the layout of the rings ---- */

/* Operations: values of CCCapSubmission.opcode, with the result of the completion.  Every
 * operation may also complete with an error CC_CAP_E_.... */
enum {
	CC_CAP_OP_NOP = 0,		/* does nothing; result 0 */
	CC_CAP_OP_RELEASE = 1,		/* releases the capability `cap`; result 0 */
	CC_CAP_OP_TIMER = 2,		/* completes after `dependency` nanoseconds; result 0 */
	CC_CAP_OP_PARK_BENCH = 7,	/* reserved; always CC_CAP_E_UNSUPPORTED */
	CC_CAP_OP_PARK = 8,		/* waits on a word; result: a CCParkStatus */
	CC_CAP_OP_UNPARK = 9,		/* wakes waiters of a word; result: how many */
};

/* Bits of CCCapSubmission.flags. */
enum {
	CC_CAP_THREAD_OWNED = 1 << 0,	/* only the strand `owner` may execute the submission */
	CC_CAP_PIPELINE = 1 << 1,	/* reserved; every operation refuses it */
};

/* A submission.  Fields that an operation does not use must be 0. */
typedef struct CCCapSubmission {
	uint16_t opcode;		/* the operation: CC_CAP_OP_... */
	uint16_t flags;			/* PARK: exactly CC_CAP_THREAD_OWNED; others: 0 */
	uint16_t method;		/* 0 */
	uint16_t transfers;		/* 0 */
	uint32_t cap;			/* the capability that the operation uses; NOP: 0 */
	uint32_t owner;			/* PARK: the id of the strand that waits (cc_strand_id) */
	uint64_t user_data;		/* any value; copied into the completion */
	uint64_t address;		/* PARK, UNPARK: address of the word */
	uint32_t length;		/* PARK: expected value; UNPARK: how many to wake, not 0 */
	uint32_t field;			/* 0 */
	/* PARK, TIMER: a span in nanoseconds, from the moment at which the submission is executed.
	 * PARK also accepts CC_CAP_NEVER. */
	uint64_t dependency;
	uint64_t result_address;	/* 0 */
	uint32_t result_length;		/* 0 */
	uint32_t reserved;		/* 0 */
} CCCapSubmission;

/* A span without end. */
#define CC_CAP_NEVER UINT64_MAX

/* A completion: the result of one submission. */
typedef struct CCCapCompletion {
	uint64_t user_data;		/* of the submission */
	int32_t result;			/* 0 or more: see CC_CAP_OP_...; negative: CC_CAP_E_... */
	uint32_t flags;			/* 0 */
	uint64_t reserved[2];		/* 0 */
} CCCapCompletion;

/* The head of the two rings.  CC_CAP_RING_ENTRIES bytes after its start the submissions begin, and
 * the completions follow them.  The numbers of entries are powers of 2.  The four indices only
 * increase, modulo 2^32; the entry of an index is at the index modulo the number of entries. */
typedef struct CCCapRing {
	uint32_t sq_head;		/* next submission to execute; the domain writes it */
	uint32_t sq_entries;		/* number of submissions in the ring; constant */
	uint32_t apart0[14];		/* padding: each index has a cache line of its own */
	/* End of the submissions.  The user writes it with release, after the entries. */
	uint32_t sq_tail;
	uint32_t apart1[15];		/* padding */
	/* Next completion to read.  The user writes it with release, after it has read. */
	uint32_t cq_head;
	uint32_t cq_entries;		/* number of completions in the ring; constant */
	uint32_t apart2[14];		/* padding */
	/* End of the completions.  The domain writes it.  The user reads it with acquire, before
	 * it reads the entries. */
	uint32_t cq_tail;
	uint32_t apart3[15];		/* padding */
} CCCapRing;

/* Distance of the submissions from the start of CCCapRing, in bytes. */
#define CC_CAP_RING_ENTRIES 256

/* Returns the array of submissions of a ring.
 *
 * Any thread.  Never parks. */
static inline CCCapSubmission *cc_cap_submissions(CCCapRing *r)
{
	return (CCCapSubmission *)(void *)((char *)r + CC_CAP_RING_ENTRIES);
}

/* Returns the array of completions of a ring with `sq_entries` submissions.
 *
 * Any thread.  Never parks. */
static inline CCCapCompletion *cc_cap_completions(CCCapRing *r, uint32_t sq_entries)
{
	return (CCCapCompletion *)(void *)(cc_cap_submissions(r) + sq_entries);
}

/* Errors of completions, and of cc_cap_enter and cc_cap_poll. */
enum {
	CC_CAP_E_MALFORMED = -1,	/* a field has a value that is not allowed */
	CC_CAP_E_UNSUPPORTED = -2,	/* there is no such operation */
	CC_CAP_E_OWNER = -3,		/* no strand with the id `owner` exists, or it has ended */
	CC_CAP_E_CAP = -4,		/* no such capability, or it is released or revoked */
	CC_CAP_E_KIND = -5,		/* the capability is of another kind */
	CC_CAP_E_ADDRESS = -6,		/* not aligned to 4 bytes, or not in user space */
	CC_CAP_E_OBJECT = -7,		/* the address does not map the capability's object */
	CC_CAP_E_FAULT = -8,		/* no region that may be read is mapped there */
	/* PARK, TIMER: waits and timers already reserve all places for completions but one, or 16
	 * timers are running.  Wake a waiter or wait for a timer, then try again. */
	CC_CAP_E_AGAIN = -9,
	CC_CAP_E_MEMORY = -10,		/* no memory for the first wait of a thread */
	/* The rest are results of cc_cap_enter and cc_cap_poll only. */
	CC_CAP_E_RING = -11,		/* sq_tail or cq_head has an impossible value */
	CC_CAP_E_BUSY = -12,		/* another strand already waits for completions */
	CC_CAP_E_CANCELED = -13,	/* the caller is cancelled */
	CC_CAP_E_GONE = -14,		/* the strand or the domain has ended */
	CC_CAP_E_CALLER = -15,		/* the strand belongs to another fiber or thread */
};

/* ---- domains and strands ---- */

/* A domain.  The fields are private. */
typedef struct CCDomain CCDomain;

/* A strand: one fiber or thread that has joined a domain.  The fields are private. */
typedef struct CCStrand CCStrand;

/* An object: memory that several domains may map.  The fields are private. */
typedef struct CCCapObject CCCapObject;

/* Sizes of a domain, which are fixed when it is created.  0 is the default. */
typedef struct CCDomainOptions {
	uint32_t strands;	/* most strands at a time, up to 4096; default 64 */
	uint32_t regions;	/* most regions at a time, up to 4096; default 64 */
	uint32_t caps;		/* most capabilities at a time, 3 to 4096; default 64 */
	uint32_t submissions;	/* size of their ring, a power of 2, 1 to 4096; default 16 */
	uint32_t completions;	/* size of their ring, a power of 2, 2 to 4096; default 32 */
	uint32_t buckets;	/* hash buckets for waiters, a power of 2, 2 to 65536; default 64 */
} CCDomainOptions;

/* Creates a domain and stores it in *out.  `options` may be NULL.  The domain starts with three
 * capabilities: THREAD_CONTROL, THREAD_SPAWNER and PARK_SPACE.
 *
 * Returns 0, or
 *   EINVAL      `out` is NULL, or an option is out of range
 *   ENOMEM      no memory
 *   EAGAIN      there is no free key of local.h, of which the first domain takes one
 *   ENOTSUP     in a child of fork (runtime.h)
 * After an error no domain was created.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_domain_create(CCDomain **out, const CCDomainOptions *options);

/* Frees a domain after all its strands have left.  No other call on the domain may be in progress.
 *
 * Returns 0, or
 *   EINVAL      `d` is NULL
 *   EBUSY       a strand has not left; nothing was freed
 *
 * Any thread.  Never parks. */
CC_API int cc_domain_free(CCDomain *d);

/* Ends the domain, as the exit of a process does.  Waits of its strands end without a completion,
 * and the calls that waited return CC_CAP_E_GONE or ESHUTDOWN.  All regions, capabilities and
 * timers end.  From now on no strand can join and no submission is executed.  The strands must
 * still leave (cc_domain_leave).
 *
 * Returns 0, also if the domain has ended before, or
 *   EINVAL      `d` is NULL
 *
 * Any thread.  Never parks. */
CC_API int cc_domain_exit(CCDomain *d);

/* Makes the calling fiber or thread a strand of the domain and stores its handle in *out.  Only the
 * caller can use the handle: in other fibers and threads the calls that take it return EPERM or
 * CC_CAP_E_CALLER.
 *
 * Returns 0, or
 *   EINVAL      `d` or `out` is NULL
 *   EAGAIN      the domain has as many strands as its options allow
 *   ESHUTDOWN   the domain has ended
 *   ENOMEM      no memory
 *   ENOTSUP     in a child of fork (runtime.h)
 * After an error the caller has not joined.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_domain_join(CCDomain *d, CCStrand **out);

/* Leaves the domain.  PARK submissions of the strand that have not been executed complete with
 * CC_CAP_E_OWNER.  The handle must not be used again.
 *
 * A task or thread that ends without leaving leaves automatically, as if the strand were a value of
 * local.h with a destructor.
 *
 * Returns 0, or
 *   EINVAL      `s` is NULL, or the strand has left before
 *   EPERM       the strand belongs to another fiber or thread
 *
 * Only the strand itself.  Never parks. */
CC_API int cc_domain_leave(CCStrand *s);

/* Returns the id of the strand; 0 for NULL.  The domain never uses the id for another strand.
 *
 * Any thread.  Never parks. */
CC_API uint32_t cc_strand_id(const CCStrand *s);

/* Ends the strand with the id `id`.  Its wait, if any, ends without a completion.  The call that
 * waited, and later calls of the strand, return CC_CAP_E_GONE or ESHUTDOWN.  The strand must still
 * leave (cc_domain_leave).
 *
 * Returns 0, or
 *   EINVAL      `d` is NULL
 *   ESRCH       no strand of this id exists, or it has ended
 *
 * Any thread.  Never parks. */
CC_API int cc_domain_end(CCDomain *d, uint32_t id);

/* Interrupts the wait on a word that the strand with the id `id` is in: the wait ends with
 * CC_PARK_INTERRUPTED.  If the strand does not wait on a word, nothing happens.
 *
 * Returns 0, or
 *   EINVAL      `d` is NULL
 *   ESRCH       no strand of this id exists, or it has ended
 *
 * Any thread.  Never parks. */
CC_API int cc_domain_interrupt(CCDomain *d, uint32_t id);

/* ---- the address space ---- */

/* Access to a region, as bits.  A wait on a word needs CC_CAP_READ.  No operation needs
 * CC_CAP_WRITE. */
enum { CC_CAP_READ = 1, CC_CAP_WRITE = 2 };

/* Adds the region of `length` bytes at `base` to the domain's address space, with the given access.
 * Strands may then wait on words in it.  The memory must remain valid until the region is unmapped.
 *
 * Returns 0, or
 *   EINVAL      `d` is NULL, `length` is 0, or the region is not in user space
 *   EEXIST      part of the region is mapped, or is being unmapped
 *   EAGAIN      the domain has as many regions as its options allow
 *   ESHUTDOWN   the domain has ended
 * After an error nothing was mapped.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_domain_map(CCDomain *d, const void *base, size_t length,
                                       uint32_t access);

/* Adds a region as cc_domain_map does, as a view of an object that starts at `offset` in the
 * object.  `cap` is a MEMORY_OBJECT of `d`.  The word at `base` then is the word at `offset` of the
 * object for every domain that maps the object and uses a SHARED_PARK_SPACE.
 *
 * Returns 0, or
 *   EBADF       `cap` is no MEMORY_OBJECT of `d`, or it is revoked
 *   EINVAL      the region extends beyond the object, or `base` or `offset` is no multiple of 4
 *   and the errors of cc_domain_map
 * After an error nothing was mapped.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_domain_map_object(CCDomain *d, uint32_t cap, uint64_t offset,
                                              const void *base, size_t length, uint32_t access);

/* Removes the region that begins at `base`.  Waits on words in it end with CC_PARK_INTERRUPTED
 * before the call returns, and before the addresses can be mapped again.
 *
 * Returns 0, or
 *   EINVAL      `d` is NULL
 *   ENOENT      no region begins at `base`
 *   EBUSY       another call is removing or revoking the region
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_domain_unmap(CCDomain *d, const void *base);

/* Removes all access to the region that begins at `base`.  Waits on words in it end with
 * CC_PARK_INTERRUPTED before the call returns.  The addresses remain occupied until cc_domain_unmap
 * is called.
 *
 * Returns 0, or
 *   EINVAL      `d` is NULL
 *   ENOENT      no region begins at `base`
 *   EBUSY       another call is removing or revoking the region
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_domain_revoke(CCDomain *d, const void *base);

/* Removes all regions and starts a new generation of the address space, as exec does for a process.
 * Waits on words in the regions end with CC_PARK_INTERRUPTED.  A wait and a wake of different
 * generations never meet, even at the same address.
 *
 * Returns 0, or
 *   EINVAL      `d` is NULL
 *   ESHUTDOWN   the domain has ended
 *
 * Any thread.  Never parks. */
CC_API int cc_domain_renew(CCDomain *d);

/* ---- capabilities ---- */

/* The kinds of capabilities. */
typedef enum CCCapKind {
	CC_CAP_NONE = 0,		/* no capability */
	CC_CAP_THREAD_CONTROL,		/* every domain has one; no operation here uses it */
	CC_CAP_THREAD_SPAWNER,		/* every domain has one; no operation here uses it */
	CC_CAP_PARK_SPACE,		/* wait and wake in the domain's own address space */
	CC_CAP_SHARED_PARK_SPACE,	/* wait and wake in one object, through any mapping of it */
	CC_CAP_MEMORY_OBJECT,		/* map an object */
	CC_CAP_TIMER,			/* start timers (CC_CAP_OP_TIMER) */
} CCCapKind;

/* Returns the first capability of the given kind that the domain has; 0 if it has none.  A domain
 * gets its THREAD_CONTROL, THREAD_SPAWNER and PARK_SPACE when it is created, and in no other way.
 *
 * Any thread.  Never parks. */
CC_API uint32_t cc_domain_cap(CCDomain *d, CCCapKind kind);

/* Returns the kind of the capability; CC_CAP_NONE if the domain has no such capability or its
 * object was revoked.
 *
 * Any thread.  Never parks. */
CC_API CCCapKind cc_domain_cap_kind(CCDomain *d, uint32_t cap);

/* Grants the domain a TIMER and stores it in *cap.
 *
 * Returns 0, or
 *   EINVAL      `d` or `cap` is NULL
 *   EAGAIN      the domain has as many capabilities as its options allow
 *   ESHUTDOWN   the domain has ended
 * After an error nothing was granted.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_domain_grant_timer(CCDomain *d, uint32_t *cap);

/* Grants the domain a MEMORY_OBJECT for the object `o` and stores it in *cap.
 *
 * Returns 0, or
 *   EINVAL      `d`, `o` or `cap` is NULL
 *   EAGAIN      the domain has as many capabilities as its options allow
 *   ESHUTDOWN   the domain has ended
 * After an error nothing was granted.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_domain_grant_object(CCDomain *d, CCCapObject *o, uint32_t *cap);

/* Derives a SHARED_PARK_SPACE from the MEMORY_OBJECT `object` of the domain and stores it in *cap.
 *
 * Returns 0, or
 *   EINVAL      `d` or `cap` is NULL
 *   EBADF       `object` is no MEMORY_OBJECT of the domain, or it is revoked
 *   EAGAIN      the domain has as many capabilities as its options allow
 *   ESHUTDOWN   the domain has ended
 * After an error nothing was granted.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_domain_derive(CCDomain *d, uint32_t object, uint32_t *cap);

/* Copies the capability `cap` of the domain `from` to the domain `to` and stores the copy in *copy.
 * `from` keeps its own.
 *
 * Returns 0, or
 *   EINVAL      `from`, `to` or `copy` is NULL
 *   EBADF       `from` has no such capability, or it is revoked
 *   EPERM       it is a THREAD_CONTROL, THREAD_SPAWNER or PARK_SPACE
 *   EAGAIN      `to` has as many capabilities as its options allow
 *   ESHUTDOWN   `to` has ended
 * After an error nothing was copied.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_domain_transfer(CCDomain *from, uint32_t cap, CCDomain *to,
                                            uint32_t *copy);

/* Releases the capability.  Its number never names another capability.  Waits that were started
 * with it continue.
 *
 * Returns 0, or
 *   EINVAL      `d` is NULL
 *   EBADF       the domain has no such capability
 *
 * Any thread.  Never parks. */
CC_API int cc_domain_release(CCDomain *d, uint32_t cap);

/* Creates an object that stands for `size` bytes of memory which several domains may map, and
 * stores it in *out.  The object is only the identity of that memory; the program provides the
 * memory itself.
 *
 * Returns 0, or
 *   EINVAL      `out` is NULL, or `size` is 0
 *   ENOMEM      no memory
 *   ENOTSUP     in a child of fork (runtime.h)
 * After an error no object was created.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_cap_object_create(CCCapObject **out, uint64_t size);

/* Gives up the caller's hold on an object.  The object is freed when no capability, region and wait
 * uses it any more.  NULL is allowed.
 *
 * Any thread.  Never parks. */
CC_API void cc_cap_object_drop(CCCapObject *o);

/* Revokes all capabilities of the object.  Waits that use a SHARED_PARK_SPACE of the object end
 * with CC_PARK_INTERRUPTED, and its regions are no longer valid for such operations.  The regions
 * stay mapped, and waits in them that use a PARK_SPACE continue.
 *
 * Returns 0, or
 *   EINVAL      `o` is NULL
 *
 * Any thread.  Never parks. */
CC_API int cc_cap_object_revoke(CCCapObject *o);

/* ---- the ring and the direct calls ---- */

/* Returns the rings of the domain; NULL if `d` is NULL.  Only one caller at a time may write
 * submissions, and only one at a time may read completions.  The users of the domain ensure this
 * with a lock of their own, or use a CCCapClient.
 *
 * Any thread.  Never parks. */
CC_API CCCapRing *cc_domain_ring(CCDomain *d);

/* Writes one submission into the ring and advances sq_tail.  cc_cap_enter or cc_cap_poll executes
 * it later.
 *
 * Returns 0, or
 *   EINVAL      `d` or `entry` is NULL
 *   EAGAIN      the ring is full
 *
 * One writer at a time.  Never parks. */
CC_API CC_MUST_CHECK int cc_cap_push(CCDomain *d, const CCCapSubmission *entry);

/* Reads one completion from the ring and advances cq_head.
 *
 * Returns 0, or
 *   EINVAL      `d` or `completion` is NULL
 *   EAGAIN      there is no completion
 *
 * One reader at a time.  Never parks. */
CC_API CC_MUST_CHECK int cc_cap_pop(CCDomain *d, CCCapCompletion *completion);

/* Executes submissions and then waits for completions.
 *
 * First the call executes the submissions of the ring in order.  A PARK of the calling strand
 * sleeps at this point until it ends.  The call stops at a PARK of another strand, which only that
 * strand can execute, and at a submission for whose completion there is no place in the ring; that
 * submission and those behind it stay in the ring.
 *
 * Then the call waits until `min_complete` completions can be read, at most for `timeout`
 * nanoseconds (CC_CAP_NEVER: no limit; 0: it does not wait).  It does not wait if it has executed a
 * PARK of the calling strand.  If submissions are left because completions must be read first, it
 * waits for one completion only.
 *
 * Returns the number of completions that can be read, also if `timeout` has passed, or a negative
 * number:
 *   - CC_CAP_E_MALFORMED: `s` is NULL, or `min_complete` is above the size of the ring.
 *   - CC_CAP_E_CALLER: the strand belongs to another fiber or thread.
 *   - CC_CAP_E_RING: sq_tail or cq_head has an impossible value; no submission was executed.
 *   - CC_CAP_E_BUSY: the call would have to wait for completions, and another strand does already.
 *     The submissions have been executed.
 *   - CC_CAP_E_CANCELED: the call waited for completions, and a nursery around the caller was
 *     cancelled or its deadline passed, or the calling fiber's runtime is ending.
 *   - CC_CAP_E_GONE: the strand or the domain has ended.
 *   - CC_CAP_E_MEMORY: no memory for the first wait of a thread.
 * If the caller is cancelled during its PARK, that PARK completes with CC_PARK_INTERRUPTED.
 *
 * Only the strand itself.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_cap_enter(CCStrand *s, uint32_t min_complete, uint64_t timeout);

/* Executes submissions that neither sleep nor wake, up to the first PARK or UNPARK, and completes
 * expired timers.  A program calls it from time to time if no strand waits in cc_cap_enter, because
 * only cc_cap_enter and cc_cap_poll complete timers.
 *
 * Returns the number of completions that can be read, or a negative number:
 *   - CC_CAP_E_MALFORMED: `d` is NULL.
 *   - CC_CAP_E_RING: sq_tail or cq_head has an impossible value.
 *   - CC_CAP_E_GONE: the domain has ended.
 *
 * Any thread.  Never parks. */
CC_API int cc_cap_poll(CCDomain *d);

/* Returns the park space of the strand, for cc_park_wait and cc_park_wake (park.h); NULL for NULL.
 *
 * These calls need no ring and no capability.  They use the domain's own address space and check
 * addresses as PARK does with a PARK_SPACE.  A wait that an unmap ends returns 0 with
 * CC_PARK_INTERRUPTED.  The park space is valid until the strand leaves.  Releasing capabilities
 * does not affect it.
 *
 * Any thread.  Never parks. */
CC_API CCParkSpace *cc_strand_park_space(CCStrand *s);

/* What a domain has in use. */
typedef struct CCDomainLedger {
	/* Strands that have joined, capabilities, and regions. */
	uint32_t strands, caps, regions;
	uint32_t waits;		/* strands that wait on a word */
	uint32_t promised;	/* places for completions that are reserved */
	uint32_t timers;	/* timers that have not expired */
	uint32_t buckets;	/* hash buckets of the domain; constant */
	uint64_t silent;	/* waits that ended without a completion, since the creation */
} CCDomainLedger;

/* Fills *out with what the domain has in use.  Neither pointer may be NULL.  The figures belong to
 * slightly different moments if other calls on the domain are in progress.
 *
 * Any thread.  Never parks. */
CC_API void cc_domain_ledger(CCDomain *d, CCDomainLedger *out);

/* ---- the client ---- */

/* A client shares the rings of a domain among any number of strands.  While a client exists, its
 * users must not write or read the rings in other ways.  The client holds no lock while a strand is
 * parked.
 *
 * The calls translate the errors of the ring into error numbers:
 *   EINVAL      CC_CAP_E_MALFORMED, CC_CAP_E_ADDRESS, CC_CAP_E_RING
 *   EBADF       CC_CAP_E_CAP, CC_CAP_E_KIND
 *   EACCES      CC_CAP_E_OBJECT
 *   EFAULT      CC_CAP_E_FAULT
 *   EAGAIN      CC_CAP_E_AGAIN
 *   ENOMEM      CC_CAP_E_MEMORY
 *   ECANCELED   CC_CAP_E_CANCELED
 *   ESHUTDOWN   CC_CAP_E_GONE
 *   EPERM       CC_CAP_E_CALLER
 * The fields are private. */
typedef struct CCCapClient CCCapClient;

/* User data with this highest byte (0xcc) is reserved for the client's own submissions. */
#define CC_CAP_CLIENT_DATA (UINT64_C(0xcc) << 56)

/* Creates a client of the domain `d` and stores it in *out.
 *
 * Returns 0, or
 *   EINVAL      `out` or `d` is NULL
 *   ENOMEM      no memory
 * After an error no client was created.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_cap_client_create(CCCapClient **out, CCDomain *d);

/* Frees a client that no call uses any more.  NULL is allowed.
 *
 * Any thread.  Never parks. */
CC_API void cc_cap_client_free(CCCapClient *c);

/* Executes a PARK: sleeps while *word equals `expected`, until a wake or at most for `timeout`
 * nanoseconds (CC_CAP_NEVER: no limit).  `cap` is a PARK_SPACE or a SHARED_PARK_SPACE of the
 * domain.
 *
 * Returns 0, and *status receives how the wait ended, unless `status` is NULL; or
 *   EINVAL      `c` or `s` is NULL, they belong to different domains, or `word` is not aligned to
 *               4 bytes or not in user space
 *   EPERM       the strand belongs to another fiber or thread
 *   EBADF       `cap` is no such capability of the domain
 *   EACCES      `word` is not in a region of the object of the SHARED_PARK_SPACE
 *   EFAULT      `word` is not in a region that may be read
 *   EAGAIN      too many strands of the domain wait (see CC_CAP_E_AGAIN)
 *   ENOMEM      no memory for the first wait of a thread
 *   ESHUTDOWN   the strand or the domain has ended
 * After an error *status is unchanged.  If the caller is cancelled during the wait, the result is 0
 * with CC_PARK_INTERRUPTED.
 *
 * Only the strand itself.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_cap_client_park(CCCapClient *c, CCStrand *s, uint32_t cap,
                                            const uint32_t *word, uint32_t expected,
                                            uint64_t timeout, CCParkStatus *status);

/* Executes an UNPARK: wakes up to `max` waiters of the word, in the order in which they fell
 * asleep.  `cap` is a PARK_SPACE or a SHARED_PARK_SPACE of the domain.
 *
 * Returns 0, and *woken receives the number of waiters that were woken, unless `woken` is NULL; or
 *   EINVAL      `c` or `s` is NULL, they belong to different domains, `max` is 0, or `word` is not
 *               aligned to 4 bytes or not in user space
 *   EPERM       the strand belongs to another fiber or thread
 *   EBADF       `cap` is no such capability of the domain
 *   EACCES      `word` is not in a region of the object of the SHARED_PARK_SPACE
 *   EFAULT      `cap` is a SHARED_PARK_SPACE, and `word` is in no region
 *   ESHUTDOWN   the strand or the domain has ended
 * After an error no waiter was woken and *woken is unchanged.
 *
 * Only the strand itself.  Never parks. */
CC_API CC_MUST_CHECK int cc_cap_client_unpark(CCCapClient *c, CCStrand *s, uint32_t cap,
                                              const uint32_t *word, uint32_t max, uint32_t *woken);

/* Submits an entry other than PARK.  A later call on the client by any strand executes it.
 * cc_cap_client_next returns its completion.
 *
 * Returns 0, or
 *   EINVAL      `c` or `entry` is NULL, the entry is a PARK, or its user data is reserved for the
 *               client
 *   EAGAIN      the ring of submissions is full, or too many completions of such entries have not
 *               been returned yet
 * After an error nothing was submitted.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_cap_client_submit(CCCapClient *c, const CCCapSubmission *entry);

/* Waits for the next completion of an entry of cc_cap_client_submit and stores it in *out.  One
 * strand at a time waits for a completion; other callers wait until it is their turn.
 *
 * Returns 0, or
 *   ENOENT      all completions of such entries have been returned
 *   EINVAL      `c`, `s` or `out` is NULL, or `c` and `s` belong to different domains
 *   EPERM       the strand belongs to another fiber or thread
 *   ECANCELED   a nursery around the caller was cancelled or its deadline passed, or the calling
 *               fiber's runtime is ending
 *   ETIMEDOUT   the deadline of a nursery around the caller passed while it waited for its turn
 *   ESHUTDOWN   the strand or the domain has ended
 *   ENOMEM      no memory for the first wait of a thread
 * After an error no completion was taken.
 *
 * Only the strand itself.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_cap_client_next(CCCapClient *c, CCStrand *s, CCCapCompletion *out);

#ifdef __cplusplus
}
#endif
#endif
