/* nursery_test.c - what users expect of a nursery, row by row, with a fiber as its owner and
 * with a thread: its life.  (nursery_cancel_test.c has cancellation.) */
#include "nurseries.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "task/frame.h"

/* ---- the scope ends: waits for all children ---- */

/* The last of them is slow. */
struct last {
	cc__a32 *ran;
	uint32_t others;	/* have counted before it does */
	cc__a32 begun;
};

static int count_last(void *arg)
{
	struct last *l = arg;

	cc__store(&l->begun, 1, CC__RELEASE);
	while (cc__load(l->ran, CC__ACQUIRE) < l->others)
		cc_yield();
	for (int i = 0; i < 2000; i++)
		cc_yield();
	return count(l->ran);
}

/* It has begun, so the join does not run it in place. */
static void spawn_last(CCNursery *n, struct last *l)
{
	CHECK_EQ(cc_nursery_spawn(n, NULL, count_last, l), 0);
	while (cc__load(&l->begun, CC__ACQUIRE) == 0)
		cc_yield();
}

static int scope_waits(void *rt)
{
	const CCNurseryOptions o = in(rt);
	cc__a32 ran = {0};
	struct last last = {.ran = &ran, .others = 99};
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		spawn_last(n, &last);
		for (int i = 0; i < 99; i++)
			CHECK_EQ(cc_nursery_spawn(n, NULL, yield_and_count, &ran), 0);
	}
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 100);
	CHECK_EQ(err, 0);
	last = (struct last){.ran = &ran, .others = 0};
	cc_nursery_scope_with(n, &err, &o)
		spawn_last(n, &last);	/* the only one */
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 101);
	return err;
}

TEST(scope_ends_when_all_children_have)	/* covers: LIF-08/s, LIF-10/s, LIF-69/s */
{
	for_fiber_and_thread(scope_waits);
}

enum { BY_END, BY_BREAK, BY_CONTINUE, BY_GOTO, BY_RETURN, WAYS };

static void leave_by(CCRuntime *rt, int way, cc__a32 *ran, int *err)
{
	const CCNurseryOptions o = in(rt);

	cc_nursery_scope_with(n, err, &o) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, yield_and_count, ran), 0);
		if (way == BY_BREAK)
			break;
		if (way == BY_CONTINUE)
			continue;
		if (way == BY_GOTO)
			goto out;
		if (way == BY_RETURN)
			return;
		CHECK_EQ(way, BY_END);
	}
	CHECK(way == BY_END || way == BY_BREAK || way == BY_CONTINUE);
	return;
out:
	CHECK_EQ(way, BY_GOTO);
	CHECK_EQ(cc__load(ran, CC__RELAXED), 1);
}

static int leave_each_way(void *rt)
{
	for (int way = BY_END; way < WAYS; way++) {
		cc__a32 ran = {0};
		int err = -1;

		leave_by(rt, way, &ran, &err);
		CHECK_EQ(cc__load(&ran, CC__RELAXED), 1);
		CHECK_EQ(err, 0);
	}
	return 0;
}

TEST(scope_joins_however_it_is_left)	/* covers: LIF-10/s */
{
	for_fiber_and_thread(leave_each_way);
}

static int nested(void *rt)
{
	const CCNurseryOptions o = in(rt);
	cc__a32 ran = {0};
	int outer = -1, inner = -1;

	cc_nursery_scope_with(a, &outer, &o) {
		CHECK_EQ(cc_nursery_spawn(a, NULL, yield_and_count, &ran), 0);
		cc_nursery_scope_with(b, &inner, &o) {
			CHECK_EQ(cc_nursery_spawn(b, NULL, fail, (void *)EIO), 0);
			CHECK_EQ(cc_nursery_spawn(a, NULL, yield_and_count, &ran), 0);
			CHECK_EQ(cc_nursery_join(a), EBUSY);
		}
		CHECK_EQ(inner, EIO);
		CHECK_EQ(cc_cancel_reason(), 0);	/* the inner one's business alone */
	}
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 2);
	return outer;
}

TEST(inner_scope_keeps_its_error_to_itself)
{
	for_fiber_and_thread(nested);
}

/* ---- a child fails ---- */

static int siblings_cancelled(void *rt)
{
	const CCNurseryOptions o = in(rt);
	struct quiet q = quiet_new();
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		for (int i = 0; i < 3; i++)
			CHECK_EQ(cc_nursery_spawn(n, NULL, receive, &q), 0);
		CHECK_EQ(cc_nursery_spawn(n, NULL, fail_when_three_wait, &q), 0);
	}
	CHECK_EQ(err, EIO);
	CHECK_EQ(cc__load(&q.cancelled, CC__RELAXED), 3);
	/* The channel has not noticed. */
	CHECK_EQ(cc_chan_closed(q.chan), 0);
	CHECK_EQ(cc_chan_free(q.chan), 0);
	return 0;
}

