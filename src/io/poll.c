/* poll.c - records, waiting, events, and forgetting. */
#include "io/poll.h"

#include <errno.h>

#include "os/fork.h"
#include "wait/host.h"
#include "base/slab.h"
#include "wait/thread.h"

/* waitq.user, under the record's lock: armed since it was last forgotten. */
enum { KNOWN = 1 };

/* ---- the bell ---- */

static struct cc__slab bells = CC__SLAB_INIT(struct cc__bell, next);

static struct cc__bell *bell_get(int *err)
{
	struct cc__bell *b = cc__slab_get(&bells);

	*err = b == NULL ? ENOMEM : 0;
	if (b == NULL || b->has_fd)
		return b;
	if ((b->fd = cc__bell_new(err)) >= 0) {
		b->has_fd = true;
		return b;
	}
	cc__slab_put(&bells, b);
	return NULL;
}

/*      who kicks                          who runs
 *      something to be seen               cc__poller_wait silences the bell
 *      rung: was 0  (1)                   rung = 0  (2)
 *      ring the bell                      look around
 *
 * A 1 left by an earlier kick means that its ring is still to be heard, or that
 * (2) is still to come and will see what we did. */
void cc__poll_ring(struct cc__bell *b)
{
	/* Release (1): what the caller did, to the acquire at (2). */
	if (cc__xchg(&b->rung, 1, CC__RELEASE) == 0)
		cc__bell_ring(b->fd);
}

