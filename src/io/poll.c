/* poll.c - records, waiting, events, and forgetting. */
#include "io/poll.h"

#include <errno.h>
#include <stddef.h>

#include "io/fd_word.h"
#include "wait/thread.h"

/* waitq.user of a record: 0, or REGISTERED with the CC_FD_* and CC__POLLER_EDGE that it is
 * registered for; LAST: an edge has been reported with CC__POLLER_LAST. */
enum { REGISTERED = 16, LAST = 32 };

/* A listed waiter is found by its lock (cc__poll_unlist). */
_Static_assert(offsetof(struct cc__poll_record, q.lock) == 0, "the lock is the record's address");

/* ---- open and close ---- */

/* Every poll that is open: a descriptor may be waited for in several runtimes. */
static struct cc__lock polls_lock;
static struct cc__poll *polls;	/* polls_lock */

static bool is_open(const struct cc__poll *p)
{
	/* Acquire: pairs with the release in open_poll. */
	return cc__load(&p->opened, CC__ACQUIRE) != 0;
}

void cc__poll_init(struct cc__poll *p, const CCAllocator *allocator)
{
	*p = (struct cc__poll){.allocator = allocator};
}

/* Under polls_lock. */
static int open_poll(struct cc__poll *p)
{
	int err;

	if ((p->bell = cc__bell_get(&err)) == NULL)
		return err;
	if ((err = cc__poller_open(&p->poller, p->bell->fd)) != 0) {
		cc__bell_put(p->bell);
		return err;
	}
	p->next = polls;
	p->from = &polls;
	if (p->next != NULL)
		p->next->from = &p->next;
	polls = p;
	/* Release: poller and bell, to the acquire in is_open. */
	cc__store(&p->opened, 1, CC__RELEASE);
	return 0;
}

static int open_once(struct cc__poll *p)
{
	int err;

	if (is_open(p))
		return 0;
	cc__lock(&polls_lock, CC__RANK_POLLS);
	err = is_open(p) ? 0 : open_poll(p);
	cc__unlock(&polls_lock);
	return err;
}

static size_t chunk_size(unsigned c)
{
	return ((size_t)CC__POLL_FIRST << c) * sizeof(struct cc__poll_record);
}

void cc__poll_fini(struct cc__poll *p)
{
	if (!is_open(p))
		return;
	cc__lock(&polls_lock, CC__RANK_POLLS);
	*p->from = p->next;
	if (p->next != NULL)
		p->next->from = p->from;
	cc__unlock(&polls_lock);
	cc__poller_close(&p->poller);
	cc__bell_put(p->bell);
	for (unsigned c = 0; c < CC__POLL_CHUNKS; c++)
		if (cc__peek(&p->chunk[c]) != NULL)
			p->allocator->free(p->allocator->context, cc__peek(&p->chunk[c]),
			                   chunk_size(c));
}

/* ---- records ---- */

/* The chunk of a number, and its place there. */
static unsigned place_of(int fd, size_t *at)
{
	const unsigned n = (unsigned)fd + CC__POLL_FIRST;
	const unsigned c = (unsigned)(__builtin_clz(CC__POLL_FIRST) - __builtin_clz(n));

	*at = n - ((size_t)CC__POLL_FIRST << c);
	return c;
}

/* NULL: it has none yet. */
static struct cc__poll_record *record_of(struct cc__poll *p, int fd)
{
	size_t at;
	/* Acquire: pairs with the release in publish_chunk. */
	struct cc__poll_record *chunk = cc__load(&p->chunk[place_of(fd, &at)], CC__ACQUIRE);

	return chunk != NULL ? chunk + at : NULL;
}

/* Under polls_lock, which the closing thread holds while it walks: if it finds no record, the
 * waiter that makes one sees what the closing thread did before (FD-WORD-2). */
static bool publish_chunk(struct cc__poll *p, unsigned c, struct cc__poll_record *chunk)
{
	struct cc__poll_record *none = NULL;
	bool first;

	cc__lock(&polls_lock, CC__RANK_POLLS);
	/* Release: the zeroes, to the acquire in record_of.  Relaxed: the other thread's chunk is
	 * as good, and loaded again. */
	first = cc__cas(&p->chunk[c], &none, chunk, CC__RELEASE, CC__RELAXED);
	cc__unlock(&polls_lock);
	return first;
}

