/* snapshot.c - walks from the description to everything that it leads to.
 *
 * The process may change meanwhile, so a pointer that was read may lead anywhere: every list has a
 * bound, and whatever cannot be read is left out.  The word of a fiber is read before and after its
 * wait: if it has changed, what was read of the wait is dropped. */
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "read_wait.h"

enum { CHUNKS_MOST = 1 << 14, RUNTIMES_MOST = 1 << 10, WORKERS_MOST = 1 << 14 };

const char *const state_names[] = {"queued", "running", "parked", "done"};
const char *const wait_names[WAIT_KINDS] = {
    "none",      "recv", "send",    "select",     "task",  "nursery",   "mutex", "rwlock", "cond",
    "semaphore", "once", "barrier", "wait_group", "token", "park_word", "sleep", "fd",     "blocking",
    "other"};

/* ---- arrays ---- */

/* Room for one more element at the end of an array of `count`; NULL: out of memory. */
static void *more(void *array, size_t *count, size_t size)
{
	void **at = array;
	void *grown = *at;

	if ((*count & (*count - 1)) == 0 &&
	    (grown = realloc(*at, (*count > 0 ? *count * 2 : 1) * size)) == NULL)
		return NULL;
	*at = grown;
	return memset((char *)grown + (*count)++ * size, 0, size);
}

static int by_address(const void *a, const void *b)
{
	const uint64_t *p = a, *q = b;	/* the first field of all that is sorted */

	return *p < *q ? -1 : *p > *q;
}

static int by_id(const void *a, const void *b)
{
	const struct fiber *p = a, *q = b;

	return p->id < q->id ? -1 : p->id > q->id;
}

static void *found(uint64_t address, const void *array, size_t count, size_t size)
{
	return count > 0 ? bsearch(&address, array, count, size, by_address) : NULL;
}

const struct channel *snapshot_channel(const struct snapshot *s, uint64_t address)
{
	return found(address, s->channel, s->channels, sizeof *s->channel);
}

/* ---- slabs ---- */

typedef bool visit_fn(struct reader *r, uint64_t address, const unsigned char *object);

static bool visit_chunk(struct reader *r, uint64_t chunk, uint64_t size, uint64_t carved, visit_fn *visit)
{
	const uint64_t first = chunk + r->l->chunk_first.value;
	unsigned char *bytes = malloc(carved * size + 1);
	bool good = bytes != NULL;

	if (good && !memory_read(r->m, first, bytes, carved * size))
		r->s->incomplete = true;
	for (uint64_t i = 0; good && i < carved; i++)
		good = visit(r, first + i * size, bytes + i * size);
	free(bytes);
	return good;
}

/* Calls visit for each object that the slab has ever handed out.  False: out of memory. */
static bool walk_slab(struct reader *r, uint64_t slab, uint64_t least, visit_fn *visit)
{
	const struct layout *l = r->l;
	uint64_t size = 0, chunk = 0;

	if (!memory_read(r->m, slab + l->slab_size.value, &size, sizeof size) || size < least ||
	    size > 65536 || !memory_read(r->m, slab + l->slab_chunks.value, &chunk, sizeof chunk)) {
		r->s->incomplete = true;
		return true;
	}
	for (unsigned n = 0; chunk != 0 && n < CHUNKS_MOST; n++) {
		const uint64_t most = (l->chunk_room.value - l->chunk_first.value) / size;
		unsigned char head[256] = {0};
		uint64_t carved;

		if (l->chunk_first.value > sizeof head || !memory_read(r->m, chunk, head, l->chunk_first.value)) {
			r->s->incomplete = true;
			return true;
		}
		carved = field(head, l->chunk_carved);
		if (!visit_chunk(r, chunk, size, carved < most ? carved : most, visit))
			return false;
		chunk = field(head, l->chunk_next);
	}
	return true;
}

/* ---- fibers and threads ---- */

