/* chan_watch.c - a watched channel is given back by the last who uses it, who sees what all of
 * them noted.
 *
 * sources: chan/watch.c chan/freed.c */
#include <ccc/fiber.h>

#include "chan/watch.h"
#include "engine.h"

void cc__say_all(const char *first, ...)
{
	(void)first;
}

uint64_t cc_fiber_id(void)
{
	return 0;
}

const struct cc__chan_kind cc__buffered, cc__buffered_drop_old;

static CCChan chan;
static int put_back;

void cc__slab_put(struct cc__slab *s, void *object)
{
	(void)s;
	MC_ASSERT(object == &chan && put_back++ == 0);
	MC_ASSERT(cc__load(&chan.times[CC__SEND].calls, CC__RELAXED) == 2);
}

static void watched(void)
{
	chan.kind = &cc__buffered;
	cc__chan_made(&chan);
	cc__chan_enter(&chan);
	cc__chan_enter(&chan);
}

static void note_one(void)
{
	cc__chan_done(&chan, CC__SEND, 0, 0);
	cc__chan_leave(&chan);
}

static void free_it(void)
{
	cc__chan_freed(&chan);
}

static void given_back(void)
{
	MC_ASSERT(put_back == 1);
}
SCENARIO(watch_last_of_three, .init = watched, .body = {note_one, note_one, free_it},
         .final = given_back)
