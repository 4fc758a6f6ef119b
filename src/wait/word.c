/* word.c - what watches the word. */
#include "wait/word.h"

#ifndef CC__EXPLORE

/* Out of line, so that the path without a watcher stays as short as it is. */
void cc__word_set_watched(struct cc__parker *p, uint64_t from, uint64_t to, int order)
{
	const uint64_t number = cc__watch_begin();

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
	cc__trace_add(number, CC__EV_MOVE, who, from, to);
	/* Relaxed: a switch for diagnosis. */
	if (cc__load(&cc__watching, CC__RELAXED) & CC__WATCH_ASSERT)
		CC__CHECK(cc__word_legal(from, to), "word: a move that the table does not have");
}

#endif
