/* stall_test.c - a fiber that keeps its worker is reported with its place and the remedy; one that
 * operates on channels is not. */
#include "tasks.h"
#include "test.h"

#include <ccc/ccc.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "chan/progress.h"

struct stall_log {
	cc__a32 stalls;
	char last[480];
};

static void log_stall(void *context, const char *line)
{
	struct stall_log *l = context;

	if (strstr(line, ": stall: ") == NULL)
		return;
	snprintf(l->last, sizeof l->last, "%s", line);
	cc__add(&l->stalls, 1, CC__RELEASE);
}

static CCRuntime *runtime_with_stall(cc_time stall, struct stall_log *l)
{
	CCRuntime *rt;
	CCConfig c;

	*l = (struct stall_log){.last = ""};
	CHECK_EQ(cc_config_init(&c), 0);
	c.workers = 1;
	c.workers_max = 2;
	c.stall = stall;
	c.log = log_stall;
	c.log_context = l;
	CHECK_EQ(cc_runtime_new(&rt, &c), 0);
	return rt;
}

/* ---- progress ---- */

static cc__a32 stop;

struct busy {
	size_t capacity;
	bool by_select;
};

static int receive_by_select(CCChan *c, int *v)
{
	const CCCase cases[] = {cc_case_recv(c, v, sizeof *v)};

	return cc_select(cases, 1, CC_FOREVER, NULL);
}

/* It never parks: it receives what it has sent. */
static int send_to_itself(void *arg)
{
	const struct busy *b = arg;
	CCChan *c = cc_chan_new(sizeof(int), b->capacity);
	int v = 1;

	while (cc__load(&stop, CC__ACQUIRE) == 0) {
		CHECK_EQ(cc_chan_send(c, &v, sizeof v), 0);
		CHECK_EQ(b->by_select ? receive_by_select(c, &v) : cc_chan_recv(c, &v, sizeof v), 0);
	}
	return cc_chan_free(c);
}

TEST(fiber_that_uses_channels_is_not_stalled)	/* covers: SCH-76/u, RES-77/u */
{
	static struct busy kinds[] = {{64, false}, {4, false}, {64, true}, {4, true}};
	struct stall_log l;

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		CCRuntime *rt = runtime_with_stall(60 * CC_MSEC, &l);
		const uint32_t before = cc__chan_probed();
		CCTask t;

		cc__store(&stop, 0, CC__RELEASE);
		t = spawn(rt, send_to_itself, &kinds[i]);
		TEST_UNTIL(cc__chan_probed() - before >= 4);	/* so it has ended three times */
		cc__store(&stop, 1, CC__RELEASE);
		join(t);
		CHECK_EQ(cc_runtime_free(rt), 0);
		CHECK_EQ(cc__load(&l.stalls, CC__ACQUIRE), 0);
		CHECK_EQ(cc__chan_probes(), 0);
	}
}

/* While channels are asked about, others are made, freed and used. */
static int make_and_free(void *unused)
{
	(void)unused;
	while (cc__load(&stop, CC__ACQUIRE) == 0) {
		CCChan *c = cc_chan_new(sizeof(int), 64);
		int v = 7;

		CHECK_EQ(cc_chan_send(c, &v, sizeof v), 0);
		v = 0;
		CHECK_EQ(cc_chan_recv(c, &v, sizeof v), 0);
		CHECK_EQ(v, 7);
		CHECK_EQ(cc_chan_free(c), 0);
	}
	return 0;
}

TEST(channels_made_and_freed_while_asked_about_stay_whole)
{
	struct stall_log l;
	CCRuntime *rt = runtime_with_stall(2 * CC_MSEC, &l);
	const uint32_t before = cc__chan_probed();
	CCTask t;

	cc__store(&stop, 0, CC__RELEASE);
	t = spawn(rt, make_and_free, NULL);
	TEST_UNTIL(cc__chan_probed() - before >= 10);
	cc__store(&stop, 1, CC__RELEASE);
	join(t);
	CHECK_EQ(cc_runtime_free(rt), 0);
}

/* ---- the report ---- */

static cc_task_fn(crunch)
{
	while (cc__load(&stop, CC__ACQUIRE) == 0)
		continue;
	return 0;
}

static int ends[2];

static cc_task_fn(read_a_pipe)
{
	char byte;

	return read(ends[0], &byte, 1) == 1 ? 0 : EIO;
}

TEST(stall_names_the_place_and_what_to_do)	/* covers: SCH-76/u */
{
	struct stall_log l;
	CCRuntime *rt = runtime_with_stall(50 * CC_MSEC, &l);
	int err;

	cc__store(&stop, 0, CC__RELEASE);
	cc_nursery_scope_with(n, &err, (&(CCNurseryOptions){.runtime = rt})) {
		cc_spawn(n, crunch);
		TEST_UNTIL(cc__load(&l.stalls, CC__ACQUIRE) == 1);
		cc__store(&stop, 1, CC__RELEASE);
	}
	CHECK_EQ(err, 0);
	CHECK(strstr(l.last, " 'crunch' (spawned at stall_test.c:") != NULL);
	CHECK(strstr(l.last, "it computes; call cc_yield") != NULL);
	CHECK_EQ(pipe(ends), 0);
	cc_nursery_scope_with(m, &err, (&(CCNurseryOptions){.runtime = rt})) {
		cc_spawn(m, read_a_pipe);
		TEST_UNTIL(cc__load(&l.stalls, CC__ACQUIRE) == 2);
		CHECK_EQ(write(ends[1], "", 1), 1);
	}
	CHECK_EQ(err, 0);
	CHECK(strstr(l.last, " 'read_a_pipe' (spawned at stall_test.c:") != NULL);
	CHECK(strstr(l.last, "it is blocked in a system call; make such calls by cc_blocking") != NULL);
	close(ends[0]);
	close(ends[1]);
	CHECK_EQ(cc_runtime_free(rt), 0);
}
