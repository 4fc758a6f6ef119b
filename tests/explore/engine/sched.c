/* sched.c - one execution: who runs, who is blocked, and how it ends.
 *
 * A thread stops in two places only: in point(), before a visible operation,
 * and in block().  Whoever stops decides who goes on and switches there
 * directly; the search gets control back when nobody can.
 *
 * Between two visible operations of a thread nothing is visible to others, so
 * there is no choice where a thread has been chosen but done nothing since
 * (`fresh`), nor before an operation on memory that only one thread ever
 * operates on.  Which memory that is, is learned: a granule is taken for
 * private until an execution shows a second thread there; then it is marked for
 * ever and the search starts again.  And an execution is given up where a
 * preempted thread goes on although nobody has touched what it was about to
 * operate on (prune). */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "mc.h"

struct thread threads[MC_THREADS + 1];
int n_threads, me;
bool in_model;
uint64_t tick, stores;
unsigned pending;
bool every_point;
const struct mc_scenario *scenario;
bool failed, pruned;
char failure[2048];
struct bounds bounds, used;
int slots;

static struct mc_ctx *main_ctx;
static uint64_t idle_since; /* stores when somebody last spun on by itself ... */
static int idle_turns;      /* ... and how often since */

/* ---- leaving ---- */

_Noreturn void leave(void)
{
	struct mc_ctx gone;

	in_model = false;
	ctx_swap(&gone, &engine_ctx);
	__builtin_unreachable();
}

_Noreturn void mc_fail(const char *format, ...)
{
	va_list args;

	if (!failed) {
		failed = true;
		va_start(args, format);
		vsnprintf(failure, sizeof failure, format, args);
		va_end(args);
	}
	leave();
}

_Noreturn void limit(const char *what)
{
	mc_fail("explorer: out of %s; make the scenario smaller or the table larger", what);
}

bool left(int spent, int most)
{
	return strategy == REPLAY || spent < most;
}

/* ---- who can run ---- */

static bool can_run(int i)
{
	struct thread *t = &threads[i];

	switch (t->state) {
	case READY:
		return true;
	case SPINNING:
		return t->stale || stores - t->stores > t->spin_mark;
	case IN_LOCK:
		return lock_free(t->on);
	case IN_WAIT:
		return loc_newest(t->loc) != t->value;
	case IN_FUTEX:
		return t->woken;
	case IN_JOIN:
		return threads[(uintptr_t)t->on].state == ENDED;
	case ENDED:
		break;
	}
	return false;
}

static bool timed(const struct thread *t)
{
	return t->state == IN_FUTEX && !t->woken && t->deadline != CC_FOREVER;
}

/* Everybody sleeps and somebody has a deadline: time goes on to the first. */
static int expire_first(void)
{
	int first = -1;

	for (int i = 0; i < n_threads; i++)
		if (timed(&threads[i]) &&
		    (first < 0 || threads[i].deadline < threads[first].deadline))
			first = i;
	return first;
}

static void describe_blocked(char *text, size_t size)
{
	static const char *const doing[] = {
	    [SPINNING] = "spins",     [IN_LOCK] = "waits for lock", [IN_WAIT] = "waits on",
	    [IN_FUTEX] = "sleeps on", [IN_JOIN] = "joins",
	};
	size_t n = 0;

	for (int i = 0; i < n_threads && n < size; i++) {
		const struct thread *t = &threads[i];

		if (t->state == ENDED || t->state == READY)
			continue;
		n += (size_t)snprintf(text + n, size - n, "%sT%d %s %s (%s)", n ? ", " : "", i,
		                      doing[t->state], t->site->text, site_place(t->site, t));
	}
}

/* A spin may be bounded: when nobody else can go on whoever spins has some more
 * turns, the next one after the running thread first.  -1: nobody spins, or they
 * have had them all. */
static int spin_on(void)
{
	enum { TURNS = 300 };

	if (stores != idle_since) {
		idle_since = stores;
		idle_turns = 0;
	}
	for (int k = 1; k <= n_threads && idle_turns < TURNS * n_threads; k++) {
		int i = (me + k) % n_threads;

		if (threads[i].state != SPINNING)
			continue;
		idle_turns++;
		return i;
	}
	return -1;
}

/* Nobody can run.  Returns who goes on, or does not return. */
static int quiescent(void)
{
	char text[1024] = "";
	bool spins = false, sleeps = false;
	int first;

	if ((first = spin_on()) >= 0)
		return first;
	if (scenario->conserve != NULL) {
		int self = me;
		bool ok;

		/* An onlooker: it sees all and leaves no access behind. */
		me = MAIN;
		in_model = false;
		view_omniscient();
		ok = scenario->conserve();
		in_model = true;
		me = self;
		if (!ok) {
			describe_blocked(text, sizeof text);
			mc_fail("conservation: work is left and nobody is on the way: %s", text);
		}
	}
	if ((first = expire_first()) >= 0)
		return first;
	for (int i = 0; i < n_threads; i++) {
		if (threads[i].state == ENDED || (scenario->daemon >> i & 1))
			continue;
		*(threads[i].state == SPINNING ? &spins : &sleeps) = true;
	}
	if (!spins && !sleeps)
		leave();
	describe_blocked(text, sizeof text);
	mc_fail("%s: %s", sleeps ? "deadlock" : "livelock: all spin", text);
}

