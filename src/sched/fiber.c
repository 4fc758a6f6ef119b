/* fiber.c - frames: where they come from, how a task ends, and the iterator. */
#include "sched/fiber.h"

#include <errno.h>
#include <string.h>

#include "sched/sched.h"
#include "sched/stack.h"
#include "wait/slab.h"
#include "wait/thread.h"

#if !defined(CC__ASAN) && !defined(CC__TSAN)
_Static_assert(sizeof(struct cc__fiber) == 128, "two cache lines: a million tasks are 128 MB");
#endif
_Static_assert(offsetof(struct cc__fiber, parker) == 0, "cc__fiber_of");

static struct cc__slab frames = CC__SLAB_INIT(struct cc__fiber, next);

/* Frames that move between a cache and the slab in one hold of its lock. */
enum { CACHE_FILL = 64, CACHE_MAX = 256 };

/* ---- pool ---- */

struct cc__fiber *cc__frame_get(struct cc__frame_cache *cache)
{
	struct cc__fiber *f;

	if (cache == NULL) {
		if ((f = cc__slab_get(&frames)) == NULL)
			return NULL;
	} else {
		if (cache->first == NULL)
			cache->first = cc__slab_get_chain(&frames, CACHE_FILL, &cache->count);
		if ((f = cache->first) == NULL)
			return NULL;
		cache->first = f->next;
		cache->count--;
	}
	cc__word_assign(&f->parker);
	return f;
}

/* The older part of the cache goes back, `keep` stay. */
static void flush_beyond(struct cc__frame_cache *cache, unsigned keep)
{
	struct cc__fiber **cut = &cache->first, *first, *last;

	if (cache->count <= keep)
		return;
	for (unsigned i = 0; i < keep; i++)
		cut = &(*cut)->next;
	first = last = *cut;
	while (last->next != NULL)
		last = last->next;
	*cut = NULL;
	cache->count = keep;
	cc__slab_put_chain(&frames, first, last);
}

void cc__frame_put(struct cc__frame_cache *cache, struct cc__fiber *f)
{
	cc__word_recycle(&f->parker);
	if (cache == NULL) {
		cc__slab_put(&frames, f);
		return;
	}
	f->next = cache->first;
	cache->first = f;
	if (++cache->count > CACHE_MAX)
		flush_beyond(cache, CACHE_MAX / 2);
}

void cc__frame_cache_flush(struct cc__frame_cache *cache)
{
	flush_beyond(cache, 0);
}

/* ---- begin and end of a task ---- */

static char *name_place(struct cc__fiber *f)
{
	return (char *)f->payload.bytes + CC__PAYLOAD - CC__NAME_MAX;
}

void cc__frame_begin(struct cc__fiber *f, struct cc__sched *home, uint64_t id, const char *name,
                     bool detached)
{
	f->home = home;
	/* A stale handle may be looking: its owner passes this lock. */
	cc__lock(&f->done.lock, CC__RANK_WAITQ);
	f->done.user = detached ? CC__TASK_DETACHED : 0;
	if (name != NULL) {
		f->done.user |= CC__TASK_NAMED;
		strncpy(name_place(f), name, CC__NAME_MAX - 1);
		name_place(f)[CC__NAME_MAX - 1] = '\0';
	}
	/* Relaxed: checked under this lock; our own cc_fiber_id runs after. */
	cc__store(&f->id, id, CC__RELAXED);
	cc__unlock(&f->done.lock);
}

bool cc__frame_end(struct cc__fiber *f, int result)
{
	struct cc__batch batch = {0};
	bool mine, more;

	cc__lock(&f->done.lock, CC__RANK_WAITQ);
	f->run.result = result;
	cc__word_done(&f->parker);
	if ((mine = f->done.head != NULL || (f->done.user & CC__TASK_DETACHED)))
		cc__store(&f->id, 0, CC__RELAXED);	/* Relaxed: checked under the lock */
	for (;;) {
		while (f->done.head != NULL && !cc__batch_full(&batch)) {
			*(int *)f->done.head->io = result;
			cc__waitq_take(&f->done, &batch, CC__REASON_DATA, 0);
		}
		more = f->done.head != NULL;
		cc__unlock(&f->done.lock);
		cc__batch_flush(&batch);
		if (!more)
			return mine;
		cc__lock(&f->done.lock, CC__RANK_WAITQ);
	}
}

/* ---- handles ---- */

/* The frame of a handle, locked; NULL if the handle means nothing any more. */
static struct cc__fiber *lock_handle(CCTask task)
{
	struct cc__fiber *f = task.frame;

	if (f == NULL || task.id == 0)
		return NULL;
	cc__lock(&f->done.lock, CC__RANK_WAITQ);
	/* Relaxed: written under this lock. */
	if (cc__load(&f->id, CC__RELAXED) == task.id && !(f->done.user & CC__TASK_DETACHED))
		return f;
	cc__unlock(&f->done.lock);
	return NULL;
}

