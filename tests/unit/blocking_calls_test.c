/* blocking_calls_test.c - everything that ends a wait ends every call that waits.
 *
 * One row for each public call that can block (docs/blocking-calls.md is the table): how to make
 * the call wait for ever, and four columns, a test each: the deadline of the call, the deadline
 * of a nursery around the caller, the cancellation of that nursery, and the end of the caller's
 * runtime.  All of them with a fiber as the caller, and all but the last with a thread, which
 * belongs to no runtime.
 * link-wrap: getaddrinfo */
#include "domains.h"

#include <ccc/process.h>

#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tasks.h"

/* Short, because most of the tests wait that long. */
#define SOON (3 * CC_MSEC)

/* What the calls wait for.  The test opens it, the caller waits, the test closes it. */
struct scene {
	CCRuntime *rt;		/* the caller's */
	CCRuntime *other;	/* of tasks that outlive it */
	CCChan *chan;
	CCChan *spare;		/* a second one: of a select, or what a task waits for */
	CCToken *token;
	CCTask task;
	CCMutex mutex;
	CCCond cond;
	CCRwlock rwlock;
	CCSemaphore semaphore;
	CCOnce once;
	CCBarrier barrier;
	CCWaitGroup group;
	cc__a32 children;	/* that have begun */
	cc__a32 first_runs;	/* of `once` */
	cc__a32 let_go;		/* it may end */
	struct sleeper helper;
	uint32_t word;
	int fd[2];
	int queued[8];	/* connections that are not accepted */
	unsigned queued_count;
	CCProcess *process;
	int file;
	CCStream *stream[2];
	CCMemory *memory;
	CCParkSpace *space;
	uint32_t *shared;
	struct world world;
	CCStrand *strand;	/* the caller's */
	CCCapClient *client;
};

struct call {
	void (*open)(struct scene *s);
	/* By the caller; ETIMEDOUT and ECANCELED whatever the call itself has for them. */
	int (*make)(struct scene *s, cc_time deadline);
	void (*close)(struct scene *s);
	int at_deadline;	/* instead of ETIMEDOUT, if not 0 */
	int at_nurserys;
	bool unlisted;		/* a thread waits in the kernel, and is not PARKED */
	bool by_children;	/* not the caller waits, but those that it joins */
	bool fibers_only;	/* a thread does not wait */
	const char *(*lacks)(void);	/* what this system lacks for the call, or NULL; NULL: nothing */
};

static const int NOTHING_DONE = -1;	/* stands for 0 in at_deadline */

/* ---- the four columns ---- */

enum column { CALL_DEADLINE, NURSERY_DEADLINE, CANCEL, RUNTIME_END, RUNTIME_END_INSIDE };

struct caller {
	const struct call *call;
	struct scene *scene;
	enum column column;
	CCNursery nursery;	/* in the test's memory: it is cancelled from there */
	cc__a32 opened;
};

static int call_inside(struct caller *c)
{
	const CCNurseryOptions o = {.runtime = c->scene->rt,
	                            .deadline = c->column == NURSERY_DEADLINE ? cc_after(SOON) : 0};
	int err;

	CHECK_EQ(cc_nursery_init(&c->nursery, &o), 0);
	cc__store(&c->opened, 1, CC__RELEASE);
	err = c->call->make(c->scene, CC_FOREVER);
	CHECK_EQ(cc_nursery_join(&c->nursery), 0);
	return err;
}

static int be_caller(void *arg)
{
	struct caller *c = arg;

	switch (c->column) {
	case CALL_DEADLINE:
		return c->call->make(c->scene, cc_after(SOON));
	case RUNTIME_END:
		return c->call->make(c->scene, CC_FOREVER);
	default:
		return call_inside(c);
	}
}

static void until_it_waits(struct sleeper *s, const struct caller *c)
{
	if (c->call->by_children)
		TEST_UNTIL(cc__load(&c->scene->children, CC__ACQUIRE) != 0);
	else if (s->kind == FIBER || !c->call->unlisted)
		until_parked(s);
}

static int expected(const struct caller *c)
{
	int instead = 0;

	if (c->column == CALL_DEADLINE)
		instead = c->call->at_deadline;
	if (c->column == NURSERY_DEADLINE)
		instead = c->call->at_nurserys;
	if (instead != 0)
		return instead == NOTHING_DONE ? 0 : instead;
	return c->column <= NURSERY_DEADLINE ? ETIMEDOUT : ECANCELED;
}

static CCRuntime *runtime_of_two(void)
{
	CCConfig c = config();

	only_workers(&c, 2);
	c.shutdown_timeout = CC_MSEC;
	c.blocking_max = 1;
	return runtime_with(&c);
}

static void check_one(const struct call *call, enum column column, enum kind kind)
{
	struct scene s = {.rt = runtime_of_two(), .other = test_runtime_of(1)};
	struct caller c = {.call = call, .scene = &s, .column = column};
	struct sleeper sleeper;
	int freed = ETIMEDOUT;

	call->open(&s);
	sleeper_start(&sleeper, s.rt, kind, be_caller, &c);
	if (column == CANCEL) {
		TEST_UNTIL(cc__load(&c.opened, CC__ACQUIRE) != 0);
		until_it_waits(&sleeper, &c);
		CHECK_EQ(cc_nursery_cancel(&c.nursery, 0), 0);
	} else if (column >= RUNTIME_END) {
		until_it_waits(&sleeper, &c);
		freed = cc_runtime_free(s.rt);	/* there may be more than the caller */
		CHECK(freed == 0 || freed == ETIMEDOUT);
	}
	CHECK_EQ(sleeper_join(&sleeper), expected(&c));
	call->close(&s);
	if (freed != 0)
		free_until_done(s.rt);
	free_until_done(s.other);
}

static void check(const struct call *call, enum column column)
{
	const char *lack = call->lacks != NULL ? call->lacks() : NULL;

	if (lack != NULL)
		SKIP(lack);
	check_one(call, column, FIBER);
	if (column == RUNTIME_END)
		check_one(call, RUNTIME_END_INSIDE, FIBER);
	else if (!call->fibers_only)
		check_one(call, column, THREAD);
}

