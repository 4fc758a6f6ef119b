/* typed.h - tasks with named captures, typed channels, and matching.  For C only; C++ has ccc.hpp.
 *
 *      static cc_task_fn(produce, NumbersTx out; int n;)       // named, typed captures
 *      {
 *              for (int i = 0; i < self->n; i++)
 *                      cc_try(cc_send(self->out, i));
 *              return cc_close(self->out);
 *      }
 *
 *      cc_spawn(nursery, produce, .out = numbers.tx, .n = 1000);
 *
 * A spawn copies the captures.  The copy belongs to the task, which may change it.  Captures that
 * the spawn does not name are zero.  A task without captures is written cc_task_fn(hello) and
 * spawned with cc_spawn(nursery, hello).  Debuggers and profilers show the task's function as
 * `produce`; `self` is a struct produce_captures *.
 *
 * Every macro evaluates each of its arguments once. */
#ifndef CCC_TYPED_H
#define CCC_TYPED_H

#include <ccc/broadcast.h>
#include <ccc/nursery.h>
#include <ccc/select.h>

#ifndef __cplusplus

#include <errno.h>

/* ---- tasks ---- */

/* cc_task_fn(name, captures) is the head of a task's definition.  With `static` before it the task
 * is known in this file only, otherwise in the whole program. */
#define cc_task_fn(...) CC_MANY_OR_ONE(CC_TASK_FN_, __VA_ARGS__)(__VA_ARGS__)

/* cc_task_decl(name, captures) declares a task, for a header or for tasks that spawn each other.
 * cc_task_def(name) is the head of its definition.
 *
 *      cc_task_decl(produce, NumbersTx out; int n;);
 *
 *      cc_task_def(produce)
 *      {
 *              ... */
#define cc_task_decl(...) CC_MANY_OR_ONE(CC_TASK_DECL_, __VA_ARGS__)(__VA_ARGS__)
#define cc_task_def(name) CC_TASK_DEF(name)

/* cc_spawn(nursery, task, .capture = value, ...) starts a child and returns as cc_nursery_spawn
 * does.  The _daemon forms start a daemon child, as cc_nursery_spawn_daemon does.  In the _with
 * forms the second argument is a const CCTaskOptions *. */
#define cc_spawn(nursery, ...) cc_spawn_with(nursery, NULL, __VA_ARGS__)
#define cc_spawn_daemon(nursery, ...) cc_spawn_daemon_with(nursery, NULL, __VA_ARGS__)
#define cc_spawn_with(nursery, options, ...) \
	CC_MANY_OR_ONE(CC_SPAWN_, __VA_ARGS__)(cc_spawn, nursery, options, __VA_ARGS__)
#define cc_spawn_daemon_with(nursery, options, ...) \
	CC_MANY_OR_ONE(CC_SPAWN_, __VA_ARGS__) \
	(cc_spawn_daemon, nursery, options, __VA_ARGS__)

/* cc_spawn_task(nursery, &handle, task, .capture = value, ...) starts a child and stores its
 * handle, as cc_nursery_spawn_task does.  In the _with form the third argument is a const
 * CCTaskOptions *. */
#define cc_spawn_task(nursery, handle, ...) cc_spawn_task_with(nursery, handle, NULL, __VA_ARGS__)
#define cc_spawn_task_with(nursery, handle, options, ...) \
	CC_MANY_OR_ONE(CC_SPAWN_TASK_, __VA_ARGS__)(nursery, handle, options, __VA_ARGS__)

/* ---- channels ---- */

/* cc_chan_type(Numbers, int) defines a type for channels of int, and a type for each of their ends,
 * to be passed by value:
 *
 *      cc_chan_type(Numbers, int);
 *
 *      Numbers numbers = cc_chan_make(Numbers, 16);    // numbers.chan is NULL: no memory
 *      NumbersTx out = numbers.tx;                     // sends and closes
 *      NumbersRx in = numbers.rx;                      // receives
 *
 * Each is as large as a pointer.  Its member `chan` is the channel itself, for the calls of
 * chan.h. */
