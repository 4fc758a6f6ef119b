/* mc.h - what the files of the explorer share.
 *
 * Everything runs in one OS thread.  An execution is: reset, .init, threads,
 * .final, undo.  Nothing is allocated in it and nothing survives it but the
 * choices made, the learned `shared` marks and the set of outcomes.
 *
 *   sched.c    one execution: who runs, blocking, quiescence, failure
 *   search.c   many executions: depth-first, PCT, random, replay
 *   memory.c   atomics: histories, views, fences
 *   seqcst.c   the total order of seq_cst
 *   plain.c    shadow of plain accesses: races; the compiler's entry points
 *   heap.c     mc_alloc, and undoing writes to statics
 *   os.c       futex, clock, threads, TLS, locks, panic
 *   context.c  stacks
 *   trace.c    the story of a failing execution
 *   main.c     command line */
#ifndef MC_MC_H
#define MC_MC_H

#include "engine.h"

enum {
	MAIN = MC_THREADS, /* init, conserve and final run as this one */
	CLOCKS = MC_THREADS + 1,
	SLOTS = 512, /* of a view: clocks, then locations */
	CONTEXTS = 40,
	STACK_SIZE = 64 * 1024,
};

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

__extension__ typedef unsigned __int128 mask; /* a set of nodes (seqcst.c) */

/* ---- views (memory.c) ----
 * A view says how far somebody has seen: slot t < CLOCKS is the clock of thread
 * t, the others are timestamps in the modification order of one location. */
typedef uint32_t mc_ts;
typedef mc_ts mc_view[SLOTS];

static inline void join(mc_ts *to, const mc_ts *from, int first, int end)
{
	for (int i = first; i < end; i++)
		to[i] = to[i] > from[i] ? to[i] : from[i];
}

/* ---- threads ---- */
enum state {
	READY,
	SPINNING, /* in cc__relax, until somebody else stores */
	IN_LOCK,  /* until the lock is free */
	IN_WAIT,  /* mc_wait_while, until the newest value differs */
	IN_FUTEX, /* until woken */
	IN_JOIN,  /* until that thread has ended */
	ENDED,
};

struct thread {
	mc_view cur; /* what this thread has seen, by happens-before and coherence */
	mc_view acq; /* what an acquire fence would add to it */
	mc_view rel; /* cur at the last release fence */
	bool has_acq, has_rel;
	bool fresh; /* chosen, and has done nothing visible since */
	bool woken; /* IN_FUTEX: by a wake */
	bool woken_by_other; /* by one of the other word */
	bool stale; /* has read an old store since its last cc__relax */
	enum state state;
	int prio;           /* PCT */
	uint64_t stores;    /* own ones */
	uint64_t spin_mark; /* stores of others at the start of this spin turn */
	struct loc *stale_loc;
	struct mc_ctx *ctx; /* what it runs, or will when chosen */
	void (*body)(void);
	void (*main)(void *); /* of cc__thread_start; else body */
	void *arg;
	/* Why it is blocked. */
	const void *on; /* lock, word; the thread's number for IN_JOIN */
	const void *other; /* IN_FUTEX: a second word, or NULL */
	struct loc *loc;
	uint64_t value;
	cc_time deadline;
	uint64_t seq;               /* order of arrival at the futex */
	const struct mc_site *site; /* of its last operation ... */
	uintptr_t pc;               /* ... and the caller, where site has no line */
	void *tls;
	void (*tls_exit)(void *);
	int locks;            /* held */
	uintptr_t pending[2]; /* preempted before an operation on these ... */
	bool pending_write;   /* ... that writes */
};

/* ---- atomics (memory.c) ---- */
struct msg {                       /* one store */
	struct msg *older, *newer; /* in modification order */
	uint64_t value;
	mc_ts ts;
	uint16_t slots; /* of view that are not zero */
	uint8_t by;
	bool glued;         /* an RMW: nothing may come between it and older */
	bool lazy;          /* a plain write: value is what memory says next time */
	int16_t node;       /* seq_cst: its place in that order; else -1 */
	mc_ts *view;        /* what reading it with acquire brings */
	mask written, read; /* what orders before whatever comes after it */
};

struct loc {
	void *p;
	uint8_t size;
	uint16_t slot;
	struct msg *newest;
	struct loc *next; /* in the same granule */
	struct granule *granule;
};

void memory_reset(void);
/* The location at p, in whose granule a visible operation has just arrived. */
struct loc *loc_of(struct granule *g, const void *p, size_t size, const struct mc_site *site);
uint64_t loc_newest(struct loc *l);
void loc_plain_write(struct loc *l);
void read_newest(struct loc *l, int order);
void view_publish(mc_ts *to); /* release: me.cur into to; next clock */
void view_acquire(const mc_ts *from);
void view_omniscient(void);          /* MAIN has seen everything */
void view_newest(int thread);        /* the thread has seen the newest stores */
mc_ts *view_copy(const mc_ts *view); /* for the rest of the execution */
struct loc *loc_at(int slot);
extern const char *const order_name[];

/* ---- seq_cst (seqcst.c) ---- */
struct sc_access { /* one that has been found possible */
	bool seq_cst;
	mask sources;       /* what it stands for: itself, fences before it */
	mask before, after; /* what the order then says */
};