/* A row: the name of its tests, and the fields of struct call. */
#define EXCEPT_ITS_DEADLINE(row, ...) \
	static const struct call row = {__VA_ARGS__}; \
	TEST(row##_ends_at_a_nurserys_deadline) \
	{ \
		check(&row, NURSERY_DEADLINE); \
	} \
	TEST(row##_ends_when_cancelled) \
	{ \
		check(&row, CANCEL); \
	} \
	TEST(row##_ends_with_its_runtime) \
	{ \
		check(&row, RUNTIME_END); \
	}
#define ALL_COLUMNS(row, ...) \
	EXCEPT_ITS_DEADLINE(row, __VA_ARGS__) \
	TEST(row##_ends_at_its_deadline) \
	{ \
		check(&row, CALL_DEADLINE); \
	}

static void open_nothing(struct scene *s)
{
	(void)s;
}

/* ---- tasks ---- */

static int receive_once(void *arg)
{
	int v;

	return cc_chan_recv(arg, &v, sizeof v);
}

/* Of another runtime, so that it does not end with the caller's. */
static void open_task(struct scene *s)
{
	s->spare = cc_chan_new(sizeof(int), 0);
	s->task = spawn(s->other, receive_once, s->spare);
}

static void close_task(struct scene *s)
{
	CHECK_EQ(cc_chan_close(s->spare), 0);
	CHECK_EQ(join(s->task), EPIPE);
	CHECK_EQ(cc_chan_free(s->spare), 0);
}

static int make_task_join(struct scene *s, cc_time deadline)
{
	return cc_task_join(s->task, deadline, NULL);
}
ALL_COLUMNS(task_join, .open = open_task, .make = make_task_join, .close = close_task)

/* At its deadline it has slept. */
static int make_sleep(struct scene *s, cc_time deadline)
{
	(void)s;
	return cc_sleep_until(deadline);
}
ALL_COLUMNS(sleep_until, .open = open_nothing, .make = make_sleep, .close = open_nothing,
            .at_deadline = NOTHING_DONE)

/* ---- channels ---- */

static void open_chan_of(struct scene *s, CCChanKind kind, size_t size, size_t capacity)
{
	const CCChanOptions o = {.kind = kind};

	CHECK_EQ(cc_chan_create(&s->chan, size, capacity, &o), 0);
}

static void fill(struct scene *s)
{
	int v = 1;

	while (cc_chan_try_send(s->chan, &v, sizeof v) == 0)
		continue;
}

static void close_chan(struct scene *s)
{
	CHECK_EQ(cc_chan_free(s->chan), 0);
}

static int make_send(struct scene *s, cc_time deadline)
{
	int v = 1;

	return deadline == CC_FOREVER ? cc_chan_send(s->chan, &v, sizeof v)
	                              : cc_chan_send_until(s->chan, &v, sizeof v, deadline);
}

static int make_recv(struct scene *s, cc_time deadline)
{
	int v;

	return deadline == CC_FOREVER ? cc_chan_recv(s->chan, &v, sizeof v)
	                              : cc_chan_recv_until(s->chan, &v, sizeof v, deadline);
}

static int make_send_many(struct scene *s, cc_time deadline)
{
	int v[2] = {1, 2};
	size_t moved;

	return cc_chan_send_many(s->chan, v, sizeof *v, 2, deadline, &moved);
}

static int make_recv_many(struct scene *s, cc_time deadline)
{
	int v[2];
	size_t moved;

	return cc_chan_recv_many(s->chan, v, sizeof *v, 2, deadline, &moved);
}

static void open_rendezvous(struct scene *s)
{
	open_chan_of(s, CC_CHAN_KIND_PLAIN, sizeof(int), 0);
}

static void open_short(struct scene *s)
{
	open_chan_of(s, CC_CHAN_KIND_PLAIN, sizeof(int), 1);
	fill(s);
}

static void open_ring(struct scene *s)
{
	open_chan_of(s, CC_CHAN_KIND_PLAIN, sizeof(int), 16);
}

static void open_full_ring(struct scene *s)
{
	open_ring(s);
	fill(s);
}

static void open_sync(struct scene *s)
{
	open_chan_of(s, CC_CHAN_KIND_SYNC, sizeof(int), 2);
}

static void open_full_sync(struct scene *s)
{
	open_sync(s);
	fill(s);
}

ALL_COLUMNS(rendezvous_send, .open = open_rendezvous, .make = make_send, .close = close_chan)
ALL_COLUMNS(rendezvous_recv, .open = open_rendezvous, .make = make_recv, .close = close_chan)
ALL_COLUMNS(short_send, .open = open_short, .make = make_send, .close = close_chan)
ALL_COLUMNS(ring_send, .open = open_full_ring, .make = make_send, .close = close_chan)
ALL_COLUMNS(ring_recv, .open = open_ring, .make = make_recv, .close = close_chan)
ALL_COLUMNS(sync_send, .open = open_full_sync, .make = make_send, .close = close_chan)
ALL_COLUMNS(sync_recv, .open = open_sync, .make = make_recv, .close = close_chan)
ALL_COLUMNS(send_many, .open = open_full_ring, .make = make_send_many, .close = close_chan)
ALL_COLUMNS(recv_many, .open = open_ring, .make = make_recv_many, .close = close_chan)

/* A broadcast channel whose only subscription, in `spare`, has received nothing. */
static void open_broadcast(struct scene *s)
{
	CCChanRx rx = {NULL};

	open_chan_of(s, CC_CHAN_KIND_BROADCAST, sizeof(int), 2);
	CHECK_EQ(cc_chan_subscribe(s->chan, &rx), 0);
	s->spare = rx.chan;
}

static void open_full_broadcast(struct scene *s)
{
	open_broadcast(s);
	fill(s);
}

static int make_subscribed_recv(struct scene *s, cc_time deadline)
{
	int v;

	return deadline == CC_FOREVER ? cc_chan_recv(s->spare, &v, sizeof v)
	                              : cc_chan_recv_until(s->spare, &v, sizeof v, deadline);
}

static void close_broadcast(struct scene *s)
{
	CHECK_EQ(cc_chan_free(s->spare), 0);
	close_chan(s);
}

ALL_COLUMNS(broadcast_send, .open = open_full_broadcast, .make = make_send,
            .close = close_broadcast)
ALL_COLUMNS(broadcast_recv, .open = open_broadcast, .make = make_subscribed_recv,
            .close = close_broadcast)

/* A pool whose only item is out. */
static int create_item(void *context, void *item)
{
	(void)context;
	*(int *)item = 7;
	return 0;
}

static void open_pool(struct scene *s)
{
	const CCChanOptions o = {.kind = CC_CHAN_KIND_OWNED, .create = create_item};
	int v;

	CHECK_EQ(cc_chan_create(&s->chan, sizeof v, 1, &o), 0);
	CHECK_EQ(cc_chan_recv(s->chan, &v, sizeof v), 0);
}

static void close_pool(struct scene *s)
{
	int v = 7;

	CHECK_EQ(cc_chan_send(s->chan, &v, sizeof v), 0);
	close_chan(s);
}
ALL_COLUMNS(owned_recv, .open = open_pool, .make = make_recv, .close = close_pool)

/* Tasks in order: one is in the channel, which has no room for another. */
static void open_ordered(struct scene *s)
{
	open_chan_of(s, CC_CHAN_KIND_ORDERED, sizeof(CCTask), 1);
}

static void open_full_ordered(struct scene *s)
{
	open_ordered(s);
	open_task(s);
	CHECK_EQ(cc_chan_send(s->chan, &s->task, sizeof s->task), 0);
}

static void close_full_ordered(struct scene *s)
{
	CHECK_EQ(cc_chan_recv(s->chan, &s->task, sizeof s->task), 0);
	close_task(s);
	close_chan(s);
}

static int make_chan_spawn(struct scene *s, cc_time deadline)
{
	return cc_chan_spawn(s->chan, NULL, nothing, NULL, deadline);
}

static int make_recv_task(struct scene *s, cc_time deadline)
{
	CCTask t;

	return cc_chan_recv_until(s->chan, &t, sizeof t, deadline);
}

/* Closed: the send joins the task, which belongs to the other runtime. */
static void open_closed_ordered(struct scene *s)
{
	open_ordered(s);
	CHECK_EQ(cc_chan_close(s->chan), 0);
	open_task(s);
}

static void close_closed_ordered(struct scene *s)
{
	close_task(s);
	close_chan(s);
}

static int make_send_task(struct scene *s, cc_time deadline)
{
	return cc_chan_send_until(s->chan, &s->task, sizeof s->task, deadline);
}
EXCEPT_ITS_DEADLINE(closed_ordered_send, .open = open_closed_ordered, .make = make_send_task,
                    .close = close_closed_ordered)

/* Joins the task inside; a caller that is cancelled lets it go. */
static int make_chan_free(struct scene *s, cc_time deadline)
{
	(void)deadline;
	CHECK_EQ(cc_chan_free(s->chan), 0);
	return cc_cancel_reason();
}

static int make_chan_free_outside(struct scene *s, cc_time deadline)
{
	(void)deadline;
	CHECK_EQ(cc_chan_free(s->chan), 0);
	return cc_sleep_until(CC_FOREVER);	/* what the caller is told from then on */
}

static void close_let_go(struct scene *s)
{
	CHECK_EQ(cc_chan_close(s->spare), 0);
	free_until_done(s->other);
	CHECK_EQ(cc_chan_free(s->spare), 0);
	s->other = test_runtime_of(1);
}
static const struct call chan_free = {.open = open_full_ordered, .make = make_chan_free, .close = close_let_go};
static const struct call chan_free_outside = {.open = open_full_ordered, .make = make_chan_free_outside, .close = close_let_go};
ALL_COLUMNS(chan_spawn, .open = open_full_ordered, .make = make_chan_spawn,
            .close = close_full_ordered)
ALL_COLUMNS(ordered_recv, .open = open_ordered, .make = make_recv_task, .close = close_chan)

TEST(chan_free_ends_at_a_nurserys_deadline)
{
	check(&chan_free, NURSERY_DEADLINE);
}

TEST(chan_free_ends_when_cancelled)
{
	check(&chan_free, CANCEL);
}

TEST(chan_free_ends_with_its_runtime)
{
	check(&chan_free_outside, RUNTIME_END);
}

/* ---- select, tokens ---- */

static void open_select(struct scene *s)
{
	open_rendezvous(s);
	s->token = cc_token_new();
	open_task(s);
}

static void close_select(struct scene *s)
{
	close_task(s);
	CHECK_EQ(cc_token_free(s->token), 0);
	close_chan(s);
}

static int select_by(struct scene *s, cc_time deadline,
                     int (*how)(const CCCase *cases, size_t count, cc_time deadline, size_t *index))
{
	int in, out = 1;
	const CCCase c[] = {cc_case_recv(s->chan, &in, sizeof in),
	                    cc_case_send(s->chan, &out, sizeof out), cc_case_token(s->token),
	                    cc_case_task(s->task, NULL), cc_case_timeout(CC_FOREVER)};

	return how(c, sizeof c / sizeof *c, deadline, NULL);
}

static int make_select(struct scene *s, cc_time deadline)
{
	return select_by(s, deadline, cc_select);
}

static int make_select_in_order(struct scene *s, cc_time deadline)
{
	return select_by(s, deadline, cc_select_in_order);
}

static int make_token_wait(struct scene *s, cc_time deadline)
{
	return cc_token_wait(s->token, deadline);
}
ALL_COLUMNS(select_any, .open = open_select, .make = make_select, .close = close_select)
ALL_COLUMNS(select_in_order, .open = open_select, .make = make_select_in_order,
            .close = close_select)
ALL_COLUMNS(token_wait, .open = open_select, .make = make_token_wait, .close = close_select)

/* ---- locks ---- */

static void open_mutex(struct scene *s)
{
	CHECK_EQ(cc_mutex_lock(&s->mutex), 0);
}

static void close_mutex(struct scene *s)
{
	CHECK_EQ(cc_mutex_unlock(&s->mutex), 0);
}

static int make_mutex_lock(struct scene *s, cc_time deadline)
{
	return cc_mutex_lock_until(&s->mutex, deadline);
}

static int make_cond_wait(struct scene *s, cc_time deadline)
{
	int err;

	CHECK_EQ(cc_mutex_lock(&s->mutex), 0);
	while ((err = cc_cond_wait_until(&s->cond, &s->mutex, deadline)) == 0)
		continue;
	CHECK_EQ(cc_mutex_unlock(&s->mutex), 0);
	return err;
}

static void open_rwlock(struct scene *s)
{
	CHECK_EQ(cc_rwlock_write(&s->rwlock), 0);
}

static void close_rwlock(struct scene *s)
{
	CHECK_EQ(cc_rwlock_unlock(&s->rwlock), 0);
}

static int make_rwlock_read(struct scene *s, cc_time deadline)
{
	return cc_rwlock_read_until(&s->rwlock, deadline);
}

static int make_rwlock_write(struct scene *s, cc_time deadline)
{
	return cc_rwlock_write_until(&s->rwlock, deadline);
}

static int make_semaphore_wait(struct scene *s, cc_time deadline)
{
	return cc_semaphore_wait_until(&s->semaphore, deadline);
}

static void open_barrier(struct scene *s)
{
	s->barrier = (CCBarrier)CC_BARRIER_INIT(2);
}

static int make_barrier_wait(struct scene *s, cc_time deadline)
{
	return cc_barrier_wait_until(&s->barrier, NULL, deadline);
}

static void open_group(struct scene *s)
{
	CHECK_EQ(cc_wait_group_add(&s->group, 1), 0);
}

static int make_group_wait(struct scene *s, cc_time deadline)
{
	return cc_wait_group_wait_until(&s->group, deadline);
}
ALL_COLUMNS(mutex_lock, .open = open_mutex, .make = make_mutex_lock, .close = close_mutex)
ALL_COLUMNS(cond_wait, .open = open_nothing, .make = make_cond_wait, .close = open_nothing)
ALL_COLUMNS(rwlock_read, .open = open_rwlock, .make = make_rwlock_read, .close = close_rwlock)
ALL_COLUMNS(rwlock_write, .open = open_rwlock, .make = make_rwlock_write, .close = close_rwlock)
ALL_COLUMNS(semaphore_wait, .open = open_nothing, .make = make_semaphore_wait,
            .close = open_nothing)
ALL_COLUMNS(barrier_wait, .open = open_barrier, .make = make_barrier_wait, .close = open_nothing)
ALL_COLUMNS(wait_group_wait, .open = open_group, .make = make_group_wait, .close = open_nothing)

/* Another thread runs the function, and is not through with it. */
static int run_long(void *arg)
{
	struct scene *s = arg;

	cc__store(&s->first_runs, 1, CC__RELEASE);
	TEST_UNTIL(cc__load(&s->let_go, CC__ACQUIRE) != 0);
	return 0;
}

static int be_first(void *arg)
{
	struct scene *s = arg;

	return cc_once(&s->once, run_long, s);
}

static void open_once(struct scene *s)
{
	sleeper_start(&s->helper, NULL, THREAD, be_first, s);
	TEST_UNTIL(cc__load(&s->first_runs, CC__ACQUIRE) != 0);
}

static void close_once(struct scene *s)
{
	cc__store(&s->let_go, 1, CC__RELEASE);
	CHECK_EQ(sleeper_join(&s->helper), 0);
}

static int make_once(struct scene *s, cc_time deadline)
{
	(void)deadline;
	return cc_once(&s->once, run_long, s);
}
EXCEPT_ITS_DEADLINE(once, .open = open_once, .make = make_once, .close = close_once)

/* ---- descriptors ---- */

static void open_pipe(struct scene *s)
{
	CHECK_EQ(pipe2(s->fd, O_NONBLOCK), 0);
}

static void open_full_pipe(struct scene *s)
{
	static const char zeros[4096];

	open_pipe(s);
	while (write(s->fd[1], zeros, sizeof zeros) > 0)
		continue;
}

static void close_pipe(struct scene *s)
{
	close(s->fd[0]);
	close(s->fd[1]);
}

static int make_wait_read(struct scene *s, cc_time deadline)
{
	return cc_wait_fd(s->fd[0], CC_FD_READ, deadline);
}

static int make_wait_write(struct scene *s, cc_time deadline)
{
	return cc_wait_fd(s->fd[1], CC_FD_WRITE, deadline);
}
ALL_COLUMNS(wait_fd_read, .open = open_pipe, .make = make_wait_read, .close = close_pipe,
            .unlisted = true)
ALL_COLUMNS(wait_fd_write, .open = open_full_pipe, .make = make_wait_write, .close = close_pipe,
            .unlisted = true)

static int make_fd_ready(struct scene *s, cc_time deadline)
{
	unsigned ready = 9;
	const int err = cc_fd_ready(s->fd[0], CC_FD_READ, &ready, deadline);

	CHECK_EQ(ready, 9);
	return err;
}
ALL_COLUMNS(fd_ready, .open = open_pipe, .make = make_fd_ready, .close = close_pipe,
            .unlisted = true)

static int make_select_fd(struct scene *s, cc_time deadline)
{
	const CCCase c[] = {cc_case_fd(s->fd[0], CC_FD_READ, NULL),
	                    cc_case_fd(s->fd[1], CC_FD_READ, NULL)};

	return cc_select(c, 2, deadline, NULL);
}
ALL_COLUMNS(select_fd, .open = open_pipe, .make = make_select_fd, .close = close_pipe)

static int make_fd_read(struct scene *s, cc_time deadline)
{
	size_t n = 7;
	char c;
	const int err = cc_fd_read(s->fd[0], &c, sizeof c, &n, deadline);

	CHECK_EQ(n, 0);
	return err;
}

static int make_fd_read_all(struct scene *s, cc_time deadline)
{
	size_t n = 7;
	char text[2];
	int err;

	CHECK_EQ(write(s->fd[1], "x", 1), 1);
	err = cc_fd_read_all(s->fd[0], text, sizeof text, &n, deadline);
	CHECK_EQ(n, 1);
	return err;
}

/* More than a pipe takes. */
static int make_fd_write_all(struct scene *s, cc_time deadline)
{
	static const char zeros[1 << 20];
	size_t n = sizeof zeros;
	const int err = cc_fd_write_all(s->fd[1], zeros, sizeof zeros, &n, deadline);

	CHECK(n > 0 && n < sizeof zeros);
	return err;
}
ALL_COLUMNS(fd_read, .open = open_pipe, .make = make_fd_read, .close = close_pipe,
            .unlisted = true)
ALL_COLUMNS(fd_read_all, .open = open_pipe, .make = make_fd_read_all, .close = close_pipe,
            .unlisted = true)
ALL_COLUMNS(fd_write_all, .open = open_pipe, .make = make_fd_write_all, .close = close_pipe,
            .unlisted = true)

/* ---- sockets ---- */

static void open_listener(struct scene *s)
{
	CHECK_EQ(cc_net_listen(&s->fd[0], "127.0.0.1:0", NULL), 0);
	s->fd[1] = dup(s->fd[0]);
}

static int make_accept(struct scene *s, cc_time deadline)
{
	int fd;

	return cc_net_accept(s->fd[0], &fd, deadline);
}

/* A listener whose queue has one place, which is taken. */
static void open_busy(struct scene *s, const char *address)
{
	const CCNetOptions one = {.backlog = 1};
	char text[CC_NET_ADDRESS_SIZE];
	int err = 0;

	CHECK_EQ(cc_net_listen(&s->fd[0], address, &one), 0);
	CHECK_EQ(cc_net_local_address(s->fd[0], text, sizeof text), 0);
	for (unsigned i = 0; err == 0; i++) {
		REQUIRE(i < sizeof s->queued / sizeof *s->queued);
		err = cc_net_dial(&s->queued[i], text, NULL, cc_after(test_slowness() * CC_SEC / 4));
		s->queued_count += err == 0;
	}
	CHECK_EQ(err, ETIMEDOUT);
}

static void open_busy_tcp(struct scene *s)
{
	open_busy(s, "127.0.0.1:0");
}

static void open_busy_unix(struct scene *s)
{
	char name[64];

	snprintf(name, sizeof name, "unix:@ccc-blocking-calls-%d", (int)getpid());
	open_busy(s, name);
}

static void close_busy(struct scene *s)
{
	while (s->queued_count > 0)
		CHECK_EQ(close(s->queued[--s->queued_count]), 0);
	CHECK_EQ(close(s->fd[0]), 0);
}

static int make_dial(struct scene *s, cc_time deadline)
{
	char text[CC_NET_ADDRESS_SIZE];
	int fd;

	CHECK_EQ(cc_net_local_address(s->fd[0], text, sizeof text), 0);
	return cc_net_dial(&fd, text, NULL, deadline);
}
static int make_stream_dial(struct scene *s, cc_time deadline)
{
	char text[CC_NET_ADDRESS_SIZE];
	CCStream *stream;

	CHECK_EQ(cc_net_local_address(s->fd[0], text, sizeof text), 0);
	return cc_stream_dial(&stream, text, NULL, deadline);
}
ALL_COLUMNS(stream_dial, .open = open_busy_tcp, .make = make_stream_dial, .close = close_busy,
            .unlisted = true)
ALL_COLUMNS(net_accept, .open = open_listener, .make = make_accept, .close = close_pipe,
            .unlisted = true)
ALL_COLUMNS(net_dial, .open = open_busy_tcp, .make = make_dial, .close = close_busy,
            .unlisted = true)
ALL_COLUMNS(net_dial_unix, .open = open_busy_unix, .make = make_dial, .close = close_busy,
            .unlisted = true)

/* Its second address refuses: the first one is still waited for. */
static int make_dial_several(struct scene *s, cc_time deadline)
{
	char text[CC_NET_ADDRESS_SIZE], name[CC_NET_ADDRESS_SIZE];
	int fd;

	CHECK_EQ(cc_net_local_address(s->fd[0], text, sizeof text), 0);
	snprintf(name, sizeof name, "localhost%s", strrchr(text, ':'));
	return cc_net_dial(&fd, name, NULL, deadline);
}
ALL_COLUMNS(net_dial_several, .open = open_busy_tcp, .make = make_dial_several,
            .close = close_busy)

/* ---- names: a server that does not answer ---- */

static cc__a32 answers, lookups;	/* 1: it answers; calls under way */

int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *want,
                       struct addrinfo **found);

int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *want,
                       struct addrinfo **found)
{
	(void)host, (void)service, (void)want, (void)found;
	cc__add(&lookups, 1, CC__RELAXED);
	TEST_UNTIL(cc__load(&answers, CC__ACQUIRE) != 0);
	cc__sub(&lookups, 1, CC__RELEASE);
	return EAI_NONAME;
}

static void open_names(struct scene *s)
{
	(void)s;
	cc__store(&answers, 0, CC__RELEASE);
}

static void close_names(struct scene *s)
{
	(void)s;
	cc__store(&answers, 1, CC__RELEASE);
	TEST_UNTIL(cc__load(&lookups, CC__ACQUIRE) == 0);
}

static int make_dial_name(struct scene *s, cc_time deadline)
{
	int fd;

	(void)s;
	return cc_net_dial(&fd, "example.test:80", NULL, deadline);
}

static int make_net_address(struct scene *s, cc_time deadline)
{
	CCNetAddress address;

	(void)s;
	return cc_net_address(&address, "example.test:80", deadline);
}
ALL_COLUMNS(net_dial_name, .open = open_names, .make = make_dial_name, .close = close_names)
ALL_COLUMNS(net_address, .open = open_names, .make = make_net_address, .close = close_names)

/* ---- datagrams, passed descriptors ---- */

static void open_pair(struct scene *s, int type)
{
	CHECK_EQ(socketpair(AF_UNIX, type | SOCK_NONBLOCK, 0, s->fd), 0);
}

static void open_datagrams(struct scene *s)
{
	open_pair(s, SOCK_DGRAM);
	while (send(s->fd[1], "x", 1, 0) == 1)
		continue;
}

static void open_stream_pair(struct scene *s)
{
	static const char zeros[4096];

	open_pair(s, SOCK_STREAM);
	while (write(s->fd[1], zeros, sizeof zeros) > 0)
		continue;
}

static int make_send_to(struct scene *s, cc_time deadline)
{
	return cc_net_send_to(s->fd[1], "x", 1, NULL, deadline);
}

static int make_receive_from(struct scene *s, cc_time deadline)
{
	char c;

	return cc_net_receive_from(s->fd[1], &c, 1, NULL, NULL, deadline);
}

static int make_send_fd(struct scene *s, cc_time deadline)
{
	return cc_net_send_fd(s->fd[1], 0, deadline);
}

static int make_receive_fd(struct scene *s, cc_time deadline)
{
	int fd;

	return cc_net_receive_fd(s->fd[1], &fd, deadline);
}
ALL_COLUMNS(net_send_to, .open = open_datagrams, .make = make_send_to, .close = close_pipe,
            .unlisted = true)
ALL_COLUMNS(net_receive_from, .open = open_datagrams, .make = make_receive_from,
            .close = close_pipe, .unlisted = true)
ALL_COLUMNS(net_send_fd, .open = open_stream_pair, .make = make_send_fd, .close = close_pipe,
            .unlisted = true)
ALL_COLUMNS(net_receive_fd, .open = open_stream_pair, .make = make_receive_fd,
            .close = close_pipe, .unlisted = true)

/* ---- pieces, files ---- */

static int make_fd_readv(struct scene *s, cc_time deadline)
{
	char text[2];
	const struct iovec part[] = {{text, 1}, {text + 1, 1}};
	size_t n = 7;
	const int err = cc_fd_readv(s->fd[0], part, 2, &n, deadline);

	CHECK_EQ(n, 0);
	return err;
}

static int make_fd_writev_all(struct scene *s, cc_time deadline)
{
	static char zeros[1 << 20];
	const struct iovec part[] = {{zeros, 1}, {zeros, sizeof zeros}};
	size_t n = 0;
	const int err = cc_fd_writev_all(s->fd[1], part, 2, &n, deadline);

	CHECK(n > 0 && n < sizeof zeros);
	return err;
}

/* More than a pipe takes, of a file with a hole. */
static void open_file(struct scene *s)
{
	FILE *f = tmpfile();

	open_pipe(s);
	CHECK(f != NULL);
	s->file = dup(fileno(f));
	CHECK_EQ(ftruncate(s->file, 1 << 20), 0);
	fclose(f);
}

static void close_file(struct scene *s)
{
	close(s->file);
	close_pipe(s);
}

static int make_fd_send_file(struct scene *s, cc_time deadline)
{
	size_t n = 0;
	const int err = cc_fd_send_file(s->fd[1], s->file, 0, 1 << 20, &n, deadline);

	CHECK(n > 0 && n < 1 << 20);
	return err;
}
ALL_COLUMNS(fd_readv, .open = open_pipe, .make = make_fd_readv, .close = close_pipe,
            .unlisted = true)
ALL_COLUMNS(fd_writev_all, .open = open_pipe, .make = make_fd_writev_all, .close = close_pipe,
            .unlisted = true)
ALL_COLUMNS(fd_send_file, .open = open_file, .make = make_fd_send_file, .close = close_file,
            .unlisted = true)

/* ---- streams: over descriptors, and in memory ---- */

static void open_stream(struct scene *s)
{
	open_pipe(s);
	CHECK_EQ(cc_stream_open(&s->stream[0], s->fd[0]), 0);
	CHECK_EQ(cc_stream_open(&s->stream[1], s->fd[1]), 0);
}

static void open_memory(struct scene *s)
{
	CHECK_EQ(cc_stream_pair(s->stream, 16), 0);
}

/* Nothing fits in, and a byte waits to be sent. */
static void open_full_stream(struct scene *s)
{
	open_full_pipe(s);
	CHECK_EQ(cc_stream_open(&s->stream[0], s->fd[0]), 0);
	CHECK_EQ(cc_stream_open(&s->stream[1], s->fd[1]), 0);
	CHECK_EQ(cc_stream_write(s->stream[1], "x", 1, NULL, CC_NOW), 0);
}

static void close_stream(struct scene *s)
{
	/* The writer first: a flush to a pipe without a reader raises SIGPIPE in this thread. */
	(void)cc_stream_close(s->stream[1], CC_NOW);
	CHECK_EQ(cc_stream_close(s->stream[0], CC_NOW), 0);
}

static int make_stream_read(struct scene *s, cc_time deadline)
{
	char c;

	return cc_stream_read(s->stream[0], &c, 1, NULL, deadline);
}

static int make_stream_read_all(struct scene *s, cc_time deadline)
{
	char text[2];
	size_t n = 0;
	int err;

	CHECK_EQ(write(s->fd[1], "x", 1), 1);
	err = cc_stream_read_all(s->stream[0], text, 2, &n, deadline);
	CHECK_EQ(n, 1);
	return err;
}

static int make_stream_read_until(struct scene *s, cc_time deadline)
{
	char text[8];

	CHECK_EQ(write(s->fd[1], "x", 1), 1);
	return cc_stream_read_until(s->stream[0], ';', text, sizeof text, NULL, deadline);
}

static int make_stream_read_line(struct scene *s, cc_time deadline)
{
	char text[8];

	CHECK_EQ(write(s->fd[1], "x", 1), 1);
	return cc_stream_read_line(s->stream[0], text, sizeof text, NULL, deadline);
}

static int make_stream_peek(struct scene *s, cc_time deadline)
{
	const char *data;
	size_t n;

	CHECK_EQ(write(s->fd[1], "x", 1), 1);
	return cc_stream_peek(s->stream[0], 2, &data, &n, deadline);
}

static int make_stream_write(struct scene *s, cc_time deadline)
{
	static const char zeros[1 << 20];

	return cc_stream_write(s->stream[1], zeros, sizeof zeros, NULL, deadline);
}

static int make_stream_flush(struct scene *s, cc_time deadline)
{
	return cc_stream_flush(s->stream[1], deadline);
}

/* More than the stream keeps. */
static int make_stream_print(struct scene *s, cc_time deadline)
{
	int err = 0;

	while (err == 0)
		err = cc_stream_print(s->stream[1], deadline, "%0*d", 10000, 1);
	return err;
}

static int make_stream_shutdown(struct scene *s, cc_time deadline)
{
	return cc_stream_shutdown(s->stream[1], deadline);
}

static int make_stream_close(struct scene *s, cc_time deadline)
{
	CCStream *last = s->stream[1];

	s->stream[1] = NULL;
	return cc_stream_close(last, deadline);
}
ALL_COLUMNS(stream_read, .open = open_stream, .make = make_stream_read, .close = close_stream,
            .unlisted = true)
ALL_COLUMNS(stream_read_all, .open = open_stream, .make = make_stream_read_all,
            .close = close_stream, .unlisted = true)
ALL_COLUMNS(stream_read_until, .open = open_stream, .make = make_stream_read_until,
            .close = close_stream, .unlisted = true)
ALL_COLUMNS(stream_read_line, .open = open_stream, .make = make_stream_read_line,
            .close = close_stream, .unlisted = true)
ALL_COLUMNS(stream_peek, .open = open_stream, .make = make_stream_peek, .close = close_stream,
            .unlisted = true)
ALL_COLUMNS(stream_write, .open = open_stream, .make = make_stream_write, .close = close_stream,
            .unlisted = true)
ALL_COLUMNS(stream_print, .open = open_full_stream, .make = make_stream_print, .close = close_stream,
            .unlisted = true)
ALL_COLUMNS(stream_flush, .open = open_full_stream, .make = make_stream_flush,
            .close = close_stream, .unlisted = true)
ALL_COLUMNS(stream_shutdown, .open = open_full_stream, .make = make_stream_shutdown,
            .close = close_stream, .unlisted = true)
ALL_COLUMNS(stream_close, .open = open_full_stream, .make = make_stream_close,
            .close = close_stream, .unlisted = true)
ALL_COLUMNS(memory_stream_read, .open = open_memory, .make = make_stream_read,
            .close = close_stream)
ALL_COLUMNS(memory_stream_write, .open = open_memory, .make = make_stream_write,
            .close = close_stream)

/* ---- servers, signals ---- */

static int serve_nothing(CCStream *stream, void *user)
{
	(void)user;
	return cc_serve_next(stream, CC_FOREVER);
}

static int make_serve(struct scene *s, cc_time deadline)
{
	(void)deadline;
	return cc_serve(s->fd[0], serve_nothing, NULL, NULL);
}
EXCEPT_ITS_DEADLINE(serve, .open = open_listener, .make = make_serve, .close = close_pipe,
                    .unlisted = true)

static void open_signal(struct scene *s)
{
	(void)s;
}

static int make_signal_wait(struct scene *s, cc_time deadline)
{
	sigset_t set;

	(void)s;
	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	return cc_signal_wait(&set, deadline, NULL);
}
ALL_COLUMNS(signal_wait, .open = open_signal, .make = make_signal_wait, .close = open_signal,
            .unlisted = true)

/* ---- processes ---- */

static void open_process(struct scene *s)
{
	char *const argv[] = {"sleep", "1000", NULL};

	CHECK_EQ(cc_process_spawn(&s->process, NULL, argv), 0);
}

static void close_process(struct scene *s)
{
	CHECK_EQ(cc_process_kill(s->process, SIGKILL), 0);
	CHECK_EQ(cc_process_wait(s->process, CC_FOREVER, NULL), 0);
	CHECK_EQ(cc_process_free(s->process), 0);
}

static int make_process_wait(struct scene *s, cc_time deadline)
{
	return cc_process_wait(s->process, deadline, NULL);
}
ALL_COLUMNS(process_wait, .open = open_process, .make = make_process_wait, .close = close_process,
            .unlisted = true)

/* ---- calls that block: the only thread of the pool is busy ---- */

static int keep_thread(void *arg)
{
	return cc_blocking(run_long, arg, NULL);
}

static void open_blocking(struct scene *s)
{
	CHECK_EQ(cc_task_spawn(s->rt, NULL, NULL, keep_thread, s), 0);
	TEST_UNTIL(cc__load(&s->first_runs, CC__ACQUIRE) != 0);
}

static void close_blocking(struct scene *s)
{
	cc__store(&s->let_go, 1, CC__RELEASE);
}

static int never_called(void *arg)
{
	(void)arg;
	CHECK(false);	/* a call that was withdrawn has been made */
	return 0;
}

static int make_blocking(struct scene *s, cc_time deadline)
{
	(void)deadline;
	return cc_blocking(never_called, s, NULL);
}
EXCEPT_ITS_DEADLINE(blocking, .open = open_blocking, .make = make_blocking,
                    .close = close_blocking, .fibers_only = true)

static int make_fd_open(struct scene *s, cc_time deadline)
{
	int fd;

	(void)s, (void)deadline;
	return cc_fd_open(&fd, "/dev/null", O_RDONLY, 0);
}
EXCEPT_ITS_DEADLINE(fd_open, .open = open_blocking, .make = make_fd_open, .close = close_blocking,
                    .fibers_only = true)

/* Once it has its thread, it is seen through. */
static int call_run_long(void *arg)
{
	int result = -1;

	CHECK_EQ(cc_blocking(run_long, arg, &result), 0);
	CHECK_EQ(result, 0);
	return cc_cancel_reason();
}

TEST(blocking_that_runs_is_not_ended)
{
	CCRuntime *rt = runtime_of_two();
	const CCNurseryOptions o = {.runtime = rt};
	struct scene s = {0};
	int err = -1;

	cc_nursery_scope_with(n, &err, &o) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, call_run_long, &s), 0);
		TEST_UNTIL(cc__load(&s.first_runs, CC__ACQUIRE) != 0);
		CHECK_EQ(cc_nursery_cancel(n, 0), 0);
		cc__store(&s.let_go, 1, CC__RELEASE);
	}
	CHECK_EQ(err, ECANCELED);
	free_until_done(rt);
}

