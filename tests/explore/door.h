/* door.h - what src/os/atomic.h includes in its place when CC__EXPLORE is
 * set: the same operations, each one a call into the explorer with its size,
 * its order, its expression as text and its line.
 *
 * Values up to eight bytes, pointers included.  cc__init and cc__peek stay
 * plain accesses: the compiler's instrumentation reports those. */
#ifndef MC_DOOR_H
#define MC_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where an operation stands in the source. */
struct mc_site {
	const char *text, *file;
	int line;
};

enum {
	CC__RELAXED,
	CC__ACQUIRE,
	CC__RELEASE,
	CC__ACQ_REL,
	CC__SEQ_CST,
};

enum mc_rmw { MC_XCHG, MC_ADD, MC_SUB, MC_OR, MC_AND };

struct mc_cas_result {
	uint64_t old;
	bool done;
};

uint64_t mc_load(const void *p, size_t size, int order, const struct mc_site *site);
void mc_store(void *p, size_t size, uint64_t value, int order, const struct mc_site *site);
uint64_t mc_rmw(void *p, size_t size, enum mc_rmw op, uint64_t value, int order,
                const struct mc_site *site);
struct mc_cas_result mc_cas(void *p, size_t size, uint64_t expected, uint64_t value, bool weak,
                            int order, int on_failure, const struct mc_site *site);
void mc_fence(int order, const struct mc_site *site);
void mc_fence_heavy(const struct mc_site *site);

void mc_lock_at(const void *lock, const struct mc_site *site);
bool mc_trylock_at(const void *lock, const struct mc_site *site);
void mc_unlock_at(const void *lock, const struct mc_site *site);

/* The site of this line; inside a statement expression. */
#define MC_SITE(words) static const struct mc_site mc_site_ = {words, __FILE__, __LINE__}

#define cc__load(a, order) \
	__extension__({ \
		MC_SITE(#a); \
		(__typeof__((a)->raw))mc_load(&(a)->raw, sizeof(a)->raw, order, &mc_site_); \
	})
#define cc__glance(a) cc__load(a, CC__RELAXED)
#define cc__store(a, value, order) \
	__extension__({ \
		MC_SITE(#a); \
		__typeof__((a)->raw) mc_v_ = (value); \
		mc_store(&(a)->raw, sizeof mc_v_, (uint64_t)mc_v_, order, &mc_site_); \
	})
#define MC_RMW(a, op, value, order) \
	__extension__({ \
		MC_SITE(#a); \
		__typeof__((a)->raw) mc_v_ = (value); \
		(__typeof__((a)->raw))mc_rmw(&(a)->raw, sizeof mc_v_, op, (uint64_t)mc_v_, order, \
		                             &mc_site_); \
	})
#define cc__xchg(a, value, order) MC_RMW(a, MC_XCHG, value, order)
#define cc__add(a, value, order) MC_RMW(a, MC_ADD, value, order)
#define cc__sub(a, value, order) MC_RMW(a, MC_SUB, value, order)
#define cc__or(a, value, order) MC_RMW(a, MC_OR, value, order)
#define cc__and(a, value, order) MC_RMW(a, MC_AND, value, order)

#define MC_CAS(a, expected, value, weak, order, on_failure) \
	__extension__({ \
		MC_SITE(#a); \
		__typeof__((a)->raw) *mc_e_ = (expected); \
		__typeof__((a)->raw) mc_v_ = (value); \
		struct mc_cas_result mc_r_ = mc_cas(&(a)->raw, sizeof mc_v_, (uint64_t)*mc_e_, \
		                                    (uint64_t)mc_v_, weak, order, on_failure, \
		                                    &mc_site_); \
		if (!mc_r_.done) \
			*mc_e_ = (__typeof__((a)->raw))mc_r_.old; \
		mc_r_.done; \
	})
#define cc__cas(a, expected, value, order, on_failure) \
	MC_CAS(a, expected, value, false, order, on_failure)
#define cc__cas_weak(a, expected, value, order, on_failure) \
	MC_CAS(a, expected, value, true, order, on_failure)

#define cc__fence(order) \
	__extension__({ \
		MC_SITE("fence"); \
		mc_fence(order, &mc_site_); \
	})
/* The asymmetric pair: nothing on the hot side; on the other one a seq_cst
 * fence that every thread executes at this moment (membarrier).  With MC_SYMMETRIC
 * as on a system without: both are fences of who calls them. */
#ifdef MC_SYMMETRIC
#define cc__fence_light() cc__fence(CC__SEQ_CST)
#define cc__fence_heavy() cc__fence(CC__SEQ_CST)
#else
#define cc__fence_light() ((void)0)
#define cc__fence_heavy() \
	__extension__({ \
		MC_SITE("fence_heavy"); \
		mc_fence_heavy(&mc_site_); \
	})
#endif

#define cc__fence_heavy_start() ((void)0)

/* Locks of the explorer, known by address.  They block, and give an acquire
 * and a release edge. */
#define mc_lock(l) \
	__extension__({ \
		MC_SITE(#l); \
		mc_lock_at(l, &mc_site_); \
	})
#define mc_trylock(l) \
	__extension__({ \
		MC_SITE(#l); \
		mc_trylock_at(l, &mc_site_); \
	})
#define mc_unlock(l) \
	__extension__({ \
		MC_SITE(#l); \
		mc_unlock_at(l, &mc_site_); \
	})

#endif
