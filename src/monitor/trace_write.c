/* trace_write.c - from events to slices.
 *
 * TRACE-WRITE-1  On the track of a task the slices follow each other and do not overlap: queued,
 *                run, or a wait.  On that of a worker: the task that runs, or asleep.
 * TRACE-WRITE-2  A state is known from the event that began it.  Where events have been overwritten
 *                the trace begins after the last of them, so that no slice spans a gap.  A slice
 *                whose beginning is not known is left out. */
#include "monitor/trace_write.h"

#include <errno.h>
#include <string.h>

#include <ccc/version.h>

#include "os/trace.h"
#include "monitor/trace_json.h"
#include "monitor/trace_merge.h"
#include "monitor/trace_rings.h"
#include "os/pages.h"

enum subject_state { UNKNOWN, QUEUED, RUNNING, PARKED };

/* A task, or a thread that waits outside of one. */
struct subject {
	uint64_t key;	/* its head without the kind; 0: free */
	enum subject_state state;
	uint64_t since;			/* when it began */
	unsigned source;		/* RUNNING, and PARKED of a thread: where */
	uint64_t what, object;		/* PARKED: for */
	bool has_waker;			/* what made it runnable is known ... */
	struct cc__trace_track waker;	/* ... and where that was ... */
	uint64_t woken;			/* ... and when */
	bool seen;			/* there is something on its track */
	char name[16];
};

/* What a ring's thread does. */
struct activity {
	struct subject *task;	/* that runs; NULL: none */
	uint64_t since;		/* when that began */
	bool sleeps;
	uint64_t sleeps_since;
};

struct writer {
	struct cc__trace_json json;
	struct cc__trace_merge merge;
	struct activity *activity;	/* of each source */
	struct subject *table;
	uint64_t slots;	/* of the table; a power of two, never full */
	void *memory;
	size_t memory_size;
};

/* ---- subjects ---- */

static bool subject_is_thread(const struct subject *s)
{
	return (s->key >> 48 & CC__TRACE_THREAD) != 0;
}

static struct subject *find_subject(struct writer *w, uint64_t id, bool thread)
{
	const uint64_t key = cc__trace_head(0, thread ? CC__TRACE_THREAD : 0, id);
	uint64_t i = key * 0x9e3779b97f4a7c15u >> 32;

	while (w->table[i & (w->slots - 1)].key != 0 && w->table[i & (w->slots - 1)].key != key)
		i++;
	w->table[i & (w->slots - 1)].key = key;
	return &w->table[i & (w->slots - 1)];
}

static struct cc__trace_track track_of_source(unsigned source)
{
	return (struct cc__trace_track){CC__TRACE_THREADS, source + 1};
}

static struct cc__trace_track track_of(const struct subject *s)
{
	if (subject_is_thread(s))
		return track_of_source(s->source);
	return (struct cc__trace_track){CC__TRACE_TASKS, s->key};
}

static void add_object(struct writer *w, uint64_t what, uint64_t object)
{
	if (what == CC__FOR_TASK)
		cc__json_number(&w->json, "task", object);
	else if (what == CC__FOR_FD)
		cc__json_number(&w->json, "descriptor", object);
	else if (what == CC__FOR_SELECT)
		cc__json_number(&w->json, "cases", object);
	else if (object != 0)
		cc__json_address(&w->json, "object", object);
}

/* The slice of the state that s is in; the line is not ended. */
static void begin_slice(struct writer *w, struct subject *s, uint64_t until)
{
	s->seen = true;
	switch (s->state) {
	case QUEUED:
		cc__json_slice(&w->json, track_of(s), "queued", s->has_waker ? "woken" : "queued",
		               s->since, until);
		break;
	case RUNNING:
		cc__json_slice(&w->json, track_of(s), "run", "run", s->since, until);
		cc__json_number(&w->json, "thread", s->source + 1);
		break;
	default:
		cc__json_slice(&w->json, track_of(s), cc__trace_reason(s->what), "parked", s->since,
		               until);
		add_object(w, s->what, s->object);
		break;
	}
}

