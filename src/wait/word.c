/* word.c - what watches the word. */
#include "wait/word.h"

#include "base/lock.h"

#ifndef CC__EXPLORE

/* Tells the sanitizer: what the thread that moves the word has done happens before what a thread
 * does that finds the word in its new state.  A new life of a frame is not ordered after the
 * one before it. */
static void tell_order(const struct cc__parker *p, uint64_t from, uint64_t to)
{
	if (cc__word_state(from) == CC__IDLE)
		cc__happens_first(p);
	else if (cc__word_state(to) == CC__DONE || cc__word_is_thread(to))
		cc__happens_before(p);
	else if (cc__word_state(from) == CC__DONE)
		cc__happens_after(p);
}

/* Out of line, so that the path without a watcher stays as short as it is. */
void cc__word_set_watched(struct cc__parker *p, uint64_t from, uint64_t to, int order)
{
	const uint64_t number = cc__watch_begin();

	tell_order(p, from, to);
	/* The orders of word.h's rows, each explained there. */
	if (order == CC__RELAXED)
		cc__store(&p->word, to, CC__RELAXED);
	else if (order == CC__RELEASE)
		cc__store(&p->word, to, CC__RELEASE);
	else
		cc__store(&p->word, to, CC__SEQ_CST);
	cc__watch_move(number, p, from, to);
}

bool cc__word_commit_watched(struct cc__parker *p)
{
	return cc__word_committed(p, true);
}

bool cc__word_wake_watched(struct cc__parker *p, uint64_t ticket)
{
	return cc__word_woken(p, ticket, true);
}

void cc__watch_moved(uint64_t number, const void *who, uint64_t from, uint64_t to)
{
	/* The sleeper itself ends its wait: what a waker did is seen. */
	if (cc__word_state(to) == CC__OWNED && cc__word_state(from) >= CC__PARKING)
		cc__happens_after(who);
	cc__trace_add(number, CC__EV_MOVE, who, from, to);
	/* Relaxed: a switch for diagnosis. */
	if (cc__load(&cc__watching, CC__RELAXED) & CC__WATCH_ASSERT)
		CC__CHECK(cc__word_legal(from, to), "word: a move that the table does not have");
}

void cc__watch_enqueued(const void *who, unsigned how, unsigned worker)
{
	const struct cc__parker *p = who;

	cc__trace_event(CC__EV_ENQUEUE, p, how | CC__LOCK_DEPTH() << 8, worker);
	/* Relaxed, both: a switch for diagnosis; the fiber is its caller's. */
	if (cc__load(&cc__watching, CC__RELAXED) & CC__WATCH_ASSERT)
		CC__CHECK(cc__word_state(cc__load(&p->word, CC__RELAXED)) == CC__QUEUED,
		          "schedule: a fiber that is not runnable");
}

#endif