#define cc_chan_type(name, type) \
	typedef union name##Tx { \
		CCChan *chan; \
		type *cc_sends; \
	} name##Tx; \
	typedef union name##Rx { \
		CCChan *chan; \
		type *cc_receives; \
	} name##Rx; \
	typedef union name { \
		CCChan *chan; \
		name##Tx tx; \
		name##Rx rx; \
		type *cc_sends; \
		type *cc_receives; \
	} name

/* cc_chan_make(name, capacity) creates a channel of that type; its `chan` is NULL if
 * cc_chan_new fails. */
#define cc_chan_make(name, capacity) \
	((name){.chan = cc_chan_at(sizeof *((name *)0)->cc_sends, capacity, 0, CC_PLACE(name))})

/* cc_chan_make_ordered(name, capacity) creates an ORDERED channel, whose elements have
 * `CCTask task` as their first member.
 *
 *      struct block { CCTask task; char *data; size_t length; };
 *      cc_chan_type(Blocks, struct block);
 *
 *      Blocks blocks = cc_chan_make_ordered(Blocks, 8);
 *
 *      cc_try(cc_spawn_send(blocks, &block, compress, .data = block.data));    // one side
 *
 *      while (cc_recv(blocks, &block) == 0)                                    // the other
 *              cc_try(cc_task_join(block.task, CC_FOREVER, NULL));
 *
 * cc_spawn_send(channel, &item, task, .capture = value, ...) starts the task, stores its handle in
 * the item and sends the item, as cc_chan_spawn_copy does. */
#define cc_chan_make_ordered(name, capacity) \
	((name){.chan = cc_chan_at(sizeof *((name *)0)->cc_sends + \
	                               CC_BEGINS_WITH_TASK(*((name *)0)->cc_sends), \
	                           capacity, &(CCChanOptions){.kind = CC_CHAN_KIND_ORDERED}, \
	                           CC_PLACE(name))})
#define cc_spawn_send(channel, item, ...) \
	cc_spawn_send_until(channel, CC_FOREVER, item, __VA_ARGS__)
#define cc_spawn_send_until(channel, deadline, item, ...) \
	CC_MANY_OR_ONE(CC_SPAWN_SEND_, __VA_ARGS__)(channel, deadline, item, __VA_ARGS__)

/* cc_chan_make_broadcast(name, capacity) and cc_chan_make_watch(name) create a broadcast channel
 * and a watch channel (broadcast.h); `chan` is NULL if that fails.  cc_subscribe(channel, pointer)
 * subscribes to one as cc_chan_subscribe does, and cc_unsubscribe ends the subscription.
 *
 *      Numbers numbers = cc_chan_make_broadcast(Numbers, 16);
 *      NumbersRx mine;
 *
 *      cc_try(cc_subscribe(numbers, &mine));
 *      while (cc_recv(mine, &n) == 0)
 *              sum += n;
 *      cc_unsubscribe(mine); */
#define cc_chan_make_broadcast(name, capacity) \
	((name){.chan = cc_broadcast_new(sizeof *((name *)0)->cc_sends, capacity)})
#define cc_chan_make_watch(name) ((name){.chan = cc_watch_new(sizeof *((name *)0)->cc_sends)})
#define cc_subscribe(channel, into) \
	cc_chan_subscribe_into( \
	    (channel).chan, \
	    (sizeof *CC_INTO(*(channel).cc_receives, (into)->cc_receives) > 0 ? &(into)->chan : NULL))
#define cc_unsubscribe(rx) ((void)sizeof *(rx).cc_receives, cc_chan_free((rx).chan))

/* cc_send(channel, value) sends a value as cc_chan_send does; it must be able to initialise an
 * element of the channel's type.  cc_try_send does not wait, cc_send_within waits for a span of
 * nanoseconds, and cc_send_until waits until a deadline. */
#define cc_send(channel, ...) cc_send_until(channel, CC_FOREVER, __VA_ARGS__)
#define cc_try_send(channel, ...) cc_send_until(channel, CC_NOW, __VA_ARGS__)
#define cc_send_within(channel, span, ...) cc_send_until(channel, cc_after(span), __VA_ARGS__)
#define cc_send_until(channel, deadline, ...) \
	cc_chan_send_until((channel).chan, CC_ITEM(*(channel).cc_sends, __VA_ARGS__), \
	                   sizeof *(channel).cc_sends, deadline)

