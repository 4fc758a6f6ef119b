/* dump_test.c - what a fiber or thread waits for is known, and a dump tells it. */
#include "tasks.h"
#include "test.h"

#include <ccc/ccc.h>
#include <ccc/debug.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- one wait of each kind, and how all of them end ---- */

static CCChan *full, *empty, *news, *full_news;
static CCChanRx subscribed, slow;	/* to news, to full_news */
static CCMutex mutex;
static CCRwlock rwlock;
static CCSemaphore semaphore;
static CCCond cond;
static CCMutex cond_mutex;
static CCBarrier barrier;
static CCWaitGroup group;
static CCToken *token;
static uint32_t word;
static int ends[2];
static struct gate gate;
static CCTask held;

static int wait_recv(void *unused)
{
	int v;

	(void)unused;
	return cc_chan_recv(empty, &v, sizeof v);
}

static int wait_recv_until(void *unused)
{
	int v;

	(void)unused;
	return cc_chan_recv_until(empty, &v, sizeof v, cc_after(3600 * CC_SEC));
}

static int wait_subscribed(void *unused)
{
	int v;

	(void)unused;
	return cc_rx_recv(subscribed, &v, sizeof v);
}

static int wait_broadcast(void *unused)
{
	int v = 1;

	(void)unused;
	return cc_chan_send(full_news, &v, sizeof v);
}

static int wait_send(void *unused)
{
	int v = 1;

	(void)unused;
	return cc_chan_send(full, &v, sizeof v);
}

static int wait_select(void *unused)
{
	const CCCase cases[] = {cc_case_token(token)};

	(void)unused;
	return cc_select(cases, 1, CC_FOREVER, NULL);
}

static int wait_task(void *unused)
{
	(void)unused;
	return cc_task_join(held, CC_FOREVER, NULL);
}

static int look_for_child(const CCFiberInfo *info, void *nursery)
{
	return info->nursery == nursery && info->function == (const void *)(uintptr_t)wait_recv;
}

static int wait_nursery(void *unused)
{
	int err;

	(void)unused;
	cc_nursery_scope(n, &err) {
		CHECK_EQ(cc_nursery_spawn(n, NULL, wait_recv, NULL), 0);
		CHECK_EQ(cc_nursery_seal(n), 0);
		CHECK_EQ(cc_fiber_each(look_for_child, n), 1);
	}
	return err;
}

static int wait_mutex(void *unused)
{
	int err;

	(void)unused;
	if ((err = cc_mutex_lock(&mutex)) == 0)
		err = cc_mutex_unlock(&mutex);
	return err;
}

static int wait_rwlock(void *unused)
{
	int err;

	(void)unused;
	if ((err = cc_rwlock_read(&rwlock)) == 0)
		err = cc_rwlock_unlock(&rwlock);
	return err;
}

static int wait_cond(void *unused)
{
	int err;

	(void)unused;
	CHECK_EQ(cc_mutex_lock(&cond_mutex), 0);
	err = cc_cond_wait(&cond, &cond_mutex);
	CHECK_EQ(cc_mutex_unlock(&cond_mutex), 0);
	return err;
}

static int wait_semaphore(void *unused)
{
	(void)unused;
	return cc_semaphore_wait(&semaphore);
}

static int wait_barrier(void *unused)
{
	(void)unused;
	return cc_barrier_wait(&barrier, NULL);
}

static int wait_group(void *unused)
{
	(void)unused;
	return cc_wait_group_wait(&group);
}

static int wait_token(void *unused)
{
	(void)unused;
	return cc_token_wait(token, CC_FOREVER);
}

static int wait_word(void *unused)
{
	(void)unused;
	return cc_park_wait(cc_park_space(), &word, 0, CC_FOREVER, NULL);
}

static int wait_fd(void *unused)
{
	(void)unused;
	return cc_wait_fd(ends[0], CC_FD_READ, CC_FOREVER);
}

static int block(void *unused)
{
	(void)unused;
	TEST_UNTIL(cc__load(&gate.open, CC__ACQUIRE) != 0);
	return 0;
}

static int wait_call(void *unused)
{
	return cc_blocking(block, unused, NULL);
}

static int wait_sleep(void *unused)
{
	(void)unused;
	return cc_sleep_until(cc_after(3600 * CC_SEC));
}