/* A call that need not wait for another one's end is made, though its caller is cancelled. */
static int call_cancelled(void *arg)
{
	int err = -1;

	cc_nursery_scope(n, NULL) {
		CHECK_EQ(cc_nursery_cancel(n, 0), 0);
		err = cc_blocking(nothing, arg, NULL);
	}
	return err;
}

TEST(blocking_that_finds_a_thread_is_made_though_cancelled)
{
	CCRuntime *rt = runtime_of_two();

	CHECK_EQ(join(spawn(rt, call_cancelled, NULL)), 0);	/* a thread is started for it */
	free_until_done(rt);
}

/* ---- jobs and nurseries: what ends is what the children wait for ---- */

static int be_child(void *arg)
{
	struct scene *s = arg;

	cc__add(&s->children, 1, CC__RELEASE);
	return receive_once(s->chan);
}

static int make_block_on(struct scene *s, cc_time deadline)
{
	const CCNurseryOptions o = {.runtime = s->rt, .deadline = deadline};

	return cc_block_on(be_child, s, &o);
}

static int make_block_all(struct scene *s, cc_time deadline)
{
	const CCNurseryOptions o = {.runtime = s->rt, .deadline = deadline};
	CCJob jobs[] = {{.main = be_child, .arg = s}, {.main = be_child, .arg = s}};

	return cc_block_all(jobs, 2, &o);
}

