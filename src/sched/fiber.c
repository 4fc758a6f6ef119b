/* fiber.c - frames: where they come from, and how a task ends. */
#include "sched/fiber.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os/fork.h"
#include "sched/later.h"
#include "sched/sched.h"
#include "sched/stack.h"
#include "wait/slab.h"
#include "wait/thread.h"

_Static_assert(sizeof(struct cc__fiber) == 128, "two cache lines: a million tasks are 128 MB");
_Static_assert(offsetof(struct cc__fiber, parker) == 0, "cc__fiber_of");
_Static_assert(_Alignof(struct cc__sched) > CC__HOME_BITS, "what lies in the low bits of home");
_Static_assert(sizeof((struct cc__fiber *)0)->payload.later <= CC__PAYLOAD - CC__NAME_MAX,
               "a name beside the timer");
_Static_assert(sizeof((struct cc__fiber *)0)->payload.child <= CC__PAYLOAD - CC__NAME_MAX,
               "a name beside what a child runs");

static struct cc__slab frames = CC__SLAB_INIT(struct cc__fiber, next);

/* ---- pool ---- */

enum { DEPOT = 64 };

/* Where frames go from a worker that ends tasks to one that spawns them: whole stocks. */
static struct {
	struct cc__lock lock;
	unsigned count;				/* lock */
	struct cc__frame_stock stock[DEPOT];	/* lock */
} depot;

/* From one that has some to one that has none. */
static void move(struct cc__frame_stock *to, struct cc__frame_stock *from)
{
	cc__quiet_begin();
	memcpy(to->frame, from->frame, from->count * sizeof *from->frame);
	cc__quiet_end();
	to->count = from->count;
	from->count = 0;
}

static void slab_put(struct cc__frame_stock *s)
{
	for (unsigned i = 1; i < s->count; i++)
		s->frame[i - 1]->next = s->frame[i];
	cc__slab_put_chain(&frames, s->frame[0], s->frame[s->count - 1]);
	s->count = 0;
}

static void slab_get(struct cc__frame_stock *s)
{
	struct cc__fiber *f = cc__slab_get_chain(&frames, CC__FRAMES / 2, &s->count);

	for (unsigned i = 0; f != NULL; f = f->next)
		s->frame[i++] = f;
}

static void depot_put(struct cc__frame_stock *s)
{
	cc__lock(&depot.lock, CC__RANK_POOL);
	if (depot.count < DEPOT)
		move(&depot.stock[depot.count++], s);
	cc__unlock(&depot.lock);
	if (s->count > 0)
		slab_put(s);
}

static void depot_get(struct cc__frame_stock *s)
{
	cc__lock(&depot.lock, CC__RANK_POOL);
	if (depot.count > 0)
		move(s, &depot.stock[--depot.count]);
	cc__unlock(&depot.lock);
}

struct cc__fiber *cc__frame_more(struct cc__frame_cache *cache)
{
	if (cache == NULL)
		return cc__slab_get(&frames);
	if (cache->spare.count > 0)
		move(&cache->stock, &cache->spare);
	else
		depot_get(&cache->stock);
	if (cache->stock.count == 0)
		slab_get(&cache->stock);
	return cache->stock.count > 0 ? cc__frame_take(&cache->stock) : NULL;
}

/* There is no room for another. */
static __attribute__((noinline)) void make_room(struct cc__frame_cache *cache)
{
	if (cache->spare.count > 0)
		depot_put(&cache->spare);
	move(&cache->spare, &cache->stock);
}

void cc__frame_put(struct cc__frame_cache *cache, struct cc__fiber *f)
{
	cc__word_recycle(&f->parker);
	if (cache == NULL) {
		cc__slab_put(&frames, f);
		return;
	}
	if (cache->stock.count == CC__FRAMES)
		make_room(cache);
	cache->stock.frame[cache->stock.count++] = f;
}

void cc__frame_cache_flush(struct cc__frame_cache *cache)
{
	if (cache->stock.count > 0)
		depot_put(&cache->stock);
	if (cache->spare.count > 0)
		depot_put(&cache->spare);
}

size_t cc__frames_made(void)
{
	return cc__slab_made(&frames);
}

/* ---- begin and end of a task ---- */

static char *name_place(struct cc__fiber *f)
{
	return (char *)f->payload.bytes + CC__PAYLOAD - CC__NAME_MAX;
}

/* One stack is made at once: a task that no stack can be had for would never run. */
static int check_stack_size(struct cc__stack_pool *stacks, size_t size)
{
	if (size <= stacks->shelf[0].size)
		return 0;
	return cc__stack_pool_stock(stacks, cc__stack_order_for(stacks, size)) ? 0 : ENOMEM;
}

