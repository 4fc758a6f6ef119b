/* trace.h - the event log: every move of every word, every enqueue, stack, sleep
 * and decision, for tools/trace-check and for a dump when an invariant breaks.
 *
 * V1  An event's number is drawn after its actor has seen the state that it
 *     starts from and before the change is made.  So the events of one word,
 *     sorted by number, are the exact history of that word.
 * V2  Rings belong to threads and wrap: what a dump holds is the end of the
 *     story.  They are never freed.
 *
 * Off, an event costs one relaxed load and a branch. */
#ifndef CC__OS_TRACE_H
#define CC__OS_TRACE_H

#include "os/atomic.h"

enum cc__event {
	CC__EV_MOVE,		/* who's word: a -> b */
	CC__EV_ENQUEUE,		/* who was put into a run queue, or is to run next; a: 1 ready,
				 * 2 from outside, 3 starved, and locks held << 8; b: worker */
	CC__EV_SLEEP,		/* worker a sleeps */
	CC__EV_AWAKE,		/* worker a no longer does; b: enum cc__awake */
	CC__EV_LIST,		/* who is listed with ticket a on object b */
	CC__EV_DECIDE,		/* ticket a of who was decided with reason b, and << 8 the address
				 * of the list's lock, or 0 if there is no list */
	CC__EV_WITHDRAW,	/* ticket a of who withdrew from object b */
	CC__EV_FLAG,		/* ticket a of who parks on the flag at b */
	CC__EV_STACK,		/* who has got stack a; 0: it has none any more */
	CC__EV_PLACE,		/* who lends its stack to the fiber a; 0: has it back */
	CC__EV_TAKE,		/* who was taken out of an inbox by worker a */
	CC__EV_JOIN,		/* who waits for the end of task a */
	CC__EV_POKE,		/* worker a, asleep, is sent a wake */
	CC__EV_LIFE,		/* worker a begins to be b, an enum cc__life */
	CC__EV_STEAL,		/* worker a takes b fibers from who's run queue */
	CC__EV_HOLD,		/* who holds the lock at a (with CC__HOLD_WRITER: to write),
				 * by the call that returns to b */
	CC__EV_LET_GO,		/* who is about to let go of the lock at a */
	CC__EV_FOR,		/* the next wait of who is for a, an enum cc__for; b: which */
	CC__EV_LATER,		/* who begins at the time a, unless it is recalled; b: its task */
	CC__EV_CANCELLED,	/* who is about to end because it was cancelled */
};

enum { CC__HOLD_WRITER = 1 };

/* What a wait is for; which one: its address, or as said. */
enum cc__for {
	CC__FOR_OTHER,		/* nobody said */
	CC__FOR_WORD,		/* of this process */
	CC__FOR_SHARED,		/* a word that other processes may have, too */
	CC__FOR_MUTEX,
	CC__FOR_RWLOCK,
	CC__FOR_COND,
	CC__FOR_SEMAPHORE,
	CC__FOR_ONCE,
	CC__FOR_BARRIER,
	CC__FOR_WAIT_GROUP,
	CC__FOR_CHAN,
	CC__FOR_SELECT,		/* so many cases */
	CC__FOR_TOKEN,
	CC__FOR_TASK,		/* its id; CC__EV_JOIN says so */
	CC__FOR_FLAG,		/* CC__EV_FLAG says so */
	CC__FOR_TIME,
	CC__FOR_CALL,		/* one that is made by the blocking pool */
	CC__FOR_FD,		/* its number */
	CC__FOR_FD_HERE,	/* the same, by a thread: it waits from here on ... */
	CC__FOR_NOTHING,	/* ... until here */
	CC__FOR_RING,
	CC__FOR_JOB,		/* a thread of the blocking pool, for the next call */
};

/* What is on.  ORDER: ThreadSanitizer is told what happens before what.  PROBES: how many probes
 * tracers of the system have armed, which they count themselves (os/trace.c). */
enum {
	CC__WATCH_TRACE = 1,
	CC__WATCH_ASSERT = 2,
	CC__WATCH_LOG = 4,
	CC__WATCH_ORDER = 8,
	CC__WATCH_RECORD = 16,
};
#define CC__WATCH_PROBES 0xffff0000u

#ifdef CC__EXPLORE
/* The explorer watches by itself. */
#define CC__EVENT(kind, who, a, b) ((void)0)
static inline bool cc__watched(void)
{
	return false;
}
static inline void cc__happens_before(const void *at)
{
	(void)at;
}
static inline void cc__happens_after(const void *at)
{
	(void)at;
}
static inline uint64_t cc__watch_begin(void)
{
	return 0;
}
#else
#include "os/tools.h"

/* CC__WATCH_*, one word for all, so that an event that nothing watches costs one test. */
extern cc__a32 cc__watching __attribute__((visibility("hidden")));

static inline bool cc__watched(void)
{
	/* Relaxed: a switch for diagnosis. */
	return __builtin_expect(cc__load(&cc__watching, CC__RELAXED) != 0, 0);
}

uint64_t cc__trace_number(void);
void cc__trace_add(uint64_t number, enum cc__event kind, const void *who, uint64_t a, uint64_t b);
/* Both at once. */
void cc__trace_event(enum cc__event kind, const void *who, uint64_t a, uint64_t b);
#define CC__EVENT(kind, who, a, b) \
	(cc__watched() ? cc__trace_event(kind, who, a, b) : (void)0)

/* Before a move of a word: the move's number, 0 if nothing watches. */
static inline uint64_t cc__watch_begin(void)
{
	return cc__watched() ? cc__trace_number() : 0;
}
#endif

/* Under CC__WATCH_LOG: sees each event on the thread that makes it, perhaps with
 * locks held. */
typedef void cc__event_fn(enum cc__event kind, const void *who, uint64_t a, uint64_t b);
void cc__watch_log(cc__event_fn *hook);

/* Under CC__WATCH_RECORD and while a probe is armed: sees each event on the thread that makes it,
 * perhaps with locks held, and its time.  The time is taken where V1 says that the number is. */
typedef void cc__record_fn(uint64_t time, enum cc__event kind, const void *who, uint64_t a,
                           uint64_t b);
/* The recorder of this process, before anything switches CC__WATCH_RECORD on.  It sees moves, and
 * of the other events those whose bit, 1 << kind, is in `kinds`. */
void cc__watch_record(cc__record_fn *hook, uint32_t kinds);

/* What the recorder keeps for the calling thread; NULL at first.  When a thread ends that has a
 * value, at_exit is called with it and the value is NULL again.  at_exit is always the same. */
void *cc__trace_slot(void);
void cc__trace_slot_set(void *value, void (*at_exit)(void *value));

/* Switch on what is not on yet; switch off. */
void cc__watch_also(uint32_t flags);
void cc__watch_not(uint32_t flags);
/* Switch on or off, but for ORDER, RECORD and PROBES; all events so far, a line each, to a
 * descriptor. */
void cc__watch(uint32_t flags);
void cc__trace_dump(int fd);

#endif