/* Under f's lock, which it drops: if the task is over, take its result and the
 * frame with it.  False: it is not over, and the lock is still held. */
static bool consume_if_done(struct cc__fiber *f, int *result)
{
	/* Relaxed: cc__frame_end sets it under this lock. */
	if (cc__word_state(cc__load(&f->parker.word, CC__RELAXED)) != CC__DONE)
		return false;
	*result = f->run.result;
	cc__store(&f->id, 0, CC__RELAXED);	/* Relaxed: checked under the lock */
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
		/* Relaxed: cc__frame_end sets it under this lock. */
		undecided = cc__word_state(cc__load(&f->parker.word, CC__RELAXED)) != CC__DONE;
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

int cc_task_join(CCTask task, cc_time deadline, int *result)
{
	struct cc__waiter w = {0};
	int ignored;
	struct cc__fiber *f;

	w.io = result != NULL ? result : &ignored;
	if ((f = lock_handle(task)) == NULL)
		return EINVAL;
	if (consume_if_done(f, w.io))
		return 0;
	if (cc__self() == &f->parker) {
		cc__unlock(&f->done.lock);
		return EDEADLK;
	}
	return cc__wait_as(&f->done, &join_ops, &w, deadline);
}

int cc_task_detach(CCTask task)
{
	struct cc__fiber *f = lock_handle(task);
	int result;

	if (f == NULL)
		return EINVAL;
	if (consume_if_done(f, &result))
		return 0;
	f->done.user |= CC__TASK_DETACHED;
	cc__unlock(&f->done.lock);
	return 0;
}

/* ---- who is there ---- */

void cc__fiber_name_of(const struct cc__fiber *f, struct cc__name *name)
{
	name->text[0] = '\0';
	if (f->done.user & CC__TASK_NAMED)
		memcpy(name->text, f->payload.bytes + CC__PAYLOAD - CC__NAME_MAX, CC__NAME_MAX);
}

static CCFiberState public_state(uint64_t word)
{
	static const CCFiberState state[] = {
	    [CC__QUEUED] = CC_FIBER_QUEUED,   [CC__OWNED] = CC_FIBER_RUNNING,
	    [CC__PARKING] = CC_FIBER_PARKED,  [CC__NOTIFIED] = CC_FIBER_PARKED,
	    [CC__PARKED] = CC_FIBER_PARKED,   [CC__DONE] = CC_FIBER_DONE,
	};

	return state[cc__word_state(word)];
}

/* False: there is no task in f. */
static bool look_at(struct cc__fiber *f, CCFiberInfo *info)
{
	struct cc__name name;
	uint64_t word;

	*info = (CCFiberInfo){0};
	cc__lock(&f->done.lock, CC__RANK_WAITQ);
	/* Relaxed: written under this lock. */
	info->id = cc__load(&f->id, CC__RELAXED);
	cc__fiber_name_of(f, &name);
	/* Relaxed: the id says that the lock orders us after cc__frame_begin. */
	word = cc__load(&f->parker.word, CC__RELAXED);
	if (info->id != 0 && cc__word_state(word) != CC__ASSIGNED) {
		info->runtime = cc__sched_runtime(f->home);
		info->state = public_state(word);
		info->worker = cc__word_owner(word);
		memcpy(info->name, name.text, sizeof info->name);
		if (info->state != CC_FIBER_DONE)
			cc__sched_stack_of(f, &info->stack, &info->stack_size);
	}
	cc__unlock(&f->done.lock);
	return info->runtime != NULL;
}

struct each {
	int (*visit)(const CCFiberInfo *info, void *arg);
	void *arg;
	int answer;
};

static bool visit_frame(void *object, void *arg)
{
	struct each *e = arg;
	CCFiberInfo info;

	if (look_at(object, &info))
		e->answer = e->visit(&info, e->arg);
	return e->answer == 0;
}

int cc_fiber_each(int (*visit)(const CCFiberInfo *info, void *arg), void *arg)
{
	struct each e = {.visit = visit, .arg = arg};

	if (visit == NULL)
		return EINVAL;
	cc__slab_walk(&frames, visit_frame, &e);
	return e.answer;
}

static struct cc__fiber *current(void)
{
	struct cc__parker *p = cc__self();

	/* Relaxed: our own. */
	return p == NULL || cc__word_is_thread(cc__load(&p->word, CC__RELAXED)) ? NULL
	                                                                         : cc__fiber_of(p);
}

uint64_t cc_fiber_id(void)
{
	struct cc__fiber *f = current();

	/* Relaxed: our own, constant while we run. */
	return f != NULL ? cc__load(&f->id, CC__RELAXED) : 0;
}

void cc_fiber_name(char name[16])
{
	struct cc__fiber *f = current();
	struct cc__name n = {{0}};

	if (f != NULL) {
		cc__lock(&f->done.lock, CC__RANK_WAITQ);
		cc__fiber_name_of(f, &n);
		cc__unlock(&f->done.lock);
	}
	memcpy(name, n.text, sizeof n.text);
}
