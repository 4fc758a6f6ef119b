/* store.h - keys and values, in shards.  The caller holds the shard's lock.
 *
 * A key that has expired is dropped when it is next looked for. */
#ifndef STORE_H
#define STORE_H

#include <stdbool.h>
#include <stdint.h>

#include <ccc/ccc.h>

#include "resp.h"

enum { SHARDS = 64 };

struct entry {
	struct entry *next;
	uint64_t hash;
	cc_time expires;	/* CC_FOREVER: never */
	size_t key_size, value_size;
	char bytes[];		/* the key, then the value */
};

struct shard {
	CCMutex lock;
	struct entry **slot;	/* the lock, as all below; a power of two of them, or none */
	size_t slots, entries, bytes;
	uint64_t commands;
} __attribute__((aligned(64)));

struct store {
	struct shard shard[SHARDS];
	size_t most;		/* bytes a shard may hold */
	uint64_t seed;		/* so that clients cannot choose keys of one slot */
};

/* Where a key belongs. */
uint64_t store_hash(const struct store *s, struct resp_arg key);
struct shard *store_shard(struct store *s, uint64_t hash);

/* Where the key's entry hangs; NULL: there is none. */
struct entry **store_find(struct shard *d, uint64_t hash, struct resp_arg key);
void store_drop(struct shard *d, struct entry **at);

/* False: the shard is full, or there is no memory; the old value stays. */
bool store_put(struct store *s, uint64_t hash, struct resp_arg key, struct resp_arg value,
               cc_time expires);

#endif
