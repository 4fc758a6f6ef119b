/* search.c - which execution comes next.
 *
 * Depth-first: the choices of the last execution are a path in a tree; the next
 * one takes the last choice that has an alternative left and goes on with
 * defaults from there.  No alternative anywhere: exhausted.
 * PCT: threads have random priorities, the highest runs; at d - 1 random steps
 * the running one falls to the bottom.
 *
 * A choice that is not the default is written down as TICK KIND VALUE, whatever
 * the strategy, and that list is the replay string: it holds without bounds and
 * learned marks.
 *   t thread  o time-out of a thread  u spurious return of a thread
 *   r stores back from the newest  w the same for writing  f weak CAS fails
 *   k which sleeper is woken  p mc_pick (both always written) */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "search.h"

enum { DEPTH = 1 << 16, LOG = 4096, OUTCOMES = 128, OUTCOME = 40, PCT_DEPTH_MAX = 8 };

enum strategy strategy;
bool relearn;

static struct {
	uint16_t pick, n;
} path[DEPTH];
static int depth, prefix;
static struct step {
	uint32_t tick;
	char kind;
	uint16_t value;
} steps[LOG], script[LOG];
static int n_steps, n_script, at_script;
static bool diverged;
static uint64_t random_state = 88172645463325252u;
static uint64_t change[PCT_DEPTH_MAX], longest = 50;
static int pct_depth = 3;
static char outcomes[OUTCOMES][OUTCOME];
static int n_outcomes;

uint64_t random64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static int random_below(int n)
{
	return (int)(random64() % (uint64_t)n);
}

/* ---- choices ---- */

static void note(char kind, int value)
{
	if (n_steps == LOG)
		limit("recorded choices");
	steps[n_steps++] = (struct step){(uint32_t)tick, kind, (uint16_t)value};
}

static int next_on_path(int n)
{
	if (depth >= prefix) {
		if (depth == DEPTH)
			limit("choices");
		path[depth].pick = 0;
		path[depth].n = (uint16_t)n;
	} else if (path[depth].n != n) {
		mc_fail("explorer: the scenario is not deterministic (%d choices, then %d)",
		        path[depth].n, n);
	}
	return path[depth++].pick;
}

/* The next step of the script, if it belongs here. */
static const struct step *scripted(const char *kinds)
{
	const struct step *s = &script[at_script];

	if (at_script == n_script || s->tick > tick || strchr(kinds, s->kind) == NULL)
		return NULL;
	at_script++;
	diverged |= s->tick != tick;
	return s;
}

static int from_script(char kind, int n)
{
	const char kinds[] = {kind, '\0'};
	const struct step *s = scripted(kinds);

	if (s == NULL)
		return 0;
	if (s->value < n)
		return s->value;
	diverged = true;
	return 0;
}

int choose(char kind, int n)
{
	bool scenarios_own = kind == 'p' || kind == 'k';
	int c = 0;

	if (n <= 1)
		return 0;
	switch (strategy) {
	case DFS:
		c = next_on_path(n);
		break;
	case REPLAY:
		c = from_script(kind, n);
		break;
	case PCT:
	case RANDOM:
		c = scenarios_own || random_below(4) == 0 ? random_below(n) : 0;
		break;
	}
	if (c != 0 || scenarios_own)
		note(kind, c);
	return c;
}

static int by_priority(const struct option *option, int n, bool may_stay)
{
	int best = 0;

	for (int i = 0; may_stay && i < pct_depth - 1; i++)
		if (change[i] == tick)
			threads[me].prio = i;
	if (option[n - 1].kind != 't' && random_below(16) == 0)
		return n - 1;
	for (int i = 1; i < n && option[i].kind == 't'; i++)
		if (threads[option[i].thread].prio > threads[option[best].thread].prio)
			best = i;
	return best;
}

static int thread_from_script(const struct option *option, int n)
{
	const struct step *s = scripted("tou");

	for (int i = 0; s != NULL && i < n; i++)
		if (option[i].kind == s->kind && option[i].thread == s->value)
			return i;
	diverged |= s != NULL;
	return 0;
}

