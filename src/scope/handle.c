/* handle.c - children that are joined one by one: by a handle that the caller keeps, or by one
 * that goes through an ordered channel.
 *
 * HANDLE-1  A child's frame stays until its handle is used up: by a join, by a detach, or by the
 *           end of its nursery for the handles of cc_nursery_spawn_task.  The nursery keeps a
 *           list of those.  Handles of an ordered channel are the channel's or the receiver's,
 *           and outlive the nursery.
 * HANDLE-2  A handle is on the list before its child can run.  So the nursery is there while the
 *           spawner writes to the list, even if that spawner is outside of it.
 * HANDLE-3  Handles that are used up are taken off when the list is full, which is doubled if more
 *           than half of it is left.  An id never comes back, so a frame tells by one load whether
 *           it still belongs to a handle.
 * HANDLE-4  A spawner reserves the entry before it spawns, because nothing may fail between the
 *           spawn and the list; a spawn that fails gives the entry back.  So there is room for all
 *           that is listed or reserved. */
#include "scope/nursery.h"

#include <errno.h>
#include <string.h>

#include "sched/allocator.h"
#include "os/fork.h"

/* ---- the handles that a nursery keeps ---- */

enum { FIRST_ROOM = 16 };

/* Not from the nursery's arena, which its user may set back to a mark. */
static void *get(size_t size)
{
	return cc__default_allocator.alloc(cc__default_allocator.context, size);
}

static void put(void *p, size_t size)
{
	if (p != NULL)
		cc__default_allocator.free(cc__default_allocator.context, p, size);
}

static struct cc__handles *handles_of(struct cc__nursery *n)
{
	struct cc__handles *mine, *theirs = NULL;

	/* Acquire: the list, from the release below. */
	if ((mine = cc__load(&n->handles, CC__ACQUIRE)) != NULL)
		return mine;
	if ((mine = get(sizeof *mine)) == NULL)
		return NULL;
	/* Release: the list, to the acquire above; acquire: another spawner's list. */
	if (cc__cas(&n->handles, &theirs, mine, CC__ACQ_REL, CC__ACQUIRE))
		return mine;
	put(mine, sizeof *mine);
	return theirs;
}

static bool is_used_up(CCTask task)
{
	const struct cc__fiber *f = task.frame;

	/* Relaxed: used up once is used up for good (HANDLE-3). */
	return (cc__load(&f->handle, CC__RELAXED) & CC__HANDLE_ID) != task.id;
}

/* Under the lock. */
static void prune(struct cc__handles *h)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->count; i++)
		if (!is_used_up(h->task[i]))
			h->task[kept++] = h->task[i];
	h->count = kept;
}

/* Under the lock: room for one more handle.  False: `*want` entries are needed first. */
static bool reserve_one(struct cc__handles *h, size_t *want)
{
	if (h->count + h->reserved == h->room) {
		prune(h);
		if (2 * (h->count + h->reserved) >= h->room) {
			*want = h->room > 0 ? 2 * h->room : FIRST_ROOM;
			return false;
		}
	}
	h->reserved++;
	return true;
}

/* Under the lock: `larger` has `room` entries.  What is to be given back, with its size. */
static CCTask *replace(struct cc__handles *h, CCTask *larger, size_t room, size_t *size)
{
	CCTask *old = larger;

	*size = room * sizeof *larger;
	if (room > h->room) {	/* else another spawner was quicker */
		if (h->count > 0)
			memcpy(larger, h->task, h->count * sizeof *larger);
		old = h->task;
		*size = h->room * sizeof *larger;
		h->task = larger;
		h->room = room;
	}
	return old;
}

static int reserve(struct cc__handles *h)
{
	for (;;) {
		CCTask *larger, *old;
		size_t want = 0, size;
		bool done;

		cc__lock(&h->lock, CC__RANK_POOL);
		done = reserve_one(h, &want);
		cc__unlock(&h->lock);
		if (done)
			return 0;
		if ((larger = get(want * sizeof *larger)) == NULL)
			return ENOMEM;
		cc__lock(&h->lock, CC__RANK_POOL);
		old = replace(h, larger, want, &size);
		cc__unlock(&h->lock);
		put(old, size);
	}
}

