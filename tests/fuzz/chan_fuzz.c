/* chan_fuzz.c - reads a string of bytes as operations on a few channels, does them, and
 * compares every outcome with the model's (model.h).
 *
 * This thread does what can be done at once; helpers, which are fibers of one worker, do
 * what may wait.  After each operation it waits until everybody whom the model lets go
 * has ended and everybody else is parked: a lost wake hangs here.
 *
 * See driver.h; tells the model's view of every step if FUZZ_VERBOSE is set. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define FUZZ_NAME "chan_fuzz"
#include "os/atomic.h"
#include "driver.h"
#include "model.h"
#include "wait/thread.h"
#include "wait/word.h"

struct helper {
	CCCase cases[CASES];
	uint32_t item[CASES];	/* one for each */
	bool alone;		/* a plain call, not a select */
	int count;
	CC__ATOMIC(struct cc__parker *) who;
	/* Its own until `done`. */
	size_t which;
	int result;
	CCTask task;
	cc__a32 done;
};

/* Everything of one string. */
static struct world {
	const uint8_t *bytes;
	size_t left;
	struct model m;
	CCChan *chan[CHANS];
	struct helper helper[HELPERS];
	uint32_t next;	/* value */
	unsigned steps;
	/* By callbacks; a worker may run one. */
	cc__a32 dropped[CHANS], created[CHANS], destroyed[CHANS];
} w;

static CCRuntime *runtime;

enum { PATIENCE = 30 };	/* seconds until somebody is called lost */

/* ---- when it is not so ---- */

static void describe(void)
{
	for (int i = 0; i < CHANS; i++) {
		const struct model_chan *c = &w.m.chan[i];

		if (c->there)
			fprintf(
			    stderr,
			    "\tchannel %d kind %d mode %d capacity %zu length %zu (really %zu)%s out %u of %u\n",
			    i, (int)c->kind, (int)c->mode, c->capacity, c->length,
			    cc_chan_len(w.chan[i]), c->closed ? " closed" : "", c->out, c->made);
	}
	for (int i = 0; i < HELPERS; i++) {
		const struct model_helper *h = &w.m.helper[i];

		if (!h->busy)
			continue;
		fprintf(stderr, "\thelper %d", i);
		for (int k = 0; k < h->count; k++)
			fprintf(stderr, " %s %d", h->cases[k].sends ? "send" : "recv",
			        h->cases[k].chan);
		if (h->waits)
			fprintf(stderr, " waits");
		else
			fprintf(stderr, ": case %d result %d", h->which, h->result);
		fprintf(stderr, "%s\n",
		        cc__load(&w.helper[i].done, CC__ACQUIRE) ? " (has ended)" : "");
	}
}

/* With the model as it is after the step. */
static void fail(const char *what, long got, long wanted)
{
	fprintf(stderr, "chan_fuzz: step %u: %s is %ld, not %ld\n", w.steps, what, got, wanted);
	describe();
	abort();
}

static void same(const char *what, long got, long wanted)
{
	if (got != wanted)
		fail(what, got, wanted);
}

/* ---- bytes ---- */

static unsigned next_byte(void)
{
	if (w.left == 0)
		return 0;
	w.left--;
	return *w.bytes++;
}

/* One that is there; NONE: none is. */
static int next_chan(void)
{
	const unsigned from = next_byte();

	for (unsigned i = 0; i < CHANS; i++)
		if (w.chan[(from + i) % CHANS] != NULL)
			return (int)((from + i) % CHANS);
	return NONE;
}

static struct model_case next_case(int chan)
{
	const bool sends = next_byte() % 2 != 0;

	return (struct model_case){chan, sends, sends ? w.next++ : 0};
}

/* ---- callbacks ---- */

static void dropped(void *context, void *item)
{
	(void)item;
	cc__add(&w.dropped[(uintptr_t)context], 1, CC__RELAXED);
}

static int create(void *context, void *item)
{
	const uint32_t value = MADE + cc__add(&w.created[(uintptr_t)context], 1, CC__RELAXED);

	memcpy(item, &value, sizeof value);
	return 0;
}

static void destroy(void *context, void *item)
{
	(void)item;
	cc__add(&w.destroyed[(uintptr_t)context], 1, CC__RELAXED);
}

