/* nursery_handle.c - the end of a child that has a handle, on the real nursery, frames and list of
 * handles: against a join by the handle, the cancellation of the nursery and the nursery's join,
 * which drops the handles that are left.
 *
 * Owner and children are threads.  The first child has a frame whose end is that of a fiber; the
 * second, which waits, has the word of a thread.  The nursery is freed as soon as it is joined, so
 * a late access to it is found.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c base/slab.c wait/cancel.c task/frame.c
 * task/join.c sched/options.c
 * scope/nursery.c scope/closing.c scope/handle.c */
#include <errno.h>
#include <string.h>

#define SHIM_REAL_SLAB
#define SHIM_CANCEL
#define SHIM_SCHEDULER
#include "shim_pages.h"
#include "shim_wait.h"
#include "chan/settings.h"
#include "sched/later.h"
#include "scope/nursery.h"
#include "shim_frames.h"
#include "shim_nursery.h"
#include "shim_stacks.h"

/* ---- what is around it ---- */

enum { CHILDREN = 2, RESULT = 40 };

static struct cc__sched sched;
static struct child {
	struct cc__fiber *f;
	struct cc__stack stack;
	cc__a32 started;	/* 1: it may run; 2: it never will */
} child[CHILDREN];
static int scheduled;	/* the owner's: the children are spawned one after the other */

struct cc__member **cc__member_slot(struct cc__parker *p)
{
	for (int i = 0; i < CHILDREN; i++)
		if (child[i].f != NULL && p == &child[i].f->parker)
			return &child[i].stack.member;
	return &((struct cc__thread *)(void *)p)->member;
}

struct cc__scope *cc__scope_here(void)
{
	return NULL;
}

/* The second child waits as a thread does. */
void cc__schedule(struct cc__parker *p)
{
	struct child *c = &child[scheduled];

	c->f = cc__fiber_of(p);
	if (scheduled++ == 0)
		cc__word_claim(p, 1);
	else
		cc__init(&p->word, CC__THREAD_BIT | CC__OWNED);
	cc__store(&c->f->stack, &c->stack, CC__RELAXED);
	cc__store(&c->started, 1, CC__RELEASE);
}

int cc__nursery_spawn_joinable_copy(CCNursery *n, CCTask *out, struct cc__handles *keep,
                                    const CCTaskOptions *options, cc_task_main *main,
                                    const void *captures, size_t size, uintptr_t place)
{
	(void)n, (void)out, (void)keep, (void)options, (void)main, (void)captures, (void)size, (void)place;
	mc_fail("shim: nobody has captures");
}

uint64_t cc__ids_take(struct cc__thread *t)
{
	static uint64_t last;

	(void)t;
	return ++last;
}

int cc_task_spawn(CCRuntime *rt, CCTask *out, const CCTaskOptions *options, cc_task_main *main,
                  void *arg)
{
	(void)rt;
	return cc__sched_spawn(NULL, out, options, main, arg, 0);
}

struct cc__child *cc__sched_child_here(const void *n, struct cc__below *p)
{
	(void)n, (void)p;
	return NULL;
}

struct cc__child *cc__sched_child_next(const void *n, int result)
{
	(void)n, (void)result;
	return NULL;
}

CCRuntime *cc_runtime_current(void)
{
	return (CCRuntime *)(void *)&sched;
}

int cc_chan_send_until(CCChan *c, const void *item, size_t size, cc_time deadline)
{
	(void)c, (void)item, (void)size, (void)deadline;
	mc_fail("shim: nobody has a channel");
}

static void *get_memory(void *context, size_t size)
{
	(void)context;
	return mc_alloc_zero(size);
}

static void put_memory(void *context, void *p, size_t size)
{
	(void)context, (void)size;
	mc_free(p);
}

const CCAllocator cc__default_allocator = {.alloc = get_memory, .free = put_memory};
const struct cc__chan_kind cc__ordered;

/* ---- the children ---- */

static CCNursery *nursery;	/* the owner's, then constant */
static CCTask handle;		/* of the first child; before the second is spawned */
static int did;			/* by the first child; plain */
static int said = -1;		/* what the second got from its join */

static int work(void *arg)
{
	(void)arg;
	did = 1;
	return RESULT;
}

