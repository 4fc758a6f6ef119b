/* arena_mark.c - going back: to a mark, or to the beginning.
 *
 * Who calls these is alone with the arena (ccc/arena.h).  Cursors that are not done are
 * counted, and a mark remembers who made it; the rest is a promise of the caller. */
#include <errno.h>

#include "os/fork.h"
#include "os/memory.h"
#include "arena/arena.h"

/* ---- the way back ---- */

/* The block on top is unused again, and spare. */
static void leave_block(CCArena *a)
{
	struct cc__arena_block *b = cc__peek(&a->current);

	/* Relaxed, both: we are alone. */
	cc__store(&a->current, b->below, CC__RELAXED);
	cc__store(&b->used, 0, CC__RELAXED);
	cc__memory_hide(b->start, b->room);
	b->below = a->spare;
	a->spare = b;
}

void cc__arena_rewind(CCArena *a, struct cc__arena_block *to, uint64_t used, uint64_t serial)
{
	cc__arena_clear_slots(a);
	while (cc__peek(&a->current) != to)
		leave_block(a);
	if (to != NULL) {
		cc__store(&to->used, used, CC__RELAXED);	/* Relaxed: we are alone */
		cc__memory_hide(to->start + used, to->room - used);
	}
	cc__arena_free_larges(a, serial);
}

/* The caller is not alone for certain. */
static bool has_cursors(const CCArena *a)
{
	return cc__load(&a->cursors, CC__RELAXED) != 0;	/* Relaxed: a check, not an order */
}

/* Of a call that must be alone. */
static int busy(const CCArena *a, const char *call)
{
	cc__arena_check(a, call);
	return EBUSY;
}

static void set_top(CCArena *a, struct cc__arena_mark *m)
{
	a->top = m;
	cc__store(&a->marked, m != NULL, CC__RELAXED);	/* Relaxed: we are alone */
}

/* ---- marks ---- */

int cc_arena_mark(CCArena *a, CCArenaMark *out)
{
	const struct cc__parker *self;
	struct cc__arena_mark m, *made;
	size_t got;

	if (a == NULL || out == NULL)
		return EINVAL;
	if (cc__forked())
		return ENOTSUP;
	if (has_cursors(a))
		return busy(a, "cc_arena_mark");
	if ((self = cc__self()) == NULL)
		return ENOMEM;
	cc__arena_clear_slots(a);
	m = (struct cc__arena_mark){.below = a->top, .id = a->marks + 1, .who = self};
	if ((m.block = cc__peek(&a->current)) != NULL)
		m.used = cc__peek(&m.block->used);
	m.serial = a->serial;
	m.lost = cc__peek(&a->lost);
	m.dropped = cc__peek(&a->dropped);
	made = (void *)cc__arena_carve(a, sizeof m, sizeof m, CC_ARENA_ALIGN, &got);
	if (made == NULL)
		return ENOMEM;
	cc__memory_show(made, sizeof m);
	*made = m;
	cc__add(&a->dropped, sizeof m, CC__RELAXED);	/* Relaxed: a figure */
	set_top(a, made);
	*out = (CCArenaMark){a, ++a->marks};
	return 0;
}

/* Those from the top to this one are the caller's: *out is it. */
static int find(const CCArena *a, CCArenaMark mark, struct cc__arena_mark **out)
{
	const struct cc__parker *self = cc__self();
	bool others = false;

	for (struct cc__arena_mark *m = a->top; m != NULL; m = m->below) {
		others = others || m->who != self;
		if (mark.arena == a && mark.id == m->id) {
			*out = m;
			return others ? EPERM : 0;
		}
	}
	return EINVAL;
}

/* The mark, if what it names may be changed now. */
static int open_mark(const CCArena *a, CCArenaMark mark, struct cc__arena_mark **out)
{
	int err;

	if (a == NULL)
		return EINVAL;
	if (cc__forked())
		return ENOTSUP;
	if ((err = find(a, mark, out)) != 0)
		return err;
	return has_cursors(a) ? EBUSY : 0;
}

int cc_arena_restore(CCArena *a, CCArenaMark mark)
{
	struct cc__arena_mark *open, m;
	int err;

	if ((err = open_mark(a, mark, &open)) != 0)
		return err;
	m = *open;	/* it lies in what is about to be free */
	set_top(a, m.below);
	cc__arena_rewind(a, m.block, m.used, m.serial);
	/* Relaxed, both: we are alone. */
	cc__store(&a->lost, m.lost, CC__RELAXED);
	cc__store(&a->dropped, m.dropped, CC__RELAXED);
	return 0;
}

int cc_arena_keep(CCArena *a, CCArenaMark mark)
{
	struct cc__arena_mark *open;
	int err;

	if ((err = open_mark(a, mark, &open)) == 0)
		set_top(a, open->below);
	return err;
}

/* ---- the beginning ---- */

static bool others_have_marks(const CCArena *a)
{
	const struct cc__parker *self = cc__self();

	for (const struct cc__arena_mark *m = a->top; m != NULL; m = m->below)
		if (m->who != self)
			return true;
	return false;
}

int cc_arena_reset(CCArena *a)
{
	if (a == NULL)
		return EINVAL;
	if (cc__forked())
		return ENOTSUP;
	if (others_have_marks(a))
		return EPERM;
	if (has_cursors(a))
		return busy(a, "cc_arena_reset");
	set_top(a, NULL);
	cc__arena_rewind(a, a->block == 0 ? &a->fixed : NULL, 0, 0);
	a->ends = NULL;
	for (unsigned i = 0; i < CC__ARENA_CLASSES; i++)
		a->piece[i] = NULL;
	a->listed = 0;
	/* Relaxed, all: we are alone. */
	cc__store(&a->ends_there, 0, CC__RELAXED);
	cc__store(&a->lost, 0, CC__RELAXED);
	cc__store(&a->dropped, 0, CC__RELAXED);
	return 0;
}
