/* races.c NAME - fibers that race, for ThreadSanitizer to report, and beside each the same program
 * with the order that the library promises. */
#include <ccc/ccc.h>

#include <stdio.h>
#include <string.h>

static long shared;
static CCMutex mutex;
static CCRwlock rwlock;
static CCSemaphore semaphore;
static CCWaitGroup group;
static CCBarrier barrier = CC_BARRIER_INIT(2);
static CCOnce once;
static CCToken *token;
static CCChan *chan;

/* ---- a counter that two fibers change ---- */

static int counts(void *arg)
{
	(void)arg;
	for (int i = 0; i < 50; i++) {
		const long v = shared;

		cc_yield();
		shared = v + 1;
	}
	return 0;
}

static int counts_locked(void *arg)
{
	(void)arg;
	for (int i = 0; i < 50; i++) {
		if (cc_mutex_lock(&mutex) != 0)
			return 1;
		shared++;
		cc_yield();
		if (cc_mutex_unlock(&mutex) != 0)
			return 1;
	}
	return 0;
}

/* One of the two forgets the lock. */
static int counts_half_locked(void *arg)
{
	return arg == NULL ? counts_locked(NULL) : counts(NULL);
}

static int adds_one(void *arg)
{
	(void)arg;
	shared++;
	return 0;
}

/* ---- one writes, the other reads: with an order, or without ---- */

static int writes_rwlock(void *arg)
{
	(void)arg;
	if (cc_rwlock_write(&rwlock) != 0)
		return 1;
	shared++;
	return cc_rwlock_unlock(&rwlock);
}

static int reads_rwlock(void *arg)
{
	long v;

	(void)arg;
	if (cc_rwlock_read(&rwlock) != 0)
		return 1;
	v = shared;
	cc_yield();
	return cc_rwlock_unlock(&rwlock) + (v < 0);
}

static int posts(void *arg)
{
	(void)arg;
	shared = 1;
	return cc_semaphore_post(&semaphore, 1);
}

static int waits_semaphore(void *arg)
{
	(void)arg;
	return cc_semaphore_wait(&semaphore) != 0 || shared != 1;
}

static int is_done(void *arg)
{
	(void)arg;
	shared++;
	return cc_wait_group_done(&group);
}

static int waits_group(void *arg)
{
	(void)arg;
	return cc_wait_group_wait(&group) != 0 || shared != 1;
}

static int passes_barrier(void *arg)
{
	if (arg == NULL)
		shared = 1;
	if (cc_barrier_wait(&barrier, NULL) != 0)
		return 1;
	return arg == NULL ? 0 : (int)(shared++ - 1);
}

static int begins_once(void *arg)
{
	(void)arg;
	shared = 1;
	return 0;
}

static int uses_once(void *arg)
{
	(void)arg;
	return cc_once(&once, begins_once, NULL) != 0 || shared != 1;
}

static int sets_token(void *arg)
{
	(void)arg;
	shared = 1;
	return cc_token_set(token);
}

static int waits_token(void *arg)
{
	(void)arg;
	return cc_token_wait(token, CC_FOREVER) != 0 || shared != 1;
}

static int sends(void *arg)
{
	char element[24] = "x";

	(void)arg;
	shared = 1;
	return cc_chan_send(chan, element, sizeof element);
}

static int receives(void *arg)
{
	char element[24];

	(void)arg;
	return cc_chan_recv(chan, element, sizeof element) != 0 || shared != 1;
}

static int selects(void *arg)
{
	char element[24];
	CCCase c = cc_case_recv(chan, element, sizeof element);

	(void)arg;
	return cc_select(&c, 1, CC_FOREVER, NULL) != 0 || shared != 1;
}

static int closes(void *arg)
{
	(void)arg;
	shared = 1;
	return cc_chan_close(chan);
}

static int sees_close(void *arg)
{
	char element[24];

	(void)arg;
	return cc_chan_recv(chan, element, sizeof element) == 0 || shared != 1;
}

static int blocking_job(void *arg)
{
	(void)arg;
	shared++;
	return 0;
}

static int blocks(void *arg)
{
	int result = 0;

	shared++;
	if (cc_blocking(blocking_job, arg, &result) != 0)
		return 1;
	shared++;
	return result;
}

static int nothing(void *arg)
{
	(void)arg;
	return 0;
}

/* ---- which ---- */

struct race {
	const char *name;
	cc_task_main *first, *second;
};

static const struct race races[] = {
    /* reported */
    {"unlocked", counts, counts},
    {"one_locks", counts_half_locked, counts_half_locked},
    {"short_tasks", adds_one, adds_one},
    {"no_order", posts, adds_one},
    /* not reported */
    {"locked", counts_locked, counts_locked},
    {"rwlock", writes_rwlock, reads_rwlock},
    {"semaphore", posts, waits_semaphore},
    {"wait_group", is_done, waits_group},
    {"barrier", passes_barrier, passes_barrier},
    {"once", uses_once, uses_once},
    {"token", sets_token, waits_token},
    {"send", sends, receives},
    {"select", sends, selects},
    {"close", closes, sees_close},
    {"blocking", blocks, nothing},
    {"join", adds_one, nothing},
};

static int run(const struct race *r)
{
	CCTask t[2];
	int result[2] = {1, 1};

	if (cc_task_spawn(NULL, &t[0], NULL, r->first, NULL) != 0 ||
	    cc_task_spawn(NULL, &t[1], NULL, r->second, &shared) != 0)
		return 2;
	for (int i = 0; i < 2; i++)
		if (cc_task_join(t[i], CC_FOREVER, &result[i]) != 0)
			return 2;
	shared++;	/* after the joins */
	return result[0] | result[1];
}

/* Children of a nursery, with captures of two sizes, and their owner after the join. */
struct captures {
	long *at;
	char more[100];
};

static int child(void *captures)
{
	struct captures *c = captures;

	(*c->at)++;
	memset(c->more, 1, sizeof c->more);
	cc_yield();
	return 0;
}

static int run_children(void)
{
	static long each[64];
	CCNursery n;
	long sum = 0;

	for (int round = 0; round < 4; round++) {
		if (cc_nursery_init(&n, NULL) != 0)
			return 2;
		for (int i = 0; i < 64; i++) {
			struct captures c = {.at = &each[i]};

			if (cc_nursery_spawn_copy(&n, NULL, child, &c, sizeof c) != 0)
				return 2;
		}
		if (cc_nursery_join(&n) != 0)
			return 2;
		for (int i = 0; i < 64; i++)
			sum += each[i];
	}
	return sum != 64 * (1 + 2 + 3 + 4);
}

int main(int argc, char **argv)
{
	int err = 2;

	if (argc != 2)
		return 2;
	token = cc_token_new();
	chan = cc_chan_new(24, 16);
	if (token == NULL || chan == NULL || cc_wait_group_add(&group, 1) != 0)
		return 2;
	if (strcmp(argv[1], "children") == 0)
		err = run_children();
	for (size_t i = 0; i < sizeof races / sizeof *races; i++)
		if (strcmp(argv[1], races[i].name) == 0)
			err = run(&races[i]);
	cc_chan_free(chan);
	cc_token_free(token);
	return err != 0 ? err : cc_shutdown();
}