int cc__task_options_check(struct cc__sched *s, const CCTaskOptions *o)
{
	if ((o->name != NULL && strlen(o->name) >= CC__NAME_MAX) ||
	    (unsigned)o->migration > CC_MIGRATE_PINNED || o->start == CC_FOREVER ||
	    o->stack_size > CC__STACK_MAX)
		return EINVAL;
	if (o->stack_size == 0 || (s == NULL && (s = cc__sched_here()) == NULL))
		return 0;
	return check_stack_size(&s->stacks, o->stack_size);
}

static void want_stack(struct cc__fiber *f, size_t size)
{
	const unsigned order = cc__stack_order_for(&cc__fiber_home(f)->stacks, size);

	if (order > 0)
		cc__fiber_want(f, order);
}

void cc__frame_options(struct cc__fiber *f, const CCTaskOptions *options)
{
	f->home |= options->migration;
	if (options->stack_size != 0)
		want_stack(f, options->stack_size);
	if (options->name == NULL)
		return;
	f->home |= CC__HOME_NAMED;
	cc__quiet_begin();
	strncpy(name_place(f), options->name, CC__NAME_MAX - 1);
	cc__quiet_end();
	name_place(f)[CC__NAME_MAX - 1] = '\0';
}

/* The end, if nobody waits: the result stays for a joiner, or nobody wants it, and
 * *mine tells that the frame is the caller's.  False: somebody waits. */
static bool end_alone(struct cc__fiber *f, bool joined, bool *mine)
{
	/* Relaxed: while it is not WAITED only we change it. */
	uint64_t h = cc__load(&f->handle, CC__RELAXED);

	*mine = joined || (h & CC__HANDLE_DETACHED);
	/* Release: the result, to the acquire in take_result. */
	return !(h & CC__HANDLE_WAITED) &&
	       cc__cas(&f->handle, &h, *mine ? 0 : h | CC__HANDLE_DONE, CC__RELEASE, CC__RELAXED);
}

/* The end, under the lock, which it drops.  True: f is the caller's. */
static bool end_locked(struct cc__fiber *f, int result, bool joined, struct cc__wake *last)
{
	struct cc__batch batch;
	/* Relaxed, both: WAITED, so all others pass this lock. */
	const uint64_t h = cc__load(&f->handle, CC__RELAXED);
	/* (A select that has been decided elsewhere is no joiner, though still listed.) */
	struct cc__waiter *w = cc__waitq_claim(&f->done);
	const bool mine = joined || w != NULL || (h & CC__HANDLE_DETACHED);

	cc__batch_init(&batch);
	cc__store(&f->handle, mine ? 0 : h | CC__HANDLE_DONE, CC__RELAXED);
	while (w != NULL) {
		*(int *)w->io = result;
		cc__batch_add(&batch, *last);
		*last = cc__waitq_tell(w, CC__REASON_DATA, 0);
		if (cc__batch_full(&batch)) {
			cc__unlock(&f->done.lock);
			cc__batch_flush(&batch);
			cc__lock(&f->done.lock, CC__RANK_WAITQ);
		}
		w = cc__waitq_claim(&f->done);
	}
	cc__unlock(&f->done.lock);
	cc__batch_flush(&batch);
	return mine;
}

bool cc__frame_end(struct cc__fiber *f, int result, bool joined, struct cc__wake *last)
{
	bool mine;

	*last = (struct cc__wake){0};
	f->run.result = result;
	cc__word_done(&f->parker);
	CC_POINT("task.before_end", &f->parker);
	if (end_alone(f, joined, &mine))
		return mine;
	cc__lock(&f->done.lock, CC__RANK_WAITQ);
	return end_locked(f, result, joined, last);
}

/* ---- handles ---- */

/* From `h`, which has DONE, to no task.  True: the frame and the result are ours. */
static bool take_result(struct cc__fiber *f, uint64_t h, int *result)
{
	/* Acquire: pairs with the release in end_alone; under WAITED, with the lock.
	 * An id never comes back, so it is still the same task. */
	if (!cc__cas(&f->handle, &h, 0, CC__ACQUIRE, CC__RELAXED))
		return false;
	*result = f->run.result;
	cc__frame_put(cc__frame_cache_here(), f);
	return true;
}

struct cc__fiber *cc__frame_lock(CCTask task, uint64_t *h)
{
	struct cc__fiber *f = task.frame;

