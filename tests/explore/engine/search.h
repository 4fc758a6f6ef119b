/* search.h - what main.c asks of search.c. */
#ifndef MC_SEARCH_H
#define MC_SEARCH_H

#include "mc.h"

enum verdict { EXHAUSTED, FOUND, STOPPED };

struct plan {
	enum strategy strategy; /* DFS, PCT or RANDOM */
	uint64_t runs, seed;    /* PCT and RANDOM */
	double seconds;         /* 0: no limit */
	int preempt, weak;      /* 0: the scenario's; MC_NONE: zero */
};

struct result {
	enum verdict verdict;
	int preempt, weak;
	uint64_t executions;
	double seconds;
	bool diverged; /* a replay did not find its places */
	char failure[2048];
	char replay[8192];
	char outcomes[1024]; /* wrong ones */
};

void explore(const struct mc_scenario *s, const struct plan *plan, struct result *r);
/* False: not a replay string. */
bool replay(const struct mc_scenario *s, const char *text, bool aloud, struct result *r);
extern uint64_t executions;

#endif