static int join_first(void *arg)
{
	int *result = mc_alloc(sizeof *result);

	(void)arg;
	said = cc_task_join(handle, CC_FOREVER, result);
	MC_ASSERT(said == 0 || said == ECANCELED);
	if (said == 0)
		MC_ASSERT(*result == RESULT && did == 1);
	mc_free(result);
	return 0;
}

/* False: it was not spawned. */
static bool begin(int i)
{
	struct child *c = &child[i];

	mc_wait_while(&c->started, 0);
	if (cc__load(&c->started, CC__ACQUIRE) == 2)
		return false;
	be_thread();
	cc__init(&record[mc_self()].running, &c->f->parker);
	record[mc_self()].waiter.who = &c->f->parker;
	return true;
}

/* As fiber_main does it: the nursery is told in main, then the frame ends. */
static void end_frame(struct cc__fiber *f, int result)
{
	struct cc__wake last;

	cc__init(&record[mc_self()].running, &record[mc_self()].parker);
	cc__store(&f->stack, NULL, CC__RELAXED);
	if (cc__frame_end(f, result, false, &last))
		cc__frame_put(NULL, f);
	cc__wake(last);
}

static void first(void)
{
	struct cc__fiber *f;

	if (begin(0)) {
		f = child[0].f;
		end_frame(f, f->run.main(f->payload.arg));
	}
}

static void second(void)
{
	if (begin(1))
		child[1].f->run.main(child[1].f->payload.arg);
}

/* ---- the owner ---- */

static void start(void)
{
	cc__root_init(&sched.root);
}

static void open_nursery(void)
{
	const CCNurseryOptions o = {.policy = CC_NURSERY_SUPERVISE};

	be_thread();
	nursery = mc_alloc_zero(sizeof *nursery);
	MC_ASSERT(cc_nursery_init(nursery, &o) == 0);
	MC_ASSERT(cc_nursery_spawn_task(nursery, &handle, NULL, work, NULL) == 0);
	MC_ASSERT(cc_nursery_spawn(nursery, NULL, join_first, NULL) == 0);
}

static void join_nursery(void)
{
	cc_ignore(cc_nursery_join(nursery));
	mc_free(nursery);
}

static void cancel_and_join(void)
{
	open_nursery();
	MC_ASSERT(cc_nursery_cancel(nursery, 0) == 0);
	join_nursery();
}

static void only_join(void)
{
	open_nursery();
	join_nursery();
	MC_ASSERT(said == 0);
}

/* The handle is used up whoever was quicker, and the frame is back in the pool. */
static void over(void)
{
	const struct cc__fiber *f = handle.frame;

	MC_ASSERT(did == 1 && said != -1);
	MC_ASSERT((cc__peek(&f->handle) & CC__HANDLE_ID) != handle.id);
	MC_ASSERT(cc__word_state(cc__peek(&f->parker.word)) == CC__IDLE);
	MC_ASSERT(f->done.head == NULL && sched.root.scope.inner == NULL);
	check_threads_at_rest();
	mc_outcome("%s", said == 0 ? "joined" : "cancelled");
}

#define HANDLE_SCENARIO(name, ...) \
	SCENARIO(name, .init = start, .leaks = true, .bound = 1, .weak = 1, .spurious = MC_NONE, \
	         __VA_ARGS__)

/* covers: RES-60/m, RES-13/m */
HANDLE_SCENARIO(child_ends_against_its_handle_and_the_nursery, .final = over,
                .body = {only_join, first, second}, .outcomes = "joined")
/* covers: RES-60/m, RES-54/m */
HANDLE_SCENARIO(child_ends_against_its_handle_the_nursery_and_cancel, .final = over,
                .body = {cancel_and_join, first, second}, .outcomes = "cancelled joined")

/* ---- a seeded bug: the end of the nursery taken for the end of the frame ---- */

/* A child tells its nursery before its frame ends, so the frame is not the owner's. */
static void reuse_frame_after_join(void)
{
	struct cc__fiber *f;

	open_nursery();
	f = handle.frame;
	MC_ASSERT(cc_nursery_cancel(nursery, 0) == 0);	/* else the sibling has joined it */
	join_nursery();
	f->run.result = 0;
}
HANDLE_SCENARIO(frame_reused_when_the_nursery_is_joined,
                .body = {reuse_frame_after_join, first, second}, .expect = "race")