static uint8_t state_of(const struct layout *l, uint64_t word)
{
	const uint64_t state = word & l->word_state_mask.value;

	if (state == l->state_owned.value)
		return STATE_RUNNING;
	if (state == l->state_done.value)
		return STATE_DONE;
	return state == l->state_queued.value || state == l->state_assigned.value ? STATE_QUEUED
	                                                                          : STATE_PARKED;
}

static void copy_name(char *to, const unsigned char *object, struct item item)
{
	size_t n = item.size < NAME - 1 ? item.size : NAME - 1;

	memcpy(to, object + item.value, n);
	to[n] = '\0';
}

/* What the program spawned: captures in a frame lie behind the function, those elsewhere may be gone. */
static uint64_t function_of(struct reader *r, const unsigned char *o)
{
	const uint64_t main = field(o, r->l->fiber_child_main), arg = field(o, r->l->fiber_child_arg);
	uint64_t function = 0;

	if (main == r->in_frame)
		memory_get(r->m, arg + r->l->fiber_main.value, &function, sizeof function);
	else if (main != r->in_piece && main != r->in_memory)
		function = main;
	return function;
}

static void read_calls(struct reader *r)
{
	const struct layout *l = r->l;

	if (l->capture_calls == 0)
		return;
	memory_get(r->m, l->capture_calls + l->capture_calls_in_frame.value, &r->in_frame, 8);
	memory_get(r->m, l->capture_calls + l->capture_calls_in_piece.value, &r->in_piece, 8);
	memory_get(r->m, l->capture_calls + l->capture_calls_in_memory.value, &r->in_memory, 8);
}

/* What the frame says. */
static void read_frame(struct reader *r, struct fiber *f, const unsigned char *o)
{
	const struct layout *l = r->l;
	const uint64_t home = field(o, l->fiber_home), arg = field(o, l->fiber_arg);
	const uint64_t sp = field(o, l->fiber_sp);

	f->word = field(o, l->fiber_word);
	f->state = state_of(l, f->word);
	f->worker = (unsigned)((f->word & l->word_owner_mask.value) >> l->word_owner_shift.value);
	f->runtime = home & ~l->home_mask.value;
	f->stack = field(o, l->fiber_stack);
	f->place = field(o, l->fiber_place);
	if (f->place == (f->address | 1))	/* a timer lies there */
		f->place = 0;
	f->since = NO_TIME;
	f->deadline = NEVER;
	if (f->stack < l->stack_orders.value)
		f->stack = 0;
	if (f->stack != 0 && (f->word & l->word_state_mask.value) != l->state_parking.value &&
	    (f->state == STATE_PARKED || f->state == STATE_QUEUED))
		f->sp = sp;
	if (home & l->home_named.value)
		copy_name(f->name, o, l->fiber_name);
	if (arg == f->address + l->fiber_child.value) {
		const uint64_t nursery = field(o, l->fiber_child_nursery);

		f->function = function_of(r, o);
		f->nursery = nursery & ~l->child_daemon.value;
		f->daemon = (nursery & l->child_daemon.value) != 0;
	} else if (f->stack == 0 && f->state == STATE_QUEUED) {
		f->function = field(o, l->fiber_main);
	}
}

static bool visit_frame(struct reader *r, uint64_t address, const unsigned char *o)
{
	const struct layout *l = r->l;
	const uint64_t handle = field(o, l->fiber_handle), id = handle & l->handle_id_mask.value;
	const bool later = (handle & l->handle_later.value) != 0;
	struct fiber *f;

	if (id == 0 || ((field(o, l->fiber_word) & l->word_state_mask.value) == l->state_assigned.value &&
	                !later))
		return true;
	if ((f = more(&r->s->fiber, &r->s->fibers, sizeof *f)) == NULL)
		return false;
	f->address = address;
	f->id = id;
	read_frame(r, f, o);
	if (later) {
		f->deadline = (int64_t)field(o, l->fiber_later_deadline);
		f->function = f->nursery = 0;
	}
	return true;
}