static int record_make(struct cc__poll *p, int fd)
{
	size_t at;
	const unsigned c = place_of(fd, &at);
	struct cc__poll_record *chunk;

	/* No gigabytes for a number that means nothing. */
	if (cc__poller_block(fd, CC_FD_READ, -1, CC_NOW) == EBADF)
		return EBADF;
	if ((chunk = p->allocator->alloc(p->allocator->context, chunk_size(c))) == NULL)
		return ENOMEM;
	if (!publish_chunk(p, c, chunk))
		p->allocator->free(p->allocator->context, chunk, chunk_size(c));
	return 0;
}

/* ---- registering, under the record's lock ---- */

static unsigned wanted_by(const struct cc__waiter *w)
{
	return (unsigned)(uintptr_t)w->io;
}

static unsigned sum_of_wanted(const struct cc__waitq *q)
{
	const struct cc__waiter *w = q->head;
	unsigned events = 0;

	do
		events |= wanted_by(w);
	while ((w = w->next) != q->head && events != (CC_FD_READ | CC_FD_WRITE));
	return events;
}

/* What the listed waiters wait for, all together, or more: what they are registered for (P1), without
 * a walk through a long list.  A report that concerns none of them shows what is too much
 * (left_over). */
static unsigned wanted(const struct cc__poll_record *r)
{
	if (r->q.head == NULL)
		return 0;
	return r->q.user != 0 ? r->q.user & (CC_FD_READ | CC_FD_WRITE) : sum_of_wanted(&r->q);
}

/* The next wait of cc__poll_wait_since need not ask the kernel. */
static bool stays_registered(const struct cc__poll_record *r, uint32_t word, unsigned events)
{
	events |= CC__POLLER_EDGE;
	return r->file == word && (r->q.user & events) == events;
}

/* As a file that is not registered (P3). */
static int register_new(struct cc__poll *p, struct cc__poll_record *r, int fd, unsigned how)
{
	int err = cc__poller_add(&p->poller, fd, how, ++r->tag);

	return err == EEXIST ? cc__poller_change(&p->poller, fd, how, r->tag) : err;
}

/* `word` is fd's.  A file that is registered under it and is missing has been closed by close(2). */
static int register_fd(struct cc__poll *p, struct cc__poll_record *r, int fd, uint32_t word,
                       unsigned events)
{
	const bool known = r->q.user != 0 && r->file == word;
	unsigned how = events;
	int err = ENOENT;

	if (word & CC__FD_MADE)
		how |= CC__POLLER_EDGE | (known ? r->q.user & (CC_FD_READ | CC_FD_WRITE) : 0);
	if (known && (err = cc__poller_change(&p->poller, fd, how, r->tag)) == 0) {
		r->q.user = REGISTERED | how | (r->q.user & LAST);
		return 0;
	}
	if (known && err == ENOENT && (word & CC__FD_MADE)) {
		cc__fd_foreign(fd);
		word = cc__fd_word(fd);
		how &= ~(unsigned)CC__POLLER_EDGE;
	}
	if (err == ENOENT)
		err = register_new(p, r, fd, how);
	r->q.user = err == 0 ? REGISTERED | how : 0;
	r->file = word;
	return err;
}

static void report_counts(struct cc__poll_record *r)
{
	/* Relaxed, both: under the lock, where the count decides; a token is taken before. */
	cc__store(&r->reports, cc__load(&r->reports, CC__RELAXED) + 1, CC__RELAXED);
}

/* ---- wait ---- */

/* Under the record's lock, or after having been on the list in vain. */
static void count_out(struct cc__poll *p, unsigned n)
{
	if (n > 0)
		cc__sub(&p->waiting, n, CC__RELAXED);	/* Relaxed: a look in vain, at worst */
}

static uint32_t token_of(const struct cc__poll_record *r, uint32_t word)
{
	/* Relaxed: exact under the lock; else an old one ends the wait before it begins. */
	return word + (r != NULL ? cc__load(&r->reports, CC__RELAXED) : 0);
}

/* Under the record's lock: EBADF, EAGAIN: something has happened since the attempt, or an error of
 * register_fd.  A cc_wait_fd (`since` NULL) registers even if the record says that it is: the
 * number may mean another file than it did then. */
static int prepare_wait(struct cc__poll *p, struct cc__poll_record *r, int fd, unsigned events,
                   const uint32_t *since)
{
	const uint32_t word = cc__fd_word(fd);

	if (word & CC__FD_CLOSING)
		return EBADF;
	if (since != NULL && *since != token_of(r, word))
		return EAGAIN;
	if (since != NULL && stays_registered(r, word, events))
		return 0;
	return register_fd(p, r, fd, word, events | wanted(r));
}

