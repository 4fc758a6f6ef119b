/* ordered_test.c - what becomes of a task whose handle an ordered channel does not take.
 *
 * cc_chan_spawn joins its task after every error, whatever ends the call: the task is cancelled with
 * the caller.  A send of a handle joins the task only if the channel is closed; if the caller is
 * cancelled and the task is not, the send returns and the handle is still the caller's. */
#include "nurseries.h"
#include "task/frame.h"

/* Short, because each of these deadlines is waited for. */
#define SOON (3 * CC_MSEC)

/* A task that runs until it is let go, or is cancelled. */
struct job {
	cc__a32 began, let_go, ended;
	cc__a32 returned;	/* the call that should have joined it */
	CCTask self;		/* before `began` */
};

static void begin(struct job *j)
{
	j->self = cc_self();
	cc__store(&j->began, 1, CC__RELEASE);
}

static int until_let_go(void *arg)
{
	struct job *j = arg;

	begin(j);
	while (cc__load(&j->let_go, CC__ACQUIRE) == 0)
		cc_yield();
	cc__store(&j->ended, 1, CC__RELEASE);
	return 17;
}

static int until_cancelled(void *arg)
{
	struct job *j = arg;
	int err;

	begin(j);
	while ((err = cc_sleep_until(CC_FOREVER)) == 0)
		continue;
	/* A caller that does not wait returns meanwhile. */
	for (cc_time limit = cc_after(20 * CC_MSEC);
	     cc__load(&j->returned, CC__ACQUIRE) == 0 && cc_now() < limit;)
		cc_yield();
	cc__store(&j->ended, 1, CC__RELEASE);
	return err;
}

static bool has_ended(struct job *j)
{
	return cc__load(&j->ended, CC__ACQUIRE) != 0;
}

/* Holds the one place of a full channel. */
static CCChan *full_or_closed(bool closed, CCRuntime *rt)
{
	CCChan *c = cc_chan_new_ordered(sizeof(CCTask), 1);
	CCTask t;

	if (closed) {
		CHECK_EQ(cc_chan_close(c), 0);
	} else {
		t = spawn(rt, nothing, NULL);
		CHECK_EQ(cc_chan_send(c, &t, sizeof t), 0);
	}
	return c;
}

/* Its end cancels tasks soon. */
static CCRuntime *impatient_runtime(void)
{
	CCConfig c = config();

	only_workers(&c, 2);
	c.shutdown_timeout = CC_MSEC;
	return runtime_with(&c);
}

/* ---- cc_chan_spawn ---- */

struct spawner {
	CCRuntime *rt;
	CCChan *chan;
	cc_task_main *main;
	struct job job;
	cc_time deadline, nurserys_deadline;
	bool in_nursery;
	bool sticky;	/* so that the joiner does not run it on its own stack */
	CCNursery nursery;
	int said;
	bool joined;	/* the task had ended when the call returned */
};

static int spawn_in_vain(void *arg)
{
	struct spawner *s = arg;
	const CCNurseryOptions o = {.runtime = s->rt, .deadline = s->nurserys_deadline};
	const CCTaskOptions sticky = {.migration = CC_MIGRATE_STICKY};

	if (s->in_nursery)
		CHECK_EQ(cc_nursery_init(&s->nursery, &o), 0);
	s->said = cc_chan_spawn(s->chan, s->sticky ? &sticky : NULL, s->main, &s->job, s->deadline);
	s->joined = has_ended(&s->job);
	cc__store(&s->job.returned, 1, CC__RELEASE);
	if (s->in_nursery)
		cc_ignore(cc_nursery_join(&s->nursery));
	return 0;
}

static bool has_joiner(CCTask t)
{
	struct cc__fiber *f = t.frame;

	return on_list(&f->done);
}

/* The caller joins the task, or has returned without that. */
static void until_joining(struct spawner *s)
{
	TEST_UNTIL(cc__load(&s->job.began, CC__ACQUIRE) != 0);
	TEST_UNTIL(has_joiner(s->job.self) || cc__load(&s->job.returned, CC__ACQUIRE) != 0);
}

