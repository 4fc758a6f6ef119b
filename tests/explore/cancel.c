/* cancel.c - the real scopes of cancellation, without nurseries: cancel of an outer one
 * against a first wait inside, against who only asks, against another cancel.
 *
 * The walk wakes one member in each hold of the locks, so whatever can come in between does.
 * Memberships and inner scopes are freed when they are left: who touches them late is found.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c wait/cancel.c
 * defines: CC__CANCEL_WAKES=1 */
#include <errno.h>

#define SHIM_CANCEL
#include "shim_wait.h"
#include "wait/cancel.h"

const cc__a32 *shim_cancel_flag(struct cc__parker *p)
{
	struct cc__member *m = ((struct cc__thread *)(void *)p)->member;

	return m != NULL ? cc__member_flag(m) : NULL;
}

/* ---- a tree, and who is in it ---- */

enum {
	FIRST = CC__CANCEL | EIO << CC__CANCEL_REASON_SHIFT,
	SECOND = CC__CANCEL | EPIPE << CC__CANCEL_REASON_SHIFT
};

static struct cc__root root;
static struct cc__scope outer, inner, other;
static struct cc__member was_there;	/* in `inner`, before */
static struct cc__waitq nobody;
static int news;	/* plain: what a canceller did before */

static void plant(void)
{
	cc__root_init(&root);
	cc__scope_open(&outer, &root.scope);
	cc__scope_open(&inner, &outer);
	cc__scope_open(&other, &root.scope);
}

/* Somebody has waited in `inner`, and is awake. */
static void plant_and_list(void)
{
	struct cc__member *slot = NULL;

	plant();
	cc__member_enter(&was_there, &inner, thread_parker(MC_THREADS - 1), &slot);
	cc__member_flag(&was_there);
}

static struct cc__member *enter(struct cc__scope *s)
{
	struct cc__thread *t = &record[mc_self()];
	struct cc__member *m = mc_alloc(sizeof *m);

	cc__member_enter(m, s, &t->parker, &t->member);
	return m;
}

static void leave(struct cc__member *m)
{
	cc__member_leave(m, &record[mc_self()].member);
	mc_free(m);
}

static int wait_for_nobody(cc_time deadline)
{
	struct cc__waiter *w = waiter_new();
	int err;

	cc__lock(&nobody.lock, CC__RANK_WAITQ);
	err = cc__wait(&nobody, w, deadline);
	mc_free(w);
	return err;
}

static void wait_in(struct cc__scope *s)
{
	struct cc__member *m;

	be_thread();
	m = enter(s);
	MC_ASSERT(wait_for_nobody(CC_FOREVER) == ECANCELED);
	leave(m);
}

static void wait_in_outer(void)
{
	wait_in(&outer);
}
static void wait_in_inner(void)
{
	wait_in(&inner);
}

static void cancel_outer(void)
{
	cc__scope_cancel(&outer, FIRST, false);
}
static void cancel_outer_too(void)
{
	cc__scope_cancel(&outer, SECOND, false);
}

static void over(void)
{
	MC_ASSERT(nobody.head == NULL);
	check_threads_at_rest();
}

#define CANCEL_SCENARIO(name, ...) \
	SCENARIO(name, .init = plant, .final = over, .leaks = true, __VA_ARGS__)

/* ---- against a first wait ---- */

CANCEL_SCENARIO(cancel_against_a_first_wait, .body = {wait_in_outer, cancel_outer})
CANCEL_SCENARIO(cancel_of_the_outer_against_a_first_wait, .body = {wait_in_inner, cancel_outer})

/* In a scope that is opened, waited in and closed meanwhile. */
static void wait_in_a_new_one(void)
{
	struct cc__scope *s = mc_alloc_zero(sizeof *s);

	cc__scope_open(s, &inner);
	wait_in(s);
	cc__scope_close(s);
	mc_free(s);
}
CANCEL_SCENARIO(cancel_reaches_all_the_way_down, .body = {wait_in_a_new_one, cancel_outer})