/* *taken: a waker took us off the list. */
static int wait_on(struct cc__poll *p, struct cc__poll_record *r, int fd, unsigned events,
                   cc_time deadline, const uint32_t *since, bool *taken)
{
	struct cc__waiter w = {.io = (void *)(uintptr_t)events, .what = CC__FOR_FD};
	int err;

	cc__lock(&r->q.lock, CC__RANK_WAITQ);
	if ((err = prepare_wait(p, r, fd, events, since)) != 0) {
		cc__unlock(&r->q.lock);
		return err;
	}
	CC_POINT("poll.armed_under_lock", &r->q);
	/* A report that comes from here on waits for the lock, and finds w. */
	err = cc__wait(&r->q, &w, deadline);
	/* Relaxed: our own waiter, off the list. */
	*taken = cc__load(&w.reason, CC__RELAXED) != CC__REASON_NONE;
	return err;
}

int cc__poll_last_look(int fd, unsigned events, int ended)
{
	const int err = cc__poller_block(fd, events, -1, CC_NOW);

	return err == EAGAIN ? ended : err;
}

/* The record, made if there is none. */
static int open_record(struct cc__poll *p, int fd, struct cc__poll_record **r)
{
	int err;

	if ((err = open_once(p)) != 0)
		return err;
	if ((*r = record_of(p, fd)) == NULL) {
		if ((err = record_make(p, fd)) != 0)
			return err;
		*r = record_of(p, fd);
	}
	return 0;
}

static int poll_wait(struct cc__poll *p, int fd, unsigned events, cc_time deadline,
                     const uint32_t *since)
{
	struct cc__poll_record *r;
	bool taken = false;
	int err;

	if ((err = open_record(p, fd, &r)) != 0)
		return err;
	cc__add(&p->waiting, 1, CC__SEQ_CST);	/* Seq_cst: P5, before the look */
	if (p->unattended != NULL && cc__poll_unattended(p))
		p->unattended(p);
	CC__EVENT(CC__EV_FOR, cc__self(), CC__FOR_FD, (unsigned)fd);
	err = wait_on(p, r, fd, events, deadline, since, &taken);
	if (!taken)
		count_out(p, 1);
	if (err == EPERM || err == EAGAIN)
		return 0;	/* EPERM: a regular file or the like, always ready */
	return err == ETIMEDOUT || err == ECANCELED ? cc__poll_last_look(fd, events, err) : err;
}

int cc__poll_wait(struct cc__poll *p, int fd, unsigned events, cc_time deadline)
{
	return poll_wait(p, fd, events, deadline, NULL);
}

/* ---- one of several ---- */

/* Under the record's lock. */
static int list_case(struct cc__poll *p, struct cc__poll_record *r, int fd, struct cc__waiter *w)
{
	const int err = prepare_wait(p, r, fd, wanted_by(w), NULL);

	if (err == 0)
		cc__waitq_append(&r->q, w);
	else
		count_out(p, 1);
	return err;
}

int cc__poll_list(struct cc__poll *p, int fd, struct cc__waiter *w)
{
	struct cc__poll_record *r;
	int err;

	if ((err = open_record(p, fd, &r)) != 0)
		return err;
	cc__add(&p->waiting, 1, CC__SEQ_CST);	/* Seq_cst: P5, before the look */
	if (p->unattended != NULL && cc__poll_unattended(p))
		p->unattended(p);
	cc__lock(&r->q.lock, CC__RANK_WAITQ);
	err = list_case(p, r, fd, w);
	cc__unlock(&r->q.lock);
	return err;
}

bool cc__poll_unlist(struct cc__poll *p, struct cc__waiter *w)
{
	struct cc__poll_record *r = (struct cc__poll_record *)(void *)w->lock;
	bool listed;

	cc__lock(&r->q.lock, CC__RANK_WAITQ);
	if ((listed = w->next != NULL)) {
		cc__waitq_remove(&r->q, w);
		count_out(p, 1);
	}
	cc__unlock(&r->q.lock);
	return listed;
}

bool cc__poll_is_listed(struct cc__waiter *w)
{
	bool listed;

	cc__lock(w->lock, CC__RANK_WAITQ);
	listed = w->next != NULL;
	cc__unlock(w->lock);
	return listed;
}

/* ---- attempts ---- */