static void check_callbacks(int i)
{
	const struct model_chan *c = &w.m.chan[i];

	same("drops", cc__load(&w.dropped[i], CC__RELAXED), c->dropped);
	same("creates", cc__load(&w.created[i], CC__RELAXED), c->created);
	same("destroys", cc__load(&w.destroyed[i], CC__RELAXED), c->destroyed);
}

/* ---- helpers ---- */

static int helper_main(void *arg)
{
	struct helper *h = arg;
	const CCCase *c = &h->cases[0];

	cc__store(&h->who, cc__self(), CC__RELEASE);
	if (!h->alone)
		h->result = cc_select_in_order(h->cases, (size_t)h->count, CC_FOREVER, &h->which);
	else if (c->kind == CC_CASE_SEND)
		h->result = cc_chan_send(c->on.chan, c->item.from, c->size);
	else
		h->result = cc_chan_recv(c->on.chan, c->item.into, c->size);
	cc__store(&h->done, 1, CC__RELEASE);
	return 0;
}

static bool is_parked(struct helper *h)
{
	/* Acquire, both: the worker's, when it has left the fiber. */
	const struct cc__parker *who = cc__load(&h->who, CC__ACQUIRE);

	return who != NULL && cc__word_state(cc__load(&who->word, CC__ACQUIRE)) == CC__PARKED;
}

static void wait_a_moment(const char *what, cc_time end)
{
	if (cc_now() > end)
		fail(what, 0, 1);
	sched_yield();
}

/* It has ended, as the model says.  Two that one call woke may have their elements the other
 * way round: values are compared by `sum`. */
static void collect(int i, long *sum)
{
	struct model_helper *model = &w.m.helper[i];
	struct helper *h = &w.helper[i];
	const struct model_case *c = &model->cases[model->which];

	for (const cc_time end = cc_after(PATIENCE * CC_SEC); cc__load(&h->done, CC__ACQUIRE) == 0;)
		wait_a_moment("helpers that have ended", end);
	same("helper's join", cc_task_join(h->task, CC_FOREVER, NULL), 0);
	same("helper's result", h->result, model->result);
	if (!h->alone)
		same("helper's case", (long)h->which, model->which);
	if (model->result == 0 && !c->sends)
		*sum += (long)h->item[model->which] - (long)model->value;
	model->busy = false;
}

/* Until everybody is where the model has him. */
static void settle(void)
{
	long sum = 0;

	for (int i = 0; i < HELPERS; i++) {
		const struct model_helper *model = &w.m.helper[i];

		if (model->busy && !model->waits)
			collect(i, &sum);
		for (const cc_time end = cc_after(PATIENCE * CC_SEC);
		     model->busy && !is_parked(&w.helper[i]);)
			wait_a_moment("helpers that are parked", end);
	}
	same("what helpers received, in sum,", sum, 0);
}

static CCCase case_of(const struct model_case *m, uint32_t *item)
{
	*item = m->value;
	return m->sends ? cc_case_send(w.chan[m->chan], item, sizeof *item)
	                : cc_case_recv(w.chan[m->chan], item, sizeof *item);
}

/* ---- operations ---- */

static bool makes_sense(CCChanKind kind, CCChanMode mode, size_t capacity)
{
	if (kind == CC_CHAN_KIND_OWNED)
		return mode == CC_CHAN_MODE_BLOCK && capacity > 0;
	return mode != CC_CHAN_MODE_DROP_OLD || capacity > 0;
}

static void op_create(void)
{
	static const CCChanKind kinds[] = {CC_CHAN_KIND_PLAIN, CC_CHAN_KIND_PLAIN,
	                                   CC_CHAN_KIND_SYNC, CC_CHAN_KIND_OWNED};
	const unsigned i = next_byte() % CHANS, how = next_byte();
	const size_t capacity = next_byte() % (CAPACITY_MAX + 1);
	CCChanOptions o = {.kind = kinds[how % 4], .mode = (CCChanMode)(how / 4 % 3)};
	struct model_chan *c = &w.m.chan[i];

	if (w.chan[i] != NULL)
		return;
	o.context = (void *)(uintptr_t)i;
	o.drop = o.kind == CC_CHAN_KIND_OWNED ? NULL : dropped;
	o.create = create;
	o.destroy = destroy;
	if (!makes_sense(o.kind, o.mode, capacity)) {
		same("create", cc_chan_create(&w.chan[i], sizeof(uint32_t), capacity, &o), EINVAL);
		return;
	}
	same("create", cc_chan_create(&w.chan[i], sizeof(uint32_t), capacity, &o), 0);
	*c = (struct model_chan){
	    .there = true, .kind = o.kind, .mode = o.mode, .capacity = capacity};
	cc__store(&w.dropped[i], 0, CC__RELAXED);
	cc__store(&w.created[i], 0, CC__RELAXED);
	cc__store(&w.destroyed[i], 0, CC__RELAXED);
}

