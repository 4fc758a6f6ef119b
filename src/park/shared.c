/* shared.c - waits and wakes on words of memory objects.
 *
 * The kernel has the queue of each word, found by what is mapped at its address, so
 * mappings of one object meet, in whatever process.  What is done here is to know that
 * the address is the object's, to keep it so (M4), and to let fibers wait. */
#include "park/memory.h"

#include <errno.h>

#include "os/shared.h"
#include "wait/thread.h"

/* ---- a wait that has its slot ---- */

/* Held: among those whom an unmap interrupts. */
static void list(CCMemory *m, struct cc__mapping *p, struct cc__slot *s)
{
	s->interrupted = false;
	if ((s->next = p->waits) != NULL)
		s->next->place = &s->next;
	s->place = &p->waits;
	p->waits = s;
	m->waits++;
}

/* A thread was woken by nobody here; perhaps by the word itself. */
static bool still_waits(void *queue, struct cc__waiter *w)
{
	const struct cc__slot *s = w->io;
	bool listed;

	cc__lock(w->lock, CC__RANK_WAITQ);
	if ((listed = w->next != NULL) && s->other.end != CC__FUTEX_UNDECIDED) {
		cc__waitq_remove(queue, w);
		w->result = 0;
		listed = false;
	}
	cc__unlock(w->lock);
	return listed;
}

static bool withdraw(void *queue, struct cc__waiter *w)
{
	return cc__waitq_ops.unpublish(queue, w);
}

static const struct cc__waitable_ops thread_ops = {.publish = still_waits, .unpublish = withdraw};

/* Held, and dropped: it sleeps on its own word and on the one in the object. */
static int wait_as_thread(struct cc__slot *s, cc_time deadline)
{
	struct cc__thread *self = cc__thread_self();
	struct cc__waiter w = {.lock = s->lock, .io = s};
	int err;

	self->other = &s->other;
	err = cc__wait_as(&s->sleeper, &thread_ops, &w, deadline);
	self->other = NULL;
	return err;
}

/* Until there is a report (S2); the server is quick. */
static void until_reported(struct cc__slot *s)
{
	cc__lock(s->lock, CC__RANK_WAITQ);
	if (s->other.end == CC__FUTEX_UNDECIDED) {
		cc__unlock(s->lock);
		CC_POINT("shared.before_cancel", s);
		cc__server_cancel(s);
		cc__lock(s->lock, CC__RANK_WAITQ);
	}
	while (s->other.end == CC__FUTEX_UNDECIDED) {
		struct cc__waiter w = {.lock = s->lock, .cancel = &cc__uncancelled};

		cc__wait(&s->sleeper, &w, CC_FOREVER);
		cc__lock(s->lock, CC__RANK_WAITQ);
	}
	cc__unlock(s->lock);
}

/* Held, and dropped. */
static int wait_as_fiber(struct cc__slot *s, cc_time deadline)
{
	struct cc__waiter w = {.lock = s->lock};
	int err;

	cc__unlock(s->lock);
	if ((err = cc__server_start()) != 0)
		return err;
	CC_POINT("shared.before_ask", s);
	cc__server_wait(s);
	cc__lock(s->lock, CC__RANK_WAITQ);
	if (s->other.end == CC__FUTEX_UNDECIDED && !s->interrupted)
		err = cc__wait(&s->sleeper, &w, deadline);
	else
		cc__unlock(s->lock);
	until_reported(s);
	return err;
}

/* What came from the word counts before anything else that ended the wait. */
static int outcome(const struct cc__slot *s, int err, cc_time deadline, CCParkStatus *status)
{
	switch (s->other.end) {
	case CC__FUTEX_WOKEN:
		*status = CC_PARK_WOKEN;
		return 0;
	case CC__FUTEX_DIFFERS:
		*status = CC_PARK_VALUE_MISMATCH;
		return 0;
	case CC__FUTEX_GONE:
		return EFAULT;
	default:
		break;
	}
	if (!s->interrupted)
		return cc__park_tell(err, deadline, status);
	*status = CC_PARK_INTERRUPTED;
	return 0;
}

static bool is_thread(const struct cc__parker *p)
{
	/* Relaxed: a parker is a thread or a fiber for ever. */
	return cc__word_is_thread(cc__load(&p->word, CC__RELAXED));
}

/* Held, and dropped: the mapping is used, and no longer at the end. */
static int wait_in(CCMemory *m, struct cc__mapping *p, struct cc__slot *s, cc_time deadline,
                   CCParkStatus *status)
{
	int err;

	s->lock = &m->lock;
	list(m, p, s);
	CC__EVENT(CC__EV_FOR, cc__self(), CC__FOR_WORD, (uintptr_t)s->other.word);
	err = is_thread(cc__self()) ? wait_as_thread(s, deadline) : wait_as_fiber(s, deadline);
	cc__mapping_done(m, p, s);
	err = outcome(s, err, deadline, status);
	cc__slot_put(s);
	return err;
}

/* ---- the two calls ---- */

/* Held: why not to sleep, if there is a reason; EINPROGRESS: there is none. */
static int need_not_sleep(const cc__a32 *word, uint32_t expected, cc_time deadline,
                          CCParkStatus *status)
{
	/* Relaxed: the kernel looks again, in one step with the beginning of the sleep. */
	if (cc__load(word, CC__RELAXED) != expected)
		*status = CC_PARK_VALUE_MISMATCH;
	else if (deadline == CC_NOW)
		*status = CC_PARK_TIMED_OUT;
	else
		return cc__self() != NULL ? EINPROGRESS : ENOMEM;
	return 0;
}

int cc__memory_wait(CCMemory *m, const uint32_t *address, uint32_t expected, cc_time deadline,
                    CCParkStatus *status)
{
	const cc__a32 *word = (const cc__a32 *)(const void *)address;
	struct cc__mapping *p;
	struct cc__slot *s = NULL;
	int err;

	cc__lock(&m->lock, CC__RANK_WAITQ);
	if ((err = cc__mapping_use(m, word, &p)) != 0) {
		cc__unlock(&m->lock);
		return err;
	}
	if ((err = need_not_sleep(word, expected, deadline, status)) == EINPROGRESS &&
	    (s = cc__slot_get()) == NULL)
		err = ENOBUFS;
	if (s == NULL) {
		cc__mapping_unuse(m, p);
		cc__unlock(&m->lock);
		return err;
	}
	s->other = (struct cc__futex_other){word, expected, CC__FUTEX_UNDECIDED, 0};
	return wait_in(m, p, s, deadline, status);
}

int cc__memory_wake(CCMemory *m, const uint32_t *word, uint32_t max, uint32_t *woken)
{
	struct cc__mapping *p;
	int err;

	cc__lock(&m->lock, CC__RANK_WAITQ);
	err = cc__mapping_use(m, word, &p);
	cc__unlock(&m->lock);
	if (err != 0)
		return err;
	CC_POINT("shared.before_wake", m);
	*woken = cc__futex_wake_shared((const cc__a32 *)(const void *)word, max);
	cc__mapping_done(m, p, NULL);
	return 0;
}
