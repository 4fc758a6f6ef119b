/* shim_sleep.h - one word that stands for a queue, one that stands for a timer, and workers that
 * push, search, fall asleep and stop searching, for symmetric.c and stops.c. */
#ifndef MC_SHIM_SLEEP_H
#define MC_SHIM_SLEEP_H

#include "shim_idle.h"

static struct cc__idle *idle;
static cc__a32 queued;				/* stands for a queue */
static CC__ATOMIC(cc_time) timer = {CC_FOREVER};

static bool any_left(void *arg)
{
	(void)arg;
	return cc__load(&queued, CC__RELAXED) != 0;
}

static bool stay(void *arg)
{
	(void)arg;
	return false;
}

static cc_time deadline(void *arg)
{
	(void)arg;
	return cc__load(&timer, CC__RELAXED);
}

static const struct cc__idle_ops ops = {.left = any_left, .stay = stay, .deadline = deadline};

static void two_workers(void)
{
	idle = cc__idle_new();
	cc__init(&idle->count, 2);
}

static void push(void)
{
	cc__store(&queued, 1, CC__RELAXED);
	if (cc__idle_pushed(idle, &idle->nap[0], 1) && !cc__idle_watched(idle, 1))
		cc__idle_call(idle);
}

static void push_from_outside(void)
{
	cc__store(&queued, 1, CC__RELAXED);
	cc__idle_pushed_outside(idle, CC__ANY);
}

static void push_to_the_other(void)
{
	cc__store(&queued, 1, CC__RELAXED);
	cc__idle_pushed_outside(idle, 1);
}

static void set_timer(void)
{
	cc__store(&timer, CC_SEC, CC__RELAXED);
	cc__idle_timer(idle, CC_SEC);
}

/* Until there is something, or the timer is due. */
static void search(void)
{
	cc__idle_search(idle);
	for (;;) {
		const uint64_t snapshot = cc__idle_generations(idle);

		if (any_left(NULL) || deadline(NULL) <= cc__now())
			break;
		cc__idle_sleep(idle, 1, snapshot, &ops, NULL, CC_FOREVER, CC_FOREVER);
	}
	cc__idle_found(idle, &ops, NULL);
}
/* Another worker has searched, and stops: it has found something, or ends. */
static void other_searches(void)
{
	two_workers();
	cc__init(&idle->searching, 1);
}

static void find(void)
{
	cc__idle_found(idle, &ops, NULL);
}

static void give_up(void)
{
	cc__idle_give_up(idle);
	cc__idle_wake_one(idle);
}
/* It was on watch before.  Another one sleeps, and the pusher's target runs. */
static void other_watched(void)
{
	other_searches();
	cc__init(&idle->keeper, 2 | CC__WATCHING);
	cc__init(&idle->sleepers, 1);
	cc__init(&idle->nap[0].asleep, CC__ASLEEP);
}

static void end_watch_and_find(void)
{
	uint32_t keeper = 2 | CC__WATCHING;

	/* As cc__idle_sleep. */
	cc__store(&idle->watch_ended, 1, CC__RELAXED);
	cc__cas(&idle->keeper, &keeper, 0, CC__RELAXED, CC__RELAXED);
	cc__idle_found(idle, &ops, NULL);
}

static void sleeper_is_woken(void)
{
	MC_ASSERT(cc__peek(&idle->nap[0].asleep) == CC__AWAKE);
}
#endif