/* s leaves the state that it was in, if that was `state`. */
static void leave_state(struct writer *w, struct subject *s, enum subject_state state, uint64_t now)
{
	if (s->state == state) {
		begin_slice(w, s, now);
		cc__json_end(&w->json);
	}
	s->state = UNKNOWN;
}

static void enter_state(struct subject *s, enum subject_state state, uint64_t now)
{
	s->state = state;
	s->since = now;
}

/* ---- threads ---- */

static void add_task_name(const struct subject *s, char name[32])
{
	uint64_t id = s->key;
	char digits[20];
	size_t n = 0, used = s->name[0] != '\0' ? strnlen(s->name, sizeof s->name) : 4;

	memcpy(name, s->name[0] != '\0' ? s->name : "task", used);
	name[used++] = ' ';
	for (; id > 0 && n < 10; id /= 10)
		digits[n++] = (char)('0' + id % 10);
	while (n > 0)
		name[used++] = digits[--n];
	name[used] = '\0';
}

/* The task that the thread ran leaves it. */
static void leave_thread(struct writer *w, unsigned source, uint64_t now)
{
	struct activity *a = &w->activity[source];
	char name[32];

	if (a->task == NULL)
		return;
	add_task_name(a->task, name);
	cc__json_slice(&w->json, track_of_source(source), name, "worker", a->since, now);
	cc__json_number(&w->json, "task", a->task->key);
	cc__json_end(&w->json);
	a->task = NULL;
}

static void end_worker_sleep(struct writer *w, unsigned source, uint64_t now)
{
	struct activity *a = &w->activity[source];

	if (!a->sleeps)
		return;
	a->sleeps = false;
	cc__json_slice(&w->json, track_of_source(source), "asleep", "asleep", a->sleeps_since, now);
	cc__json_end(&w->json);
}

static void run_on(struct writer *w, struct subject *s, unsigned source, uint64_t now)
{
	struct activity *a = &w->activity[source];

	end_worker_sleep(w, source, now);
	leave_thread(w, source, now);
	a->task = s;
	a->since = now;
	enter_state(s, RUNNING, now);
	s->source = source;
}

static void stop_running(struct writer *w, struct subject *s, uint64_t now)
{
	if (s->state == RUNNING && w->activity[s->source].task == s)
		leave_thread(w, s->source, now);
	leave_state(w, s, RUNNING, now);
}

/* ---- wakes ---- */

/* Where the arrow begins: in the run of the waking task, or in a slice of its own on the thread. */
static void note_waker(struct writer *w, struct subject *s, const struct cc__trace_event *e,
                       unsigned source)
{
	const struct subject *by = e->word[2] != 0 ? find_subject(w, e->word[2], false) : NULL;
	const bool timer = (cc__trace_flags_of(e) & CC__TRACE_TIMER) != 0;

	s->has_waker = true;
	s->woken = e->word[0];
	if (by != NULL && by->state == RUNNING && by->source == source) {
		s->waker = track_of(by);
		return;
	}
	s->waker = track_of_source(source);
	cc__json_slice(&w->json, s->waker, timer ? "timer" : "wake", "wake", s->woken, s->woken);
	cc__json_end(&w->json);
}

static void draw_arrow(struct writer *w, struct subject *s, uint64_t now)
{
	if (s->has_waker)
		cc__json_flow(&w->json, s->waker, s->woken, track_of(s), now);
	s->has_waker = false;
}

static void wake_thread(struct writer *w, struct subject *s, const struct cc__trace_event *e,
                        unsigned source)
{
	const uint64_t now = e->word[0];
	const bool known = s->state == PARKED;

	/* It goes on later than this, so that the arrow ends inside of the slice. */
	leave_state(w, s, PARKED, now + 1);
	if (known && !(cc__trace_flags_of(e) & CC__TRACE_SELF)) {
		note_waker(w, s, e, source);
		draw_arrow(w, s, now);
	}
	s->has_waker = false;
}

