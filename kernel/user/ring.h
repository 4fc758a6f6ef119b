/* ring.h - park words of a program, through the ring of its process.
 *
 * N1  One thread at a time writes submissions and reads completions (`held`), and none does
 *     while it is in the kernel: a sibling can always submit the wake.
 * N2  Whoever reads completions puts each into the slot that its user data names, and its
 *     thread finds it there, whoever has read it.
 * N3  A submission of somebody who has not come in yet keeps those behind it waiting; the
 *     others yield to him. */
#ifndef KERNEL_USER_RING_H
#define KERNEL_USER_RING_H

#include <ccc/cap.h>

#include "os/atomic.h"
#include "sys.h"

/* The process's ring; the kernel has set it up. */
static inline CCCapRing *ring(void)
{
	return (CCCapRing *)RING_ADDRESS;
}

/* The first capability of that kind; 0: none. */
static inline uint32_t cap_of(CCCapKind kind)
{
	return (uint32_t)sys_call(CALL_CAP, (uint64_t)kind, 0, 0, 0);
}

static inline int64_t ring_enter(uint32_t least, uint64_t nanoseconds)
{
	return sys_call(CALL_ENTER, least, nanoseconds, 0, 0);
}

/* Write one; nobody else may, meanwhile.  False: no room. */
bool ring_push(const CCCapSubmission *s);
/* Read one; likewise. */
bool ring_pop(CCCapCompletion *c);

/* Submit it, and come back with its result; its user data are ours.  May park. */
int32_t ring_do(CCCapSubmission s);

/* So many completions have come that nobody has asked for. */
uint64_t ring_strays(void);

/* A CCParkStatus, or CC_CAP_E_*; with a capability, or with the ParkSpace that each process
 * has. */
int32_t park_with(uint32_t cap, const cc__a32 *word, uint32_t expected, uint64_t nanoseconds);
int32_t park(const cc__a32 *word, uint32_t expected, uint64_t nanoseconds);
/* How many were woken, or CC_CAP_E_*. */
int32_t unpark_with(uint32_t cap, const cc__a32 *word, uint32_t most);
int32_t unpark(const cc__a32 *word, uint32_t most);

int32_t release(uint32_t cap);

#endif
