/* stall.c - STALL-1 and STALL-2. */
#include "sched/stall.h"

#include "os/usage.h"
#include "sched/sysmon.h"

void (*cc__sysmon_probe)(bool on);

static struct cc__usage usage_of(const struct cc__worker *w)
{
	return cc__usage_of(cc__load(&w->number, CC__RELAXED));	/* Relaxed: a number, or not yet */
}

static uint64_t operations_of(const struct cc__worker *w)
{
	return cc__load(&w->operations, CC__RELAXED);	/* Relaxed: a count */
}

static void ask(struct cc__worker *w)
{
	struct cc__pulse *p = &w->pulse;

	p->asked = true;
	if (cc__sysmon_probe != NULL)
		cc__sysmon_probe(true);
	p->operations = operations_of(w);
	p->waited = usage_of(w).waited;
}

static void ask_no_more(struct cc__pulse *p)
{
	if (p->asked && cc__sysmon_probe != NULL)
		cc__sysmon_probe(false);
	p->asked = false;
}

void cc__stall_over(struct cc__worker *w)
{
	ask_no_more(&w->pulse);
}

bool cc__stall_due(struct cc__sched *s, struct cc__worker *w, cc_time step)
{
	const cc_time stall = s->config.stall, most = 4 * s->config.scale_interval;
	struct cc__pulse *p = &w->pulse;

	if (p->told || stall == CC_FOREVER)
		return false;
	p->kept += step < most ? step : most;
	if (p->asked && operations_of(w) != p->operations) {
		ask_no_more(p);
		p->kept = 0;
	}
	if (!p->asked) {
		if (p->kept >= stall / 2) {
			ask(w);
			p->kept = stall / 2;
		}
		return false;
	}
	if (p->kept < stall || p->kept - stall < usage_of(w).waited - p->waited)
		return false;
	ask_no_more(p);
	p->told = true;
	return true;
}

/* Relaxed, both: numbers; if they are wrong, the next tick sees others. */
static bool calls_wait(const struct cc__sched *s)
{
	return cc__load(&s->blocking.waiting, CC__RELAXED) != 0;
}

bool cc__stall_pool_due(struct cc__sched *s, cc_time step)
{
	const cc_time stall = s->config.stall, most = 4 * s->config.scale_interval;
	const uint64_t taken = cc__load(&s->blocking.taken, CC__RELAXED);
	struct cc__sysmon *m = &s->sysmon;

	if (stall == CC_FOREVER || !calls_wait(s) || taken != m->pool.taken) {
		m->pool.taken = taken;
		m->pool.kept = 0;
		m->pool.told = false;
		return false;
	}
	m->pool.kept += step < most ? step : most;
	if (m->pool.told || m->pool.kept < stall)
		return false;
	m->pool.told = true;
	return true;
}

bool cc__stall_pool_pending(const struct cc__sched *s)
{
	return s->config.stall != CC_FOREVER && calls_wait(s) && !s->sysmon.pool.told;
}

bool cc__stall_blocked(const struct cc__worker *w)
{
	return usage_of(w).asleep;
}