static int make_block_any(struct scene *s, cc_time deadline)
{
	const CCNurseryOptions o = {.runtime = s->rt, .deadline = deadline};
	CCJob jobs[] = {{.main = be_child, .arg = s}, {.main = be_child, .arg = s}};

	return cc_block_any(jobs, 2, &o, NULL);
}

static int make_block_race(struct scene *s, cc_time deadline)
{
	const CCNurseryOptions o = {.runtime = s->rt, .deadline = deadline};
	CCJob jobs[] = {{.main = be_child, .arg = s}, {.main = be_child, .arg = s}};

	return cc_block_race(jobs, 2, &o, NULL);
}

static int make_nursery_join(struct scene *s, cc_time deadline)
{
	const CCNurseryOptions o = {.runtime = s->rt, .deadline = deadline};
	CCNursery n;
	int err;

	CHECK_EQ(cc_nursery_init(&n, &o), 0);
	err = cc_nursery_spawn(&n, NULL, be_child, s);
	CHECK(err == 0 || err == ECANCELED);	/* it may be late already */
	err = cc_nursery_join(&n);
	if (err != 0 || deadline == CC_FOREVER)
		return err != 0 ? err : cc_sleep_until(CC_FOREVER);
	return ETIMEDOUT;
}
ALL_COLUMNS(block_on, .open = open_rendezvous, .make = make_block_on, .close = close_chan,
            .by_children = true)
