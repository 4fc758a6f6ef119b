/* lock_wait.c - the real wait queue on the real lock.  Elsewhere the lock is
 * the engine's, and passing it orders everything: here the reason in a waiter
 * must do its part, and whoever leaves must have waited until the waker is out
 * of the lock.
 *
 * All of it is included, with the door open and CC__EXPLORE off; see lock.c. */
#include <errno.h>

#include "engine.h"

#include "os/trace.h"

#undef CC__EXPLORE
#define cc__relax() ((void)0)
#include "base/lock.c"
#include "wait/thread.c"
#include "wait/wait.c"
#undef cc__relax
#define CC__EXPLORE

#include "shim_wait.h"

static struct object {
	struct cc__waitq q;
	bool listed;	/* q.lock */
} object;

/* The memory becomes something else.  Not freed: an unlock may still name its
 * address in a futex wake. */
static void free_object(void)
{
	cc__init(&object.q.lock.word, 0xa5a5a5a5);
	object.q.head = NULL;
	object.listed = false;
}

static void wait_then_free(cc_time deadline)
{
	struct cc__waiter *w = waiter_new();
	int err;

	be_thread();
	cc__lock(&object.q.lock, CC__RANK_WAITQ);
	object.listed = true;
	err = cc__wait(&object.q, w, deadline);
	mc_free(w);
	MC_ASSERT(err == 3 || err == ETIMEDOUT);
	if (err == 3)
		free_object();
}

static void wait_for_ever(void)
{
	wait_then_free(CC_FOREVER);
}

static void wait_a_second(void)
{
	wait_then_free(cc__now() + CC_SEC);
}

static void wake_one(void)
{
	bool listed = false;

	while (!listed) {
		cc__lock(&object.q.lock, CC__RANK_WAITQ);
		listed = object.listed;
		cc__unlock(&object.q.lock);
		if (!listed)
			cc__relax();
	}
	cc__wake_one(&object.q, CC__REASON_DATA, 3);
}

static void unpark(void)
{
	cc__unpark(thread_parker(0));
}
/* covers: RES-56/m, SCH-13/m */
SCENARIO(real_lock_woken_at_its_deadline, .body = {wait_a_second, wake_one}, .spurious = MC_NONE)
SCENARIO(real_lock_woken_by_another, .body = {wait_for_ever, wake_one, unpark}, .spurious = MC_NONE)
