/* main.c - the command line of a program of scenarios. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "search.h"

static struct mc_scenario *scenarios, **last = &scenarios;

void mc_register(struct mc_scenario *s)
{
	*last = s;
	last = &s->next;
}

static int usage(void)
{
	fprintf(stderr,
	        "usage: PROGRAM [--list] [--only PART | --run NAME] [--bound N] [--weak N]\n"
	        "               [--pct N SEED | --random N SEED] [--seconds N] [--trace]\n"
	        "               [--every-point]\n"
	        "       PROGRAM --run NAME --replay STRING\n");
	return 2;
}

/* A crash of the code under test is a failure like any other. */
static void crashed(int signal)
{
	if (!in_model)
		abort();
	mc_fail("crash: signal %d (%s)", signal, strsignal(signal));
}

/* A loop without any operation never comes back by itself.  Rung by time on the CPU: who is
 * stopped from outside has done nothing wrong. */
static void watchdog(int signal)
{
	static uint64_t last_tick, last_executions;

	(void)signal;
	if (in_model && tick == last_tick && executions == last_executions)
		mc_fail("livelock: T%d runs on without an operation", me);
	last_tick = tick;
	last_executions = executions;
}

static void handlers(void)
{
	static char stack[65536];
	const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
	struct sigaction crash = {.sa_handler = crashed, .sa_flags = SA_ONSTACK | SA_NODEFER};
	struct sigaction bark = {.sa_handler = watchdog,
	                         .sa_flags = SA_ONSTACK | SA_NODEFER | SA_RESTART};
	const struct itimerval often = {{2, 0}, {2, 0}};

	sigaltstack(&alternate, NULL);
	sigaction(SIGSEGV, &crash, NULL);
	sigaction(SIGBUS, &crash, NULL);
	sigaction(SIGFPE, &crash, NULL);
	sigaction(SIGILL, &crash, NULL);
	sigaction(SIGTRAP, &crash, NULL);
	sigaction(SIGPROF, &bark, NULL);
	setitimer(ITIMER_PROF, &often, NULL);
}

/* A search bound as people write it. */
static void bound_text(int bound, char *text, size_t size)
{
	if (bound >= MC_ALL)
		snprintf(text, size, "all");
	else
		snprintf(text, size, "%d", bound);
}

static void head(const struct mc_scenario *s, const struct result *r)
{
	char preempt[16], weak[16];

	bound_text(r->preempt, preempt, sizeof preempt);
	bound_text(r->weak, weak, sizeof weak);
	printf("%-44s threads %d  bound %-3s weak %-3s %10llu executions %8.0f/s %7.2fs  ", s->name,
	       body_count(s), preempt, weak, (unsigned long long)r->executions,
	       r->seconds > 0 ? (double)r->executions / r->seconds : 0, r->seconds);
}

static void tell(const struct mc_scenario *s, const struct result *r)
{
	struct result again;

	printf("     story of %s:\n", s->name);
	replay(s, r->replay, true, &again);
	if (strcmp(again.failure, r->failure) != 0)
		printf("     (told again it ends: %s)\n",
		       again.failure[0] ? again.failure : "well");
}

/* Any of the alternatives that .expect lists. */
static bool expected(const struct mc_scenario *s, const char *failure)
{
	char part[128];

	for (const char *e = s->expect; e != NULL && *e != '\0';) {
		size_t n = strcspn(e, "|");

		snprintf(part, sizeof part, "%.*s", (int)n, e);
		if (strstr(failure, part) != NULL)
			return true;
		e += n + (e[n] == '|');
	}
	return false;
}

/* One line; true if the scenario passed. */
static bool report(const struct mc_scenario *s, const struct plan *plan, bool aloud)
{
	struct result r;
	bool passed;

	explore(s, plan, &r);
	head(s, &r);
	switch (r.verdict) {
	case FOUND:
		passed = expected(s, r.failure);
		printf("%s: %s\n     replay '%s'\n", passed ? "found" : "FAIL", r.failure,
		       r.replay);
		if (!passed || aloud)
			tell(s, &r);
		return passed;
	case STOPPED:
		printf("FAIL: not exhausted in %.0f s\n", plan->seconds);
		return false;
	case EXHAUSTED:
		break;
	}
	passed = r.outcomes[0] == '\0' && (s->expect == NULL || plan->strategy != DFS);
	if (passed)
		printf("%s\n", plan->strategy == DFS ? "exhausted" : "done");
	else if (s->expect != NULL)
		printf("FAIL: exhausted, and \"%s\" was not found\n", s->expect);
	else
		printf("FAIL: outcomes:%s\n", r.outcomes);
	return passed;
}

static int replay_one(const struct mc_scenario *s, const char *text)
{
	struct result r;

	if (!replay(s, text, true, &r))
		return usage();
	if (r.diverged)
		printf("diverged: the code has changed since this was recorded\n");
	printf("%s\n", r.verdict == FOUND ? r.failure : "no failure");
	return r.verdict == FOUND;
}

int main(int argc, char **argv)
{
	struct plan plan = {.strategy = DFS};
	const char *only = "", *run = NULL, *string = NULL;
	bool list = false, aloud = false;
	int failures = 0, found = 0;

	for (int i = 1; i < argc; i++) {
		const char *a = argv[i];
		int left = argc - i - 1;

		if (!strcmp(a, "--list")) {
			list = true;
		} else if (!strcmp(a, "--every-point")) {
			every_point = true;
		} else if (!strcmp(a, "--trace")) {
			aloud = true;
		} else if (left < 1) {
			return usage();
		} else if (!strcmp(a, "--only")) {
			only = argv[++i];
		} else if (!strcmp(a, "--run")) {
			run = argv[++i];
		} else if (!strcmp(a, "--replay")) {
			string = argv[++i];
		} else if (!strcmp(a, "--bound")) {
			plan.preempt = atoi(argv[++i]);
			plan.preempt = plan.preempt == 0 ? MC_NONE : plan.preempt;
		} else if (!strcmp(a, "--weak")) {
			plan.weak = atoi(argv[++i]);
			plan.weak = plan.weak == 0 ? MC_NONE : plan.weak;
		} else if (!strcmp(a, "--seconds")) {
			plan.seconds = atof(argv[++i]);
		} else if (left >= 2 && (!strcmp(a, "--pct") || !strcmp(a, "--random"))) {
			plan.strategy = !strcmp(a, "--pct") ? PCT : RANDOM;
			plan.runs = strtoull(argv[++i], NULL, 0);
			plan.seed = strtoull(argv[++i], NULL, 0);
		} else {
			return usage();
		}
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	ctx_setup();
	handlers();
	for (struct mc_scenario *s = scenarios; s != NULL; s = s->next) {
		if (run != NULL ? strcmp(run, s->name) != 0 : strstr(s->name, only) == NULL)
			continue;
		found++;
		if (list)
			printf("%s\n", s->name);
		else if (string != NULL)
			return replay_one(s, string);
		else
			failures += !report(s, &plan, aloud);
	}
	if (found == 0) {
		fprintf(stderr, "no such scenario\n");
		return 2;
	}
	return failures != 0;
}