ALL_COLUMNS(block_all, .open = open_rendezvous, .make = make_block_all, .close = close_chan,
            .by_children = true)
ALL_COLUMNS(block_any, .open = open_rendezvous, .make = make_block_any, .close = close_chan,
            .by_children = true)
ALL_COLUMNS(block_race, .open = open_rendezvous, .make = make_block_race, .close = close_chan,
            .by_children = true)
ALL_COLUMNS(nursery_join, .open = open_rendezvous, .make = make_nursery_join, .close = close_chan,
            .by_children = true)

/* ---- park words ---- */

static int park_on(CCParkSpace *space, const uint32_t *word, cc_time deadline)
{
	CCParkStatus status = CC_PARK_WOKEN;
	const int err = cc_park_wait(space, word, 0, deadline, &status);

	return err == 0 && status == CC_PARK_TIMED_OUT ? ETIMEDOUT : err;
}

static int make_park_wait(struct scene *s, cc_time deadline)
{
	return park_on(cc_park_space(), &s->word, deadline);
}
ALL_COLUMNS(park_wait, .open = open_nothing, .make = make_park_wait, .close = open_nothing)

static const char *lacks_shared_futexes(void)
{
	CCParkSpace *space = NULL;
	CCMemory *memory = NULL;
	int err;

	CHECK_EQ(cc_memory_new(&memory, 4096), 0);
	err = cc_memory_park_space(memory, &space);
	CHECK(err == 0 || err == ENOTSUP);
	CHECK_EQ(cc_memory_close(memory), 0);
	return err == ENOTSUP ? "no shared futexes" : NULL;
}