TEST(failure_cancels_siblings_and_is_returned)	/* covers: RES-36/u, LIF-01/u, LIF-09/u */
{
	for_fiber_and_thread(siblings_cancelled);
}

static int fail_then_let_go(void *arg)
{
	struct gate *g = arg;

	cc__store(&g->open, 1, CC__RELEASE);
	return EIO;
}

static int succeed_at(void *arg)
{
	wait_at(arg);
	return 0;
}

static int supervised(void *rt)
{
	const CCNurseryOptions o = {.runtime = rt, .policy = CC_NURSERY_SUPERVISE};
	struct gate g = {0};
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, succeed_at, &g), 0);
		CHECK_EQ(cc_nursery_spawn(n, NULL, fail_then_let_go, &g), 0);
		while (cc__load(&g.open, CC__ACQUIRE) == 0)
			cc_yield();
		CHECK_EQ(cc_cancel_reason(), 0);
		CHECK_EQ(cc_nursery_spawn(n, NULL, nothing, NULL), 0);
	}
	CHECK_EQ(err, EIO);
	return 0;
}

TEST(supervising_nursery_cancels_nobody)
{
	for_fiber_and_thread(supervised);
}

static int first_success(void *rt)
{
	const CCNurseryOptions o = {.runtime = rt, .policy = CC_NURSERY_FIRST_SUCCESS};
	struct quiet q = quiet_new();
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, receive, &q), 0);
		CHECK_EQ(cc_nursery_spawn(n, NULL, fail, (void *)EIO), 0);
		CHECK_EQ(cc_nursery_spawn(n, NULL, nothing, NULL), 0);
	}
	CHECK_EQ(err, 0);
	CHECK_EQ(cc__load(&q.cancelled, CC__RELAXED), 1);
	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, fail, (void *)EIO), 0);
		CHECK_EQ(cc_nursery_spawn(n, NULL, fail, (void *)EIO), 0);
	}
	CHECK_EQ(err, EIO);
	CHECK_EQ(cc_chan_free(q.chan), 0);
	return 0;
}

TEST(first_success_cancels_the_others)
{
	for_fiber_and_thread(first_success);
}

/* ---- daemons ---- */

static int daemons(void *rt)
{
	const CCNurseryOptions o = in(rt);
	struct quiet q = quiet_new();
	cc__a32 ran = {0};
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_spawn_daemon(n, NULL, receive, &q), 0);
		CHECK_EQ(cc_nursery_spawn_daemon(n, NULL, receive, &q), 0);
		CHECK_EQ(cc_nursery_spawn(n, NULL, yield_and_count, &ran), 0);
	}
	CHECK_EQ(err, 0);
	CHECK_EQ(cc__load(&q.ended, CC__RELAXED), 2);
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 1);
	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_spawn_daemon(n, NULL, receive, &q), 0);
		CHECK_EQ(cc_nursery_spawn(n, NULL, receive, &q), 0);
		CHECK_EQ(cc_nursery_spawn_daemon(n, NULL, fail, (void *)EIO), 0);
	}
	CHECK_EQ(err, EIO);
	CHECK_EQ(cc_chan_free(q.chan), 0);
	return 0;
}

TEST(daemon_ends_with_the_scope)
{
	for_fiber_and_thread(daemons);
}

/* ---- sealed ---- */

struct sibling {
	CCNursery *n;
	struct gate gate;
	cc__a32 *ran;
	int answer;
};

static int spawn_sibling(void *arg)
{
	struct sibling *s = arg;

	wait_at(&s->gate);
	s->answer = cc_nursery_spawn(s->n, NULL, yield_and_count, s->ran);
	return s->answer;
}