/* ---- choosing ---- */

static void go(int next)
{
	struct mc_ctx *from = threads[me].ctx;

	if (next == me)
		return;
	me = next;
	ctx_swap(from, threads[next].ctx);
}

static int options(struct option *option, bool may_stay)
{
	int n = 0;

	if (may_stay)
		option[n++] = (struct option){'t', (uint8_t)me};
	for (int k = 1; k <= n_threads; k++) {
		int i = (me + k) % n_threads;

		if ((i != me || !may_stay) && can_run(i))
			option[n++] = (struct option){'t', (uint8_t)i};
	}
	return n;
}

/* Beside threads that can run: sleepers that time out or wake for no reason.
 * Never the only way on, or they would hide a lost wake. */
static int early_options(struct option *option, int n)
{
	for (int i = 0; i < n_threads; i++) {
		const struct thread *t = &threads[i];

		if (t->state != IN_FUTEX || t->woken)
			continue;
		if (timed(t) &&
		    (t->deadline <= clock_now() || left(used.timeouts, bounds.timeouts)))
			option[n++] = (struct option){'o', (uint8_t)i};
		if (left(used.spurious, bounds.spurious))
			option[n++] = (struct option){'u', (uint8_t)i};
	}
	return n;
}

static void take(struct option o)
{
	struct thread *t = &threads[o.thread];

	if (o.kind == 't')
		return;
	/* Depends on who else can run, and so on everything. */
	pending = 0;
	t->woken = true;
	if (o.kind == 'u') {
		used.spurious++;
		return;
	}
	if (t->deadline > clock_now())
		used.timeouts++;
	clock_reach(t->deadline);
	t->value = 1; /* timed out */
}

/* Decide who goes on; come back when it is this thread's turn.  `free`: this
 * is no preemption although the thread could stay. */
static void decide(bool may_stay, bool free)
{
	struct option option[3 * MC_THREADS];
	int n, c = 0;

	if (may_stay && !free && strategy == DFS && used.preempt >= bounds.preempt)
		return;
	n = options(option, may_stay);
	if (n == 0) {
		int i = quiescent();

		if (threads[i].state == IN_FUTEX) {
			clock_reach(threads[i].deadline);
			threads[i].woken = true;
			threads[i].value = 1;
		}
		go(i);
		return;
	}
	n = early_options(option, n);
	if (n > 1)
		c = choose_thread(option, n, may_stay && !free);
	if (c > 0 && may_stay && !free) {
		used.preempt++;
		pending |= 1u << me;
	}
	take(option[c]);
	go(option[c].thread);
}

void share(const void *p)
{
	struct slot *s = slot_of(p);

	relearn |= !s->shared;
	s->shared = true;
}

static void learn(struct slot *s)
{
	if (s->first == NOBODY) {
		s->first = (uint8_t)me;
	} else if (UNLIKELY(s->first != me && !s->shared)) {
		s->shared = true;
		relearn = true;
	}
}

/* Whoever was preempted before an operation that this one does not commute with
 * had a reason to be. */
static void conflict_with_pending(const void *p, bool write)
{
	uintptr_t key = (uintptr_t)p >> 3;

	for (int i = 0; i < n_threads; i++) {
		const struct thread *t = &threads[i];

		if ((t->pending[0] == key || t->pending[1] == key) && (write || t->pending_write))
			pending &= ~(1u << i);
	}
}

void operate(const void *p, bool write)
{
	if (me == MAIN)
		return;
	learn(slot_of(p));
	if (pending)
		conflict_with_pending(p, write);
}

/* The preempted thread goes on, and nothing has happened that its operation does
 * not commute with: the same story with the preemption one operation later is
 * told elsewhere, with no more preemptions. */
static void prune(void)
{
	if (!(pending >> me & 1))
		return;
	pending &= ~(1u << me);
	if (strategy != DFS || every_point)
		return;
	pruned = true;
	leave();
}

struct granule *point(const void *p, bool write, const struct mc_site *site)
{
	struct slot *s = slot_of(p);
	struct thread *t = &threads[me];

