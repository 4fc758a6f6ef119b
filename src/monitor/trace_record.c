/* trace_record.c - from the events of the library to those of a trace.
 *
 * The hook runs on the thread that makes the event, perhaps with locks held: it takes no lock and
 * calls nothing that waits.
 *
 * TRACE-RECORD-1  A task's id is read from its frame only while the frame is the calling thread's,
 *                 or before the caller lets others have it.  That a task has parked is known only
 *                 when others may have it, so that event uses the id that was read when the task
 *                 began to park; a wake before that is marked, because its id may be wrong
 *                 (CC__TRACE_BEFORE).
 * TRACE-RECORD-2  A worker has at most one task that is about to park: the next one parks only
 *                 after the worker has settled the one before. */
#include "monitor/trace_record.h"

#include <string.h>

#include "monitor/trace_event.h"
#include "monitor/trace_probes.h"
#include "monitor/trace_rings.h"
#include "sched/worker.h"

/* ---- subjects ---- */

static bool is_thread_record(const void *who)
{
	/* Relaxed: the bit is constant. */
	return cc__word_is_thread(cc__load(&((const struct cc__parker *)who)->word, CC__RELAXED));
}

/* The id of the task, or the address of the thread (TRACE-RECORD-1). */
static uint64_t subject_of(const void *who)
{
	const struct cc__fiber *f = who;

	/* Relaxed: the frame is the caller's. */
	return is_thread_record(who) ? (uintptr_t)who
	                             : cc__load(&f->handle, CC__RELAXED) & CC__HANDLE_ID;
}

/* The task that runs here; 0: none, or it is leaving.  Relaxed: both are the caller's. */
static uint64_t task_here(void)
{
	struct cc__thread *t = cc__tls_get();
	struct cc__parker *p = t != NULL ? cc__running(t) : NULL;
	const uint64_t word = p != NULL ? cc__load(&p->word, CC__RELAXED) : CC__THREAD_BIT;

	return cc__word_is_thread(word) || cc__word_state(word) != CC__OWNED ? 0 : subject_of(p);
}

static bool is_timer(void)
{
	const struct cc__worker *w = cc__worker_here();

	return w != NULL && w->waking == CC__WAKING_EXPIRED;
}

/* ---- writing ---- */

/* The ring of the calling thread; NULL: no memory. */
static struct cc__trace_ring *ring_here(void)
{
	const struct cc__worker *w = cc__worker_here();

	return cc__trace_ring_here(w != NULL ? w->id : 0, w != NULL ? w->sched : NULL);
}

static void write_event(uint64_t time, uint64_t head, uint64_t a, uint64_t b)
{
	struct cc__trace_ring *r;

	/* Relaxed: a switch.  Without it only probes are passed. */
	if ((cc__load(&cc__watching, CC__RELAXED) & CC__WATCH_RECORD) && (r = ring_here()) != NULL)
		cc__trace_ring_push(r, (struct cc__trace_event){{time, head, a, b}});
}

/* ---- what a wait is for ---- */

static void next_wait_is(const void *who, uint64_t what, uint64_t object)
{
	struct cc__trace_ring *r = ring_here();

	if (r == NULL)
		return;
	r->waits_for = (void *)(uintptr_t)who;
	r->wait_kind = what;
	r->wait_object = object;
}

/* `who` begins a wait. */
static void parking(const void *who)
{
	struct cc__trace_ring *r = ring_here();
	bool known;

	if (r == NULL)
		return;
	known = r->waits_for == who;
	r->parking = (void *)(uintptr_t)who;
	r->parking_id = subject_of(who);
	r->parking_kind = known ? r->wait_kind : (uint64_t)CC__FOR_OTHER;
	r->parking_object = known ? r->wait_object : 0;
	r->waits_for = NULL;
}

/* A wait that has begun without a word about what it is for. */
static void wait_turns_out(const void *who, enum cc__for what, uint64_t object)
{
	struct cc__trace_ring *r = ring_here();

	if (r == NULL || r->parking != who || r->parking_kind != CC__FOR_OTHER)
		return;
	r->parking_kind = what;
	r->parking_object = object;
}

