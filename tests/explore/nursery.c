/* nursery.c - the real nursery and its scopes: the last child against join, against
 * cancel, against spawn; cancel against who is about to sleep.
 *
 * Owner and children are threads; a child has a frame all the same, whose word is that of a
 * thread, and begins when it is spawned.  The nursery is freed as soon as it is joined, so
 * who touches it late is found.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c wait/cancel.c scope/nursery.c
 * scope/closing.c */
#include <errno.h>

#define SHIM_CANCEL
#define SHIM_SCHEDULER
#include "shim_wait.h"
#include "chan/settings.h"
#include "scope/nursery.h"
#include "shim_nursery.h"

/* ---- what is around it ---- */

enum { CHILDREN = 3 };

static struct cc__sched sched;
static struct child {
	struct cc__fiber f;
	struct cc__stack stack;
	cc__a32 started;	/* 1: it may run; 2: it never will */
} child[CHILDREN];
static int spawned;		/* spawn_lock */
static int spawn_lock;

struct cc__member **cc__member_slot(struct cc__parker *p)
{
	for (int i = 0; i < CHILDREN; i++)
		if (p == &child[i].f.parker)
			return &child[i].stack.member;
	return &((struct cc__thread *)(void *)p)->member;
}

/* A frame for one more. */
struct cc__fiber *cc__frame_more(struct cc__frame_cache *cache)
{
	struct cc__fiber *f;

	(void)cache;
	mc_lock(&spawn_lock);
	f = &child[spawned++].f;
	mc_unlock(&spawn_lock);
	return f;
}

/* It runs, as a thread. */
void cc__schedule(struct cc__parker *p)
{
	struct child *c = (struct child *)(void *)p;

	cc__init(&p->word, CC__THREAD_BIT | CC__OWNED);
	cc__init(&c->f.stack, &c->stack);
	cc__store(&c->started, 1, CC__RELEASE);
}

int cc__task_options_check(struct cc__sched *s, const CCTaskOptions *options)
{
	(void)s, (void)options;
	mc_fail("shim: nobody has options");
}

void cc__frame_options(struct cc__fiber *f, const CCTaskOptions *options)
{
	(void)f, (void)options;
	mc_fail("shim: nobody has options");
}

uint64_t cc__ids_take(struct cc__thread *t)
{
	(void)t;
	return 1;
}

struct cc__child *cc__sched_child_here(const void *nursery, struct cc__below *p)
{
	(void)nursery, (void)p;
	return NULL;
}

struct cc__child *cc__sched_child_next(const void *nursery, int result)
{
	(void)nursery, (void)result;
	return NULL;
}

unsigned cc__stack_order_for(const struct cc__stack_pool *p, size_t size)
{
	(void)p, (void)size;
	mc_fail("shim: nobody asks for stacks");
}

bool cc__stack_pool_stock(struct cc__stack_pool *p, unsigned order)
{
	(void)order;
	return cc__stack_order_for(p, 0) == 0;
}

CCRuntime *cc_runtime_current(void)
{
	return (CCRuntime *)(void *)&sched;
}

int cc_task_detach(CCTask task)
{
	return cc_task_recall(task);
}

void cc__nursery_drop_handles(struct cc__nursery *n)
{
	(void)n;
	mc_fail("shim: nobody has a handle");
}

void cc__handles_keep(struct cc__handles *h, CCTask task)
{
	(void)h, (void)task;
	mc_fail("shim: nobody has a handle");
}

const CCAllocator cc__default_allocator;

static void start(void)
{
	cc__root_init(&sched.root);
}

static void be_child(int i)
{
	struct child *c = &child[i];

	mc_wait_while(&c->started, 0);
	if (cc__load(&c->started, CC__RELAXED) == 2)
		return;
	be_thread();
	cc__init(&record[mc_self()].running, &c->f.parker);
	record[mc_self()].waiter.who = &c->f.parker;
	c->f.run.main(c->f.payload.arg);
}

static void first(void) { be_child(0); }
static void second(void) { be_child(1); }
static void third(void) { be_child(2); }

/* ---- what children do ---- */

static CCNursery *nursery;	/* the owner's, then constant */
static int did[8];		/* each his own; plain */
static struct cc__waitq nobody;
static int waited = -1;		/* what a wait for nobody returned */