static void open_shared(struct scene *s)
{
	void *at = NULL;

	CHECK_EQ(cc_memory_new(&s->memory, 4096), 0);
	CHECK_EQ(cc_memory_park_space(s->memory, &s->space), 0);
	CHECK_EQ(cc_memory_map(s->memory, &at), 0);
	s->shared = at;
}

static void close_shared(struct scene *s)
{
	CHECK_EQ(cc_memory_close(s->memory), 0);
}

static int make_shared_wait(struct scene *s, cc_time deadline)
{
	return park_on(s->space, s->shared, deadline);
}
ALL_COLUMNS(shared_park_wait, .open = open_shared, .make = make_shared_wait, .close = close_shared,
            .lacks = lacks_shared_futexes)

/* ---- domains ---- */

static void open_domain(struct scene *s)
{
	world_open(&s->world);
	CHECK_EQ(cc_cap_client_create(&s->client, s->world.d), 0);
}

/* With something to come, but not for an hour. */
static void open_domain_with_timer(struct scene *s)
{
	CCCapSubmission timer = {.opcode = CC_CAP_OP_TIMER,
	                         .user_data = 1,
	                         .dependency = (uint64_t)(3600 * CC_SEC)};

	open_domain(s);
	CHECK_EQ(cc_domain_grant_timer(s->world.d, &timer.cap), 0);
	CHECK_EQ(cc_cap_client_submit(s->client, &timer), 0);
}