void cc__handles_keep(struct cc__handles *h, CCTask task)
{
	cc__lock(&h->lock, CC__RANK_POOL);
	h->reserved--;
	CC__ASSERT(h->count + h->reserved < h->room, "HANDLE-4: no room was reserved");
	if (task.id != 0)
		h->task[h->count++] = task;
	cc__unlock(&h->lock);
}

/* No child is left, and no spawner: the list is the owner's. */
void cc__nursery_drop_handles(struct cc__nursery *n)
{
	struct cc__handles *h = cc__load(&n->handles, CC__RELAXED);	/* Relaxed: after the tally */

	if (h == NULL)
		return;
	for (size_t i = 0; i < h->count; i++)
		cc_task_detach(h->task[i]);	/* EINVAL: it is used up */
	put(h->task, h->room * sizeof *h->task);
	put(h, sizeof *h);
}

/* ---- children with a handle ---- */

/* What keeps the nursery from having one; *h is where its handle will be kept. */
static int prepare(CCNursery *nursery, CCTask *out, struct cc__handles **h)
{
	struct cc__nursery *n = cc__nursery_open(nursery);

	if (out == NULL || n == NULL)
		return EINVAL;
	*h = handles_of(n);
	return *h == NULL ? ENOMEM : reserve(*h);
}

/* `captures` NULL: it is called with `arg`. */
static int spawn_task(CCNursery *nursery, CCTask *out, const CCTaskOptions *options,
                      cc_task_main *main, void *arg, const void *captures, size_t size,
                      uintptr_t place)
{
	struct cc__handles *h;
	int err;

	if (out != NULL)
		*out = (CCTask){0};
	if (cc__forked())
		return ENOTSUP;
	if ((err = prepare(nursery, out, &h)) != 0)
		return cc__nursery_unstarted(nursery, err);
	CC_POINT("handle.reserved", h);
	err = captures != NULL
	          ? cc__nursery_spawn_joinable_copy(nursery, out, h, options, main, captures, size,
	                                            place)
	          : cc__nursery_spawn_joinable(nursery, out, h, options, main, arg, place);
	if (err != 0)
		cc__handles_keep(h, (CCTask){0});
	return err;
}

int cc_nursery_spawn_task(CCNursery *nursery, CCTask *out, const CCTaskOptions *options,
                          cc_task_main *main, void *arg)
{
	return spawn_task(nursery, out, options, main, arg, NULL, 0, CC__PLACE_HERE());
}

int cc_nursery_spawn_task_copy(CCNursery *nursery, CCTask *out, const CCTaskOptions *options,
                               cc_task_main *main, const void *captures, size_t size)
{
	if (captures == NULL && !cc__forked())
		return cc__nursery_unstarted(nursery, EINVAL);
	return spawn_task(nursery, out, options, main, NULL, captures, size, CC__PLACE_HERE());
}

int cc_spawn_task_at(CCNursery *nursery, CCTask *out, const CCTaskOptions *options,
                     cc_task_main *main, const void *captures, size_t size, const char *place)
{
	return spawn_task(nursery, out, options, main, NULL, captures, size, cc__place_of(place));
}

/* ---- captures of a task that is no nursery's ---- */

struct block {
	cc_task_main *main;
	size_t size;	/* of all of it */
};

_Static_assert(sizeof(struct block) % CC_CAPTURES_ALIGN == 0, "captures' alignment");

static int call_in_block(void *arg)
{
	struct block *b = arg;
	const int result = b->main(b + 1);

	put(b, b->size);
	return result;
}

static int spawn_root_copy(CCTask *out, const CCTaskOptions *options, cc_task_main *main,
                           const void *captures, size_t size, uintptr_t place)
{
	struct block *b;
	int err;

	if (main == NULL)
		return EINVAL;
	if (size > SIZE_MAX - sizeof *b)
		return ENOMEM;
	if ((b = get(sizeof *b + size)) == NULL)
		return ENOMEM;
	*b = (struct block){.main = main, .size = sizeof *b + size};
	memcpy(b + 1, captures, size);
	if ((err = cc__sched_spawn(NULL, out, options, call_in_block, b, place)) != 0)
		put(b, sizeof *b + size);
	return err;
}