	if (me == MAIN)
		return &granules[s->index];
	t->site = site;
	if (++tick > (uint64_t)bounds.steps)
		mc_fail("livelock: more than %d steps", bounds.steps);
	learn(s);
	if (t->fresh) {
		t->fresh = false;
	} else if (s->shared || strategy != DFS || every_point) {
		t->pending[0] = (uintptr_t)p >> 3;
		t->pending_write = write;
		decide(true, false);
		prune();
	}
	t->pending[1] = 0;
	if (pending)
		conflict_with_pending(p, write);
	return &granules[s->index];
}

void block(enum state why)
{
	struct thread *t = &threads[me];

	if (me == MAIN)
		mc_fail("deadlock: init or final would block");
	if (++tick > (uint64_t)bounds.steps)
		mc_fail("livelock: more than %d steps", bounds.steps);
	t->state = why;
	/* A turn of a spin loop is a yield: nobody pays for running instead. */
	decide(why == SPINNING && can_run(me), true);
	t->state = READY;
	/* The lock is taken and the word read as part of being chosen. */
	t->fresh = why != IN_LOCK && why != IN_WAIT;
}

void stored(void)
{
	stores++;
	threads[me].stores++;
}

/* ---- threads ---- */

static void thread_main(void *arg)
{
	struct thread *t = &threads[me];

	(void)arg;
	if (t->main != NULL)
		t->main(t->arg);
	else
		t->body();
	os_thread_end();
	if (tracing)
		trace("  T%d ends\n", me);
	stored();
	block(ENDED);
	__builtin_unreachable();
}

int thread_add(void (*main)(void *), void *arg)
{
	int i = n_threads;
	struct thread *t = &threads[i];
	size_t bytes = (size_t)slots * sizeof(mc_ts);

	if (i == MC_THREADS)
		limit("model threads");
	n_threads++;
	memcpy(t->cur, threads[me].cur, bytes);
	memset(t->acq, 0, bytes);
	memset(t->rel, 0, bytes);
	t->cur[i] = 1;
	t->has_acq = t->has_rel = t->woken = t->stale = false;
	t->fresh = true;
	t->state = READY;
	t->prio = 1 << 20 | (int)(random64() & 0xfffff);
	t->stores = 0;
	t->spin_mark = stores;
	t->main = main;
	t->arg = arg;
	t->site = NULL;
	t->tls = NULL;
	t->tls_exit = NULL;
	t->locks = 0;
	t->pending[1] = 0;
	t->ctx = ctx_take(thread_main, NULL);
	t->ctx->state = CTX_RUNNING;
	threads[me].cur[me]++; /* what its parent does from here on, it has not seen */
	return i;
}

static void (*last_body(int i))(void)
{
	while (scenario->body[i] == NULL)
		i--;
	return scenario->body[i];
}

int body_count(const struct mc_scenario *s)
{
	int n = 0;

	while (n < MC_THREADS && s->body[n] != NULL)
		n++;
	return s->threads > n ? s->threads : n;
}

/* ---- phases ---- */

static void phase_main(void *arg)
{
	void (*fn)(void) = (void (*)(void))arg;

	fn();
	leave();
}

static void run_phase(void (*fn)(void))
{
	if (fn == NULL || failed)
		return;
	me = MAIN;
	threads[MAIN].ctx = main_ctx;
	ctx_arm(main_ctx, phase_main, (void *)fn);
	main_ctx->state = CTX_RUNNING;
	in_model = true;
	ctx_swap(&engine_ctx, main_ctx);
}

static void start_threads(void *arg)
{
	struct option option[MC_THREADS];
	int n = 0, c;

	(void)arg;
	for (; n < n_threads; n++)
		option[n] = (struct option){'t', (uint8_t)n};
	c = n > 1 ? choose_thread(option, n, false) : 0;
	me = c;
	ctx_swap(main_ctx, threads[c].ctx);
}

static void run_threads(void)
{
	int n = body_count(scenario);

	me = MAIN;
	for (int i = 0; i < n; i++) {
		int t = thread_add(NULL, NULL);

		threads[t].body = last_body(i);
	}
	ctx_arm(main_ctx, start_threads, NULL);
	in_model = true;
	ctx_swap(&engine_ctx, main_ctx);
}

void run_once(void)
{
	failed = pruned = false;
	pending = 0;
	n_threads = 0;
	tick = 0;
	stores = 0;
	idle_since = 0;
	idle_turns = 0;
	used = (struct bounds){0};
	plain_reset();
	memory_reset();
	heap_reset();
	os_reset();
	ctx_reset();
	main_ctx = ctx_take(phase_main, NULL);
	search_begin_execution();
	run_phase(scenario->init);
	if (!failed)
		run_threads();
	if (!failed && !pruned) {
		me = MAIN;
		view_omniscient();
		run_phase(scenario->final);
		if (scenario->leaks)
			run_phase(heap_leaks);
	}
	in_model = false;
	heap_undo();
}

int mc_self(void)
{
	return me;
}

int mc_pick(int n)
{
	return choose('p', n);
}
