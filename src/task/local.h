/* local.h - where the values of a task lie (ccc/local.h), and how they end.
 *
 * L1  Who has none pays nothing, not even a place for a pointer: where a fiber's stack or a
 *     thread keeps its innermost membership (wait/cancel.h) there is, marked, a pointer to
 *     its values instead, and the membership is there.
 * L2  Everything but the table of keys is the task's own.
 * L3  A value names its key, and keys never repeat: what is left of one that was deleted is
 *     nobody's. */
#ifndef CC__TASK_LOCAL_H
#define CC__TASK_LOCAL_H

#include <ccc/local.h>

#include "wait/wait.h"

struct cc__member;

enum { CC__LOCALS = 16 };

/* Values under CC__LOCALS keys that follow each other. */
struct cc__locals {
	struct cc__member *member;	/* of the first: what would be in its place (L1) */
	struct cc__locals *next;	/* the slab's while it is free */
	unsigned number;		/* of its first key, divided by CC__LOCALS */
	struct cc__local {
		CCLocal key;
		void *value;		/* NULL: none */
	} entry[CC__LOCALS];
};

/* What is in that place; NULL: no locals. */
static inline struct cc__locals *cc__locals_in(struct cc__member *const *place)
{
	return (uintptr_t)*place & 1 ? (struct cc__locals *)(void *)((char *)*place - 1) : NULL;
}

/* The place of the membership itself. */
static inline struct cc__member **cc__past_locals(struct cc__member **place)
{
	return __builtin_expect((uintptr_t)*place & 1, 0) ? &cc__locals_in(place)->member : place;
}

/* Its task ends: destructors, then it holds the membership again.  May park. */
void cc__locals_end(struct cc__member **place);

/* Where p, the caller, keeps both (switch.c). */
struct cc__member **cc__local_place(struct cc__parker *p);

#endif