/* cc_recv(channel, pointer) receives as cc_chan_recv does; the pointer must have exactly the
 * channel's type.  cc_try_recv does not wait, cc_recv_within waits for a span of nanoseconds, and
 * cc_recv_until waits until a deadline. */
#define cc_recv(channel, into) cc_recv_until(channel, CC_FOREVER, into)
#define cc_try_recv(channel, into) cc_recv_until(channel, CC_NOW, into)
#define cc_recv_within(channel, span, into) cc_recv_until(channel, cc_after(span), into)
#define cc_recv_until(channel, deadline, into) \
	cc_chan_recv_until((channel).chan, CC_INTO(*(channel).cc_receives, into), \
	                   sizeof *(channel).cc_receives, deadline)

/* cc_close and cc_close_error close a channel from its sending end, as cc_chan_close and
 * cc_chan_close_error do.  cc_close_recv closes it from its receiving end, as cc_chan_close_recv
 * does.  cc_free frees it as cc_chan_free does. */
#define cc_close(channel) cc_close_error(channel, 0)
#define cc_close_error(channel, error) \
	((void)sizeof *(channel).cc_sends, cc_chan_close_error((channel).chan, error))
#define cc_close_recv(channel, error) \
	((void)sizeof *(channel).cc_receives, cc_chan_close_recv((channel).chan, error))
#define cc_free(channel) ((void)sizeof(channel).tx, cc_chan_free((channel).chan))

/* Cases for cc_select.  The element of cc_send_case is a variable, which must live until the
 * select returns. */
#define cc_recv_case(channel, into) \
	cc_case_recv((channel).chan, CC_INTO(*(channel).cc_receives, into), \
	             sizeof *(channel).cc_receives)
#define cc_send_case(channel, variable) \
	cc_case_send((channel).chan, CC_FROM(*(channel).cc_sends, &(variable)), \
	             sizeof *(channel).cc_sends)

/* ---- matching ---- */

/* cc_match waits for the first of several cases and runs its body: a select that reads like a
 * switch.
 *
 *      cc_match(&err) {
 *      cc_on_recv(numbers, &n)
 *              sum += n;
 *      cc_on_send(out, line)
 *              lines++;
 *      cc_on_task(worker, &result)
 *              printf("it returned %d\n", result);
 *      cc_on_fd(socket, CC_FD_READ | CC_FD_WRITE, &ready)
 *              err = serve(socket, ready);     // fd.h; cc_on_signal: signal.h
 *      cc_on_closed(numbers)
 *              numbers.chan = NULL;            // switches that case off
 *      cc_on_timeout(cc_after(CC_SEC))
 *              puts("nothing happens");
 *      }
 *
 * A body is a statement.  It runs after its case has taken place: the element has been received or
 * sent, or the task has been joined.  Then err is 0.  If a channel is found closed, the body of its
 * cc_on_closed runs and err is 0; without a cc_on_closed no body runs and err is the channel's
 * error.  In all other cases no body runs and err is the error of cc_select, such as ECANCELED.
 *
 * The end of a body leaves the match, and so do break and continue.  return and goto work as
 * usual.  Put no code between the cases; it would run twice.  The arguments are evaluated once, in
 * order.  A case whose channel has the `chan` NULL is switched off.
 *
 * A match may have up to CC_MATCH_MAX cases, and as many cc_on_closed; with more, err is E2BIG.
 * Put a match inside a match into a function of its own. */
#define cc_match(error) \
	for (CCMatch cc_matching = cc_match_begin(error); cc_match_next(&cc_matching);)
#define cc_on_recv(channel, into) CC_ON(cc_match_chan(cc_recv_case(channel, into)))
#define cc_on_send(channel, variable) CC_ON(cc_match_chan(cc_send_case(channel, variable)))
#define cc_on_closed(channel) \
	CC_BODY(cc_match_listing(&cc_matching) \
	            ? cc_match_list_closed(&cc_matching, (channel).chan) \
	            : cc_match_closed(&cc_matching))
#define cc_on_task(task, result) CC_ON(cc_case_task(task, result))
#define cc_on_token(token) CC_ON(cc_case_token(token))
#define cc_on_fd(fd, events, ready) CC_ON(cc_case_fd(fd, events, ready))
#define cc_on_signal(signals, which) CC_ON(cc_case_signal(signals, which))
#define cc_on_timeout(at) CC_ON(cc_case_timeout(at))
#define cc_on_default() CC_ON(cc_case_default())

