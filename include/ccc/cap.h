/* cap.h - domains: park words behind capabilities, a ring and checked addresses.
 *
 * A domain stands for a process.  It has an address space of its own (regions, and a
 * generation), a table of capabilities, a pair of rings, and strands: the fibers and OS
 * threads that have joined it, who are its threads.  What is asked for goes into the ring
 * as a submission of 64 bytes, and comes back as a completion of 32.
 *
 *      fill in a submission, move sq_tail  ->  cc_cap_enter  ->  look at the completions
 *
 * Inside one program this guards against misuse of the interface, not against wild writes:
 * all domains share its memory.  Nothing is allocated but by the calls that create and join.
 *
 * Calls return 0 or an error number.  The ring has numbers of its own: a result that is
 * negative is one of CC_CAP_E_*. */
#ifndef CCC_CAP_H
#define CCC_CAP_H

#include <ccc/base.h>
#include <ccc/park.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what the ring looks like ---- */

enum {
	CC_CAP_OP_NOP = 0,		/* completes with 0 */
	CC_CAP_OP_RELEASE = 1,		/* gives `cap` back: 0 */
	CC_CAP_OP_TIMER = 2,		/* 0 after `dependency` nanoseconds; `cap` is a TIMER */
	CC_CAP_OP_PARK_BENCH = 7,	/* reserved for measuring; never anything else */
	CC_CAP_OP_PARK = 8,		/* a CCParkStatus */
	CC_CAP_OP_UNPARK = 9,		/* how many were woken */
};

enum {
	CC_CAP_THREAD_OWNED = 1 << 0,	/* for the strand named by `owner` alone */
	CC_CAP_PIPELINE = 1 << 1,	/* reserved; every operation refuses it */
};

/* What an operation does not use is 0. */
typedef struct CCCapSubmission {
	uint16_t opcode;
	uint16_t flags;			/* PARK: exactly CC_CAP_THREAD_OWNED */
	uint16_t method;
	uint16_t transfers;
	uint32_t cap;			/* what it is done with */
	uint32_t owner;			/* PARK: the id of the strand */
	uint64_t user_data;		/* comes back in the completion */
	uint64_t address;		/* PARK, UNPARK: of the word */
	uint32_t length;		/* PARK: the expected value; UNPARK: how many at most */
	uint32_t field;
	uint64_t dependency;		/* PARK, TIMER: nanoseconds from now; PARK: CC_CAP_NEVER */
	uint64_t result_address;
	uint32_t result_length;
	uint32_t reserved;
} CCCapSubmission;

#define CC_CAP_NEVER UINT64_MAX

typedef struct CCCapCompletion {
	uint64_t user_data;
	int32_t result;
	uint32_t flags;			/* 0 */
	uint64_t reserved[2];		/* 0 */
} CCCapCompletion;

/* The four indices count without end; an entry is at its index modulo the number of
 * entries, which is a power of 2.  The submissions begin at CC_CAP_RING_ENTRIES, and the
 * completions follow them. */
typedef struct CCCapRing {
	uint32_t sq_head;		/* the domain's */
	uint32_t sq_entries;
	uint32_t apart0[14];
	uint32_t sq_tail;		/* the user's: written after the entries, with release */
	uint32_t apart1[15];
	uint32_t cq_head;		/* the user's */
	uint32_t cq_entries;
	uint32_t apart2[14];
	uint32_t cq_tail;		/* the domain's: read before the entries, with acquire */
	uint32_t apart3[15];
} CCCapRing;

#define CC_CAP_RING_ENTRIES 256

static inline CCCapSubmission *cc_cap_submissions(CCCapRing *r)
{
	return (CCCapSubmission *)(void *)((char *)r + CC_CAP_RING_ENTRIES);
}

static inline CCCapCompletion *cc_cap_completions(CCCapRing *r, uint32_t sq_entries)
{
	return (CCCapCompletion *)(void *)(cc_cap_submissions(r) + sq_entries);
}