uint32_t cc__poll_token(struct cc__poll *p, int fd)
{
	return token_of(record_of(p, fd), cc__fd_word(fd));
}

int cc__poll_wait_since(struct cc__poll *p, int fd, unsigned events, cc_time deadline,
                        uint32_t token)
{
	const uint32_t word = cc__fd_word(fd);
	const int err = poll_wait(p, fd, events, deadline, &token);

	/* A wait that ended by itself, and a close that came then: the last look, or the next
	 * attempt, may have met another file. */
	return cc__fd_closed_since(fd, word) ? EBADF : err;
}

void cc__poll_short(struct cc__poll *p, int fd, uint32_t token)
{
	struct cc__poll_record *r = record_of(p, fd);
	const uint32_t word = cc__fd_word(fd);

	if (r == NULL || !(word & CC__FD_STREAM))
		return;
	cc__lock(&r->q.lock, CC__RANK_WAITQ);
	if (stays_registered(r, word, CC_FD_READ) && !(r->q.user & LAST) &&
	    token == token_of(r, word))
		cc__store(&r->drained, token + 1, CC__RELAXED);	/* Relaxed: a hint, see POLL-6 */
	cc__unlock(&r->q.lock);
}

bool cc__poll_drained(struct cc__poll *p, int fd, uint32_t token)
{
	struct cc__poll_record *r = record_of(p, fd);
	/* Relaxed: if it is the token, the wait checks that under the lock. */
	const uint32_t drained = r != NULL ? cc__load(&r->drained, CC__RELAXED) : 0;

	return drained != 0 && drained == token + 1;
}

/* ---- events ---- */

/* Under the record's lock: the first waiter is taken off, and told unless it is a case of a select
 * that is decided.  (Not cc__waitq_take, which would go on to the next waiter then, and the next
 * one may wait for another direction.) */
static void take_first(struct cc__poll *p, struct cc__waitq *q, struct cc__batch *b,
                       enum cc__reason reason, int result)
{
	struct cc__waiter *w = q->head;

	cc__waitq_remove(q, w);
	if (w->index == 0 || cc__group_claim(w->group, w->index))
		cc__batch_add(b, cc__waitq_tell(w, reason, result));
	count_out(p, 1);
}

/* Under the record's lock: the waiters that `ready` concerns, a batch at most; the others stay. */
static void take_ready(struct cc__poll *p, struct cc__waitq *q, struct cc__batch *b, unsigned ready)
{
	const struct cc__waiter *w, *stays = NULL;	/* the first: we are round */

	while ((w = q->head) != stays && !cc__batch_full(b)) {
		if (wanted_by(w) & ready) {
			take_first(p, q, b, CC__REASON_SIGNAL, 0);
			continue;
		}
		if (stays == NULL)
			stays = w;
		q->head = w->next;
	}
}

/* Under the record's lock: the first waiters, whatever they wait for, a batch at most. */
static void take_each(struct cc__poll *p, struct cc__waitq *q, struct cc__batch *b,
                     enum cc__reason reason, int result)
{
	while (q->head != NULL && !cc__batch_full(b))
		take_first(p, q, b, reason, result);
}

/* A batch of those who wait, whatever for.  True: there may be more. */
static bool wake_some(struct cc__poll *p, struct cc__waitq *q)
{
	struct cc__batch batch;
	bool more;

	cc__batch_init(&batch);
	cc__lock(&q->lock, CC__RANK_WAITQ);
	take_each(p, q, &batch, CC__REASON_SIGNAL, 0);
	cc__unlock(&q->lock);
	more = cc__batch_full(&batch);
	cc__batch_flush(&batch);
	return more;
}

/* Under the record's lock: what has to be registered again after a report.  Unless the batch was too
 * small, nobody is left who waits for what was reported. */
static unsigned left_over(const struct cc__poll_record *r, const struct cc__batch *b, unsigned ready)
{
	if (cc__batch_full(b))
		return wanted(r);
	return (r->q.user & CC__POLLER_EDGE) == 0 ? wanted(r) & ~ready : 0;
}

/* Under the record's lock; `refused`: the waiters that are left cannot be registered for. */
static void take_report(struct cc__poll *p, struct cc__poll_record *r,
                        const struct cc__poller_event *e, struct cc__batch *b, bool *refused)
{
	unsigned rest;

	report_counts(r);
	if (e->ready & CC__POLLER_LAST)
		r->q.user |= LAST;
	take_ready(p, &r->q, b, e->ready);
	if ((rest = left_over(r, b, e->ready)) != 0)
		*refused = register_fd(p, r, e->fd, r->file, rest) != 0;
}