static const struct wait {
	cc_task_main *main;
	CCWaitKind kind;
	const void *object;	/* NULL: any, or none */
	bool thread;		/* a thread can wait so, and by its word */
	bool deadline;
	const char *text;	/* of the dump */
} waits[] = {
    {wait_recv, CC_WAIT_RECV, NULL, true, false, "waits to receive from channel 0x"},
    {wait_recv_until, CC_WAIT_RECV, NULL, true, true, "waits to receive from channel 0x"},
    {wait_send, CC_WAIT_SEND, NULL, true, false, "waits to send to channel 0x"},
    {wait_select, CC_WAIT_SELECT, NULL, true, false, "waits in a select"},
    {wait_task, CC_WAIT_TASK, NULL, true, false, "waits for the end of task "},
    {wait_nursery, CC_WAIT_NURSERY, NULL, false, false, "waits for the children of nursery 0x"},
    {wait_mutex, CC_WAIT_MUTEX, &mutex, true, false, "waits for mutex 0x"},
    {wait_rwlock, CC_WAIT_RWLOCK, &rwlock, true, false, "waits for rwlock 0x"},
    {wait_cond, CC_WAIT_COND, &cond, true, false, "waits for condition 0x"},
    {wait_semaphore, CC_WAIT_SEMAPHORE, &semaphore, true, false, "waits for semaphore 0x"},
    {wait_barrier, CC_WAIT_BARRIER, &barrier, true, false, "waits at barrier 0x"},
    {wait_group, CC_WAIT_WAIT_GROUP, &group, true, false, "waits for wait group 0x"},
    {wait_token, CC_WAIT_TOKEN, NULL, true, false, "waits for token 0x"},
    {wait_word, CC_WAIT_PARK_WORD, &word, true, false, "waits on word 0x"},
    {wait_fd, CC_WAIT_FD, NULL, false, false, "waits for a descriptor"},
    {wait_call, CC_WAIT_BLOCKING, NULL, false, false, "waits for a blocking call"},
    {wait_sleep, CC_WAIT_SLEEP, NULL, false, true, "sleeps"},
    {wait_subscribed, CC_WAIT_RECV, NULL, true, false, "waits to receive from channel 0x"},
    {wait_broadcast, CC_WAIT_SEND, NULL, true, false, "waits to send to channel 0x"},
};

static void begin(CCRuntime **rt)
{
	CCConfig c;
	int v = 1;

	CHECK_EQ(cc_config_init(&c), 0);
	c.shutdown_timeout = CC_SEC;	/* what still waits at the end is cancelled */
	CHECK_EQ(cc_runtime_new(rt, &c), 0);
	gate = (struct gate){0};
	word = 0;
	empty = cc_chan_new(sizeof v, 4);
	full = cc_chan_new(sizeof v, 1);
	CHECK_EQ(cc_chan_send(full, &v, sizeof v), 0);
	news = cc_broadcast_new(sizeof v, 1);
	full_news = cc_broadcast_new(sizeof v, 1);
	CHECK_EQ(cc_chan_subscribe(news, &subscribed), 0);
	CHECK_EQ(cc_chan_subscribe(full_news, &slow), 0);
	CHECK_EQ(cc_chan_send(full_news, &v, sizeof v), 0);
	token = cc_token_new();
	barrier = (CCBarrier){.parties = 3};
	mutex = cond_mutex = (CCMutex){0};
	rwlock = (CCRwlock){0};
	semaphore = (CCSemaphore){0};
	group = (CCWaitGroup){0};
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(cc_mutex_lock(&mutex), 0);
	CHECK_EQ(cc_rwlock_write(&rwlock), 0);
	CHECK_EQ(cc_wait_group_add(&group, 1), 0);
	held = spawn(*rt, wait_at, &gate);
}

/* Ends whatever a thread may wait for; the rest is cancelled. */
static void release_all(void)
{
	int v;

	cc__store(&gate.open, 1, CC__RELEASE);
	CHECK_EQ(cc_chan_close(empty), 0);
	CHECK_EQ(cc_chan_recv(full, &v, sizeof v), 0);
	CHECK_EQ(cc_chan_close(news), 0);
	CHECK_EQ(cc_chan_close(full_news), 0);
	CHECK_EQ(cc_token_set(token), 0);
	CHECK_EQ(cc_mutex_unlock(&mutex), 0);
	CHECK_EQ(cc_rwlock_unlock(&rwlock), 0);
	cc_cond_broadcast(&cond);
	CHECK_EQ(cc_semaphore_post(&semaphore, 2), 0);
	CHECK_EQ(cc_wait_group_done(&group), 0);
	cc__store((cc__a32 *)(void *)&word, 1, CC__RELEASE);
	CHECK_EQ(cc_park_wake(cc_park_space(), &word, UINT32_MAX, NULL), 0);
}

static void end(CCRuntime *rt)
{
	CHECK_EQ(cc_runtime_free(rt), 0);
	cc_chan_free(empty);
	cc_chan_free(full);
	CHECK_EQ(cc_chan_unsubscribe(subscribed), 0);
	CHECK_EQ(cc_chan_unsubscribe(slow), 0);
	CHECK_EQ(cc_chan_free(news), 0);
	CHECK_EQ(cc_chan_free(full_news), 0);
	cc_token_free(token);
	close(ends[0]);
	close(ends[1]);
}