/* ---- through an ordered channel ---- */

/* The innermost nursery around the caller; NULL: there is none. */
static CCNursery *nursery_here(void)
{
	return (CCNursery *)(void *)cc__scope_here();
}

static int spawn_here(CCTask *out, const CCTaskOptions *options, cc_task_main *main, void *arg,
                      uintptr_t place)
{
	CCNursery *n = nursery_here();

	return n != NULL ? cc__nursery_spawn_joinable(n, out, NULL, options, main, arg, place)
	                 : cc__sched_spawn(NULL, out, options, main, arg, place);
}

static int spawn_copy_here(CCTask *out, const CCTaskOptions *options, cc_task_main *main,
                           const void *captures, size_t size, uintptr_t place)
{
	CCNursery *n = nursery_here();

	return n != NULL ? cc__nursery_spawn_joinable_copy(n, out, NULL, options, main, captures, size,
	                                                   place)
	                 : spawn_root_copy(out, options, main, captures, size, place);
}

/* What keeps an element from being sent, whatever the channel has room for; 0: nothing. */
static int refusal(const CCChan *c, const void *item, size_t size)
{
	if (cc__forked())
		return ENOTSUP;
	return c == NULL || c->kind != &cc__ordered || item == NULL || size != c->size ? EINVAL : 0;
}

/* `item` begins with the handle of a task that has been spawned here.  After any error it is joined,
 * whatever happens to the caller (ORDERED-1: a child of the innermost nursery, or a task of the
 * caller's own runtime, is cancelled with the caller). */
static int send_task(CCChan *c, void *item, size_t size, CCTask task, cc_time deadline)
{
	int err;

	memcpy(item, &task, sizeof task);
	if ((err = cc_chan_send_until(c, item, size, deadline)) == 0)
		return 0;
	cc__task_join_anyway(task);	/* EINVAL: a send to a closed channel has joined it */
	memset(item, 0, sizeof task);
	return err;
}

static int spawn_item(CCChan *c, void *item, size_t size, const CCTaskOptions *options,
                      cc_task_main *main, void *arg, cc_time deadline, uintptr_t place)
{
	int err = refusal(c, item, size);
	CCTask task;

	if (err != 0 || (err = spawn_here(&task, options, main, arg, place)) != 0)
		return err;
	return send_task(c, item, size, task, deadline);
}

static int spawn_copied_item(CCChan *c, void *item, size_t size, const CCTaskOptions *options,
                             cc_task_main *main, const void *captures, size_t captures_size,
                             cc_time deadline, uintptr_t place)
{
	int err = refusal(c, item, size);
	CCTask task;

	if (err != 0 || captures == NULL)
		return err != 0 ? err : EINVAL;
	if ((err = spawn_copy_here(&task, options, main, captures, captures_size, place)) != 0)
		return err;
	return send_task(c, item, size, task, deadline);
}

int cc_chan_spawn_item(CCChan *c, void *item, size_t size, const CCTaskOptions *options,
                       cc_task_main *main, void *arg, cc_time deadline)
{
	return spawn_item(c, item, size, options, main, arg, deadline, CC__PLACE_HERE());
}

int cc_chan_spawn_copy(CCChan *c, void *item, size_t size, const CCTaskOptions *options,
                       cc_task_main *main, const void *captures, size_t captures_size,
                       cc_time deadline)
{
	return spawn_copied_item(c, item, size, options, main, captures, captures_size, deadline,
	                         CC__PLACE_HERE());
}

int cc_spawn_send_at(CCChan *c, void *item, size_t size, cc_task_main *main, const void *captures,
                     size_t captures_size, cc_time deadline, const char *place)
{
	if (captures == NULL)
		return spawn_item(c, item, size, NULL, main, NULL, deadline, cc__place_of(place));
	return spawn_copied_item(c, item, size, NULL, main, captures, captures_size, deadline,
	                         cc__place_of(place));
}

int cc_chan_spawn(CCChan *c, const CCTaskOptions *options, cc_task_main *main, void *arg,
                  cc_time deadline)
{
	CCTask item;

	return spawn_item(c, &item, sizeof item, options, main, arg, deadline, CC__PLACE_HERE());
}