/* ---- errors ---- */

/* cc_try(call) makes a call that returns 0 or an error, and returns an error from the enclosing
 * function. */
#define cc_try(...) \
	do { \
		const int cc_error = CC_ERROR_OF(__VA_ARGS__); \
		if (cc_error != 0) \
			return cc_error; \
	} while (0)

/* cc_try_goto(label, call) goes to `label` after an error, where something has to be undone:
 *
 *      cc_try_goto(close_file, err = cc_send(lines, line)); */
#define cc_try_goto(label, ...) \
	do { \
		if (CC_ERROR_OF(__VA_ARGS__) != 0) \
			goto label; \
	} while (0)

/* ---- implementation of the macros ---- */

/* prefix##ONE for one argument, prefix##MANY for 2 to 31 arguments. */
#define CC_MANY_OR_ONE(prefix, ...) \
	CC_PASTE(prefix, CC_ARGUMENT_32(__VA_ARGS__, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
	                                MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
	                                MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
	                                MANY, MANY, MANY, MANY, MANY, ONE, 0))
#define CC_PASTE(a, b) CC_PASTE_OF(a, b)
#define CC_PASTE_OF(a, b) a##b
#define CC_ARGUMENT_32(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, \
                       a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, \
                       ...) \
	a32

#define CC_TASK_DEF(name) \
	int name##_task(void *cc_captures); \
	__attribute__((noinline)) static int name(struct name##_captures *self); \
	int name##_task(void *cc_captures) \
	{ \
		return name(cc_captures); \
	} \
	static int name(struct name##_captures *self __attribute__((unused)))
#define CC_TASK_FN_MANY(name, ...) \
	CC_TASK_DECL_MANY(name, __VA_ARGS__); \
	CC_TASK_DEF(name)
#define CC_TASK_FN_ONE(name) \
	CC_TASK_DECL_ONE(name); \
	CC_TASK_DEF(name)
#define CC_TASK_DECL_MANY(name, ...) \
	int name##_task(void *cc_captures); \
	struct name##_captures { \
		__VA_ARGS__ \
	}; \
	_Static_assert(_Alignof(struct name##_captures) <= CC_CAPTURES_ALIGN, \
	               "the captures of " #name " want more than CC_CAPTURES_ALIGN: " \
	               "capture a pointer to what does")
#define CC_TASK_DECL_ONE(name) CC_TASK_DECL_MANY(name, char cc_takes_no_captures;)

#define CC_SPAWN_MANY(spawn, nursery, options, name, ...) \
	spawn##_copy_at(nursery, options, name##_task, &(struct name##_captures){__VA_ARGS__}, \
	                sizeof(struct name##_captures), CC_PLACE(name))
#define CC_SPAWN_ONE(spawn, nursery, options, name) \
	((void)sizeof((struct name##_captures){.cc_takes_no_captures = 0}), \
	 spawn##_at(nursery, options, name##_task, NULL, CC_PLACE(name)))

#define CC_SPAWN_TASK_MANY(nursery, handle, options, name, ...) \
	cc_spawn_task_at(nursery, handle, options, name##_task, \
	                 &(struct name##_captures){__VA_ARGS__}, sizeof(struct name##_captures), \
	                 CC_PLACE(name))
#define CC_SPAWN_TASK_ONE(nursery, handle, options, name) \
	((void)sizeof((struct name##_captures){.cc_takes_no_captures = 0}), \
	 cc_spawn_task_at(nursery, handle, options, name##_task, NULL, 0, CC_PLACE(name)))
#define CC_SPAWN_SEND_MANY(channel, deadline, item, name, ...) \
	cc_spawn_send_at((channel).chan, CC_INTO(*(channel).cc_sends, item), \
	                 sizeof *(channel).cc_sends + CC_BEGINS_WITH_TASK(*(channel).cc_sends), \
	                 name##_task, &(struct name##_captures){__VA_ARGS__}, \
	                 sizeof(struct name##_captures), deadline, CC_PLACE(name))
#define CC_SPAWN_SEND_ONE(channel, deadline, item, name) \
	((void)sizeof((struct name##_captures){.cc_takes_no_captures = 0}), \
	 cc_spawn_send_at((channel).chan, CC_INTO(*(channel).cc_sends, item), \
	                  sizeof *(channel).cc_sends + CC_BEGINS_WITH_TASK(*(channel).cc_sends), \
	                  name##_task, NULL, 0, deadline, CC_PLACE(name)))

/* The value 0.  Does not compile unless the first member of the type is `CCTask task`. */
#define CC_BEGINS_WITH_TASK(of) \
	(0 * sizeof(char[_Generic((of).task, CCTask : 1, default : 0) && \
	                         offsetof(__typeof__(of), task) == 0 \
	                     ? 1 \
	                     : -1]))

/* Creates an ORDERED channel.
 *
 * Returns NULL where cc_chan_create returns an error.
 *
 * Any thread.  Never parks. */
static inline CC_MUST_CHECK CCChan *cc_chan_new_ordered(size_t size, size_t capacity)
{
	const CCChanOptions ordered = {.kind = CC_CHAN_KIND_ORDERED};
	CCChan *chan = NULL;

	return cc_chan_create(&chan, size, capacity, &ordered) == 0 ? chan : NULL;
}

/* Subscribes for cc_subscribe.
 *
 * Returns as cc_chan_subscribe does.
 *
 * Any thread.  Never parks. */
static inline CC_MUST_CHECK int cc_chan_subscribe_into(CCChan *chan, CCChan **out)
{
	CCChanRx rx = {NULL};
	const int err = cc_chan_subscribe(chan, &rx);

	if (err == 0)
		*out = rx.chan;
	return err;
}

/* Largest number of cases in a match. */
#define CC_MATCH_MAX 16

/* The state of a match.  Its loop runs the body twice: the first round lists the cases, the second
 * runs the body of the chosen case. */
typedef struct CCMatch {
	int *error;	/* the user's variable */
	int turns;	/* rounds of the loop that have begun */
	size_t count;	/* cases seen in this round */
	size_t chosen;	/* index of the chosen case; CC_MATCH_MAX: none */
	size_t closed_count;	/* cc_on_closed seen in this round */
	CCChan *closed;	/* the channel that the chosen case found closed, or NULL */
	CCCase cases[CC_MATCH_MAX];
	CCChan *closed_of[CC_MATCH_MAX];	/* the channels of cc_on_closed */
} CCMatch;

/* Returns the state of a match before its first round.
 *
 * Any thread.  Never parks. */
static inline CCMatch cc_match_begin(int *error)
{
	CCMatch m;

	m.error = error;
	m.turns = 0;
	m.count = 0;
	m.chosen = CC_MATCH_MAX;
	m.closed_count = 0;
	m.closed = NULL;
	return m;
}

/* Returns 1 in the round that lists the cases, else 0.
 *
 * Any thread.  Never parks. */
static inline int cc_match_listing(const CCMatch *m)
{
	return m->turns == 1;
}

/* Adds a case in the first round.  Returns 0: its body does not run.
 *
 * Any thread.  Never parks. */
static inline int cc_match_list(CCMatch *m, CCCase c)
{
	if (m->count < CC_MATCH_MAX)
		m->cases[m->count] = c;
	m->count++;
	return 0;
}

/* Returns 1 in the second round if this case, the next one in the order of the first round, is the
 * chosen one and its channel is not closed; else 0.
 *
 * Any thread.  Never parks. */
static inline int cc_match_chosen(CCMatch *m)
{
	return m->count++ == m->chosen && m->closed == NULL;
}

/* Returns the case, or cc_case_never() if its channel is NULL.
 *
 * Any thread.  Never parks. */
static inline CCCase cc_match_chan(CCCase c)
{
	return c.on.chan != NULL ? c : cc_case_never();
}

/* Adds a cc_on_closed in the first round.  Returns 0: its body does not run.
 *
 * Any thread.  Never parks. */
static inline int cc_match_list_closed(CCMatch *m, CCChan *chan)
{
	if (m->closed_count < CC_MATCH_MAX)
		m->closed_of[m->closed_count] = chan;
	m->closed_count++;
	return 0;
}

/* Returns 1 in the second round if the chosen case found the channel of this cc_on_closed closed,
 * and clears the error; else 0.
 *
 * Any thread.  Never parks. */
static inline int cc_match_closed(CCMatch *m)
{
	const size_t met = m->closed_count++;

	if (m->closed == NULL || m->closed != m->closed_of[met])
		return 0;
	*m->error = 0;
	return 1;
}

/* Runs the select after the first round.  Returns 1 if the loop has another round, else 0.
 *
 * Any thread.  May park.  Cancellation point. */
static inline int cc_match_next(CCMatch *m)
{
	CCCaseKind kind;
	size_t which;

	if (m->turns++ == 0)
		return 1;
	if (m->turns > 2)
		return 0;
	if (m->count > CC_MATCH_MAX || m->closed_count > CC_MATCH_MAX) {
		*m->error = E2BIG;
		return 0;
	}
	*m->error = cc_select(m->cases, m->count, CC_FOREVER, &which);
	if (which >= m->count)
		return 0;
	kind = m->cases[which].kind;
	if (*m->error != 0 && (kind == CC_CASE_RECV || kind == CC_CASE_SEND))
		m->closed = m->cases[which].on.chan;
	m->chosen = *m->error == 0 || m->closed != NULL ? which : CC_MATCH_MAX;
	m->count = m->closed_count = 0;
	return 1;
}

/* Types and functions whose names appear in the compiler's error if a macro gets a wrong argument.
 * The functions are never defined. */
struct cc_try_wants_an_int_error_number {
	char no_int;
};
struct cc_send_wants_the_type_that_the_channel_carries {
	char another;
};
struct cc_recv_wants_a_pointer_to_the_type_that_the_channel_carries {
	char another;
};
struct cc_try_wants_an_int_error_number cc_try_refuses(void);
struct cc_send_wants_the_type_that_the_channel_carries cc_send_refuses(void);
struct cc_recv_wants_a_pointer_to_the_type_that_the_channel_carries cc_recv_refuses(void);

/* The expression, which must be an int.  It is evaluated once: the first use gives its type. */
#define CC_ERROR_OF(...) _Generic((__VA_ARGS__), int : (__VA_ARGS__), default : cc_try_refuses())

/* An element of the channel's type, made of a value.  An array of one element can be initialised
 * with a struct as well as with a number. */
#define CC_ITEM(of, ...) \
	_Generic((char(*)[CC_FITS(__typeof__(of), __VA_ARGS__) ? 1 : 2])0, char(*)[1] \
	         : (__typeof__(of)[1]){__VA_ARGS__}, default \
	         : cc_send_refuses())
/* A checked pointer to the element to send, or to the memory that receives one. */
#define CC_FROM(of, pointer) \
	_Generic((pointer), __typeof__(of) * : (pointer), const __typeof__(of) * : (pointer), \
	         default : cc_send_refuses())
#define CC_INTO(of, pointer) \
	_Generic((pointer), __typeof__(of) * : (pointer), default : cc_recv_refuses())

#define CC_IS(type, ...) _Generic((__VA_ARGS__), type : 1, default : 0)
/* 1 if the value can become that type: numbers are converted, and a pointer may gain a const. */
#define CC_FITS(type, ...) \
	_Generic((__VA_ARGS__), type : 1, default \
	         : CC_IS_NUMBER(__VA_ARGS__) ? CC_IS_NUMBER(*(type *)0) \
	                                     : CC_IS(type, 1 ? (__VA_ARGS__) : *(type *)0))
#define CC_IS_NUMBER(...) \
	_Generic((__VA_ARGS__), _Bool : 1, char : 1, signed char : 1, unsigned char : 1, \
	         short : 1, unsigned short : 1, int : 1, unsigned : 1, long : 1, \
	         unsigned long : 1, long long : 1, unsigned long long : 1, float : 1, double : 1, \
	         long double : 1, default : 0)

#define CC_ON(a_case) \
	CC_BODY(cc_match_listing(&cc_matching) ? cc_match_list(&cc_matching, a_case) \
	                                       : cc_match_chosen(&cc_matching))
#define CC_BODY(mine) \
	if (!(mine)) { \
	} else

#endif
#endif
