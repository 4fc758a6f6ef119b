/* chans.h - channels of every kind behind one small interface for tests: elements are
 * numbers, whatever the channel's element is, and whoever uses it is a fiber or a thread. */
#ifndef TEST_CHANS_H
#define TEST_CHANS_H

#include <errno.h>

#include "chan/chan.h"
#include "sleepers.h"

/* A kind of channel, and who sends and who receives. */
struct setting {
	const char *name;
	CCChanKind kind;
	size_t capacity;
	enum kind sender, receiver;
	CCRuntime *rt;
};

#ifndef KINDS_OF_CHANNEL
#define KINDS_OF_CHANNEL \
	{.name = "buffered 1", .kind = CC_CHAN_KIND_PLAIN, .capacity = 1}, \
	{.name = "buffered 3", .kind = CC_CHAN_KIND_PLAIN, .capacity = 3}, \
	{.name = "ring 8", .kind = CC_CHAN_KIND_PLAIN, .capacity = 8}, \
	{.name = "ring 13", .kind = CC_CHAN_KIND_PLAIN, .capacity = 13}, \
	{.name = "rendezvous", .kind = CC_CHAN_KIND_PLAIN, .capacity = 0}, \
	{.name = "sync 0", .kind = CC_CHAN_KIND_SYNC, .capacity = 0}, \
	{.name = "sync 1", .kind = CC_CHAN_KIND_SYNC, .capacity = 1}, \
	{.name = "sync 3", .kind = CC_CHAN_KIND_SYNC, .capacity = 3}, \
	{.name = "ordered 0", .kind = CC_CHAN_KIND_ORDERED, .capacity = 0}, \
	{.name = "ordered 2", .kind = CC_CHAN_KIND_ORDERED, .capacity = 2},
#endif

static const struct setting kinds_of_channel[] = {KINDS_OF_CHANNEL};

/* The channel that elements of `c` are received from. */
#ifndef RECEIVING_END
#define RECEIVING_END(c) (c)
#define CHAN_IS_MADE(c) ((void)0)
#define CHAN_GOES(c) ((void)0)
#endif

/* Two workers that nobody helps and that wake only when they are woken. */
static inline CCRuntime *chan_runtime(void)
{
	CCRuntime *rt = NULL;
	CCConfig c;

	CHECK_EQ(cc_config_init(&c), 0);
	only_workers(&c, 2);
	c.idle_wait = c.stack_idle = CC_FOREVER;
	CHECK_EQ(cc_runtime_new(&rt, &c), 0);
	return rt;
}

/* The behaviour with each kind of channel, and fibers and threads on both sides. */
static inline void everywhere(void (*behaviour)(const struct setting *s))
{
	CCRuntime *rt = chan_runtime();

	for (size_t i = 0; i < sizeof kinds_of_channel / sizeof *kinds_of_channel; i++)
		for (int pair = 0; pair < 4; pair++) {
			struct setting s = kinds_of_channel[i];

			s.sender = pair & 1 ? THREAD : FIBER;
			s.receiver = pair & 2 ? THREAD : FIBER;
			s.rt = rt;
			behaviour(&s);
		}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

#define BEHAVIOUR(name) \
	static void name##_with(const struct setting *s); \
	TEST(name) \
	{ \
		everywhere(name##_with); \
	} \
	static void name##_with(const struct setting *s)

/* ---- elements ---- */

union element {
	int number;
	CCTask task;	/* of no task: its id is the number */
};

static inline size_t element_size(CCChanKind kind)
{
	return kind == CC_CHAN_KIND_ORDERED ? sizeof(CCTask) : sizeof(int);
}

static inline CCChan *chan_of(const struct setting *s)
{
	const CCChanOptions o = {.kind = s->kind, .name = "under test"};
	CCChan *c = NULL;

	CHECK_EQ(cc_chan_create(&c, element_size(s->kind), s->capacity, &o), 0);
	CHAN_IS_MADE(c);
	return c;
}

static inline union element element_of(const CCChan *c, int number)
{
	union element e = {.task = {0}};

	if (c->size == sizeof(CCTask))
		e.task.id = (uint64_t)number;
	else
		e.number = number;
	return e;
}

static inline int number_of(const CCChan *c, const union element *e)
{
	return c->size == sizeof(CCTask) ? (int)e->task.id : e->number;
}

static inline int send_number(CCChan *c, int number, cc_time deadline)
{
	union element e = element_of(c, number);

	return cc_chan_send_until(c, &e, c->size, deadline);
}

static inline int recv_number(CCChan *c, int *number, cc_time deadline)
{
	union element e = {.task = {0}};
	const int err = cc_chan_recv_until(RECEIVING_END(c), &e, c->size, deadline);

	if (err == 0)
		*number = number_of(c, &e);
	return err;
}

/* ---- who does it ---- */

struct actor {
	CCChan *chan;
	int first, count;	/* numbers to send; how many to receive */
	cc_time span;		/* of each call; CC_FOREVER, CC_NOW as they are */
	int done;		/* calls that returned 0 */
	int error;		/* what the first other one returned */
	long sum;		/* of what was received */
	int last;
	struct sleeper s;
};

static inline cc_time deadline_of(const struct actor *a)
{
	return a->span == CC_FOREVER || a->span == CC_NOW ? a->span : cc_after(a->span);
}

static inline int act_send(void *arg)
{
	struct actor *a = arg;

	while (a->done < a->count && a->error == 0) {
		a->error = send_number(a->chan, a->first + a->done, deadline_of(a));
		a->done += a->error == 0;
	}
	return a->error;
}

static inline int act_recv(void *arg)
{
	struct actor *a = arg;

	while (a->done < a->count && a->error == 0)
		if ((a->error = recv_number(a->chan, &a->last, deadline_of(a))) == 0) {
			a->sum += a->last;
			a->done++;
		}
	return a->error;
}

static inline void start_send(struct actor *a, const struct setting *s, CCChan *c, int first,
                              int count, cc_time span)
{
	*a = (struct actor){.chan = c, .first = first, .count = count, .span = span};
	sleeper_start(&a->s, s->rt, s->sender, act_send, a);
}

static inline void start_recv(struct actor *a, const struct setting *s, CCChan *c, int count,
                              cc_time span)
{
	*a = (struct actor){.chan = c, .count = count, .span = span};
	sleeper_start(&a->s, s->rt, s->receiver, act_recv, a);
}

static inline int finish(struct actor *a)
{
	return sleeper_join(&a->s);
}

/* So many wait that way, or more. */
static inline int waiting(CCChan *c, enum cc__way way)
{
	struct cc__waiter *w;
	int n = 0;

	if (way == CC__RECV)
		c = RECEIVING_END(c);
	cc__lock(&c->lock, CC__RANK_WAITQ);
	if ((w = c->wait[way].head) != NULL)
		do
			n++;
		while ((w = w->next) != c->wait[way].head);
	cc__unlock(&c->lock);
	return n;
}

static inline void until_waiting(CCChan *c, enum cc__way way, int n)
{
	TEST_UNTIL(waiting(c, way) >= n);
}

/* Until it is full; how many that were, numbered from `first`. */
static inline int fill(CCChan *c, int first)
{
	int n = 0;

	while (send_number(c, first + n, CC_NOW) == 0)
		n++;
	return n;
}

static inline void free_chan(CCChan *c)
{
	CHECK_EQ(waiting(c, CC__SEND) + waiting(c, CC__RECV), 0);
	CHAN_GOES(c);
	CHECK_EQ(cc_chan_free(c), 0);
}

#endif