static void spawn_and_let_go(enum kind kind, bool in_nursery, bool closed, cc_time deadline,
                             int expected)
{
	CCRuntime *rt = test_runtime();
	struct spawner s = {.rt = rt,
	                    .chan = full_or_closed(closed, rt),
	                    .main = until_let_go,
	                    .deadline = deadline,
	                    .in_nursery = in_nursery,
	                    .sticky = true};
	struct sleeper caller;

	sleeper_start(&caller, rt, kind, spawn_in_vain, &s);
	until_joining(&s);
	CHECK_EQ(cc__load(&s.job.returned, CC__ACQUIRE), 0);
	cc__store(&s.job.let_go, 1, CC__RELEASE);
	CHECK_EQ(sleeper_join(&caller), 0);
	CHECK_EQ(s.said, expected);
	CHECK(s.joined);
	CHECK_EQ(cc_task_join(s.job.self, CC_NOW, NULL), EINVAL);	/* nothing is left of it */
	CHECK_EQ(cc_chan_free(s.chan), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* In a fiber and in a plain thread, inside of a nursery and outside of any.  Outside of a nursery a
 * thread's task belongs to the default runtime. */
TEST(failed_spawn_joins_its_task_however_long_that_takes)	/* covers: RES-73/u, SCH-62/u */
{
	for (enum kind kind = FIBER; kind < KINDS; kind++)
		for (int in_nursery = 0; in_nursery < 2; in_nursery++) {
			spawn_and_let_go(kind, in_nursery, true, CC_FOREVER, EPIPE);
			spawn_and_let_go(kind, in_nursery, true, CC_NOW, EPIPE);
			spawn_and_let_go(kind, in_nursery, false, CC_NOW, EAGAIN);
			spawn_and_let_go(kind, in_nursery, false, cc_after(SOON), ETIMEDOUT);
		}
	CHECK_EQ(cc_shutdown(), 0);
}

enum end { CANCELLED, NURSERYS_DEADLINE, RUNTIMES_END };

static void end_caller(struct spawner *s, enum end how)
{
	if (how == NURSERYS_DEADLINE)
		return;	/* it comes by itself, before the task has begun if the machine is busy */
	TEST_UNTIL(cc__load(&s->job.began, CC__ACQUIRE) != 0);
	if (how == CANCELLED)
		CHECK_EQ(cc_nursery_cancel(&s->nursery, 0), 0);
	else
		free_until_done(s->rt);
}

/* False: the nursery's deadline came too early, and there was no task. */
static bool spawn_and_end_caller(enum kind kind, bool closed, enum end how, cc_time soon,
                                 int expected)
{
	CCRuntime *rt = how == RUNTIMES_END ? impatient_runtime() : test_runtime();
	struct spawner s = {.rt = rt,
	                    .chan = full_or_closed(closed, rt),
	                    .main = until_cancelled,
	                    .deadline = CC_FOREVER,
	                    .in_nursery = how != RUNTIMES_END};
	struct sleeper caller;
	bool began;

	if (how == NURSERYS_DEADLINE)
		s.nurserys_deadline = cc_after(soon);
	sleeper_start(&caller, rt, kind, spawn_in_vain, &s);
	end_caller(&s, how);
	CHECK_EQ(sleeper_join(&caller), 0);
	began = cc__load(&s.job.began, CC__ACQUIRE) != 0;
	CHECK(s.joined == began);
	if (began)
		CHECK_EQ(s.said, expected);
	CHECK_EQ(cc_chan_free(s.chan), 0);
	if (how != RUNTIMES_END)
		CHECK_EQ(cc_runtime_free(rt), 0);
	return began;
}

TEST(failed_spawn_of_a_cancelled_caller_joins_its_task)	/* covers: RES-73/u, SCH-62/u */
{
	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		CHECK(spawn_and_end_caller(kind, false, CANCELLED, 0, ECANCELED));
		CHECK(spawn_and_end_caller(kind, true, CANCELLED, 0, EPIPE));
	}
}

TEST(failed_spawn_joins_its_task_after_a_nurserys_deadline)	/* covers: RES-73/u */
{
	for (enum kind kind = FIBER; kind < KINDS; kind++)
		for (int closed = 0; closed < 2; closed++) {
			cc_time soon = SOON;

			while (!spawn_and_end_caller(kind, closed, NURSERYS_DEADLINE, soon,
			                             closed ? EPIPE : ETIMEDOUT))
				soon *= 2;
		}
}

/* Outside of any nursery: the end of the runtime cancels the caller and the task. */
TEST(failed_spawn_joins_its_task_while_the_runtime_ends)	/* covers: RES-73/u */
{
	CHECK(spawn_and_end_caller(FIBER, false, RUNTIMES_END, 0, ECANCELED));
	CHECK(spawn_and_end_caller(FIBER, true, RUNTIMES_END, 0, EPIPE));
}

/* ---- a send of a handle to a closed channel ---- */

struct sender {
	CCRuntime *rt;
	CCChan *chan;	/* closed */
	CCTask task;
	struct job job;	/* the task's */
	bool in_outer;	/* the task is to be a child of the outer nursery */
	cc_time soon;	/* to the deadline of the inner nursery; 0: it has none */
	bool early;	/* the caller cancels the inner nursery itself, before the send */
	bool by_select;
	CCNursery outer, inner;
	cc__a32 opened;
	int said;
};

static int send_or_select(const struct sender *s)
{
	const CCCase one = cc_case_send(s->chan, &s->task, sizeof s->task);

	return s->by_select ? cc_select(&one, 1, CC_FOREVER, NULL)
	                    : cc_chan_send(s->chan, &s->task, sizeof s->task);
}

static void send_inside(struct sender *s)
{
	const CCNurseryOptions o = {.runtime = s->rt,
	                            .deadline = s->soon != 0 ? cc_after(s->soon) : 0};

	CHECK_EQ(cc_nursery_init(&s->inner, &o), 0);
	if (s->early)
		CHECK_EQ(cc_nursery_cancel(&s->inner, 0), 0);
	cc__store(&s->opened, 1, CC__RELEASE);
	s->said = send_or_select(s);
	cc_ignore(cc_nursery_join(&s->inner));
}

static int send_in_vain(void *arg)
{
	struct sender *s = arg;
	const CCNurseryOptions o = {.runtime = s->rt, .policy = CC_NURSERY_SUPERVISE};

	CHECK_EQ(cc_nursery_init(&s->outer, &o), 0);
	if (s->in_outer) {
		CHECK_EQ(cc_nursery_spawn_task(&s->outer, &s->task, NULL, until_let_go, &s->job),
		         0);
		while (cc__load(&s->job.began, CC__ACQUIRE) == 0)
			cc_yield();
	}
	send_inside(s);
	cc__store(&s->job.returned, 1, CC__RELEASE);
	cc_ignore(cc_nursery_join(&s->outer));
	return 0;
}

/* The caller has returned from its send, and waits for the outer nursery at most. */
static void send_and_end_caller(struct sender *s, struct sleeper *caller, enum kind kind)
{
	cc_time limit;

	sleeper_start(caller, s->rt, kind, send_in_vain, s);
	if (!s->early && s->soon == 0) {
		TEST_UNTIL(cc__load(&s->opened, CC__ACQUIRE) != 0);
		until_parked(caller);
		CHECK_EQ(cc_nursery_cancel(&s->inner, 0), 0);
	}
	limit = cc_after(5 * CC_SEC);
	TEST_UNTIL(cc__load(&s->job.returned, CC__ACQUIRE) != 0 || cc_now() > limit);
	CHECK_EQ(cc__load(&s->job.returned, CC__ACQUIRE), 1);	/* else it waits for the task */
}

static void send_handle_of_other(enum kind kind, struct sender s, int expected)
{
	struct sleeper caller;

	if (!s.in_outer) {
		s.task = spawn(s.rt, until_let_go, &s.job);
		TEST_UNTIL(cc__load(&s.job.began, CC__ACQUIRE) != 0);
	}
	send_and_end_caller(&s, &caller, kind);
	CHECK_EQ(s.said, expected);
	CHECK(!has_ended(&s.job));
	/* The handle is still good, and the task was told nothing. */
	CHECK_EQ(cc_task_join(s.task, CC_NOW, NULL), EAGAIN);
	cc__store(&s.job.let_go, 1, CC__RELEASE);
	if (!s.in_outer)	/* else the caller's join of the nursery may consume the handle first */
		CHECK_EQ(join(s.task), 17);
	CHECK_EQ(sleeper_join(&caller), 0);
}

TEST(cancelled_sender_keeps_the_handle_of_a_task_that_goes_on)	/* covers: RES-73/u */
{
	CCRuntime *rt = test_runtime();
	CCChan *c = full_or_closed(true, rt);

	for (enum kind kind = FIBER; kind < KINDS; kind++)
		for (int i = 0; i < 8; i++) {
			struct sender how = {.rt = rt,
			                     .chan = c,
			                     .early = i & 1,
			                     .by_select = i & 2,
			                     .in_outer = i & 4};

			send_handle_of_other(kind, how, ECANCELED);
			how.early = false;
			how.soon = SOON;
			send_handle_of_other(kind, how, ETIMEDOUT);
		}
	CHECK_EQ(cc_chan_free(c), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

static bool is_done(CCTask t)
{
	const struct cc__fiber *f = t.frame;

	return (cc__load(&f->handle, CC__ACQUIRE) & CC__HANDLE_DONE) != 0;
}

/* This join need not wait, so a cancellation does not end it. */
TEST(cancelled_sender_joins_a_task_that_has_ended)	/* covers: RES-73/u */
{
	CCRuntime *rt = test_runtime();
	CCChan *c = full_or_closed(true, rt);

	for (enum kind kind = FIBER; kind < KINDS; kind++) {
		struct sender s = {
		    .rt = rt, .chan = c, .early = true, .task = spawn(rt, nothing, NULL)};

		struct sleeper caller;

		TEST_UNTIL(is_done(s.task));
		send_and_end_caller(&s, &caller, kind);
		CHECK_EQ(sleeper_join(&caller), 0);
		CHECK_EQ(s.said, EPIPE);
		CHECK_EQ(cc_task_join(s.task, CC_NOW, NULL), EINVAL);
	}
	CHECK_EQ(cc_chan_free(c), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* There is nothing to join, so the send does not wait for the task. */
TEST(send_of_a_detached_handle_to_a_closed_channel_returns_at_once)	/* covers: RES-73/u */
{
	CCRuntime *rt = test_runtime();
	CCChan *c = full_or_closed(true, rt);
	struct job job = {0};
	const CCTask t = spawn(rt, until_let_go, &job);

	CHECK_EQ(cc_task_detach(t), 0);
	CHECK_EQ(cc_chan_send(c, &t, sizeof t), EPIPE);
	CHECK(!has_ended(&job));
	cc__store(&job.let_go, 1, CC__RELEASE);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK(has_ended(&job));
	CHECK_EQ(cc_chan_free(c), 0);
}

static int send_itself(void *chan)
{
	const CCTask self = cc_self();

	CHECK_EQ(cc_chan_send(chan, &self, sizeof self), EDEADLK);
	return 5;
}

TEST(task_that_sends_itself_to_a_closed_channel_keeps_its_handle)	/* covers: RES-73/u */
{
	CCRuntime *rt = test_runtime();
	CCChan *c = full_or_closed(true, rt);

	CHECK_EQ(join(spawn(rt, send_itself, c)), 5);
	CHECK_EQ(cc_chan_free(c), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- the free of a channel with tasks in it ---- */

static int free_with_one_inside(void *arg)
{
	struct spawner *s = arg;

	CHECK_EQ(cc_chan_spawn(s->chan, NULL, until_cancelled, &s->job, CC_FOREVER), 0);
	while (cc__load(&s->job.began, CC__ACQUIRE) == 0)
		cc_yield();
	CHECK_EQ(cc_chan_free(s->chan), 0);
	s->joined = has_ended(&s->job);
	cc__store(&s->job.returned, 1, CC__RELEASE);
	return 0;
}

TEST(free_joins_tasks_that_the_end_of_the_runtime_cancels)	/* covers: SCH-62/u */
{
	CCRuntime *rt = impatient_runtime();
	struct spawner s = {.rt = rt, .chan = cc_chan_new_ordered(sizeof(CCTask), 1)};
	struct sleeper caller;

	sleeper_start(&caller, rt, FIBER, free_with_one_inside, &s);
	TEST_UNTIL(cc__load(&s.job.began, CC__ACQUIRE) != 0 && has_joiner(s.job.self));
	free_until_done(rt);
	CHECK_EQ(sleeper_join(&caller), 0);
	CHECK(s.joined);
}