static int work(void *arg)
{
	did[(intptr_t)arg] = 1;
	return 0;
}

static int fail(void *arg)
{
	did[(intptr_t)arg] = 1;
	return EIO;
}

/* In memory of its own, gone right after. */
static int wait_for_nobody(void *arg)
{
	struct cc__waiter *w = waiter_new();
	int err;

	(void)arg;
	cc__lock(&nobody.lock, CC__RANK_WAITQ);
	err = cc__wait(&nobody, w, CC_FOREVER);
	mc_free(w);
	waited = err;
	return err;
}

static int spawn_another(void *arg)
{
	(void)arg;
	MC_ASSERT(cc_nursery_spawn(nursery, NULL, work, (void *)2) == 0);
	return 0;
}

/* ---- the owner ---- */

static void open_nursery(void)
{
	be_thread();
	nursery = mc_alloc_zero(sizeof *nursery);
	MC_ASSERT(cc_nursery_init(nursery, NULL) == 0);
}

static void spawn(cc_task_main *main, intptr_t arg)
{
	MC_ASSERT(cc_nursery_spawn(nursery, NULL, main, (void *)arg) == 0);
}

static void join(int expected)
{
	const int err = cc_nursery_join(nursery);

	MC_ASSERT(err == expected);
	mc_free(nursery);
}

static void over(void)
{
	MC_ASSERT(nobody.head == NULL);
	for (int i = 0; i < CHILDREN; i++)
		MC_ASSERT(cc__word_state(cc__peek(&child[i].f.parker.word)) ==
		              (i < spawned ? CC__OWNED : CC__IDLE) &&
		          child[i].stack.member == NULL);
	MC_ASSERT(sched.root.scope.inner == NULL);
	check_threads_at_rest();
}

#define NURSERY_SCENARIO(name, ...) \
	SCENARIO(name, .init = start, .final = over, .leaks = true, __VA_ARGS__)

/* ---- the last child against join ---- */

static void spawn_two_and_join(void)
{
	open_nursery();
	spawn(work, 0);
	spawn(work, 1);
	join(0);
	MC_ASSERT(did[0] == 1 && did[1] == 1);
}
/* covers: RES-60/m */
NURSERY_SCENARIO(last_child_against_join, .body = {spawn_two_and_join, first, second})

static void spawn_one_that_spawns_and_join(void)
{
	open_nursery();
	spawn(spawn_another, 0);
	join(0);
	MC_ASSERT(did[2] == 1);
}
NURSERY_SCENARIO(spawn_by_a_child_against_join,
                 .body = {spawn_one_that_spawns_and_join, first, second})

/* Sealed long before: the last child says so, and the owner is about anything. */
static void seal_then_join(void)
{
	open_nursery();
	spawn(work, 0);
	spawn(work, 1);
	MC_ASSERT(cc_nursery_seal(nursery) == 0);
	join(0);
	MC_ASSERT(did[0] == 1 && did[1] == 1);
}
NURSERY_SCENARIO(last_child_against_seal, .body = {seal_then_join, first, second})

/* ---- cancel against who is about to sleep ---- */

static void fail_beside_a_sleeper(void)
{
	open_nursery();
	spawn(wait_for_nobody, 0);
	spawn(fail, 1);
	join(EIO);
	MC_ASSERT(waited == ECANCELED);
}
/* covers: RES-54/m */
NURSERY_SCENARIO(failure_wakes_a_sleeping_sibling, .body = {fail_beside_a_sleeper, first, second})

static void sleep_in_the_body(void)
{
	open_nursery();
	spawn(fail, 1);
	MC_ASSERT(wait_for_nobody(NULL) == ECANCELED);
	join(EIO);
}
NURSERY_SCENARIO(failure_wakes_the_body, .body = {sleep_in_the_body, first})

/* Two fail: one of them is the first, and both see everybody woken. */
static void two_fail_beside_a_sleeper(void)
{
	open_nursery();
	spawn(wait_for_nobody, 0);
	spawn(fail, 0);
	/* The first may have failed by now. */
	if (cc_nursery_spawn(nursery, NULL, fail, (void *)1) != 0)
		cc__store(&child[2].started, 2, CC__RELAXED);
	join(EIO);
	MC_ASSERT(waited == ECANCELED);
}
NURSERY_SCENARIO(two_failures_wake_a_sleeper, .bound = 1, .weak = 1,
                 .body = {two_fail_beside_a_sleeper, first, second, third})

