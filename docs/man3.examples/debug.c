/* Fibers that run, dumps, statistics, traces: <ccc/fiber.h>, <ccc/debug.h>, <ccc/stats.h>,
 * <ccc/trace.h>. */
#define _GNU_SOURCE	/* memfd_create */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ccc/ccc.h>

static int name_myself(void *arg)
{
	char name[16];

	(void)arg;
	cc_fiber_name(name);
	assert(strcmp(name, "reader") == 0);
	assert(cc_fiber_id() != 0);	/* 0 is for threads */
	return 0;
}

static void name_a_task(void)
{
	const CCTaskOptions options = {.name = "reader"};
	CCTask task;

	assert(cc_task_spawn(NULL, &task, &options, name_myself, NULL) == 0);
	assert(cc_task_join(task, CC_FOREVER, NULL) == 0);
	assert(cc_fiber_id() == 0);
}

static int count_one(const CCFiberInfo *info, void *arg)
{
	*(int *)arg += info->state == CC_FIBER_PARKED && info->wait == CC_WAIT_RECV;
	return 0;		/* 0: go on with the next fiber */
}

static int receive_one(void *arg)
{
	int n;

	return cc_chan_recv(arg, &n, sizeof n);
}

/* A fiber that waits can be found, and is in the dump. */
static void list_fibers(void)
{
	CCChan *chan = cc_chan_new(sizeof(int), 0);
	CCTask task;
	int waiting = 0, n = 1, dump = memfd_create("dump", 0);

	assert(cc_task_spawn(NULL, &task, NULL, receive_one, chan) == 0);
	while (waiting == 0) {
		assert(cc_fiber_each(count_one, &waiting) == 0);
		cc_yield();
	}
	assert(cc_dump(dump) == 0);			/* text */
	assert(cc_dump_as(dump, CC_DUMP_JSON) == 0);	/* one object a line */
	assert(lseek(dump, 0, SEEK_END) > 0);
	assert(cc_chan_send(chan, &n, sizeof n) == 0);
	assert(cc_task_join(task, CC_FOREVER, NULL) == 0);
	assert(cc_chan_free(chan) == 0);
	close(dump);
}

/* While a debugger may write to the memory of the process, no wait is a deadlock. */
static void wait_for_something_outside(void)
{
	cc_external_begin();
	assert(cc_sleep_ms(1) == 0);
	cc_external_end();
}

static void read_statistics(void)
{
	CCStats s;

	assert(cc_stats(NULL, &s) == 0);
	assert(s.workers >= 1 && s.tasks_spawned >= s.tasks_finished);
	printf("%lu switches\n", (unsigned long)s.switches);
}

/* Writes a trace for a viewer, and the last events of each thread as text. */
static void record(void)
{
	int file = memfd_create("trace", 0);

	assert(cc_trace_start(0) == 0);
	name_a_task();
	cc_trace_stop();
	assert(cc_trace_write(file) == 0);	/* load it in a trace viewer */
	assert(lseek(file, 0, SEEK_END) > 0);
	cc_trace_last(file);
	close(file);
}

int main(void)
{
	name_a_task();
	list_fibers();
	wait_for_something_outside();
	read_statistics();
	record();
	return 0;
}