static void wake_task(struct writer *w, struct subject *s, const struct cc__trace_event *e,
                      unsigned source)
{
	if (cc__trace_flags_of(e) & CC__TRACE_BEFORE) {
		if (s->state == RUNNING)
			note_waker(w, s, e, source);
		return;
	}
	leave_state(w, s, PARKED, e->word[0]);
	note_waker(w, s, e, source);
	enter_state(s, QUEUED, e->word[0]);
}

/* ---- events ---- */

static void park_subject(struct writer *w, struct subject *s, const struct cc__trace_event *e,
                         unsigned source, uint64_t what, uint64_t object)
{
	if (subject_is_thread(s))
		s->source = source;
	else
		stop_running(w, s, e->word[0]);
	enter_state(s, PARKED, e->word[0]);
	s->what = what;
	s->object = object;
	s->has_waker = false;
}

static void stole_some(struct writer *w, const struct cc__trace_event *e, unsigned source)
{
	cc__json_instant(&w->json, track_of_source(source), "steal", e->word[0]);
	cc__json_number(&w->json, "worker", e->word[2]);
	cc__json_number(&w->json, "tasks", e->word[3]);
	cc__json_end(&w->json);
}

/* Of a worker. */
static bool write_worker(struct writer *w, const struct cc__trace_event *e, unsigned source)
{
	switch (cc__trace_kind_of(e)) {
	case CC__TRACE_SLEEP:
		leave_thread(w, source, e->word[0]);
		w->activity[source].sleeps = true;
		w->activity[source].sleeps_since = e->word[0];
		return true;
	case CC__TRACE_AWAKE:
		end_worker_sleep(w, source, e->word[0]);
		return true;
	case CC__TRACE_STEAL:
		stole_some(w, e, source);
		return true;
	default:
		return false;
	}
}

static void spawn_subject(struct writer *w, struct subject *s, const struct cc__trace_event *e,
                          unsigned source)
{
	leave_state(w, s, PARKED, e->word[0]);	/* until its time */
	note_waker(w, s, e, source);
	enter_state(s, QUEUED, e->word[0]);
}

static void begin_run(struct writer *w, struct subject *s, uint64_t now, unsigned source)
{
	leave_state(w, s, QUEUED, now);
	run_on(w, s, source, now);
	draw_arrow(w, s, now);
}

static void write_subject(struct writer *w, struct subject *s, const struct cc__trace_event *e,
                          unsigned source)
{
	const uint64_t now = e->word[0];

	switch (cc__trace_kind_of(e)) {
	case CC__TRACE_SPAWN:
		spawn_subject(w, s, e, source);
		break;
	case CC__TRACE_NAME:
		memcpy(s->name, &e->word[2], sizeof s->name);
		break;
	case CC__TRACE_LATER:
		park_subject(w, s, e, source, CC__FOR_TIME, 0);
		break;
	case CC__TRACE_RUN:
		begin_run(w, s, now, source);
		break;
	case CC__TRACE_YIELD:
		s->has_waker = false;
		/* fall through */
	case CC__TRACE_EARLY:
		stop_running(w, s, now);
		enter_state(s, QUEUED, now);
		break;
	case CC__TRACE_PARK:
		park_subject(w, s, e, source, e->word[2], e->word[3]);
		break;
	case CC__TRACE_WAKE:
		if (subject_is_thread(s))
			wake_thread(w, s, e, source);
		else
			wake_task(w, s, e, source);
		break;
	case CC__TRACE_END:
		stop_running(w, s, now);
		break;
	case CC__TRACE_BELOW:
		park_subject(w, s, e, source, CC__FOR_TASK, e->word[2]);
		break;
	case CC__TRACE_ABOVE:
		leave_state(w, s, PARKED, now);
		run_on(w, s, source, now);
		break;
	default:
		break;
	}
}

/* The names of tasks that were spawned before the trace begins. */
static void read_names(struct writer *w)
{
	for (unsigned i = 0; i < w->merge.sources; i++)
		for (const struct cc__trace_event *e = w->merge.source[i].first;
		     e < w->merge.source[i].next; e++)
			if (cc__trace_kind_of(e) == CC__TRACE_NAME)
				memcpy(find_subject(w, cc__trace_subject_of(e), false)->name,
				       &e->word[2], 16);
}

