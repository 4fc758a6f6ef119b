/* trace_last.c - the last events as text, for a crash: no file has to be kept for it. */
#include "monitor/trace.h"

#include "os/trace.h"
#include "monitor/trace_merge.h"
#include "monitor/trace_text.h"

enum { LAST = 16 };	/* of each thread */

static const char *const words[CC__TRACE_KINDS] = {
    [CC__TRACE_NOTHING] = "?",
    [CC__TRACE_SPAWN] = "is spawned",
    [CC__TRACE_NAME] = "is called ",
    [CC__TRACE_LATER] = "is spawned for later",
    [CC__TRACE_RUN] = "runs",
    [CC__TRACE_YIELD] = "yields",
    [CC__TRACE_PARK] = "parks: ",
    [CC__TRACE_EARLY] = "need not park",
    [CC__TRACE_WAKE] = "is woken",
    [CC__TRACE_END] = "ends",
    [CC__TRACE_BELOW] = "waits for a task in its place",
    [CC__TRACE_ABOVE] = "runs again",
    [CC__TRACE_SLEEP] = "sleeps",
    [CC__TRACE_AWAKE] = "awakes",
    [CC__TRACE_STEAL] = "steals from worker ",
};

static void add_thread(struct cc__trace_text *t, const struct cc__trace_ring *r)
{
	cc__text_add(t, r->worker != 0 ? "worker " : "thread ");
	/* Relaxed: for people. */
	cc__text_add_number(t, r->worker != 0 ? r->worker : cc__load(&r->thread, CC__RELAXED));
	cc__text_add(t, ": ");
}

static void add_subject(struct cc__trace_text *t, const struct cc__trace_event *e)
{
	if (cc__trace_subject_of(e) == 0)
		return;
	if (cc__trace_flags_of(e) & CC__TRACE_THREAD) {
		cc__text_add(t, "a thread ");
		return;
	}
	cc__text_add(t, "task ");
	cc__text_add_number(t, cc__trace_subject_of(e));
	cc__text_add(t, " ");
}

static void add_by(struct cc__trace_text *t, const struct cc__trace_event *e)
{
	if (cc__trace_flags_of(e) & CC__TRACE_TIMER) {
		cc__text_add(t, " by a timer");
	} else if (e->word[2] != 0) {
		cc__text_add(t, " by task ");
		cc__text_add_number(t, e->word[2]);
	}
}

static void add_detail(struct cc__trace_text *t, const struct cc__trace_event *e)
{
	switch (cc__trace_kind_of(e)) {
	case CC__TRACE_SPAWN:
	case CC__TRACE_LATER:
	case CC__TRACE_WAKE:
		add_by(t, e);
		break;
	case CC__TRACE_NAME:
		cc__text_add_name(t, (const char *)&e->word[2], 16);
		break;
	case CC__TRACE_PARK:
		cc__text_add(t, cc__trace_reason(e->word[2]));
		if (e->word[3] != 0) {
			cc__text_add(t, " ");
			cc__text_add_hex(t, e->word[3]);
		}
		break;
	case CC__TRACE_STEAL:
		cc__text_add_number(t, e->word[2]);
		break;
	default:
		break;
	}
}

static void add_event(struct cc__trace_text *t, const struct cc__trace_ring *r,
                      const struct cc__trace_event *e, uint64_t now)
{
	const enum cc__trace_kind kind = cc__trace_kind_of(e);

	cc__text_add(t, "libccc: trace: -");
	cc__text_add_time(t, now > e->word[0] ? now - e->word[0] : 0);
	cc__text_add(t, " us: ");
	add_thread(t, r);
	add_subject(t, e);
	cc__text_add(t, words[kind < CC__TRACE_KINDS ? kind : CC__TRACE_NOTHING]);
	add_detail(t, e);
	cc__text_add(t, "\n");
}

void cc__trace_dump_last(int fd)
{
	const uint64_t now = (uint64_t)cc__now();
	struct cc__trace_text t;
	struct cc__trace_merge m;
	struct cc__trace_event e;
	unsigned source;

	if (cc__trace_merge_init(&m, LAST) != 0)
		return;
	cc__text_init(&t, fd);
	while (cc__trace_merge_next(&m, &e, &source))
		add_event(&t, m.source[source].ring, &e, now);
	(void)cc__text_end(&t);
	cc__trace_merge_fini(&m);
}