/* ---- the last child against an owner who waits in vain (N5) ---- */

/* As a receive from a channel that the nursery closes (chan.c). */
static bool publish_watched(void *object, struct cc__waiter *w)
{
	struct cc__guard *g = &((struct cc__nursery *)(void *)nursery)->guard;
	struct cc__waitq *q = object;
	bool listed;

	cc__lock(&q->lock, CC__RANK_WAITQ);
	if (w->lock == NULL)
		cc__waitq_append(q, w);
	if ((listed = w->next != NULL) && g->in_vain(g, w->who)) {
		cc__waitq_remove(q, w);
		w->result = EDEADLK;
		listed = false;
	}
	cc__unlock(&q->lock);
	return listed;
}

static bool try_nothing(void *object, struct cc__waiter *w)
{
	(void)object, (void)w;
	return false;
}

static bool unpublish_watched(void *object, struct cc__waiter *w)
{
	return cc__waitq_ops.unpublish(object, w);
}

static void wait_in_vain(void)
{
	static const struct cc__waitable_ops ops = {
	    .try_complete = try_nothing,
	    .publish = publish_watched,
	    .unpublish = unpublish_watched,
	};
	struct cc__waiter *w = waiter_new();

	MC_ASSERT(cc__fiber_wait(&nobody, &ops, w, CC_FOREVER) == EDEADLK);
	mc_free(w);
}

static void wait_for_the_last(void)
{
	open_nursery();
	spawn(work, 0);
	wait_in_vain();
	MC_ASSERT(did[0] == 1);
	join(0);
}
NURSERY_SCENARIO(last_child_against_a_wait_in_vain, .body = {wait_for_the_last, first})

/* ---- cancel against what is inside ---- */

static int sleep_in_an_inner_one(void *arg)
{
	CCNursery *inner = mc_alloc_zero(sizeof *inner);

	MC_ASSERT(cc_nursery_init(inner, NULL) == 0);
	wait_for_nobody(arg);
	MC_ASSERT(cc_nursery_join(inner) == 0);
	mc_free(inner);
	return waited;
}

static void fail_beside_an_inner_one(void)
{
	open_nursery();
	spawn(sleep_in_an_inner_one, 0);
	spawn(fail, 1);
	join(EIO);
	MC_ASSERT(waited == ECANCELED);
}
NURSERY_SCENARIO(failure_reaches_an_inner_scope,
                 .body = {fail_beside_an_inner_one, first, second})

/* It is closed while the walk may be at it. */
static int look_into_an_inner_one(void *arg)
{
	CCNursery *inner = mc_alloc_zero(sizeof *inner);
	struct cc__waiter *w = waiter_new();
	struct cc__waitq *q = arg;

	MC_ASSERT(cc_nursery_init(inner, NULL) == 0);
	cc__lock(&q->lock, CC__RANK_WAITQ);
	cc__wait(q, w, cc__now() + CC_SEC);
	mc_free(w);
	MC_ASSERT(cc_nursery_join(inner) == 0);
	mc_free(inner);
	return 0;
}

static void fail_beside_one_that_closes(void)
{
	open_nursery();
	spawn(look_into_an_inner_one, (intptr_t)&nobody);
	spawn(fail, 1);
	join(EIO);
}
NURSERY_SCENARIO(cancel_against_the_close_of_an_inner_scope,
                 .body = {fail_beside_one_that_closes, first, second}, .timeouts = 1,
                 .spurious = MC_NONE)

/* Nobody waits there; who asks sees it. */
static int ask_until_cancelled(void *arg)
{
	CCNursery *inner = mc_alloc_zero(sizeof *inner);

	(void)arg;
	MC_ASSERT(cc_nursery_init(inner, NULL) == 0);
	while (cc_cancel_reason() == 0)
		cc__relax();
	MC_ASSERT(cc_nursery_spawn(inner, NULL, work, NULL) == ECANCELED);
	MC_ASSERT(cc_nursery_join(inner) == ECANCELED);
	mc_free(inner);
	return 0;
}