static void write_events(struct writer *w)
{
	struct cc__trace_event e;
	unsigned source;

	while (cc__trace_merge_next(&w->merge, &e, &source))
		if (!write_worker(w, &e, source) && cc__trace_subject_of(&e) != 0)
			write_subject(w,
			              find_subject(w, cc__trace_subject_of(&e),
			                           cc__trace_flags_of(&e) & CC__TRACE_THREAD),
			              &e, source);
}

/* ---- the file ---- */

static void write_tracks(struct writer *w)
{
	cc__json_process(&w->json, CC__TRACE_THREADS, "threads");
	cc__json_process(&w->json, CC__TRACE_TASKS, "tasks");
	for (unsigned i = 0; i < w->merge.sources; i++) {
		const struct cc__trace_ring *r = w->merge.source[i].ring;

		if (r != NULL && r->worker != 0)
			cc__json_track(&w->json, track_of_source(i), "worker", SIZE_MAX, r->worker);
		else if (r != NULL)	/* Relaxed: for people */
			cc__json_track(&w->json, track_of_source(i), "thread", SIZE_MAX,
			               cc__load(&r->thread, CC__RELAXED));
	}
}

/* What has not ended when the events do, and the names of tasks. */
static void write_rest(struct writer *w)
{
	for (unsigned i = 0; i < w->merge.sources; i++) {
		end_worker_sleep(w, i, w->merge.end);
		leave_thread(w, i, w->merge.end);
	}
	for (uint64_t i = 0; i < w->slots; i++) {
		struct subject *s = &w->table[i];

		if ((s->seen || s->state != UNKNOWN) && !subject_is_thread(s))
			cc__json_track(&w->json, track_of(s), s->name[0] != '\0' ? s->name : "task",
			               sizeof s->name, s->key);
		if (s->key == 0 || s->state == UNKNOWN)
			continue;
		begin_slice(w, s, w->merge.end);
		cc__json_string(&w->json, "end", "not seen");
		cc__json_end(&w->json);
	}
}

static void write_head(struct writer *w)
{
	struct cc__trace_text *t = &w->json.text;

	cc__text_add(
	    t, "{\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"library\":\"libccc\",\"version\":");
	cc__text_add_number(t, CC_VERSION);
	cc__text_add(t, ",\"events\":");
	cc__text_add_number(t, w->merge.events);
	cc__text_add(t, ",\"lost\":");
	cc__text_add_number(t, w->merge.lost + cc__trace_rings_dropped());
	cc__text_add(t, ",\"clock_begin_ns\":");
	cc__text_add_number(t, w->merge.begin);
	cc__text_add(t, "},\n\"traceEvents\":[");
}

/* Each event names at most two subjects. */
static int make_table(struct writer *w)
{
	w->slots = 64;
	while (w->slots < 4 * w->merge.events)
		w->slots *= 2;
	w->memory_size = (size_t)w->slots * sizeof *w->table +
	                 w->merge.sources * sizeof *w->activity;
	if ((w->memory = cc__pages_map(w->memory_size)) == NULL)
		return ENOMEM;
	w->table = w->memory;
	w->activity = (struct activity *)(void *)(w->table + w->slots);
	return 0;
}

int cc__trace_write(int fd)
{
	struct writer w = {0};
	int err = cc__trace_merge_init(&w.merge, UINT64_MAX);

	if (err != 0)
		return err;
	if ((err = make_table(&w)) == 0) {
		cc__trace_merge_trim(&w.merge);
		cc__text_init(&w.json.text, fd);
		w.json.begin = w.merge.begin;
		write_head(&w);
		write_tracks(&w);
		read_names(&w);
		write_events(&w);
		write_rest(&w);
		cc__text_add(&w.json.text, "\n]}\n");
		err = cc__text_end(&w.json.text);
		cc__pages_unmap(w.memory, w.memory_size);
	}
	cc__trace_merge_fini(&w.merge);
	return err;
}