static void free_chan(int i)
{
	struct model_chan *c = &w.m.chan[i];

	if (model_is_waited_for(&w.m, i) || c->out > 0) {
		same("free", cc_chan_free(w.chan[i]), EBUSY);
		return;
	}
	same("free", cc_chan_free(w.chan[i]), 0);
	if (c->kind == CC_CHAN_KIND_OWNED)
		c->destroyed += (unsigned)c->length;
	else
		c->dropped += (unsigned)c->length;
	check_callbacks(i);
	w.chan[i] = NULL;
	c->there = false;
}

static void op_free(void)
{
	const int i = next_chan();

	if (i != NONE)
		free_chan(i);
}

static void close_chan(int i, unsigned how)
{
	if (how == 0)
		same("close", cc_chan_close(w.chan[i]), 0);
	else if (how == 1)
		same("close", cc_chan_close_error(w.chan[i], ENOSPC), 0);
	else
		same("close", cc_chan_close_recv(w.chan[i], ENOSPC), 0);
	model_close(&w.m, i, how == 2 ? ENOSPC : EPIPE, how == 1 ? ENOSPC : EPIPE);
}

static void op_close(void)
{
	const int i = next_chan();
	const unsigned how = next_byte() % 3;

	if (i != NONE)
		close_chan(i, how);
}

/* Without waiting: now, or with a deadline that has passed. */
static void op_one(void)
{
	const int i = next_chan();
	const struct model_case c = next_case(i);
	const bool late = next_byte() % 2 != 0;
	const cc_time deadline = late ? 1 : CC_NOW;
	uint32_t item = c.value, value = 0;
	int wanted, result;

	if (i == NONE)
		return;
	wanted = model_do(&w.m, &c, &value);
	if (wanted == EAGAIN && late && !(c.sends && w.m.chan[i].mode == CC_CHAN_MODE_DROP_NEW))
		wanted = ETIMEDOUT;
	result = c.sends ? cc_chan_send_until(w.chan[i], &item, sizeof item, deadline)
	                 : cc_chan_recv_until(w.chan[i], &item, sizeof item, deadline);
	same(c.sends ? "send" : "recv", result, wanted);
	if (result == 0 && !c.sends)
		same("received", item, value);
	else
		same("item of a call that received nothing", item, c.value);
}

enum { MANY = 3 };

/* How many at once.  Several who are woken together may overtake each other, and others who
 * wait, unless the kind is SYNC: there must be enough for all, or one at a time. */
static size_t many_of(int chan)
{
	return w.m.chan[chan].kind == CC_CHAN_KIND_SYNC || model_waiters(&w.m, chan) <= MANY ? MANY
	                                                                                     : 1;
}

/* An array.  (Not for pools.) */
static void op_many(void)
{
	const int i = next_chan();
	struct model_case c = next_case(i);
	size_t many;
	uint32_t item[MANY] = {0}, value[MANY] = {0};
	size_t moved = 99, wanted = 0;
	int result, err = 0;

	if (i == NONE || w.m.chan[i].kind == CC_CHAN_KIND_OWNED)
		return;
	many = many_of(i);
	for (; wanted < many && err == 0; wanted += err == 0) {
		item[wanted] = c.value = c.sends ? w.next++ : 0;
		err = model_do(&w.m, &c, &value[wanted]);
	}
	for (size_t k = wanted; c.sends && k < many; k++)
		item[k] = w.next++;
	result = c.sends ? cc_chan_send_many(w.chan[i], item, sizeof *item, many, CC_NOW, &moved)
	                 : cc_chan_recv_many(w.chan[i], item, sizeof *item, many, CC_NOW, &moved);
	same("result of many", result, wanted > 0 ? 0 : err);
	same("moved of many", (long)moved, (long)wanted);
	for (size_t k = 0; !c.sends && k < wanted; k++)
		same("received of many", item[k], value[k]);
}