/* The second time: which have moved on since. */
static bool visit_again(struct reader *r, uint64_t address, const unsigned char *o)
{
	struct fiber *f = found(address, r->s->fiber, r->s->fibers, sizeof *f);
	const uint64_t word = field(o, r->l->fiber_word);

	if (f == NULL || f->word == word)
		return true;
	r->s->changed++;
	f->word = word;
	f->state = state_of(r->l, word);
	f->wait = f->state == STATE_PARKED ? WAIT_OTHER : WAIT_NONE;
	f->object = f->task = f->sp = 0;
	f->since = NO_TIME;
	f->deadline = NEVER;
	return true;
}

static bool visit_thread(struct reader *r, uint64_t address, const unsigned char *o)
{
	const struct layout *l = r->l;
	const uint64_t live = field(o, l->thread_live);
	struct fiber *f;

	if (live == l->live_none.value)
		return true;
	if (!read_memberships(r, address, field(o, l->thread_member)))
		return false;
	if (live == l->live_worker.value ||
	    (field(o, l->thread_word) & l->word_state_mask.value) != l->state_parked.value)
		return true;
	if ((f = more(&r->thread, &r->threads, sizeof *f)) == NULL)
		return false;
	f->address = address;
	f->state = STATE_PARKED;
	f->word = field(o, l->thread_word);
	f->since = NO_TIME;
	f->deadline = (int64_t)field(o, l->thread_deadline);
	if (!read_thread_wait(r, f, o))
		r->threads--;	/* an idle thread of a pool waits for nothing */
	return true;
}

bool reader_note_nursery(struct reader *r, uint64_t address)
{
	struct nursery *n;

	if (address == 0 || address % 8 != 0)
		return true;
	if (r->s->nurseries > 0 && r->s->nursery[r->s->nurseries - 1].address == address)
		return true;	/* siblings lie side by side */
	if ((n = more(&r->s->nursery, &r->s->nurseries, sizeof *n)) == NULL)
		return false;
	n->address = address;
	return true;
}

uint64_t reader_id(const struct reader *r, uint64_t frame)
{
	const struct fiber *f = found(frame, r->s->fiber, r->s->fibers, sizeof *f);

	return f != NULL ? f->id : 0;
}

bool reader_note_channel(struct reader *r, uint64_t address)
{
	struct channel *c;

	if (r->s->channels > 0 && r->s->channel[r->s->channels - 1].address == address)
		return true;
	if ((c = more(&r->s->channel, &r->s->channels, sizeof *c)) == NULL)
		return false;
	c->address = address;
	return true;
}

/* ---- nurseries and channels: each once, then read ---- */

static size_t unique(void *array, size_t count, size_t size)
{
	char *a = array;
	size_t kept = 0;

	if (count > 1)
		qsort(array, count, size, by_address);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || by_address(a + i * size, a + (kept - 1) * size) != 0)
			memmove(a + kept++ * size, a + i * size, size);
	return kept;
}

static bool read_nursery(struct reader *r, struct nursery *n)
{
	const struct layout *l = r->l;
	unsigned char o[65536];
	uint64_t policy;
	int64_t children;

	if (!memory_read(r->m, n->address, o, l->nursery_size))
		return false;
	policy = field(o, l->nursery_policy);
	n->owner = field(o, l->nursery_owner);
	n->runtime = field(o, l->nursery_runtime);
	n->place = field(o, l->nursery_place);
	n->policy = policy == l->policy_supervise.value ? 1 : policy == l->policy_first_success.value ? 2 : 0;
	n->sealed = field(o, l->nursery_sealed) != 0;
	n->cancelled = field(o, l->nursery_cancelled) != 0;
	n->error = (int)field(o, l->nursery_error);
	children = (int64_t)((field(o, l->nursery_children) + field(o, l->nursery_daemons)) /
	                     (l->tally_one.value > 0 ? l->tally_one.value : 1));
	children += n->sealed ? 0 : (int64_t)field(o, l->nursery_uncounted);
	n->children = children > 0 ? (uint64_t)children : 0;
	n->owner_id = reader_id(r, n->owner);
	return n->owner != 0 && n->owner % 8 == 0 && policy <= 2;
}