enum {
	CC_CAP_E_MALFORMED = -1,	/* a field that must be 0 is not, or the like */
	CC_CAP_E_UNSUPPORTED = -2,	/* no such operation */
	CC_CAP_E_OWNER = -3,		/* its owner is no strand that lives */
	CC_CAP_E_CAP = -4,		/* no such capability, or not any more */
	CC_CAP_E_KIND = -5,		/* a capability of another kind */
	CC_CAP_E_ADDRESS = -6,		/* not aligned, or out of the address space */
	CC_CAP_E_OBJECT = -7,		/* the address does not map that object */
	CC_CAP_E_FAULT = -8,		/* nothing that could be read is mapped there */
	CC_CAP_E_AGAIN = -9,		/* no completion could be promised: drain, or wake */
	CC_CAP_E_MEMORY = -10,		/* no memory for a thread's record */
	/* Of cc_cap_enter and cc_cap_poll alone. */
	CC_CAP_E_RING = -11,		/* indices that make no sense; nothing was taken */
	CC_CAP_E_BUSY = -12,		/* another one is blocked for completions already */
	CC_CAP_E_CANCELED = -13,	/* the caller is */
	CC_CAP_E_GONE = -14,		/* the strand or the domain has ended */
	CC_CAP_E_CALLER = -15,		/* the strand is not the caller's */
};

/* ---- domains ---- */

typedef struct CCDomain CCDomain;
typedef struct CCStrand CCStrand;
typedef struct CCCapObject CCCapObject;

/* 0 is the default.  All are fixed from then on. */
typedef struct CCDomainOptions {
	uint32_t strands;	/* at most so many at a time: 64 */
	uint32_t regions;	/* 64 */
	uint32_t caps;		/* 64 */
	uint32_t submissions;	/* a power of 2, at most 4096: 16 */
	uint32_t completions;	/* a power of 2 from 2, at most 4096: 32 */
	uint32_t buckets;	/* a power of 2 from 2, at most 65536: 64 */
} CCDomainOptions;

/* EINVAL, ENOMEM, ENOTSUP; EAGAIN: no key is left (local.h), of which the first domain takes
 * one.  Any thread; never parks. */
CC_API CC_MUST_CHECK int cc_domain_create(CCDomain **out, const CCDomainOptions *options);
/* Every strand has left.  EBUSY: one has not.  Any thread; never parks. */
CC_API int cc_domain_free(CCDomain *d);

/* The process ends: whoever waits in it goes on, without a completion, and is told GONE;
 * nobody can join or ask for anything any more.  The strands leave by themselves.  Any
 * thread; never parks. */
CC_API int cc_domain_exit(CCDomain *d);

/* The caller, a fiber or an OS thread, becomes a strand; *out is his handle, for no other
 * than him: calls that take it refuse everybody else (EPERM, CC_CAP_E_CALLER).  EAGAIN: there
 * are enough; ESHUTDOWN: the domain has ended; ENOMEM, ENOTSUP.  Any thread; never parks. */
CC_API CC_MUST_CHECK int cc_domain_join(CCDomain *d, CCStrand **out);
/* By the strand itself; what it had submitted and not entered for is retired.  A task or a
 * thread that ends leaves what it has not left, as a value of its storage ends (local.h).
 * EINVAL: it has left; EPERM.  Any thread; never parks. */
CC_API int cc_domain_leave(CCStrand *s);
/* Its id, which nobody else has had or will have. */
CC_API uint32_t cc_strand_id(const CCStrand *s);

/* By whoever controls the threads.  End a strand: its wait goes away without a completion,
 * and its calls are told GONE; it has to leave by itself.  Interrupt it: its wait, if it is
 * in one, ends with INTERRUPTED.  ESRCH: no strand of that id lives.  Any thread; never
 * parks. */
CC_API int cc_domain_end(CCDomain *d, uint32_t id);
CC_API int cc_domain_interrupt(CCDomain *d, uint32_t id);

/* ---- the address space ---- */

enum { CC_CAP_READ = 1, CC_CAP_WRITE = 2 };

/* A range of addresses that words may lie in, with what may be done there.  EINVAL: none,
 * or out of the space; EEXIST: some of it is mapped, or not drained yet; EAGAIN: no more
 * regions; ESHUTDOWN.  Any thread; never parks. */
CC_API CC_MUST_CHECK int cc_domain_map(CCDomain *d, const void *base, size_t length,
                                       uint32_t access);