static void fail_beside_one_that_asks(void)
{
	open_nursery();
	spawn(ask_until_cancelled, 0);
	spawn(fail, 1);
	join(EIO);
}
NURSERY_SCENARIO(cancel_is_seen_by_who_asks, .body = {fail_beside_one_that_asks, first, second})

/* ---- a wake against cancel: one of them ---- */

static struct cc__waitq source;
static int given;	/* source.lock */

static int receive(void *arg)
{
	struct cc__waiter *w = waiter_new();
	int err = 0;

	(void)arg;
	cc__lock(&source.lock, CC__RANK_WAITQ);
	if (given > 0) {
		given--;
		cc__unlock(&source.lock);
	} else {
		err = cc__wait(&source, w, CC_FOREVER);
	}
	mc_free(w);
	waited = err;
	return err;
}

static int give_then_fail(void *arg)
{
	struct cc__batch batch = {0};

	(void)arg;
	cc__lock(&source.lock, CC__RANK_WAITQ);
	if (!cc__waitq_take(&source, &batch, CC__REASON_DATA, 0))
		given++;
	cc__unlock(&source.lock);
	cc__batch_flush(&batch);
	return EIO;
}

static void give_and_fail_beside_a_receiver(void)
{
	open_nursery();
	spawn(receive, 0);
	spawn(give_then_fail, 0);
	join(EIO);
	MC_ASSERT(waited == 0 && given == 0 && source.head == NULL);
}
NURSERY_SCENARIO(what_was_given_wins_over_a_later_cancel,
                 .body = {give_and_fail_beside_a_receiver, first, second})

static int give(void *arg)
{
	give_then_fail(arg);
	return 0;
}

static void give_and_fail_apart(void)
{
	open_nursery();
	spawn(receive, 0);
	spawn(give, 0);
	spawn(fail, 1);
	join(EIO);
	MC_ASSERT(waited == 0 ? given == 0 : waited == ECANCELED && given == 1);
	MC_ASSERT(source.head == NULL);
}
NURSERY_SCENARIO(given_or_cancelled_but_not_both, .bound = 1, .weak = 1,
                 .body = {give_and_fail_apart, first, second, third})

/* ---- daemons ---- */

static int spawn_if_it_may(void *arg)
{
	int err = cc_nursery_spawn(nursery, NULL, work, (void *)2);

	(void)arg;
	MC_ASSERT(err == 0 || err == EINVAL || err == ECANCELED);
	did[3] = err == 0 ? 1 : 2;
	return wait_for_nobody(NULL);
}

static void daemon_and_child(void)
{
	open_nursery();
	MC_ASSERT(cc_nursery_spawn_daemon(nursery, NULL, spawn_if_it_may, NULL) == 0);
	spawn(work, 0);
	join(0);
	MC_ASSERT(did[0] == 1 && waited == ECANCELED);
	MC_ASSERT(did[3] == 1 ? did[2] == 1 : did[2] == 0);
	/* Whoever was not needed may go. */
	if (did[3] == 2)
		cc__store(&child[2].started, 2, CC__RELAXED);
}

/* A daemon that ends by itself is through with the nursery, too, when that is joined. */
static void daemon_that_ends(void)
{
	open_nursery();
	MC_ASSERT(cc_nursery_spawn_daemon(nursery, NULL, work, (void *)1) == 0);
	spawn(work, 0);
	join(0);
	MC_ASSERT(did[0] == 1 && did[1] == 1);
}
NURSERY_SCENARIO(daemon_ends_by_itself, .body = {daemon_that_ends, first, second})

/* Who joins and finds no child has to know of a daemon that the last one left. */
static int leave_a_daemon(void *arg)
{
	(void)arg;
	MC_ASSERT(cc_nursery_spawn_daemon(nursery, NULL, work, (void *)1) == 0);
	return 0;
}

static void child_with_a_daemon(void)
{
	open_nursery();
	spawn(leave_a_daemon, 0);
	join(0);
	MC_ASSERT(did[1] == 1);
}
NURSERY_SCENARIO(daemon_of_the_last_child, .bound = 1,
                 .body = {child_with_a_daemon, first, second})
NURSERY_SCENARIO(daemon_spawns_against_the_end, .bound = 1, .weak = MC_NONE,
                 .body = {daemon_and_child, first, second, third})