void sc_reset(void);
bool sc_full(void);
/* May this thread read s, or write right behind it? */
bool sc_allows(const struct loc *l, const struct msg *s, int order, bool acquires, bool writes,
               struct sc_access *a);
int sc_happens(struct sc_access *a); /* it does: its node, or -1 */
void sc_fence(void);
void sc_fence_everywhere(void);

/* ---- shadow (plain.c, heap.c) ---- */
enum access { READ = 0, WRITE = 1, ATOMIC = 2 }; /* or-ed */

struct cell { /* one access to some bytes of a granule */
	mc_ts clock;
	uint32_t where; /* code address, or struct mc_site of an atomic */
	uint8_t mask, kind, thread;
};

enum { CELLS = 22 };
struct granule { /* eight bytes of memory, in this execution */
	uint64_t *p;
	struct loc *locs;
	uint8_t count;
	bool saved; /* old content is in the undo log */
	struct cell cell[CELLS];
};

struct slot {           /* the same eight bytes, for ever */
	uintptr_t key;  /* address / 8 + 1; 0: unused */
	uint32_t epoch; /* of index and first */
	uint16_t index; /* which granule */
	uint8_t first;  /* thread of the first visible operation, or NOBODY */
	bool shared;    /* learned: two threads operate on it */
};
enum { NOBODY = 0xff };

extern uint32_t epoch;
extern struct granule granules[];
struct slot *slot_of(const void *p);
static inline struct granule *granule_of(const void *p)
{
	return &granules[slot_of(p)->index];
}
void access_at(const void *p, size_t size, unsigned kind, uintptr_t where);
/* The same for size bytes that lie in one granule. */
void access_in(struct granule *g, const void *p, size_t size, unsigned kind, uintptr_t where);
const struct cell *unordered(const void *p); /* an access we have not seen */
void plain_reset(void);

void heap_reset(void);
void heap_undo(void);
void heap_save(struct granule *g);
void heap_live(const void *p, size_t size); /* or mc_fail */
void heap_leaks(void);

/* ---- contexts (context.c) ---- */
enum ctx_state { CTX_NEW, CTX_RUNNING, CTX_SAVED, CTX_ENDED };
struct mc_ctx {
	void *sp;
	char *stack;
	void (*fn)(void *);
	void *arg;
	enum ctx_state state;
	int number;
	struct mc_arrival arrival;
	uint64_t shadow; /* stands for registers and stack in race checks */
};

void ctx_setup(void); /* once */
void ctx_reset(void); /* each execution */
struct mc_ctx *ctx_take(void (*fn)(void *), void *arg);
void ctx_arm(struct mc_ctx *c, void (*fn)(void *), void *arg);
void ctx_swap(struct mc_ctx *from, struct mc_ctx *to);
bool ctx_on_stack(const void *p);
extern struct mc_ctx engine_ctx; /* the search */

/* ---- one execution (sched.c) ---- */
extern struct thread threads[MC_THREADS + 1];
extern int n_threads, me;
extern bool in_model; /* scenario or library code is running */
extern uint64_t tick; /* numbers the places where somebody else may run */
extern uint64_t stores;
extern unsigned pending; /* threads preempted before what nobody has touched since */
extern bool every_point; /* do without learned marks, to check them */
extern const struct mc_scenario *scenario;
extern bool failed, pruned;
extern char failure[2048];
extern struct bounds {
	int preempt, weak, spurious, timeouts, steps;
} bounds, used;
extern int slots; /* views in use: [0, slots) */

void run_once(void);
/* A visible operation on p comes next: somebody else may run first. */
struct granule *point(const void *p, bool write, const struct mc_site *site);
/* One that leaves no choice, or is a further part of the last. */
void operate(const void *p, bool write);
/* What is at p is not only its threads': a choice before each operation on it. */
void share(const void *p);
void block(enum state why); /* until enabled and chosen */
void stored(void);          /* somebody spinning may look again */
int thread_add(void (*main)(void *), void *arg);
_Noreturn void leave(void); /* back to the search */
_Noreturn void limit(const char *what);
bool left(int spent, int most); /* of a bound */
int body_count(const struct mc_scenario *s);

/* ---- choices (search.c) ---- */
enum strategy { DFS, PCT, RANDOM, REPLAY };
extern enum strategy strategy;
extern bool relearn; /* a location turned out to be shared */
/* 0..n-1; 0 is the default, which is not recorded. */
int choose(char kind, int n);
/* The same among encoded options, as they stand in a replay string. */
struct option {
	char kind;
	uint8_t thread;
};
int choose_thread(const struct option *option, int n, bool may_stay);
uint64_t random64(void);
void search_begin_execution(void);

/* ---- trace (trace.c) ---- */
extern bool tracing;
void trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
void trace_op(const struct mc_site *site, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *number(uint64_t value);
const char *thread_name(int thread);
const char *where_text(uintptr_t where, unsigned kind);
const char *base_name(const char *path);
const char *site_place(const struct mc_site *site, const struct thread *t);

/* ---- os.c ---- */
void os_reset(void);
bool lock_free(const void *lock);
void lock_acquired(const void *lock);
void os_thread_end(void);
cc_time clock_now(void);
void clock_reach(cc_time t);

#endif