/* The same as a view of an object from `offset` on; `cap` is a MEMORY_OBJECT of d.  EBADF: it
 * is not; EINVAL: also if it goes beyond the object, or does not begin at words. */
CC_API CC_MUST_CHECK int cc_domain_map_object(CCDomain *d, uint32_t cap, uint64_t offset,
                                              const void *base, size_t length, uint32_t access);
/* The region that begins there is taken away; before that returns, or the addresses can be
 * mapped again, everybody who waits in it has been told INTERRUPTED.  ENOENT, EBUSY: another
 * one does it just now.  Any thread; never parks. */
CC_API CC_MUST_CHECK int cc_domain_unmap(CCDomain *d, const void *base);
/* The same, but the addresses stay taken, with no access, until they are unmapped. */
CC_API CC_MUST_CHECK int cc_domain_revoke(CCDomain *d, const void *base);
/* Another program in the same domain: all is unmapped, and the space has a new generation. */
CC_API int cc_domain_renew(CCDomain *d);

/* ---- capabilities ---- */

typedef enum CCCapKind {
	CC_CAP_NONE = 0,
	CC_CAP_THREAD_CONTROL,
	CC_CAP_THREAD_SPAWNER,
	CC_CAP_PARK_SPACE,		/* wait and wake in the domain's own address space */
	CC_CAP_SHARED_PARK_SPACE,	/* the same in one object, through any mapping of it */
	CC_CAP_MEMORY_OBJECT,
	CC_CAP_TIMER,
} CCCapKind;

/* The first of that kind that the domain holds; 0: none.  THREAD_CONTROL, THREAD_SPAWNER and
 * PARK_SPACE come with the domain, and in no other way.  Any thread; never parks. */
CC_API uint32_t cc_domain_cap(CCDomain *d, CCCapKind kind);
/* What kind it is; NONE: no such capability. */
CC_API CCCapKind cc_domain_cap_kind(CCDomain *d, uint32_t cap);

/* Grant a TIMER, or an object as a MEMORY_OBJECT.  Derive a SHARED_PARK_SPACE from a
 * MEMORY_OBJECT.  Copy a capability to another domain: EPERM for the three that came with
 * the first.  EBADF: no such capability, or of another kind; EAGAIN: the table is full.
 * Any thread; never parks. */
CC_API CC_MUST_CHECK int cc_domain_grant_timer(CCDomain *d, uint32_t *cap);
CC_API CC_MUST_CHECK int cc_domain_grant_object(CCDomain *d, CCCapObject *o, uint32_t *cap);
CC_API CC_MUST_CHECK int cc_domain_derive(CCDomain *d, uint32_t object, uint32_t *cap);
CC_API CC_MUST_CHECK int cc_domain_transfer(CCDomain *from, uint32_t cap, CCDomain *to,
                                            uint32_t *copy);
CC_API int cc_domain_release(CCDomain *d, uint32_t cap);

/* Memory that several domains may map, as an identity of so many bytes: the memory itself
 * is the caller's.  It lives until it is dropped here, and no capability, mapping or waiter
 * is left.  Any thread; never parks. */
CC_API CC_MUST_CHECK int cc_cap_object_create(CCCapObject **out, uint64_t size);
CC_API void cc_cap_object_drop(CCCapObject *o);
/* What has been granted of it becomes stale, and so do its mappings to shared operations; who
 * waits by one is told INTERRUPTED.  The memory stays mapped: private waits in it go on. */
CC_API int cc_cap_object_revoke(CCCapObject *o);

/* ---- the doors ---- */

/* The ring of a domain.  Submissions are written by one at a time, as completions are
 * read: the users see to that (cc_cap_client_*, or a lock of theirs). */
CC_API CCCapRing *cc_domain_ring(CCDomain *d);
/* Write one, and move sq_tail.  EAGAIN: no room. */
CC_API CC_MUST_CHECK int cc_cap_push(CCDomain *d, const CCCapSubmission *entry);
/* Read one, and move cq_head.  EAGAIN: there is none. */
CC_API CC_MUST_CHECK int cc_cap_pop(CCDomain *d, CCCapCompletion *completion);