int choose_thread(const struct option *option, int n, bool may_stay)
{
	int c = 0;

	switch (strategy) {
	case DFS:
		c = next_on_path(n);
		break;
	case REPLAY:
		c = thread_from_script(option, n);
		break;
	case PCT:
		c = by_priority(option, n, may_stay);
		break;
	case RANDOM:
		c = random_below(n);
		break;
	}
	if (c != 0)
		note(option[c].kind, option[c].thread);
	return c;
}

void search_begin_execution(void)
{
	depth = 0;
	n_steps = 0;
	at_script = 0;
	diverged = false;
	if (strategy != PCT)
		return;
	for (int i = 0; i < PCT_DEPTH_MAX; i++)
		change[i] = 1 + random64() % longest;
}

/* ---- replay strings ---- */

static void print_steps(const struct step *s, int n, char *text, size_t size)
{
	size_t at = 0;

	snprintf(text, size, "-");
	for (int i = 0; i < n && at + 24 < size; i++)
		at += (size_t)snprintf(text + at, size - at, "%s%u%c%u", i ? "," : "", s[i].tick,
		                       s[i].kind, s[i].value);
}

static bool parse_steps(const char *text)
{
	n_script = 0;
	while (*text != '\0' && *text != '-') {
		struct step *s = &script[n_script++];
		int length = 0;

		if (n_script == LOG ||
		    sscanf(text, "%u%c%hu%n", &s->tick, &s->kind, &s->value, &length) != 3)
			return false;
		text += length;
		text += *text == ',';
	}
	return true;
}

/* ---- outcomes ---- */

void mc_outcome(const char *format, ...)
{
	char text[OUTCOME];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (tracing)
		trace("outcome: %s\n", text);
	for (int i = 0; i < n_outcomes; i++)
		if (strcmp(outcomes[i], text) == 0)
			return;
	if (n_outcomes == OUTCOMES)
		limit("outcomes");
	strcpy(outcomes[n_outcomes++], text);
}

static bool listed(const char *list, const char *word, size_t length)
{
	while (*list != '\0') {
		size_t n = strcspn(list, " ");

		if (n == length && memcmp(list, word, n) == 0)
			return true;
		list += n + strspn(list + n, " ");
	}
	return false;
}

/* Empty, or what is wrong with the set. */
static void compare_outcomes(const char *expected, char *text, size_t size)
{
	size_t at = 0;

	text[0] = '\0';
	for (int i = 0; i < n_outcomes && at < size; i++)
		if (!listed(expected, outcomes[i], strlen(outcomes[i])))
			at += (size_t)snprintf(text + at, size - at, " forbidden %s", outcomes[i]);
	for (const char *word = expected; *word != '\0' && at < size;) {
		size_t n = strcspn(word, " ");
		bool seen = false;

		for (int i = 0; i < n_outcomes; i++)
			seen |= strlen(outcomes[i]) == n && memcmp(outcomes[i], word, n) == 0;
		if (!seen)
			at += (size_t)snprintf(text + at, size - at, " missing %.*s", (int)n, word);
		word += n + strspn(word + n, " ");
	}
}

/* ---- running ---- */

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void set_bounds(int preempt, int weak)
{
	const struct mc_scenario *s = scenario;

	bounds.preempt = preempt;
	bounds.weak = weak;
	bounds.spurious = s->spurious == 0 ? 1 : s->spurious < 0 ? 0 : s->spurious;
	bounds.timeouts = s->timeouts == 0 ? 2 : s->timeouts < 0 ? 0 : s->timeouts;
	bounds.steps = s->steps == 0 ? 2000 : s->steps;
}

uint64_t executions; /* the watchdog looks at it */

static bool next_path(void)
{
	prefix = depth;
	while (prefix > 0 && path[prefix - 1].pick + 1 >= path[prefix - 1].n)
		prefix--;
	if (prefix == 0)
		return false;
	path[prefix - 1].pick++;
	return true;
}