static void parked(uint64_t time, const void *who, unsigned flags)
{
	struct cc__trace_ring *r = ring_here();

	/* Recording may have begun in between. */
	if (r == NULL || r->parking != who)
		return;
	r->parking = NULL;
	write_event(time, cc__trace_head(CC__TRACE_PARK, flags, r->parking_id), r->parking_kind,
	            r->parking_object);
	CC__PROBE(park, r->parking_id, cc__trace_reason(r->parking_kind), r->parking_object);
}

/* By a thread, in a system call. */
static void thread_waits_here(uint64_t time, const void *who, bool begins, uint64_t fd)
{
	const uint64_t id = subject_of(who);

	if (begins)
		write_event(time, cc__trace_head(CC__TRACE_PARK, CC__TRACE_THREAD, id), CC__FOR_FD,
		            fd);
	else
		write_event(time,
		            cc__trace_head(CC__TRACE_WAKE, CC__TRACE_THREAD | CC__TRACE_SELF, id),
		            0, 0);
}

static void says_what_for(uint64_t time, const void *who, uint64_t what, uint64_t object)
{
	if (who == NULL)
		return;
	if (what != CC__FOR_FD_HERE && what != CC__FOR_NOTHING)
		next_wait_is(who, what, object);
	else if (is_thread_record(who))
		thread_waits_here(time, who, what == CC__FOR_FD_HERE, object);
}

/* ---- spawn and wake ---- */

static void spawned(uint64_t time, const void *who)
{
	const uint64_t id = subject_of(who), by = is_timer() ? 0 : task_here();
	struct cc__name name;
	uint64_t text[2];

	write_event(time, cc__trace_head(CC__TRACE_SPAWN, is_timer() ? CC__TRACE_TIMER : 0, id), by,
	            0);
	CC__PROBE(spawn, id, by, who);
	cc__fiber_name_of(who, &name);
	if (name.text[0] == '\0')
		return;
	memcpy(text, name.text, sizeof text);
	write_event(time, cc__trace_head(CC__TRACE_NAME, 0, id), text[0], text[1]);
}

static void set_for_later(uint64_t time, uint64_t start, uint64_t id)
{
	write_event(time, cc__trace_head(CC__TRACE_LATER, 0, id), task_here(), start);
}

static void woken(uint64_t time, const void *who, unsigned flags)
{
	const uint64_t id = subject_of(who), by = is_timer() ? 0 : task_here();

	flags |= is_timer() ? CC__TRACE_TIMER : 0;
	write_event(time, cc__trace_head(CC__TRACE_WAKE, flags, id), by, 0);
	CC__PROBE(wake, id, by, flags & CC__TRACE_TIMER);
}

/* ---- moves of a word ---- */

static void task_left(uint64_t time, const void *who, enum cc__trace_kind kind)
{
	const uint64_t id = subject_of(who);

	write_event(time, cc__trace_head(kind, 0, id), 0, 0);
	if (kind == CC__TRACE_END)
		CC__PROBE(end, id, 0, 0);
	else
		CC__PROBE(yield, id, 0, 0);
}

static void task_runs(uint64_t time, const void *who, unsigned worker)
{
	const uint64_t id = subject_of(who);

	write_event(time, cc__trace_head(CC__TRACE_RUN, 0, id), worker, 0);
	CC__PROBE(run, id, worker, 0);
}

#define MOVE(from, to) ((from) << 3 | (to))

static void task_moved(uint64_t time, const void *who, uint64_t from, uint64_t to)
{
	switch (MOVE(cc__word_state(from), cc__word_state(to))) {
	case MOVE(CC__ASSIGNED, CC__QUEUED):
		spawned(time, who);
		break;
	case MOVE(CC__QUEUED, CC__OWNED):
		task_runs(time, who, cc__word_owner(to));
		break;
	case MOVE(CC__OWNED, CC__QUEUED):
		task_left(time, who, CC__TRACE_YIELD);
		break;
	case MOVE(CC__NOTIFIED, CC__QUEUED):
		task_left(time, who, CC__TRACE_EARLY);
		break;
	case MOVE(CC__OWNED, CC__DONE):
	case MOVE(CC__ASSIGNED, CC__DONE):
		task_left(time, who, CC__TRACE_END);
		break;
	case MOVE(CC__OWNED, CC__PARKING):
		parking(who);
		break;
	case MOVE(CC__PARKING, CC__PARKED):
		parked(time, who, 0);
		break;
	case MOVE(CC__PARKED, CC__QUEUED):
		woken(time, who, 0);
		break;
	case MOVE(CC__PARKING, CC__NOTIFIED):
		woken(time, who, CC__TRACE_BEFORE);
		break;
	default:
		break;
	}
}