static void heard(struct cc__bell *b)
{
	/* Acquire (2): pairs with the release at (1). */
	cc__xchg(&b->rung, 0, CC__ACQUIRE);
}

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

	if ((p->bell = bell_get(&err)) == NULL)
		return err;
	if ((err = cc__poller_open(&p->poller, p->bell->fd)) != 0) {
		cc__slab_put(&bells, p->bell);
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
	return ((size_t)CC__POLL_FIRST << c) * sizeof(struct cc__waitq);
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
	cc__slab_put(&bells, p->bell);
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
static struct cc__waitq *record_of(struct cc__poll *p, int fd)
{
	size_t at;
	/* Acquire: pairs with the release in record_make. */
	struct cc__waitq *chunk = cc__load(&p->chunk[place_of(fd, &at)], CC__ACQUIRE);

	return chunk != NULL ? chunk + at : NULL;
}

static int record_make(struct cc__poll *p, int fd)
{
	size_t at;
	const unsigned c = place_of(fd, &at);
	struct cc__waitq *chunk, *none = NULL;

	/* No gigabytes for a number that means nothing. */
	if (cc__poller_block(fd, CC_FD_READ, -1, CC_NOW) == EBADF)
		return EBADF;
	if ((chunk = p->allocator->alloc(p->allocator->context, chunk_size(c))) == NULL)
		return ENOMEM;
	/* Release: the zeroes, to the acquire in record_of.  Relaxed: the other's
	 * chunk is as good, and loaded again. */
	if (!cc__cas(&p->chunk[c], &none, chunk, CC__RELEASE, CC__RELAXED))
		p->allocator->free(p->allocator->context, chunk, chunk_size(c));
	return 0;
}

/* ---- wait ---- */

/* Under the record's lock, or after having been on the list in vain. */
static void count_out(struct cc__poll *p, unsigned n)
{
	if (n > 0)
		cc__sub(&p->waiting, n, CC__RELAXED);	/* Relaxed: a look in vain, at worst */
}

static unsigned wanted_by(const struct cc__waiter *w)
{
	return (unsigned)(uintptr_t)w->io;
}

/* Under the record's lock: what those on the list wait for, all together. */
static unsigned wanted(const struct cc__waitq *q)
{
	const struct cc__waiter *w = q->head;
	unsigned events = 0;

	if (w != NULL)
		do
			events |= wanted_by(w);
		while ((w = w->next) != q->head && events != (CC_FD_READ | CC_FD_WRITE));
	return events;
}

/* Under the record's lock. */
static int arm(struct cc__poll *p, struct cc__waitq *q, int fd, unsigned events)
{
	int err = cc__poller_arm(&p->poller, fd, events, (q->user & KNOWN) != 0);

	if (err == 0)
		q->user |= KNOWN;
	return err;
}

/* Always armed, even if the record says that it is: the number may mean another
 * file than it did then (P3).  *taken: somebody took us off the list. */
static int wait_on(struct cc__poll *p, struct cc__waitq *q, int fd, unsigned events,
                   cc_time deadline, bool *taken)
{
	struct cc__waiter w = {.io = (void *)(uintptr_t)events, .what = CC__FOR_FD};
	int err;

	cc__lock(&q->lock, CC__RANK_WAITQ);
	if ((err = arm(p, q, fd, wanted(q) | events)) != 0) {
		cc__unlock(&q->lock);
		return err;
	}
	CC_POINT("poll.armed_under_lock", q);
	/* An event that comes from here on waits for the lock, and finds w. */
	err = cc__wait(q, &w, deadline);
	/* Relaxed: our own waiter, off the list. */
	*taken = cc__load(&w.reason, CC__RELAXED) != CC__REASON_NONE;
	return err;
}

/* The wait was ended.  Perhaps it was ready in time, but nobody came to look. */
static int last_look(int fd, unsigned events, int ended)
{
	const int err = cc__poller_block(fd, events, -1, CC_NOW);

	return err == EAGAIN ? ended : err;
}

int cc__poll_wait(struct cc__poll *p, int fd, unsigned events, cc_time deadline)
{
	struct cc__waitq *q;
	bool taken = false;
	int err;

	if ((err = open_once(p)) != 0)
		return err;
	if ((q = record_of(p, fd)) == NULL) {
		if ((err = record_make(p, fd)) != 0)
			return err;
		q = record_of(p, fd);
	}
	cc__add(&p->waiting, 1, CC__SEQ_CST);	/* Seq_cst: P5, before the look */
	if (p->unattended != NULL && cc__poll_unattended(p))
		p->unattended(p);
	CC__EVENT(CC__EV_FOR, cc__self(), CC__FOR_FD, (unsigned)fd);
	err = wait_on(p, q, fd, events, deadline, &taken);
	if (!taken)
		count_out(p, 1);
	if (err == EPERM)
		return 0;	/* a regular file or the like: always ready */
	return err == ETIMEDOUT || err == ECANCELED ? last_look(fd, events, err) : err;
}

/* ---- events ---- */

/* Under the record's lock: those whom `ready` concerns, a batch at most; the others
 * stay.  (A wait for several would not do here: one whose group is decided drops
 * out, and another is taken in its place.) */
static void take_ready(struct cc__waitq *q, struct cc__batch *b, unsigned ready)
{
	const struct cc__waiter *w, *stays = NULL;	/* the first: we are round */

	while ((w = q->head) != stays && !cc__batch_full(b)) {
		CC__ASSERT(w->index == 0, "P1: a group waits for a descriptor");
		if (wanted_by(w) & ready) {
			cc__waitq_take(q, b, CC__REASON_SIGNAL, 0);
			continue;
		}
		if (stays == NULL)
			stays = w;
		q->head = w->next;
	}
}

/* A batch of those who wait, whatever for.  True: there may be more. */
static bool wake_some(struct cc__poll *p, struct cc__waitq *q)
{
	struct cc__batch batch;
	bool more;

	cc__batch_init(&batch);
	cc__lock(&q->lock, CC__RANK_WAITQ);
	while (!cc__batch_full(&batch) && cc__waitq_take(q, &batch, CC__REASON_SIGNAL, 0))
		continue;
	count_out(p, batch.count);
	cc__unlock(&q->lock);
	more = cc__batch_full(&batch);
	cc__batch_flush(&batch);
	return more;
}

/* True: somebody was woken.  Those who did not fit into the batch are armed for like
 * the others, and what is still ready is reported again. */
static bool wake_ready(struct cc__poll *p, const struct cc__poller_event *e)
{
	struct cc__waitq *q = record_of(p, e->fd);	/* it was armed, so it is there (E3) */
	struct cc__batch batch;
	unsigned rest;
	bool woken, refused = false;

	cc__batch_init(&batch);
	cc__lock(&q->lock, CC__RANK_WAITQ);
	take_ready(q, &batch, e->ready);
	if ((rest = wanted(q)) != 0)
		refused = arm(p, q, e->fd, rest) != 0;
	count_out(p, batch.count);
	cc__unlock(&q->lock);
	woken = batch.count > 0 || refused;
	cc__batch_flush(&batch);
	while (refused)	/* they find out why, each for itself */
		refused = wake_some(p, q);
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
	heard(p->bell);
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
	struct cc__waitq *q = record_of(p, fd);
	const unsigned before = b->count;

	if (q == NULL)
		return;
	cc__lock(&q->lock, CC__RANK_WAITQ);
	if (q->user & KNOWN) {
		cc__poller_forget(&p->poller, fd);
		q->user &= ~(uint32_t)KNOWN;
	}
	while (!cc__batch_full(b) && cc__waitq_take(q, b, CC__REASON_CLOSE, EBADF))
		continue;
	count_out(p, b->count - before);
	cc__unlock(&q->lock);
}

/* A batch of those who wait for fd, wherever.  True: there may be more. */
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

/* ---- threads ---- */

/* In poll(2), and within a scope that may be cancelled. */
static int block_within(struct cc__member *m, int fd, unsigned events, cc_time deadline)
{
	struct cc__bell *b;
	const cc__a32 *flag;
	uint32_t how;
	int err;

	if ((b = bell_get(&err)) == NULL)
		return err;
	flag = cc__member_bell(m, b);
	/* Acquire: what was done before it was cancelled.  The bell may have been rung for
	 * somebody who had it before. */
	while ((how = cc__load(flag, CC__ACQUIRE)) == 0 &&
	       (err = cc__poller_block(fd, events, b->fd, deadline)) == EINTR)
		heard(b);
	cc__member_bell(m, NULL);
	cc__slab_put(&bells, b);
	return how == 0 ? err : last_look(fd, events, cc__cancel_error(how));
}

static int block(int fd, unsigned events, cc_time deadline)
{
	struct cc__parker *self = cc__self();
	struct cc__member *m = self != NULL ? *cc__member_slot(self) : NULL;
	int err;

	CC__EVENT(CC__EV_FOR, self, CC__FOR_FD_HERE, (unsigned)fd);
	err = m != NULL ? block_within(m, fd, events, deadline)
	                : cc__poller_block(fd, events, -1, deadline);
	CC__EVENT(CC__EV_FOR, self, CC__FOR_NOTHING, 0);
	return err;
}

/* ---- the public face ---- */

int cc_wait_fd(int fd, unsigned events, cc_time deadline)
{
	struct cc__poll *p;

	if (cc__forked())
		return ENOTSUP;
	if (events == 0 || (events & ~(unsigned)(CC_FD_READ | CC_FD_WRITE)) != 0)
		return EINVAL;
	if (fd < 0)
		return EBADF;
	if (deadline == CC_NOW)
		return cc__poller_block(fd, events, -1, CC_NOW);
	p = cc__poll_here();
	return p != NULL ? cc__poll_wait(p, fd, events, deadline) : block(fd, events, deadline);
}

int cc_fd_forget(int fd)
{
	/* A child would disarm what its parent waits for: the set is the same. */
	if (cc__forked())
		return ENOTSUP;
	if (fd < 0)
		return EBADF;
	while (forget_some(fd))
		continue;
	return 0;
}
