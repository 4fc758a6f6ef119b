/* poll.h - fibers that wait for descriptors, and the worker that waits in the kernel for all of them.
 *
 * A fiber lists itself with the descriptor's record and sleeps; a worker that has
 * nothing better to do waits in the kernel for all of them (cc__poll_sleep).
 *
 * There are two kinds of descriptors (fd_word.h), because a number tells nothing about the file
 * behind it:
 *
 *   made      A call of the library has opened the file, and cc_fd_close will close it.  It is
 *             registered with the kernel at its first wait, as an edge, and stays registered.  A
 *             wait that follows an attempt (cc__use_wait) needs no system call.
 *   foreign   The program may close the file with close(2) and get the same number for another
 *             one, which the kernel does not tell.  So every wait registers it anew, for one shot:
 *             EPOLL_CTL_MOD, which says ENOENT if the number means another file now, and then ADD.
 *
 * cc_wait_fd always registers anew, a made descriptor too: it promises that the file is ready now,
 * not that something has happened since an attempt, and it is the call for programs that close by
 * themselves.  If a made descriptor is found missing in the kernel, it is foreign from then on.
 *
 * A direction is registered when it is first waited for.  Both at once would wake the worker for
 * nothing: a Unix socket reports room each time that its peer reads.
 *
 * P1  A waiter is listed, and its descriptor registered for all waiters listed, in one critical
 *     section of the record's lock.  (System calls under a lock: short ones.)
 * P2  A report takes the waiters that it concerns and, for one shot, registers for the others, in
 *     one critical section again.  So no waiter is listed without being registered for, but while the report
 *     that will take it or register again is on its way to that lock.
 * P3  A record belongs to a number, whatever file that means today.  Each registration of another
 *     file has another tag, and a report with an old tag is dropped.
 * P4  Records never move, and are freed with the whole.
 * P5  `waiting` counts the waiters that are listed or about to be; a waker that takes one off
 *     counts it out in the same critical section, so a fiber that is woken no longer waits.
 *     Raised before the look at `claimed`, and looked at after a claim was given back: a wait that
 *     begins while a worker leaves is seen by one of the two.
 * POLL-6  A token is the number's word plus the count of its reports, both of which only grow.  A call
 *     takes one before its attempt.  The wait begins only if the token is still the same, under
 *     the lock: a report that came after the attempt, or a close, ends the wait before it begins.
 * POLL-7  `drained` is the token of a read that left nothing behind.  While it is the current one, the
 *     next call waits without an attempt.  A read that returned less than it asked for says so
 *     only of a TCP socket whose reports have shown neither the end of what the peer sends, nor an
 *     error, nor urgent data (a read stops at that): whatever comes later is an edge and changes the
 *     token, and if one of these came before the read, its report is still to come or has set LAST. */
#ifndef CC__IO_POLL_H
#define CC__IO_POLL_H

#include <ccc/runtime.h>

#include "os/poller.h"
#include "io/bell.h"
#include "wait/cancel.h"

/* What was reported, between the sleep and the wakes. */
enum { CC__POLL_EVENTS = 128 };
struct cc__poll_found {
	unsigned count;
	struct cc__poller_event event[CC__POLL_EVENTS];
};

/* What is known about a number. */
struct cc__poll_record {
	struct cc__waitq q;	/* its `user`: how it is registered (poll.c) */
	uint32_t file;		/* q.lock; if registered: the word it had then */
	uint32_t tag;		/* q.lock; of the last registration */
	cc__a32 reports;	/* POLL-6; written under q.lock */
	cc__a32 drained;	/* POLL-7: the token + 1; 0: none.  Written under q.lock */
};

/* Chunk c holds the records of 64 << c numbers. */
enum { CC__POLL_FIRST = 64, CC__POLL_CHUNKS = 26 };

/* All zero but for the first two until the first wait. */
struct cc__poll {
	const CCAllocator *allocator;	/* constant */
	/* Constant: a fiber is about to wait, and nobody sleeps here.  NULL: whoever
	 * made this one sees to it. */
	void (*unattended)(struct cc__poll *p);
	cc__a32 opened;			/* 1: the next two are there, constant; written under
					 * the lock of all polls */
	struct cc__poller poller;
	struct cc__bell *bell;
	struct cc__poll *next, **from;	/* the list of those opened; its lock */
	cc__a32 claimed;		/* 1: somebody sleeps here, or is about to */
	cc__a32 waiting;		/* P5 */
	/* Records by number; each chunk made when first used. */
	CC__ATOMIC(struct cc__poll_record *) chunk[CC__POLL_CHUNKS];
};