static int sealed(void *rt)
{
	const CCNurseryOptions o = {.runtime = rt, .policy = CC_NURSERY_SUPERVISE};
	cc__a32 ran = {0};
	int err = -1;
	CCTask outsider = {0};
	struct sibling out, inside;

	cc_nursery_scope_with(n, &err, &o) {
		out = (struct sibling){.n = n, .ran = &ran};
		inside = out;
		CHECK_EQ(cc_nursery_spawn(n, NULL, spawn_sibling, &inside), 0);
		outsider = spawn(rt, spawn_sibling, &out);
		CHECK_EQ(cc_nursery_seal(n), 0);
		CHECK_EQ(cc_nursery_seal(n), 0);
		CHECK_EQ(cc_nursery_spawn(n, NULL, count, &ran), EINVAL);
		cc__store(&out.gate.open, 1, CC__RELEASE);
		CHECK_EQ(join(outsider), EINVAL);
		cc__store(&inside.gate.open, 1, CC__RELEASE);
	}
	CHECK_EQ(err, EINVAL);	/* of the owner's spawn */
	CHECK_EQ(inside.answer, 0);
	CHECK_EQ(cc__load(&ran, CC__RELAXED), 1);
	return 0;
}

TEST(sealed_nursery_takes_siblings_only)
{
	for_fiber_and_thread(sealed);
}

/* ---- autoclose ---- */

static int send_three(void *arg)
{
	int err = 0;

	for (int i = 0; i < 3 && err == 0; i++) {
		cc_yield();
		err = cc_chan_send(arg, &i, sizeof i);
	}
	return err;
}

static int autoclose(void *rt)
{
	const CCNurseryOptions o = in(rt);
	CCChan *c = cc_chan_new(sizeof(int), 1);
	int err = -1, got = 0, v;

	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_autoclose(n, c), 0);
		CHECK_EQ(cc_chan_closed(c), 0);		/* no children, but not sealed */
		CHECK_EQ(cc_nursery_spawn(n, NULL, send_three, c), 0);
		CHECK_EQ(cc_nursery_spawn(n, NULL, send_three, c), 0);
		CHECK_EQ(cc_nursery_seal(n), 0);
		while ((err = cc_chan_recv(c, &v, sizeof v)) == 0)
			got++;
		CHECK_EQ(err, EPIPE);
	}
	CHECK_EQ(err, 0);
	CHECK_EQ(got, 6);
	CHECK_EQ(cc_chan_free(c), 0);
	return 0;
}

TEST(autoclose_when_sealed_and_the_last_child_has_ended)	/* covers: CHN-39/u, RES-66/u */
{
	for_fiber_and_thread(autoclose);
}

static int autoclose_at_join(void *rt)
{
	const CCNurseryOptions o = in(rt);
	CCChan *c[2] = {cc_chan_new(sizeof(int), 0), cc_chan_new(sizeof(int), 8)};
	int err = -1;

	cc_nursery_scope_with(n, &err, &o)
		for (int i = 0; i < 2; i++)
			CHECK_EQ(cc_nursery_autoclose(n, c[i]), 0);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(cc_chan_closed(c[i]), 1);
		CHECK_EQ(cc_chan_free(c[i]), 0);
	}
	return err;
}

TEST(autoclose_by_join)	/* covers: CHN-39/u, RES-66/u */
{
	for_fiber_and_thread(autoclose_at_join);
}

/* ---- mistakes ---- */

static int join_foreign(void *arg)
{
	CHECK_EQ(cc_nursery_join(arg), EPERM);
	CHECK_EQ(cc_nursery_seal(arg), EPERM);
	return 0;
}

static int mistakes(void *rt)
{
	CCNurseryOptions o = in(rt);
	const CCTaskOptions later = {.start = cc_now() + CC_SEC};
	CCNursery n;

	CHECK_EQ(cc_nursery_init(NULL, &o), EINVAL);
	o.policy = (CCNurseryPolicy)17;
	CHECK_EQ(cc_nursery_init(&n, &o), EINVAL);
	o = in(rt);
	o.migration = (CCMigration)17;
	CHECK_EQ(cc_nursery_init(&n, &o), EINVAL);
	o = in(rt);
	o.policy = CC_NURSERY_SUPERVISE;
	CHECK_EQ(cc_nursery_init(&n, &o), 0);
	CHECK_EQ(cc_nursery_spawn(&n, NULL, NULL, NULL), EINVAL);
	CHECK_EQ(cc_nursery_spawn(&n, &later, nothing, NULL), EINVAL);
	CHECK_EQ(cc_nursery_spawn(&n, NULL, join_foreign, &n), 0);
	CHECK_EQ(cc_nursery_autoclose(&n, NULL), EINVAL);
	CHECK_EQ(cc_nursery_cancel(&n, -1), EINVAL);
	CHECK_EQ(cc_nursery_join(&n), EINVAL);	/* of the two children that did not run */
	CHECK_EQ(cc_nursery_join(&n), EINVAL);
	CHECK_EQ(cc_nursery_seal(&n), EINVAL);
	CHECK_EQ(cc_nursery_cancel(&n, 0), EINVAL);
	CHECK_EQ(cc_nursery_spawn(&n, NULL, nothing, NULL), EINVAL);
	cc_nursery_fini(&n);
	return 0;
}