struct found {
	uint64_t id;
	CCFiberInfo info;
};

static int look_for(const CCFiberInfo *info, void *arg)
{
	struct found *f = arg;

	if (info->id == f->id)
		f->info = *info;
	return 0;
}

static CCFiberInfo info_of(CCTask t)
{
	struct found f = {.id = t.id};

	CHECK_EQ(cc_fiber_each(look_for, &f), 0);
	return f.info;
}

TEST(each_says_what_a_fiber_waits_for_since_when_and_until_when)	/* covers: RES-70/d */
{
	CCTask t[sizeof waits / sizeof *waits];
	CCRuntime *rt;

	begin(&rt);
	for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
		CCFiberInfo info;

		t[i] = spawn(rt, waits[i].main, NULL);
		do
			info = info_of(t[i]);
		while (info.wait != waits[i].kind && (sched_yield(), true));
		CHECK_EQ(info.state, CC_FIBER_PARKED);
		CHECK(waits[i].object == NULL || info.object == waits[i].object);
		CHECK_EQ(info.task, waits[i].kind == CC_WAIT_TASK ? held.id : 0);
		CHECK(info.since > 0 && info.since <= cc_now());
		CHECK(cc_now() - info.since < 3600 * CC_SEC);
		CHECK((info.deadline != CC_FOREVER) == waits[i].deadline);
	}
	CHECK(info_of(t[0]).object == empty);
	CHECK(info_of(t[2]).object == full);
	CHECK(info_of(t[sizeof t / sizeof *t - 2]).object == subscribed.chan);
	CHECK(info_of(t[sizeof t / sizeof *t - 1]).object == full_news);
	CHECK_EQ(info_of(held).wait, CC_WAIT_NONE);
	release_all();
	end(rt);
}

/* ---- the dump ---- */

static const char *dumped(CCDumpFormat format)
{
	static char text[64 * 1024];
	FILE *f = tmpfile();
	size_t n;

	CHECK_EQ(cc_dump_as(fileno(f), format), 0);
	rewind(f);
	n = fread(text, 1, sizeof text - 1, f);
	text[n] = '\0';
	fclose(f);
	return text;
}

static void *wait_as_thread(void *arg)
{
	((const struct wait *)arg)->main(NULL);
	return NULL;
}

static const char *line_of_thread(const char *what)
{
	const char *at = dumped(CC_DUMP_TEXT);

	while ((at = strstr(at, "  thread 0x")) != NULL) {
		const char *end = strchr(at, '\n'), *found = strstr(at, what);

		if (found != NULL && found < end)
			return found;
		at = end;
	}
	return NULL;
}

TEST(dump_says_what_a_thread_waits_for)	/* covers: RES-70/d */
{
	pthread_t t[sizeof waits / sizeof *waits], second;
	CCRuntime *rt;

	begin(&rt);
	for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
		if (waits[i].thread) {
			CHECK_EQ(pthread_create(&t[i], NULL, wait_as_thread, (void *)(uintptr_t)&waits[i]), 0);
			TEST_UNTIL(line_of_thread(waits[i].text) != NULL);
		}
	release_all();
	/* The barrier wants two more. */
	CHECK_EQ(pthread_create(&second, NULL, wait_as_thread, (void *)(uintptr_t)&waits[10]), 0);
	CHECK_EQ(cc_barrier_wait(&barrier, NULL), 0);
	for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
		if (waits[i].thread)
			CHECK_EQ(pthread_join(t[i], NULL), 0);
	CHECK_EQ(pthread_join(second, NULL), 0);
	end(rt);
}

TEST(dump_folds_fibers_that_are_alike)	/* covers: RES-70/d */
{
	enum { MANY = 1000 };
	CCRuntime *rt;
	CCTask t;

	begin(&rt);
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(cc_task_spawn(rt, &t, &(CCTaskOptions){.name = "alike"}, wait_recv, NULL), 0);
	TEST_UNTIL(strstr(dumped(CC_DUMP_TEXT), " 'alike' waits to receive from channel 0x") != NULL);
	TEST_UNTIL(strstr(dumped(CC_DUMP_TEXT), "(and 999 more like this)") != NULL);
	CHECK(strstr(dumped(CC_DUMP_JSON), "\"name\":\"alike\",\"state\":\"parked\",\"wait\":\"recv\"") != NULL);
	CHECK(strstr(dumped(CC_DUMP_JSON), "\"count\":1000}") != NULL);
	CHECK(strstr(dumped(CC_DUMP_TEXT), " is running on worker ") != NULL);
	release_all();
	end(rt);
}

TEST(dump_refuses_what_it_cannot_write)
{
	CHECK_EQ(cc_dump(-1), EBADF);
	CHECK_EQ(cc_dump_as(1, (CCDumpFormat)7), EINVAL);
}