	if (f == NULL || task.id == 0)
		return NULL;
	cc__lock(&f->done.lock, CC__RANK_WAITQ);
	*h = cc__load(&f->handle, CC__RELAXED);	/* Relaxed: the exchange decides */
	while ((*h & CC__HANDLE_ID) == task.id) {
		const uint64_t waited = *h | CC__HANDLE_WAITED;

		/* Acquire: the frame, from cc__frame_begin or cc__later_set; the result, from
		 * end_alone. */
		if (*h == waited || cc__cas(&f->handle, h, waited, CC__ACQUIRE, CC__RELAXED)) {
			*h = waited;
			if (!(waited & CC__HANDLE_DETACHED))
				return f;
			break;
		}
	}
	cc__unlock(&f->done.lock);
	return NULL;
}

/* With cc__frame_lock's lock, which it drops: if the task is over, take its result
 * and the frame with it.  False: it is not over, and the lock is still held. */
static bool consume_if_done(struct cc__fiber *f, uint64_t h, int *result)
{
	if (!(h & CC__HANDLE_DONE))
		return false;
	/* Relaxed: WAITED, so all others pass the lock. */
	cc__store(&f->handle, 0, CC__RELAXED);
	*result = f->run.result;
	cc__unlock(&f->done.lock);
	cc__frame_put(cc__frame_cache_here(), f);
	return true;
}

/* A joiner whose deadline passes while the end is being told to others, more
 * than fit into one batch, has its result all the same. */
static bool withdraw_joiner(void *object, struct cc__waiter *w)
{
	struct cc__waitq *done = object;
	struct cc__fiber *f = (struct cc__fiber *)(void *)((char *)done -
	                                                   offsetof(struct cc__fiber, done));
	bool undecided = false;

	cc__lock(&done->lock, CC__RANK_WAITQ);
	if (w->next != NULL) {
		cc__waitq_remove(done, w);
		/* Relaxed: WAITED, so the end sets it under this lock. */
		undecided = cc__load(&f->handle, CC__RELAXED) != 0;
		if (!undecided) {
			CC__EVENT(CC__EV_DECIDE, w->who, w->ticket, CC__REASON_DATA);
			*(int *)w->io = f->run.result;
			w->result = 0;
		}
	}
	cc__unlock(&done->lock);
	return undecided;
}

static const struct cc__waitable_ops join_ops = {
    .publish = cc__waitq_publish,
    .unpublish = withdraw_joiner,
};

/* `cancel` is the flag that ends the wait; NULL: whatever cancels the caller. */
static inline __attribute__((always_inline)) int join_task(CCTask task, cc_time deadline,
                                                           int *result, const cc__a32 *cancel)
{
	struct cc__waiter w = {.cancel = cancel, .what = CC__FOR_TASK};
	struct cc__fiber *f = task.frame;
	uint64_t h;
	int ignored;

	if (cc__forked())
		return ENOTSUP;
	w.io = result != NULL ? result : &ignored;
	/* Relaxed: take_result decides. */
	if (f != NULL && task.id != 0 &&
	    (h = cc__load(&f->handle, CC__RELAXED)) == (task.id | CC__HANDLE_DONE) &&
	    take_result(f, h, w.io))
		return 0;
	if (deadline == CC_FOREVER && cc__sched_run_here(task, w.io))
		return 0;
	if ((f = cc__frame_lock(task, &h)) == NULL)
		return EINVAL;
	if (consume_if_done(f, h, w.io))
		return 0;
	if (cc__self() == &f->parker) {
		cc__unlock(&f->done.lock);
		return EDEADLK;
	}
	CC__EVENT(CC__EV_JOIN, cc__self(), task.id, 0);
	return cc__wait_as(&f->done, &join_ops, &w, deadline);
}

int cc_task_join(CCTask task, cc_time deadline, int *result)
{
	return join_task(task, deadline, result, NULL);
}

int cc__task_join_anyway(CCTask task)
{
	static const cc__a32 never = {0};
	int err;

	/* ENOMEM: a thread's first wait, which is tried again. */
	while ((err = join_task(task, CC_FOREVER, NULL, &never)) == ENOMEM)
		cc__relax();
	return err;
}

/* ---- the end of a task as a case of a group ---- */

/* Under cc__frame_lock's lock, which it drops, DONE: whoever decides the group takes it. */
static void settle_case(struct cc__fiber *f, uint64_t h, struct cc__waiter *w)
{
	if (cc__group_claim(w->group, w->index)) {
		w->result = 0;
		consume_if_done(f, h, w->io);
	} else {
		cc__unlock(&f->done.lock);
	}
}

static bool publish_case(void *object, struct cc__waiter *w)
{
	const CCTask *task = object;
	struct cc__fiber *f;
	uint64_t h;

	if (w->lock != NULL)	/* it was listed before; the frame may be another task's by now */
		return cc__waitq_publish(NULL, w);
	if ((f = cc__frame_lock(*task, &h)) == NULL) {
		w->result = EINVAL;
		cc__group_claim(w->group, w->index);
		return false;
	}
	if (h & CC__HANDLE_DONE) {
		settle_case(f, h, w);
		return false;
	}
	cc__waitq_append(&f->done, w);
	cc__unlock(&f->done.lock);
	return true;
}