static void thread_moved(uint64_t time, const void *who, uint64_t from, uint64_t to)
{
	switch (MOVE(cc__word_state(from), cc__word_state(to))) {
	case MOVE(CC__OWNED, CC__PARKING):
		parking(who);
		break;
	case MOVE(CC__PARKING, CC__PARKED):
		parked(time, who, CC__TRACE_THREAD);
		break;
	case MOVE(CC__PARKED, CC__QUEUED):
		woken(time, who, CC__TRACE_THREAD);
		break;
	case MOVE(CC__PARKED, CC__OWNED):
		woken(time, who, CC__TRACE_THREAD | CC__TRACE_SELF);
		break;
	default:
		break;
	}
}

/* ---- workers ---- */

/* `self` lends its stack to a task, or has it back. */
static void lent(uint64_t time, const void *self, const void *task)
{
	const uint64_t id = subject_of(self);

	if (task != NULL)
		write_event(time, cc__trace_head(CC__TRACE_BELOW, 0, id), subject_of(task), 0);
	else
		write_event(time, cc__trace_head(CC__TRACE_ABOVE, 0, id), 0, 0);
}

static void stole(uint64_t time, const struct cc__worker *from, uint64_t worker, uint64_t count)
{
	write_event(time, cc__trace_head(CC__TRACE_STEAL, 0, 0), from->id, count);
	CC__PROBE(steal, worker, from->id, count);
}

static void worker_slept(uint64_t time, bool sleeps, uint64_t worker)
{
	write_event(time, cc__trace_head(sleeps ? CC__TRACE_SLEEP : CC__TRACE_AWAKE, 0, 0), worker,
	            0);
	if (sleeps)
		CC__PROBE(sleep, worker, 0, 0);
	else
		CC__PROBE(awake, worker, 0, 0);
}

void cc__trace_record(uint64_t time, enum cc__event kind, const void *who, uint64_t a, uint64_t b)
{
	switch (kind) {
	case CC__EV_MOVE:
		if (cc__word_is_thread(b))
			thread_moved(time, who, a, b);
		else
			task_moved(time, who, a, b);
		break;
	case CC__EV_FOR:
		says_what_for(time, who, a, b);
		break;
	case CC__EV_JOIN:
		says_what_for(time, who, CC__FOR_TASK, a);
		break;
	case CC__EV_FLAG:
		wait_turns_out(who, CC__FOR_FLAG, b);
		break;
	case CC__EV_LATER:
		set_for_later(time, a, b);
		break;
	case CC__EV_PLACE:
		lent(time, who, (const void *)(uintptr_t)a);
		break;
	case CC__EV_STEAL:
		stole(time, who, a, b);
		break;
	case CC__EV_SLEEP:
	case CC__EV_AWAKE:
		worker_slept(time, kind == CC__EV_SLEEP, a);
		break;
	default:
		break;
	}
}

const char *cc__trace_reason(uint64_t what)
{
	static const char *const reasons[] = {
	    [CC__FOR_WORD] = "park word",      [CC__FOR_MUTEX] = "mutex",
	    [CC__FOR_RWLOCK] = "rwlock",       [CC__FOR_COND] = "condition",
	    [CC__FOR_SEMAPHORE] = "semaphore", [CC__FOR_ONCE] = "once",
	    [CC__FOR_BARRIER] = "barrier",     [CC__FOR_WAIT_GROUP] = "wait group",
	    [CC__FOR_CHAN] = "channel",        [CC__FOR_SELECT] = "select",
	    [CC__FOR_TOKEN] = "token",         [CC__FOR_TASK] = "task",
	    [CC__FOR_FLAG] = "nursery",        [CC__FOR_TIME] = "time",
	    [CC__FOR_CALL] = "blocking call",  [CC__FOR_FD] = "descriptor",
	    [CC__FOR_RING] = "ring",           [CC__FOR_OTHER] = "other",
	};
	const char *text = what < sizeof reasons / sizeof *reasons ? reasons[what] : NULL;

	return text != NULL ? text : "other";
}
