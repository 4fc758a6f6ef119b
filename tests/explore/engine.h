/* engine.h - the explorer: every interleaving of a small program on the real
 * sources, under C11 weak memory.  What a scenario needs to know:
 *
 *	static cc__a32 flag;			// statics start afresh each time
 *	static void left(void)  { cc__store(&flag, 1, CC__RELEASE); }
 *	static void right(void) { mc_wait_while(&flag, 0); }
 *	SCENARIO(flag_reaches_reader, .body = {left, right})	// covers: RES-01/m
 *
 * One execution: .init, then the bodies as model threads, then .final once
 * nobody can go on.  The search repeats it until every choice within the
 * bounds has been taken.  Choices: who runs next, at each operation of the door
 * (src/os/atomic.h), lock, mc_switch; which store a load reads; where in
 * modification order a store goes; spurious returns; time-outs.
 *
 * A scenario fails on
 *	assert       MC_ASSERT, CC__CHECK, mc_fail
 *	race         plain accesses that happens-before does not order
 *	use after free, double free, out of bounds, leak (.leaks)
 *	deadlock     somebody sleeps for ever: a lost wake (.daemon may)
 *	livelock     too many steps, or all spin
 *	conservation .conserve said false while everybody sleeps
 *	context      resumed while running, or without ordering after the save
 *	lock         wrong owner, taken twice, kept at the end
 * With .expect = "deadlock" (part of the message; "a|b": either) that failure
 * must be found; with .outcomes = "0,1 1,0" exactly those mc_outcome()s must be seen.
 *
 * Deterministic code only: no printf, no rand, no address of the C library's.
 * Memory comes from mc_alloc or is static.  Not modelled: load buffering.
 * See README.md for bounds, replay and how a library file gets into a program. */
#ifndef MC_ENGINE_H
#define MC_ENGINE_H

#include "os/assert.h"
#include "os/atomic.h"

enum { MC_THREADS = 8 }; /* most model threads of one execution */

struct mc_scenario {
	const char *name;
	/* Threads.  .threads is needed only to have the last body run more than
	 * once; mc_self() tells them apart. */
	int threads;
	void (*body[MC_THREADS])(void);
	void (*init)(void);     /* before they start; alone */
	void (*final)(void);    /* after everybody has ended; alone */
	bool (*conserve)(void); /* whenever nobody can run; alone */
	unsigned daemon;        /* bit i: thread i may sleep for ever */

	/* Bounds; 0 is the default, MC_NONE is zero of it, MC_ALL no bound. */
	int bound;    /* preemptions: 3 for two threads, else 2 */
	int weak;     /* stale reads and stores before the newest: 2 */
	int spurious; /* futex returns and weak CAS failures: 1 */
	int timeouts; /* timed waits that end early: 2 */
	int steps;    /* of one execution: 2000 */

	bool leaks;           /* memory left at the end is a failure */
	const char *expect;   /* a seeded bug: part of its message */
	const char *outcomes; /* a litmus: the exact set, in any order */

	/* The explorer's. */
	const char *file;
	int line;
	struct mc_scenario *next;
};

enum { MC_NONE = -1, MC_ALL = 1 << 20 };

#define SCENARIO(scenario, ...) \
	static struct mc_scenario mc_scenario_##scenario = { \
	    .name = #scenario, .file = __FILE__, .line = __LINE__, __VA_ARGS__}; \
	__attribute__((constructor)) static void mc_register_##scenario(void) \
	{ \
		mc_register(&mc_scenario_##scenario); \
	}
void mc_register(struct mc_scenario *s);

/* ---- inside bodies ---- */

int mc_self(void); /* 0-based; which thread this is */
_Noreturn void mc_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define MC_ASSERT(cond) \
	((cond) ? (void)0 : mc_fail("assert: %s (%s:%d)", #cond, __FILE__, __LINE__))
int mc_pick(int n); /* a choice of the scenario: 0..n-1 */
void mc_note(const char *format, ...) __attribute__((format(printf, 1, 2)));    /* in the trace */
void mc_outcome(const char *format, ...) __attribute__((format(printf, 1, 2))); /* in .final */

/* Block while *a == value; then read it with acquire.  An ideal sleep that
 * cannot be lost: for the parts of a model that are not under test. */
#define mc_wait_while(a, value) \
	__extension__({ \
		MC_SITE(#a); \
		__typeof__((a)->raw) mc_v_ = (value); \
		(__typeof__((a)->raw))mc_wait_at(&(a)->raw, sizeof mc_v_, (uint64_t)mc_v_, \
		                                 &mc_site_); \
	})
uint64_t mc_wait_at(void *p, size_t size, uint64_t value, const struct mc_site *site);

/* Memory of this execution: never handed out twice, so that a late access is
 * always seen.  Filled with garbage, the same each time. */
void *mc_alloc(size_t size);
void *mc_alloc_zero(size_t size); /* with zeros instead */
void mc_free(void *p);

/* ---- stacks ----
 * A model thread (worker) runs one context at a time: at first its own, which
 * mc_ctx_self() names.  mc_switch saves the current one and goes on in `to`;
 * identity, clocks and TLS stay with the thread.  The save comes after a choice
 * point, so whoever learned of this context before may act in between: to
 * resume it then is "resumed while running".  Resuming must be ordered after
 * the save by happens-before. */
typedef struct mc_ctx mc_ctx;

mc_ctx *mc_ctx_new(void (*fn)(void *), void *arg); /* fn must not return */
mc_ctx *mc_ctx_self(void);
void mc_switch(mc_ctx *to);
/* The same, handing two values to the other side in registers. */
struct mc_arrival {
	void *worker;
	uintptr_t after;
};
struct mc_arrival mc_switch_with(mc_ctx *to, void *worker, uintptr_t after);
struct mc_arrival mc_arrival(void);    /* what the last switch to here brought */
_Noreturn void mc_ctx_end(mc_ctx *to); /* the last switch of this context */
_Noreturn void mc_ctx_end_with(mc_ctx *to, void *worker, uintptr_t after);

#endif