/* ---- against another cancel ---- */

/* The walk of the one who was not the first takes `inner` off its list.  Who then begins to
 * wait below it must look, though the first one has not come any further. */
CANCEL_SCENARIO(two_cancels_against_a_first_wait, .init = plant_and_list, .bound = 1, .weak = 1,
                .body = {wait_in_a_new_one, cancel_outer, cancel_outer_too})

static void cancel_inner(void)
{
	cc__scope_cancel(&inner, SECOND, false);
}
CANCEL_SCENARIO(inner_and_outer_cancel_against_a_first_wait, .bound = 1, .weak = 1,
                .body = {wait_in_a_new_one, cancel_outer, cancel_inner})

/* ---- several holds ---- */

CANCEL_SCENARIO(cancel_wakes_more_than_fit, .bound = 1, .weak = 1,
                .body = {wait_in_outer, wait_in_inner, cancel_outer})

/* It is closed between two of them. */
static void look_into_a_new_one(void)
{
	struct cc__scope *s = mc_alloc_zero(sizeof *s);
	struct cc__member *m;

	be_thread();
	cc__scope_open(s, &inner);
	m = enter(s);
	wait_for_nobody(cc__now() + CC_SEC);
	leave(m);
	cc__scope_close(s);
	mc_free(s);
}
CANCEL_SCENARIO(cancel_against_a_close, .bound = 1, .weak = 1, .timeouts = 1, .spurious = MC_NONE,
                .body = {wait_in_inner, look_into_a_new_one, cancel_outer})

/* ---- who only asks ---- */

static void ask_until_cancelled(struct cc__scope *s)
{
	while (!cc__scope_cancelled(s))
		cc__relax();
	MC_ASSERT(cc__load(&s->flag, CC__RELAXED) == FIRST);
	MC_ASSERT(news == 1);
}

static void ask_inner(void)
{
	ask_until_cancelled(&inner);
}
static void ask_outer(void)
{
	ask_until_cancelled(&outer);
}

static void tell_and_cancel(void)
{
	news = 1;
	cancel_outer();
}

static void cancel_other_then_outer(void)
{
	cc__scope_cancel(&other, SECOND, false);
	tell_and_cancel();
}
/* The first makes him look; the second may come while he does. */
CANCEL_SCENARIO(ask_while_there_are_cancels, .body = {ask_inner, cancel_other_then_outer})
CANCEL_SCENARIO(ask_what_is_cancelled_itself, .body = {ask_outer, cancel_other_then_outer})

/* He raises the flag of the one who sleeps, and the walk finds it raised. */
CANCEL_SCENARIO(ask_beside_a_sleeper, .weak = 1,
                .body = {wait_in_inner, ask_inner, tell_and_cancel})

/* ---- what was done before ---- */

static void hear_in_inner(void)
{
	wait_in_inner();
	/* Of which of the two we heard is what the flag says. */
	if (cc__load(&inner.flag, CC__RELAXED) == FIRST)
		MC_ASSERT(news == 1);
}

CANCEL_SCENARIO(cancelled_sees_what_was_before, .body = {hear_in_inner, tell_and_cancel})
CANCEL_SCENARIO(cancelled_by_the_second_sees_the_first,
                .body = {hear_in_inner, tell_and_cancel, cancel_outer_too})

/* ---- elsewhere ---- */

static void cancel_other(void)
{
	cc__scope_cancel(&other, FIRST, false);
}

static void look_into_inner(void)
{
	struct cc__member *m;

	be_thread();
	m = enter(&inner);
	MC_ASSERT(wait_for_nobody(cc__now() + CC_SEC) == ETIMEDOUT);
	MC_ASSERT(!cc__scope_cancelled(&inner));
	leave(m);
}
CANCEL_SCENARIO(cancel_elsewhere_disturbs_nobody, .timeouts = 1, .weak = 1,
                .body = {look_into_inner, cancel_other})