static void read_nurseries(struct reader *r)
{
	struct snapshot *s = r->s;
	size_t kept = 0;

	s->nurseries = unique(s->nursery, s->nurseries, sizeof *s->nursery);
	for (size_t i = 0; i < s->nurseries; i++)
		if (read_nursery(r, &s->nursery[i]))
			s->nursery[kept++] = s->nursery[i];
	s->nurseries = kept;
}

static void read_channels(struct reader *r)
{
	struct snapshot *s = r->s;
	unsigned char o[65536];

	s->channels = unique(s->channel, s->channels, sizeof *s->channel);
	for (size_t i = 0; i < s->channels; i++) {
		struct channel *c = &s->channel[i];

		if (!memory_get(r->m, c->address, o, r->l->chan_size))
			continue;
		copy_name(c->name, o, r->l->chan_name);
		c->capacity = field(o, r->l->chan_capacity);
		c->closed = field(o, r->l->chan_closed) != 0;
		c->place = field(o, r->l->chan_place);
	}
}

/* ---- runtimes and workers ---- */

static uint64_t lane(const unsigned char *o, struct item tail, struct item head)
{
	const int32_t n = (int32_t)((uint32_t)field(o, tail) - (uint32_t)field(o, head));

	return n > 0 ? (uint64_t)n : 0;
}

static void read_worker(struct reader *r, struct worker *w, const unsigned char *o)
{
	const struct layout *l = r->l;
	const uint64_t thread = field(o, l->worker_thread);
	uint64_t running = 0;

	w->id = (unsigned)field(o, l->worker_id);
	w->life = (uint8_t)field(o, l->worker_life);
	w->picks = field(o, l->worker_picks);
	w->stuck = field(o, l->worker_stuck) != 0;
	w->inbox = field(o, l->worker_inbox) + field(o, l->worker_own);
	w->queued = lane(o, l->worker_urgent_tail, l->worker_urgent_head) +
	            lane(o, l->worker_ready_tail, l->worker_ready_head) +
	            lane(o, l->worker_fresh_tail, l->worker_fresh_head) +
	            (field(o, l->worker_offer) != 0);
	if (thread != 0 && memory_read(r->m, thread + l->thread_running.value, &running, sizeof running))
		w->running = reader_id(r, running);
	if (r->m->core != NULL && (int64_t)field(o, l->worker_clock) > r->s->now)
		r->s->now = (int64_t)field(o, l->worker_clock);
}

static bool read_workers(struct reader *r, uint64_t runtime, uint64_t array, uint64_t count)
{
	unsigned char *o = malloc(r->l->worker_size);
	bool good = o != NULL;

	for (uint64_t i = 0; good && i < count && i < WORKERS_MOST; i++) {
		uint64_t at = 0;
		struct worker *w;

		if (!memory_read(r->m, array + i * sizeof at, &at, sizeof at) || at == 0 ||
		    !memory_read(r->m, at, o, r->l->worker_size))
			continue;
		if ((good = (w = more(&r->s->worker, &r->s->workers, sizeof *w)) != NULL)) {
			w->address = at;
			w->runtime = runtime;
			read_worker(r, w, o);
		}
	}
	free(o);
	return good;
}

