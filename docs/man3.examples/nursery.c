/* Tasks that cannot outlive a block: <ccc/nursery.h>. */
#include <assert.h>
#include <string.h>

#include <ccc/ccc.h>

static int succeed(void *arg)
{
	*(int *)arg = 1;
	return 0;
}

static int fail(void *arg)
{
	(void)arg;
	return EIO;
}

/* Waits until it is cancelled, and asks why. */
static int wait_for_the_end(void *arg)
{
	assert(cc_sleep_until(CC_FOREVER) != 0);
	*(int *)arg = cc_cancel_reason();
	return ECANCELED;
}

static void open_and_join(void)
{
	CCNursery n;
	int done = 0;

	assert(cc_nursery_init(&n, NULL) == 0);
	cc_nursery_spawn(&n, NULL, succeed, &done);
	assert(cc_nursery_join(&n) == 0);	/* waits for the child */
	assert(done);
	cc_nursery_fini(&n);			/* would abort if the nursery were open */
}

/* The block joins its children when control leaves it. */
static void use_a_block(void)
{
	const CCNurseryOptions options = {.policy = CC_NURSERY_SUPERVISE};
	int done = 0, err = 0;

	cc_nursery_scope(n, &err)
		cc_nursery_spawn(n, NULL, succeed, &done);
	assert(done && err == 0);

	done = 0;
	cc_nursery_scope_with(n, &err, &options) {	/* an error cancels no other child */
		cc_nursery_spawn(n, NULL, fail, NULL);
		cc_nursery_spawn(n, NULL, succeed, &done);
	}
	assert(done && err == EIO);
}

/* The first error cancels the other children. */
static void fail_fast(void)
{
	int err = 0, reason = 0;

	cc_nursery_scope(n, &err) {
		cc_nursery_spawn(n, NULL, wait_for_the_end, &reason);
		cc_nursery_spawn(n, NULL, fail, NULL);
	}
	assert(err == EIO && reason == EIO);
}

static void join_one_child(void)
{
	int done = 0, result = 1, err = 0;
	CCTask child;

	cc_nursery_scope(n, &err) {
		assert(cc_nursery_spawn_task(n, &child, NULL, succeed, &done) == 0);
		assert(cc_task_join(child, CC_FOREVER, &result) == 0);
		assert(done && result == 0);
	}
	assert(err == 0);
}

/* A daemon ends with the nursery: join does not wait for it, but cancels it. */
static void start_a_daemon(void)
{
	int reason = 0, done = 0, err = 0;

	cc_nursery_scope(n, &err) {
		cc_nursery_spawn_daemon(n, NULL, wait_for_the_end, &reason);
		cc_nursery_spawn(n, NULL, succeed, &done);
	}
	assert(done && reason == ECANCELED && err == 0);
}

struct point {
	int x, y;
};

static int add(void *captures)
{
	const struct point *p = captures;	/* a copy that belongs to the child */

	return p->x + p->y == 7 ? 0 : EINVAL;
}

/* The argument may change as soon as the call returns. */
static void copy_the_argument(void)
{
	struct point p = {3, 4};
	int err = 0, result = 1;
	CCTask child;

	cc_nursery_scope(n, &err) {
		cc_nursery_spawn_copy(n, NULL, add, &p, sizeof p);
		cc_nursery_spawn_daemon_copy(n, NULL, add, &p, sizeof p);
		assert(cc_nursery_spawn_task_copy(n, &child, NULL, add, &p, sizeof p) == 0);
		p.x = 100;
		assert(cc_task_join(child, CC_FOREVER, &result) == 0 && result == 0);
	}
	assert(err == 0);
}

/* Memory that lives until the nursery has been joined. */
static void use_its_arena(void)
{
	int err = 0;

	cc_nursery_scope(n, &err) {
		int *done = cc_arena_alloc(cc_nursery_arena(n), sizeof *done);

		assert(done != NULL);
		cc_nursery_spawn(n, NULL, succeed, done);
	}
	assert(err == 0);
}

static int send_one(void *arg)
{
	const int n = 5;

	return cc_chan_send(arg, &n, sizeof n);
}

/* The channel is closed when the last child has ended, so the loop ends. */
static void close_when_all_have_ended(void)
{
	CCChan *results = cc_chan_new(sizeof(int), 4);
	int err = 0, sum = 0, v;

	cc_nursery_scope(n, &err) {
		assert(cc_nursery_autoclose(n, results) == 0);
		for (int i = 0; i < 3; i++)
			cc_nursery_spawn(n, NULL, send_one, results);
		cc_nursery_seal(n);		/* this block starts no more children */
		while (cc_chan_recv(results, &v, sizeof v) == 0)
			sum += v;
	}
	assert(err == 0 && sum == 15);
	assert(cc_chan_free(results) == 0);
}

/* At its deadline a nursery is cancelled. */
static void set_a_deadline(void)
{
	int err = 0, reason = 0;

	cc_nursery_scope(n, &err) {
		assert(cc_nursery_deadline(n, cc_after(10 * CC_MSEC)) == 0);
		cc_nursery_spawn(n, NULL, wait_for_the_end, &reason);
	}
	assert(reason == ETIMEDOUT);
}

static void cancel(void)
{
	int err = 0, reason = 0;

	cc_nursery_scope(n, &err) {
		cc_nursery_spawn(n, NULL, wait_for_the_end, &reason);
		assert(cc_nursery_cancel(n, EINTR) == 0);
	}
	assert(err == EINTR && reason == EINTR);
}

/* Clean-up that waits, although the nursery around it is cancelled. */
static void say_goodbye(void)
{
	CCChan *log = cc_chan_new(sizeof(int), 0);
	int err = 0, goodbye = -1, v = 0;

	cc_nursery_scope(n, &err) {
		cc_nursery_cancel(n, 0);
		assert(cc_sleep_ms(1) == ECANCELED);
		cc_shield_scope(cc_after(CC_SEC)) {
			CCCase cases[] = {cc_case_send(log, &goodbye, sizeof goodbye),
			                  cc_case_timeout(cc_after(CC_MSEC))};
			size_t which;

			assert(cc_select(cases, 2, CC_FOREVER, &which) == 0);
			v = which == 1;		/* it waited for the millisecond */
		}
	}
	assert(err == 0 && v == 1);
	assert(cc_chan_free(log) == 0);
}

int main(void)
{
	open_and_join();
	use_a_block();
	fail_fast();
	join_one_child();
	start_a_daemon();
	copy_the_argument();
	use_its_arena();
	close_when_all_have_ended();
	set_a_deadline();
	cancel();
	say_goodbye();
	return 0;
}