/* True: a waiter was woken.  Waiters that did not fit into the batch are registered for like
 * the others, and what is still ready is reported again. */
static bool wake_ready(struct cc__poll *p, const struct cc__poller_event *e)
{
	struct cc__poll_record *r = record_of(p, e->fd);	/* registered, so it is there (E3) */
	struct cc__batch batch;
	bool woken, refused = false;

	cc__batch_init(&batch);
	cc__lock(&r->q.lock, CC__RANK_WAITQ);
	if (e->tag == r->tag)	/* P3 */
		take_report(p, r, e, &batch, &refused);
	cc__unlock(&r->q.lock);
	woken = batch.count > 0 || refused;
	cc__batch_flush(&batch);
	while (refused)	/* they find out why, each for itself */
		refused = wake_some(p, &r->q);
	return woken;
}

bool cc__poll_wake(struct cc__poll *p, const struct cc__poll_found *found)
{
	bool woken = false;

	for (unsigned i = 0; i < found->count; i++)
		woken |= wake_ready(p, &found->event[i]);
	return woken;
}

bool cc__poll_claim(struct cc__poll *p)
{
	uint32_t nobody = 0;

	/* Acquire (3): after the one before us has cleared `rung`, from its release
	 * at (4).  Otherwise a kick meant for us may still find its 1.
	 * mutant: acquire -> relaxed survives: the explorer has no load buffering,
	 * and nothing less would show it. */
	return is_open(p) && cc__cas(&p->claimed, &nobody, 1, CC__ACQUIRE, CC__RELAXED);
}

void cc__poll_release(struct cc__poll *p)
{
	/* Release (4): to the acquire at (3).  Seq_cst: P5, before the next look at
	 * `waiting`.
	 * mutant: seq_cst -> relaxed survives: as there, and P5 is idle_poll.c's. */
	cc__store(&p->claimed, 0, CC__SEQ_CST);
}

void cc__poll_sleep(struct cc__poll *p, cc_time deadline, struct cc__poll_found *found)
{
	found->count = cc__poller_wait(&p->poller, found->event, CC__POLL_EVENTS, deadline);
	cc__bell_heard(p->bell);
	cc__poll_release(p);
	CC_POINT("poll.before_wake", p);
}

/* Not as the one who sleeps: a kick that it took would be missing to another who has
 * announced its sleep and not yet begun it. */
static bool look(struct cc__poll *p)
{
	struct cc__poll_found found;

	/* Relaxed: a hint that somebody else is quicker. */
	if (!is_open(p) || cc__load(&p->claimed, CC__RELAXED) != 0)
		return false;
	found.count = cc__poller_wait(&p->poller, found.event, CC__POLL_EVENTS, CC_NOW);
	return cc__poll_wake(p, &found);
}

bool cc__poll_run(struct cc__poll *p, cc_time deadline)
{
	struct cc__poll_found found;

	if (deadline == CC_NOW)
		return look(p);
	if (!cc__poll_claim(p))
		return false;
	cc__poll_sleep(p, deadline, &found);
	return cc__poll_wake(p, &found);
}

/* ---- forget ---- */

static void forget_in(struct cc__poll *p, int fd, struct cc__batch *b)
{
	struct cc__poll_record *r = record_of(p, fd);

	if (r == NULL)
		return;
	cc__lock(&r->q.lock, CC__RANK_WAITQ);
	if (r->q.user != 0)
		cc__poller_forget(&p->poller, fd);
	r->q.user = 0;
	r->tag++;	/* a report on its way is dropped */
	report_counts(r);
	take_each(p, &r->q, b, CC__REASON_CLOSE, EBADF);
	cc__unlock(&r->q.lock);
}

/* A batch of the waiters for fd, in all polls.  True: there may be more. */
static bool forget_some(int fd)
{
	struct cc__batch batch;
	bool more;

	cc__batch_init(&batch);
	cc__lock(&polls_lock, CC__RANK_POLLS);
	for (struct cc__poll *p = polls; p != NULL && !cc__batch_full(&batch); p = p->next)
		forget_in(p, fd, &batch);
	cc__unlock(&polls_lock);
	more = cc__batch_full(&batch);
	cc__batch_flush(&batch);
	return more;
}

void cc__poll_forget(int fd)
{
	while (forget_some(fd))
		continue;
}
