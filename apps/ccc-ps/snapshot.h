/* snapshot.h - what a process does: its fibers, the threads that wait in the library, nurseries,
 * workers and channels that are waited for. */
#ifndef CCC_PS_SNAPSHOT_H
#define CCC_PS_SNAPSHOT_H

#include "layout.h"

enum state { STATE_QUEUED, STATE_RUNNING, STATE_PARKED, STATE_DONE };

enum wait {
	WAIT_NONE, WAIT_RECV, WAIT_SEND, WAIT_SELECT, WAIT_TASK, WAIT_NURSERY, WAIT_MUTEX, WAIT_RWLOCK,
	WAIT_COND, WAIT_SEMAPHORE, WAIT_ONCE, WAIT_BARRIER, WAIT_WAIT_GROUP, WAIT_TOKEN, WAIT_PARK_WORD,
	WAIT_SLEEP, WAIT_FD, WAIT_BLOCKING, WAIT_OTHER, WAIT_KINDS
};

extern const char *const state_names[], *const wait_names[];

enum { NAME = 17 };
#define NO_TIME INT64_MIN	/* not known */
#define NEVER INT64_MAX		/* no deadline */

/* A fiber, or a thread outside of fibers that waits. */
struct fiber {
	uint64_t address;	/* of the frame, or of the thread's record */
	uint64_t id;		/* 0: a thread */
	uint64_t word;
	uint64_t stack;		/* its descriptor; 0: none */
	uint64_t sp;		/* of a parked or queued one that has a stack; otherwise 0 */
	uint64_t object;	/* what it waits for; 0: not known */
	uint64_t task;		/* WAIT_TASK: its id */
	uint64_t nursery;	/* that it is a child of, or 0 */
	uint64_t function;	/* what a child, or a task that has not begun, runs; or 0 */
	uint64_t place;		/* the call that spawned it, if the process says so; or 0 */
	uint64_t runtime;
	int64_t since, deadline;	/* on the process's clock */
	unsigned worker;
	uint8_t state, wait;
	bool daemon;
	char name[NAME];
};

struct nursery {
	uint64_t address, owner, runtime, place;
	uint64_t owner_id;	/* the owner's task; 0: a thread */
	uint64_t children;
	int error;
	uint8_t policy;		/* 0 fail fast, 1 supervise, 2 first success */
	bool cancelled, sealed;
};

struct worker {
	uint64_t address, runtime, running;	/* id of the task that it runs, or 0 */
	uint64_t queued, inbox, picks;
	unsigned id;
	uint8_t life;		/* 0 active, 1 searches, 2 sleeps, 3 ends, 4 has ended */
	bool stuck;
};

struct runtime {
	uint64_t address, global;
	uint64_t stacks;
	unsigned workers, blocking, blocking_waiting;
	bool stopping;
};

struct channel {
	uint64_t address, capacity, place;
	bool closed;
	char name[NAME];
};

struct snapshot {
	struct fiber *fiber;	/* by their ids, then threads */
	size_t fibers, threads;
	struct nursery *nursery;
	size_t nurseries;
	struct worker *worker;
	size_t workers;
	struct runtime *runtime;
	size_t runtimes;
	struct channel *channel;	/* by address */
	size_t channels;
	int64_t now;		/* on the process's clock */
	size_t changed;		/* fibers whose wait changed while it was read */
	bool incomplete;	/* memory was missing */
};

/* False: out of memory. */
bool snapshot_take(struct snapshot *s, struct memory *m, const struct layout *l);
void snapshot_free(struct snapshot *s);

/* NULL: it is not one of them. */
const struct channel *snapshot_channel(const struct snapshot *s, uint64_t address);

#endif