static void close_domain(struct scene *s)
{
	cc_cap_client_free(s->client);
	CHECK_EQ(cc_domain_free(s->world.d), 0);
}

static uint64_t span_until(cc_time deadline)
{
	const cc_time now = cc_now();

	if (deadline == CC_FOREVER)
		return CC_CAP_NEVER;
	return deadline > now ? (uint64_t)(deadline - now) : 1;
}

static int as_strand(struct scene *s, cc_time deadline,
                     int (*wait)(struct scene *s, cc_time deadline))
{
	int err;

	s->strand = joined(s->world.d);
	err = wait(s, deadline);
	CHECK_EQ(cc_domain_leave(s->strand), 0);
	return err;
}

static int wait_as_strand(struct scene *s, cc_time deadline)
{
	return park_on(cc_strand_park_space(s->strand), s->world.word, deadline);
}

static int enter(struct scene *s, cc_time deadline)
{
	const int n = cc_cap_enter(s->strand, 1, span_until(deadline));

	if (n == CC_CAP_E_CANCELED)
		return ECANCELED;
	return n == 0 ? ETIMEDOUT : n;
}

static int client_park(struct scene *s, cc_time deadline)
{
	CCParkStatus status = CC_PARK_WOKEN;
	const int err = cc_cap_client_park(s->client, s->strand, s->world.space, s->world.word, 0,
	                                   span_until(deadline), &status);

	if (err != 0)
		return err;
	return status == CC_PARK_TIMED_OUT ? ETIMEDOUT
	       : status == CC_PARK_INTERRUPTED ? ECANCELED
	                                       : 0;
}

static int client_next(struct scene *s, cc_time deadline)
{
	CCCapCompletion done;

	(void)deadline;
	return cc_cap_client_next(s->client, s->strand, &done);
}

static int make_strand_wait(struct scene *s, cc_time deadline)
{
	return as_strand(s, deadline, wait_as_strand);
}

static int make_enter(struct scene *s, cc_time deadline)
{
	return as_strand(s, deadline, enter);
}

static int make_client_park(struct scene *s, cc_time deadline)
{
	return as_strand(s, deadline, client_park);
}

static int make_client_next(struct scene *s, cc_time deadline)
{
	return as_strand(s, deadline, client_next);
}
ALL_COLUMNS(strand_park_wait, .open = open_domain, .make = make_strand_wait, .close = close_domain)
ALL_COLUMNS(cap_enter, .open = open_domain, .make = make_enter, .close = close_domain,
            .at_nurserys = ECANCELED)
ALL_COLUMNS(cap_client_park, .open = open_domain, .make = make_client_park, .close = close_domain,
            .at_nurserys = ECANCELED)
EXCEPT_ITS_DEADLINE(cap_client_next, .open = open_domain_with_timer, .make = make_client_next,
                    .close = close_domain, .at_nurserys = ECANCELED)