void cc__poll_init(struct cc__poll *p, const CCAllocator *allocator);
/* Nobody waits or runs any more. */
void cc__poll_fini(struct cc__poll *p);

/* cc_wait_fd for a fiber; `deadline` is not CC_NOW.  May park. */
int cc__poll_wait(struct cc__poll *p, int fd, unsigned events, cc_time deadline);

/* A wait was ended for that reason: 0 if fd is ready all the same, because no thread came to look in
 * time; else the reason. */
int cc__poll_last_look(int fd, unsigned events, int ended);

/* POLL-6: before an attempt. */
uint32_t cc__poll_token(struct cc__poll *p, int fd);
/* As cc__poll_wait, after an attempt that would have blocked.  0: try again.  EBADF: cc_fd_close is
 * at work, or has closed it. */
int cc__poll_wait_since(struct cc__poll *p, int fd, unsigned events, cc_time deadline,
                        uint32_t token);
/* POLL-7: the read after that token returned less than it asked for. */
void cc__poll_short(struct cc__poll *p, int fd, uint32_t token);
/* POLL-7: there is nothing to read. */
bool cc__poll_drained(struct cc__poll *p, int fd, uint32_t token);

/* A case of a select (io/poll_case.h): lists w, whose io is the events, for fd, and registers fd anew.
 * After an error it is not listed: EBADF; EPERM: always ready; ENOMEM, EMFILE, ENFILE.  A waker
 * tells it 0 to look, or EBADF. */
int cc__poll_list(struct cc__poll *p, int fd, struct cc__waiter *w);
/* Takes w, which was listed once, off.  False: a waker has it, or the group is decided. */
bool cc__poll_unlist(struct cc__poll *p, struct cc__waiter *w);
bool cc__poll_is_listed(struct cc__waiter *w);

/* Every wait for fd ends with EBADF, in all polls, and none is registered any more. */
void cc__poll_forget(int fd);

/* The right to sleep here, which one thread has at a time.  True: the caller has it
 * until it releases it, and a kick from then on is for it.  So a worker claims,
 * announces that it will sleep, looks for work, and sleeps or releases.  False also
 * if nobody has ever waited. */
bool cc__poll_claim(struct cc__poll *p);
void cc__poll_release(struct cc__poll *p);

/* Claimed: wait for events, at most until `deadline`, and release.  Nothing may be
 * found: after a kick, at the deadline, or for no reason. */
void cc__poll_sleep(struct cc__poll *p, cc_time deadline, struct cc__poll_found *found);
/* Then: wake whom they concern.  True if there was anybody.  No lock may be held. */
bool cc__poll_wake(struct cc__poll *p, const struct cc__poll_found *found);

/* Both, for one who has not claimed: false at once if somebody else has.  With
 * CC_NOW it only looks, takes the place of nobody and hears no kick: for the busy. */
bool cc__poll_run(struct cc__poll *p, cc_time deadline);

/* cc__poll_ring(bell) is a kick: whoever has claimed the sleep, or else the next to do so,
 * does not sleep on.  What the caller did before is visible to it then.  At any time, with a
 * poll's bell from when it lived. */

/* Fibers that wait, a moment ago: is it worth while to look? */
static inline unsigned cc__poll_waiting(const struct cc__poll *p)
{
	/* Relaxed: a hint.  The worker that a fiber parks on sees that fiber. */
	return cc__load(&p->waiting, CC__RELAXED);
}

/* Somebody waits, and nobody sleeps here. */
static inline bool cc__poll_unattended(const struct cc__poll *p)
{
	/* Seq_cst, both: P5, with cc__poll_wait and cc__poll_release. */
	return cc__load(&p->waiting, CC__SEQ_CST) != 0 && cc__load(&p->claimed, CC__SEQ_CST) == 0;
}

#endif