TEST(mistakes_are_errors)
{
	for_fiber_and_thread(mistakes);
}

static void destroy_open(void *arg)
{
	CCNursery n;

	(void)arg;
	CHECK_EQ(cc_nursery_init(&n, NULL), 0);
	cc_nursery_fini(&n);
}

static int end_with_open(void *arg)
{
	return cc_nursery_init(arg, NULL);
}

static void task_ends_with_open(void *arg)
{
	static CCNursery n;

	(void)arg;
	join(spawn(NULL, end_with_open, &n));
}

static void child_ends_with_open(void *arg)
{
	static CCNursery n;

	(void)arg;
	cc_nursery_scope(m, NULL)
		cc_nursery_spawn(m, NULL, end_with_open, &n);
}

/* As main does that returns: its frame is gone when the process ends. */
static __attribute__((noinline)) void return_with_open(void)
{
	CCNursery n;

	CHECK_EQ(cc_nursery_init(&n, NULL), 0);
	CHECK_EQ(cc_nursery_spawn(&n, NULL, nothing, NULL), 0);
}

static void end_after_return(void *arg)
{
	(void)arg;
	return_with_open();
	exit(0);
}

static void end_after_return_with_locals(void *arg)
{
	CCLocal key;

	CHECK_EQ(cc_local_new(&key, NULL), 0);
	CHECK_EQ(cc_local_set(key, arg != NULL ? arg : &key), 0);
	return_with_open();
	exit(0);
}

static int wait_long(void *arg)
{
	(void)arg;
	return cc_sleep_until(CC_FOREVER);
}

static void exit_inside(void *arg)
{
	(void)arg;
	cc_nursery_scope(n, NULL) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, wait_long, NULL), 0);
		exit(0);
	}
}

static int call_exit(void *arg)
{
	(void)arg;
	exit(0);
}

static void exit_in_child(void *arg)
{
	(void)arg;
	cc_nursery_scope(n, NULL)
		CHECK_EQ(cc_nursery_spawn(n, NULL, call_exit, NULL), 0);
}

/* The process ends as the program wants it, though a nursery is open. */
TEST(exit_inside_a_nursery_ends_the_process)
{
	static void (*const ways[])(void *) = {exit_inside, exit_in_child};
	static struct test_death death;

	for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++) {
		REQUIRE_EQ(test_dies(ways[i], NULL, &death), 0);
		if (!CHECK(WIFEXITED(death.status) && WEXITSTATUS(death.status) == 0))
			printf("\tway %u: %s\n", i, death.text);
	}
}

TEST(open_nursery_must_not_be_forgotten)
{
	static const struct {
		void (*fn)(void *);
		const char *text;
	} ways[] = {
	    {destroy_open, "destroyed while it is open"},
	    {task_ends_with_open, "ended with a nursery open"},
	    {child_ends_with_open, "ended with a nursery open"},
	    {end_after_return, "the program ends with the nursery at 0x"},
	    {end_after_return_with_locals, "the program ends with the nursery at 0x"},
	};
	static struct test_death death;

	for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++) {
		REQUIRE_EQ(test_dies(ways[i].fn, NULL, &death), 0);
		CHECK(WIFSIGNALED(death.status) && WTERMSIG(death.status) == SIGABRT);
		CHECK(strstr(death.text, ways[i].text) != NULL);
	}
}

/* ---- where children run ---- */

static int tell_migration(void *arg)
{
	cc__store((cc__a32 *)arg, (uint32_t)cc__fiber_migration(cc__fiber_of(cc__self())),
	          CC__RELAXED);
	return 0;
}

TEST(children_move_as_the_nursery_says)
{
	CCRuntime *rt = test_runtime();
	const CCNurseryOptions o = {.runtime = rt, .migration = CC_MIGRATE_PINNED};
	const CCTaskOptions sticky = {.migration = CC_MIGRATE_STICKY, .name = "sticky"};
	cc__a32 said[2] = {{0}, {0}};
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, tell_migration, &said[0]), 0);
		CHECK_EQ(cc_nursery_spawn(n, &sticky, tell_migration, &said[1]), 0);
	}
	CHECK_EQ(err, 0);
	CHECK_EQ(cc__load(&said[0], CC__RELAXED), CC_MIGRATE_PINNED);
	CHECK_EQ(cc__load(&said[1], CC__RELAXED), CC_MIGRATE_STICKY);
	CHECK_EQ(cc_runtime_free(rt), 0);
}
