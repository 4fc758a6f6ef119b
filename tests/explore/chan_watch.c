/* chan_watch.c - a watched channel is given back by the last who uses it, who sees what all of
 * them noted; the report at exit uses it too, or finds it gone.
 *
 * sources: base/lock.c chan/watch.c chan/freed.c */
#include <ccc/fiber.h>

#include <stdlib.h>
#include <string.h>

#include "chan/watch.h"
#include "engine.h"
#include "task/frame.h"
#include "wait/thread.h"

/* ---- what is printed ---- */

static int lines;

void cc__say_all(const char *first, ...)
{
	(void)first;
	lines++;
}

struct cc__debug_name cc__debug_name(const void *who)
{
	(void)who;
	return (struct cc__debug_name){""};
}

struct cc__thread *cc__thread_self(void)
{
	return NULL;
}

unsigned cc__chan_settings(void)
{
	return CC__CHAN_TIMING;
}

/* ---- one head, one record ---- */

const struct cc__chan_kind cc__buffered, cc__buffered_drop_old, cc__locked, cc__broadcast, cc__subscribed;

static CCChan chan;
static _Alignas(64) char record[512];
static struct cc__slab *records;
static int heads_put, records_put;

void *cc__slab_get(struct cc__slab *s)
{
	MC_ASSERT(s->size <= sizeof record);
	records = s;
	memset(record, 0, sizeof record);
	return record;
}

void cc__slab_put(struct cc__slab *s, void *object)
{
	if (s == records) {
		MC_ASSERT(object == record && heads_put == 1 && records_put++ == 0);
		return;
	}
	MC_ASSERT(object == &chan && heads_put++ == 0);
}

void cc__slab_walk(struct cc__slab *s, bool (*visit)(void *object, void *arg), void *arg)
{
	MC_ASSERT(s == records);
	visit(record, arg);
}

void *cc__slab_find(const struct cc__slab *s, const void *address)
{
	(void)s, (void)address;
	return NULL;
}

static void (*report)(void);

int atexit(void (*fn)(void))
{
	report = fn;
	return 0;
}

/* ---- scenarios ---- */

static void watched(void)
{
	chan.kind = &cc__buffered;
	cc__init(&chan.watch, CC__CHAN_TIMING);
	MC_ASSERT(cc__chan_made(&chan));
	cc__chan_enter(&chan);
	cc__chan_enter(&chan);
}

static void note_one(void)
{
	cc__chan_done(&chan, CC__SEND, false, 0, 0);
	cc__chan_leave(&chan);
}

static void free_it(void)
{
	cc__chan_freed(&chan);
}

static void exit_now(void)
{
	report();
}

/* The last of them has printed both sends in one line. */
static void given_back(void)
{
	MC_ASSERT(heads_put == 1 && records_put == 1 && lines == 1);
}
SCENARIO(watch_last_of_three, .init = watched, .body = {note_one, note_one, free_it},
         .final = given_back)

static void watched_by_one(void)
{
	chan.kind = &cc__buffered;
	cc__init(&chan.watch, CC__CHAN_TIMING);
	MC_ASSERT(cc__chan_made(&chan));
	cc__chan_enter(&chan);
}

/* The report may have come before the send was noted: no line then. */
static void reported_once(void)
{
	MC_ASSERT(heads_put == 1 && records_put == 1 && lines <= 1);
}
SCENARIO(watch_report_beside_free, .init = watched_by_one, .body = {note_one, free_it, exit_now},
         .final = reported_once)
