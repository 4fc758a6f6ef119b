/* layout.h - the description of a process (ccc/describe.h): found, checked, and its names looked up.
 *
 * LAYOUT_NAMES has every name that ccc-ps uses.  One that a process does not describe has size 0 and
 * value 0; those that nothing goes without are checked in layout.c. */
#ifndef CCC_PS_LAYOUT_H
#define CCC_PS_LAYOUT_H

#include "memory.h"

#define LAYOUT_NAMES(X) \
	X(slab, size) X(slab, chunks) X(chunk, next) X(chunk, carved) X(chunk, first) X(chunk, room) \
	X(word, state_mask) X(word, owner_shift) X(word, owner_mask) X(word, ticket_mask) \
	X(state, assigned) X(state, queued) X(state, owned) X(state, parking) X(state, notified) \
	X(state, parked) X(state, done) \
	X(fiber, word) X(fiber, sp) X(fiber, main) X(fiber, result) X(fiber, stack) X(fiber, home) \
	X(fiber, handle) X(fiber, arg) X(fiber, child) X(fiber, child_main) X(fiber, child_nursery) X(fiber, child_arg) \
	X(fiber, name) X(fiber, joiners) X(fiber, later_deadline) X(fiber, place) \
	X(capture_calls, in_frame) X(capture_calls, in_piece) X(capture_calls, in_memory) \
	X(home, mask) X(home, named) X(handle, id_mask) X(handle, done) X(handle, later) \
	X(child, daemon) \
	X(stack, wait) X(stack, place) X(stack, alarm) X(stack, member) X(stack, orders) \
	X(place, bottom_mask) X(place, order_mask) \
	X(wait, next) X(wait, lock) X(wait, parker) X(wait, ticket) X(wait, io) X(wait, for) \
	X(wait, since) X(wait, for_mask) X(wait, since_shift) \
	X(for, word) X(for, shared) X(for, mutex) X(for, rwlock) X(for, cond) X(for, semaphore) \
	X(for, once) X(for, barrier) X(for, wait_group) X(for, chan) X(for, select) X(for, token) \
	X(for, task) X(for, nursery) X(for, sleep) X(for, blocking) X(for, fd) X(for, fd_here) \
	X(for, job) X(for, send) X(for, recv) \
	X(sleeper, word) X(timer, deadline) X(timer, object) X(timer, value) \
	X(thread, word) X(thread, wait) X(thread, running) X(thread, worker) X(thread, member) \
	X(thread, deadline) X(thread, which) X(thread, live) \
	X(live, none) X(live, worker) \
	X(member, scope) X(member, outer) X(member, locals) X(member, branches) X(locals, member) \
	X(branches, member) \
	X(nursery, cancelled) X(nursery, shield) X(nursery, owner) X(nursery, runtime) \
	X(nursery, policy) X(nursery, sealed) X(nursery, uncounted) X(nursery, inside) \
	X(nursery, error) X(nursery, children) X(nursery, over) X(nursery, daemons) \
	X(nursery, place) X(tally, one) X(policy, supervise) X(policy, first_success) \
	X(runtime, next) X(runtime, worker) X(runtime, workers) X(runtime, live) X(runtime, stacks) \
	X(runtime, stopping) X(runtime, shelf) X(runtime, global_tail) X(runtime, global_head) \
	X(runtime, global_listed) X(runtime, woken) X(runtime, blocking_live) \
	X(runtime, blocking_waiting) \
	X(worker, id) X(worker, thread) X(worker, clock) X(worker, picks) X(worker, life) \
	X(worker, urgent_head) X(worker, urgent_tail) X(worker, ready_head) X(worker, ready_tail) \
	X(worker, fresh_head) X(worker, fresh_tail) X(worker, offer) X(worker, inbox) X(worker, own) \
	X(worker, stuck) X(life, active) X(life, search) X(life, sleep) X(life, dead) \
	X(chan, lock) X(chan, name) X(chan, senders) X(chan, receivers) X(chan, capacity) \
	X(chan, count) X(chan, closed) X(chan, place) \
	X(context, pc) X(context, size) X(context, sp_register) X(context, pc_register)

/* An entry: the offset of a field, or a number. */
struct item {
	uint64_t value;
	uint32_t size;
	bool known;
};

enum { LAYOUT_REGISTERS = 34 };

struct layout {
	uint64_t address;			/* of the description */
	char library[16];
	uint64_t frames, threads, runtimes, coarse_now, capture_calls;	/* addresses */
	uint64_t fiber_size, thread_size, stack_size, nursery_size, runtime_size, worker_size,
		chan_size, shelf_size;
	int16_t saved[LAYOUT_REGISTERS];	/* where a switch leaves a register; -1: nowhere */
#define X(group, name) struct item group##_##name;
	LAYOUT_NAMES(X)
#undef X
};

enum layout_answer { LAYOUT_GOOD, LAYOUT_NONE, LAYOUT_VERSION, LAYOUT_BROKEN };

/* Finds the description of the next copy of the library at or after mapping *from, and moves *from
 * behind it.  LAYOUT_NONE: there is none; otherwise `why` says what is wrong. */
enum layout_answer layout_find(struct layout *l, struct memory *m, size_t *from, char *why, size_t size);

/* The number in that field of an object that has been read; 0: it is not known. */
uint64_t field(const void *object, struct item item);

#endif