/* Until exhausted, failed, or `until`. */
static enum verdict depth_first(double until)
{
	strategy = DFS;
	prefix = 0;
	do {
		relearn = false;
		run_once();
		executions++;
		if (failed)
			return FOUND;
		if (relearn) {
			prefix = depth = 0;
			continue;
		}
		if ((executions & 1023) == 0 && seconds() > until)
			return STOPPED;
	} while (relearn || next_path());
	return EXHAUSTED;
}

static enum verdict at_random(const struct plan *plan, double until)
{
	random_state = plan->seed * 2 + 1;
	for (uint64_t i = 0; i < plan->runs; i++) {
		strategy = plan->strategy;
		run_once();
		executions++;
		if (tick > longest)
			longest = tick;
		if (failed)
			return FOUND;
		if ((executions & 1023) == 0 && seconds() > until)
			return STOPPED;
	}
	return EXHAUSTED;
}

/* Small bounds first: the shortest story of a failure. */
static enum verdict widening(int preempt, int weak, double each, double until)
{
	for (int w = 0; w <= weak; w++)
		for (int p = 0; p <= preempt; p++) {
			bool last = p == preempt && w == weak;
			double limit = seconds() + each;

			set_bounds(p, w);
			switch (depth_first(last || limit > until ? until : limit)) {
			case FOUND:
				return FOUND;
			case EXHAUSTED:
				if (last)
					return EXHAUSTED;
				break;
			case STOPPED:
				if (last || seconds() > until)
					return STOPPED;
				break;
			}
		}
	return EXHAUSTED;
}

static int bound_of(int asked, int scenarios, int otherwise)
{
	int b = asked != 0 ? asked : scenarios != 0 ? scenarios : otherwise;

	return b < 0 ? 0 : b;
}

void explore(const struct mc_scenario *s, const struct plan *plan, struct result *r)
{
	double start = seconds(), until = start + (plan->seconds > 0 ? plan->seconds : 1e9);
	int small_weak, small_preempt;

	*r = (struct result){
	    .preempt = bound_of(plan->preempt, s->bound, body_count(s) <= 2 ? 3 : 2),
	    .weak = bound_of(plan->weak, s->weak, 2)};
	scenario = s;
	executions = 0;
	n_outcomes = 0;
	set_bounds(r->preempt, r->weak);
	small_weak = r->weak < 3 ? r->weak : 3;
	small_preempt = r->preempt < 4 ? r->preempt : 4;
	if (plan->strategy != DFS)
		r->verdict = at_random(plan, until);
	else if (s->expect != NULL)
		r->verdict = widening(r->preempt, r->weak, 5, until);
	else
		r->verdict = depth_first(until);
	r->executions = executions;
	r->seconds = seconds() - start;
	if (r->verdict == FOUND) {
		print_steps(steps, n_steps, r->replay, sizeof r->replay);
		snprintf(r->failure, sizeof r->failure, "%s", failure);
		if (s->expect == NULL && plan->strategy == DFS &&
		    widening(small_preempt, small_weak, 2, seconds() + 10) == FOUND) {
			print_steps(steps, n_steps, r->replay, sizeof r->replay);
			snprintf(r->failure, sizeof r->failure, "%s", failure);
		}
	}
	if (r->verdict == EXHAUSTED && s->outcomes != NULL && plan->strategy == DFS)
		compare_outcomes(s->outcomes, r->outcomes, sizeof r->outcomes);
}

bool replay(const struct mc_scenario *s, const char *text, bool aloud, struct result *r)
{
	*r = (struct result){.executions = 1};
	scenario = s;
	set_bounds(MC_ALL, MC_ALL);
	strategy = REPLAY;
	if (!parse_steps(text))
		return false;
	tracing = aloud;
	run_once();
	tracing = false;
	r->verdict = failed ? FOUND : EXHAUSTED;
	r->diverged = diverged || at_script < n_script;
	snprintf(r->failure, sizeof r->failure, "%s", failed ? failure : "");
	snprintf(r->replay, sizeof r->replay, "%s", text);
	return true;
}
