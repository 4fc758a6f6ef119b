/* progress.c - channels count what they do while a monitor asks. */
#include "chan/progress.h"

#include "chan/settings.h"
#include "sched/sysmon.h"

static cc__a32 probes;	/* monitors that ask */
static cc__a32 begun;	/* for tests */

void cc__chan_choose_way(CCChan *c)
{
	const bool ring = c->kind == &cc__buffered || c->kind == &cc__buffered_drop_old;
	const bool lock = c->kind == &cc__locked && c->mode == CC_CHAN_MODE_BLOCK;
	/* Relaxed: the channel's lock orders it (PROGRESS-3). */
	const unsigned probed = cc__load(&probes, CC__RELAXED) != 0 ? CC__CHAN_PROBED : 0;
	const unsigned watch = (cc__chan_watch(c) & ~(unsigned)CC__CHAN_PROBED) | probed;

	/* Relaxed, all: either way is right (PROGRESS-2). */
	cc__store(&c->watch, (uint16_t)watch, CC__RELAXED);
	cc__store(&c->by_ring, watch == 0 && ring ? c->size : SIZE_MAX, CC__RELAXED);
	cc__store(&c->by_lock, watch == 0 && lock, CC__RELAXED);
}

static bool choose_again(void *head, void *unused)
{
	CCChan *c = head;

	(void)unused;
	cc__lock(&c->lock, CC__RANK_WAITQ);
	if (c->alive)
		cc__chan_choose_way(c);
	cc__unlock(&c->lock);
	return true;
}

/* `on` once for each monitor that asks, and then off. */
static void count_for_monitor(bool on)
{
	/* Relaxed, both: the locks of the channels order it. */
	static const struct cc__chan_kind *const kinds[] = {&cc__buffered, &cc__locked, &cc__broadcast,
	                                                    &cc__subscribed};
	const uint32_t before = on ? cc__add(&probes, 1, CC__RELAXED) : cc__sub(&probes, 1, CC__RELAXED);

	if (before != (on ? 0 : 1))
		return;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		cc__slab_walk(kinds[i]->heads, choose_again, NULL);
	cc__add(&begun, on, CC__RELEASE);	/* Release: to cc__chan_probed */
}

uint32_t cc__chan_probes(void)
{
	return cc__load(&probes, CC__ACQUIRE);	/* Acquire: for tests */
}

uint32_t cc__chan_probed(void)
{
	return cc__load(&begun, CC__ACQUIRE);	/* Acquire: from count_for_monitor */
}

__attribute__((constructor)) static void probe_for_monitors(void)
{
	cc__sysmon_probe = count_for_monitor;
}