static int next_cases(struct model_case *cases, CCCase *real, uint32_t *item)
{
	const int count = 1 + (int)(next_byte() % CASES);

	for (int k = 0; k < count; k++) {
		const int chan = next_chan();

		if (chan == NONE)
			return 0;
		cases[k] = next_case(chan);
		real[k] = case_of(&cases[k], &item[k]);
	}
	return count;
}

/* Which one a fair select takes is its own affair, but one that is possible it must be. */
static void op_select(void)
{
	const bool fair = next_byte() % 2 != 0;
	struct model_case cases[CASES];
	CCCase real[CASES];
	uint32_t item[CASES], value = 0;
	const int count = next_cases(cases, real, item);
	size_t which = 99;
	int result, wanted = EAGAIN, k = 0;

	if (count == 0)
		return;
	result = (fair ? cc_select : cc_select_in_order)(real, (size_t)count, CC_NOW, &which);
	if (fair && which < (size_t)count) {
		k = (int)which;
		wanted = model_do(&w.m, &cases[k], &value);
		if (wanted == EAGAIN)
			fail("a case that was not possible, taken,", k, NONE);
	} else {
		while (k < count && (wanted = model_do(&w.m, &cases[k], &value)) == EAGAIN)
			k++;
		same("case", (long)which, k);
	}
	same("select", result, wanted);
	if (result == 0 && !cases[k].sends)
		same("received by select", item[k], value);
}

/* A helper does something that may wait. */
static void op_help(void)
{
	const unsigned which = next_byte();
	struct helper *h = &w.helper[which % HELPERS];
	struct model_helper *model = &w.m.helper[which % HELPERS];
	struct model_case cases[CASES];

	if (model->busy)
		return;
	memset(h, 0, sizeof *h);
	h->count = next_cases(cases, h->cases, h->item);
	if (h->count == 0)
		return;
	h->alone = h->count == 1 && which / HELPERS % 2 != 0;
	memcpy(model->cases, cases, sizeof cases);
	model->count = h->count;
	model_start(&w.m, model, h->alone);
	same("spawn", cc_task_spawn(runtime, &h->task, NULL, helper_main, h), 0);
}

static void op_look(void)
{
	const int i = next_chan();
	uint64_t big = 0;

	if (i == NONE)
		return;
	same("length", (long)cc_chan_len(w.chan[i]), (long)w.m.chan[i].length);
	same("capacity", (long)cc_chan_cap(w.chan[i]), (long)w.m.chan[i].capacity);
	same("closed", cc_chan_closed(w.chan[i]), w.m.chan[i].closed);
	same("send of another size", cc_chan_try_send(w.chan[i], &big, sizeof big), EINVAL);
	same("recv of another size", cc_chan_try_recv(w.chan[i], &big, sizeof big), EINVAL);
	same("recv to nowhere", cc_chan_try_recv(w.chan[i], NULL, sizeof(uint32_t)), EINVAL);
	check_callbacks(i);
}

/* ---- a string ---- */

static void start_runtime(void)
{
	CCConfig c;

	same("configuration", cc_config_init(&c), 0);
	c.workers = c.workers_max = 1;
	c.sysmon = 0;
	c.idle_wait = c.stack_idle = CC_FOREVER;
	same("runtime", cc_runtime_new(&runtime, &c), 0);
}

/* All is closed, and everybody comes back; pools get what is out. */
static void finish(void)
{
	for (int i = 0; i < CHANS; i++)
		if (w.chan[i] != NULL) {
			close_chan(i, 0);
			settle();
		}
	for (int i = 0; i < CHANS; i++) {
		while (w.chan[i] != NULL && w.m.chan[i].out > 0) {
			const uint32_t item = 0;

			same("giving back", cc_chan_send(w.chan[i], &item, sizeof item),
			     model_send(&w.m, i, 0));
		}
		if (w.chan[i] != NULL)
			free_chan(i);
		same("channel", w.chan[i] != NULL, 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static void (*const ops[])(void) = {op_create, op_one,    op_help,  op_one,
	                                    op_help,   op_select, op_many,  op_create,
	                                    op_help,   op_look,   op_close, op_free};

	if (runtime == NULL)
		start_runtime();
	memset(&w, 0, sizeof w);
	w.bytes = bytes;
	w.left = size;
	w.next = 1;
	for (; w.left > 0; w.steps++) {
		ops[next_byte() % (sizeof ops / sizeof *ops)]();
		if (fuzz_verbose) {
			fprintf(stderr, "step %u\n", w.steps);
			describe();
		}
		settle();
	}
	finish();
	return 0;
}