/* Take what has been submitted, in order, as far as it can be completed; an entry that is
 * another strand's stays, with what comes behind.  The caller's own PARK sleeps here.  Then
 * wait until there are `min_complete` completions to read, for so many nanoseconds or
 * CC_CAP_NEVER, unless a PARK of its own was among them, or some have to be read before more
 * can be taken.  The number of completions that can be read; BUSY: it would have to wait, and
 * another one does; what was submitted has been taken all the same.  A strand, by itself; may
 * park; a cancel point. */
CC_API CC_MUST_CHECK int cc_cap_enter(CCStrand *s, uint32_t min_complete, uint64_t timeout);

/* As from the tick of a clock: take what never sleeps or wakes, up to the first PARK or
 * UNPARK, and complete timers.  The number of completions that can be read.  Any thread;
 * never parks. */
CC_API int cc_cap_poll(CCDomain *d);

/* The direct door (park.h) for a strand: its waits check the address as PARK does, and end
 * as those do.  EFAULT: nothing that could be read is mapped there; ESHUTDOWN, of a wake too:
 * the strand or the domain has ended (INTERRUPTED); EPERM: it is another one's.  What
 * ends because of an unmap returns 0 with INTERRUPTED.  Valid as long as the strand: it is
 * no capability, and the release of those concerns the ring alone. */
CC_API CCParkSpace *cc_strand_park_space(CCStrand *s);

/* What a domain has in use. */
typedef struct CCDomainLedger {
	uint32_t strands, caps, regions;
	uint32_t waits;		/* strands that wait for a word */
	uint32_t promised;	/* completions that are kept free */
	uint32_t timers;
	uint32_t buckets;	/* charged to it while it lives */
	uint64_t silent;	/* waits that ended without a completion, ever */
} CCDomainLedger;
CC_API void cc_domain_ledger(CCDomain *d, CCDomainLedger *out);

/* ---- the safe client ---- */

/* Many strands share a ring through it, and nothing else touches that ring.  No lock of its
 * is held while somebody is parked.  Results are error numbers: EINVAL (MALFORMED, ADDRESS),
 * EBADF (CAP, KIND), EACCES (OBJECT), EFAULT, EAGAIN, ENOMEM, ECANCELED, ESHUTDOWN (GONE),
 * EPERM (CALLER). */
typedef struct CCCapClient CCCapClient;

/* User data whose highest byte is 0xcc are the client's. */
#define CC_CAP_CLIENT_DATA (UINT64_C(0xcc) << 56)

/* EINVAL, ENOMEM.  Any thread; never parks. */
CC_API CC_MUST_CHECK int cc_cap_client_create(CCCapClient **out, CCDomain *d);
/* Nobody uses it any more. */
CC_API void cc_cap_client_free(CCCapClient *c);

/* PARK, and how it ended in *status, which may be NULL.  A strand, by itself; may park; a
 * cancel point: INTERRUPTED. */
CC_API CC_MUST_CHECK int cc_cap_client_park(CCCapClient *c, CCStrand *s, uint32_t cap,
                                            const uint32_t *word, uint32_t expected,
                                            uint64_t timeout, CCParkStatus *status);
/* UNPARK, and how many in *woken, which may be NULL.  A strand, by itself; never parks. */
CC_API CC_MUST_CHECK int cc_cap_client_unpark(CCCapClient *c, CCStrand *s, uint32_t cap,
                                              const uint32_t *word, uint32_t max, uint32_t *woken);

/* Any other entry.  EINVAL: its user data are the client's, or it is a PARK; EAGAIN: no room,
 * or too many whose completions have not been read.  Any thread; never parks. */
CC_API CC_MUST_CHECK int cc_cap_client_submit(CCCapClient *c, const CCCapSubmission *entry);
/* The next completion of what was submitted so.  ENOENT: there is none to come.  One strand at
 * a time waits for it, others wait for their turn.  A strand, by itself; may park; a cancel
 * point. */
CC_API CC_MUST_CHECK int cc_cap_client_next(CCCapClient *c, CCStrand *s, CCCapCompletion *out);

#ifdef __cplusplus
}
#endif
#endif