static bool read_runtimes(struct reader *r)
{
	const struct layout *l = r->l;
	unsigned char *o = malloc(l->runtime_size);
	uint64_t at = 0;
	bool good = o != NULL;

	if (good && !memory_read(r->m, l->runtimes, &at, sizeof at))
		r->s->incomplete = true;
	for (unsigned n = 0; good && at != 0 && n < RUNTIMES_MOST; n++) {
		struct runtime *t;

		if (!memory_read(r->m, at, o, l->runtime_size))
			break;
		if ((t = more(&r->s->runtime, &r->s->runtimes, sizeof *t)) == NULL) {
			good = false;
			break;
		}
		*t = (struct runtime){.address = at,
		                      .workers = (unsigned)field(o, l->runtime_live),
		                      .global = field(o, l->runtime_global_listed) + field(o, l->runtime_woken) +
		                                field(o, l->runtime_global_tail) - field(o, l->runtime_global_head),
		                      .stacks = field(o, l->runtime_stacks),
		                      .blocking = (unsigned)field(o, l->runtime_blocking_live),
		                      .blocking_waiting = (unsigned)field(o, l->runtime_blocking_waiting),
		                      .stopping = field(o, l->runtime_stopping) != 0};
		good = read_workers(r, at, field(o, l->runtime_worker), field(o, l->runtime_workers));
		at = field(o, l->runtime_next);
	}
	free(o);
	return good;
}

/* ---- all ---- */

/* Of a core, the last time that a worker or a monitor has read its clock. */
static void find_now(struct reader *r)
{
	struct snapshot *s = r->s;
	struct timespec t;
	uint32_t coarse = 0;

	if (r->m->core == NULL) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		s->now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
	} else if (memory_read(r->m, r->l->coarse_now, &coarse, sizeof coarse)) {
		const int32_t ahead = (int32_t)(coarse - (uint32_t)(s->now >> 20));

		s->now += s->now == 0 ? (int64_t)coarse << 20 : ahead > 0 ? (int64_t)ahead << 20 : 0;
	}
}

static bool read_waits(struct reader *r)
{
	struct snapshot *s = r->s;

	for (size_t i = 0; i < s->fibers; i++)
		if (!read_fiber_wait(r, &s->fiber[i]) || !reader_note_nursery(r, s->fiber[i].nursery))
			return false;
	return true;
}

static bool append_threads(struct reader *r)
{
	struct snapshot *s = r->s;
	struct fiber *all = realloc(s->fiber, (s->fibers + r->threads + 1) * sizeof *all);

	if (all == NULL)
		return false;
	if (s->fibers > 1)
		qsort(all, s->fibers, sizeof *all, by_id);
	if (r->threads > 0)
		memcpy(all + s->fibers, r->thread, r->threads * sizeof *all);
	s->fiber = all;
	s->threads = r->threads;
	return true;
}

bool snapshot_take(struct snapshot *s, struct memory *m, const struct layout *l)
{
	struct reader r = {.s = s, .m = m, .l = l};
	bool good;

	*s = (struct snapshot){.now = 0};
	read_calls(&r);
	good = walk_slab(&r, l->frames, l->fiber_size, visit_frame);
	if (good && s->fibers > 1)
		qsort(s->fiber, s->fibers, sizeof *s->fiber, by_address);
	if (good && m->core == NULL)
		find_now(&r);
	good = good && read_runtimes(&r);
	if (good && m->core != NULL)
		find_now(&r);
	good = good && read_waits(&r) && walk_slab(&r, l->threads, l->thread_size, visit_thread) &&
	       (m->core != NULL || walk_slab(&r, l->frames, l->fiber_size, visit_again));
	if (good) {
		read_nurseries(&r);
		read_channels(&r);
	}
	good = good && append_threads(&r);
	free(r.thread);
	s->incomplete = s->incomplete || memory_truncated(m);
	return good;
}

void snapshot_free(struct snapshot *s)
{
	free(s->fiber);
	free(s->nursery);
	free(s->worker);
	free(s->runtime);
	free(s->channel);
	*s = (struct snapshot){.now = 0};
}
