/* view.h - what is printed of a snapshot, and how. */
#ifndef CCC_PS_VIEW_H
#define CCC_PS_VIEW_H

#include <stdio.h>

#include "snapshot.h"
#include "symbols.h"

enum { FRAMES = 64 };

struct view {
	const struct snapshot *s;
	struct memory *m;
	const struct layout *l;
	struct symbols *symbols;
	const char *title;	/* what is looked at */
	bool colour, all, full, stacks;	/* all: nothing is folded; full: every frame of a stack */
	int columns;		/* of the terminal; 0: no limit */
	FILE *out;
};

/* Fibers that are alike; told by the first of them. */
struct group {
	const struct fiber *first;
	uint64_t count, hash;
	const uint64_t *pc;	/* view->stacks: the calls that they are in */
	unsigned frames;
};

struct groups {
	struct group *group;	/* in the order of their first ones */
	size_t count;
	size_t *bucket;
	size_t buckets;
};

void view_list(const struct view *v);
void view_tree(const struct view *v);
void view_stacks(const struct view *v);
void view_json(const struct view *v);

/* groups.c.  `count` fibers; by what they do, or with `stacks` by their stacks.  False: out of
 * memory. */
bool groups_make(struct groups *g, const struct view *v, const struct fiber *const *fiber,
                 size_t count, bool stacks);
void groups_free(struct groups *g);

/* text.c */
void text_wait(const struct view *v, const struct fiber *f, char *text, size_t size);
void text_time(int64_t span, char *text, size_t size);
/* 'name', printable, or "". */
void text_name(const struct view *v, const struct fiber *f, char *text, size_t size);
/* The name and the line of a place (docs/description.md); "" if they are not known. */
void text_place(const struct view *v, uint64_t place, char *name, size_t name_size, char *line,
                size_t line_size);
const char *text_function(const struct view *v, const struct fiber *f);
const char *text_state(const struct fiber *f);
const char *colour_of(const struct view *v, const struct fiber *f);
const char *colour_off(const struct view *v);
/* Which frames are left without those of the library at both ends. */
void text_frames(const struct view *v, const uint64_t *pc, unsigned frames, unsigned *from,
                 unsigned *to);
void view_head(const struct view *v);

#endif