static bool unpublish_case(void *object, struct cc__waiter *w)
{
	struct cc__fiber *f = ((const CCTask *)object)->frame;

	return w->lock != NULL && cc__waitq_ops.unpublish(&f->done, w);
}

const struct cc__waitable_ops cc__task_ops = {
    .publish = publish_case,
    .unpublish = unpublish_case,
};

int cc_task_detach(CCTask task)
{
	struct cc__fiber *f;
	uint64_t h;
	int result;

	if (cc__forked())
		return ENOTSUP;
	if ((f = cc__frame_lock(task, &h)) == NULL)
		return EINVAL;
	if (consume_if_done(f, h, &result))
		return 0;
	/* Relaxed: WAITED, so all others pass this lock. */
	cc__store(&f->handle, h | CC__HANDLE_DETACHED, CC__RELAXED);
	cc__unlock(&f->done.lock);
	return 0;
}

/* ---- who is there ---- */

void cc__fiber_name_of(const struct cc__fiber *f, struct cc__name *name)
{
	name->text[0] = '\0';
	if (f->home & CC__HOME_NAMED)
		memcpy(name->text, f->payload.bytes + CC__PAYLOAD - CC__NAME_MAX, CC__NAME_MAX);
}

struct cc__debug_name cc__debug_name(const void *who)
{
	const struct cc__fiber *f = who;
	struct cc__debug_name n = {"somebody"};

	if (who == NULL)
		return n;
	/* Relaxed, both: a stale number is allowed. */
	if (cc__word_is_thread(cc__load(&f->parker.word, CC__RELAXED)))
		snprintf(n.text, sizeof n.text, "thread %p", who);
	else
		snprintf(n.text, sizeof n.text, "task %llu",
		         (unsigned long long)cc__load(&f->handle, CC__RELAXED) & CC__HANDLE_ID);
	return n;
}

uint64_t cc__frame_hold(struct cc__fiber *f)
{
	uint64_t h = cc__load(&f->handle, CC__RELAXED);	/* Relaxed: the exchange decides */

	/* Acquire: the frame, from cc__frame_begin or cc__later_set. */
	while (h != 0 && !(h & CC__HANDLE_WAITED) &&
	       !cc__cas_weak(&f->handle, &h, h | CC__HANDLE_WAITED, CC__ACQUIRE, CC__RELAXED))
		continue;
	return h & CC__HANDLE_ID;
}

void cc__frames_walk(bool (*visit)(void *frame, void *arg), void *arg)
{
	cc__slab_walk(&frames, visit, arg);
}

/* A frame that has found another task by now is woken for no reason, at worst. */
static bool unpark_frame(void *object, void *home)
{
	struct cc__fiber *f = object;
	bool ours, unbegun;

	cc__lock(&f->done.lock, CC__RANK_WAITQ);
	ours = cc__frame_hold(f) != 0 && cc__fiber_home(f) == home;
	unbegun = ours && cc__later_take(f);
	cc__unlock(&f->done.lock);
	if (unbegun)
		cc__later_begin(f);
	else if (ours)
		cc__unpark(&f->parker);
	return true;
}

void cc__fiber_unpark_all(const struct cc__sched *home)
{
	cc__slab_walk(&frames, unpark_frame, (void *)(uintptr_t)home);
}

static struct cc__fiber *current(void)
{
	struct cc__parker *p = cc__self();

	/* Relaxed: our own. */
	return p == NULL || cc__word_is_thread(cc__load(&p->word, CC__RELAXED)) ? NULL
	                                                                         : cc__fiber_of(p);
}

CCTask cc_self(void)
{
	struct cc__fiber *f = current();

	/* Relaxed: our own, constant while we run. */
	return f == NULL ? (CCTask){0}
	                 : (CCTask){.frame = f,
	                            .id = cc__load(&f->handle, CC__RELAXED) & CC__HANDLE_ID};
}

uint64_t cc_fiber_id(void)
{
	return cc_self().id;
}

void cc_fiber_name(char name[16])
{
	struct cc__fiber *f = current();
	struct cc__name n = {{0}};

	if (f != NULL && !cc__forked()) {
		cc__lock(&f->done.lock, CC__RANK_WAITQ);
		cc__fiber_name_of(f, &n);
		cc__unlock(&f->done.lock);
	}
	memcpy(name, n.text, sizeof n.text);
}
