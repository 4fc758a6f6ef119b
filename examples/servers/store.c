/* store.c - a table of chains for each shard, which doubles when there are more keys than chains. */
#include "store.h"

#include <stdlib.h>
#include <string.h>

uint64_t store_hash(const struct store *s, struct resp_arg key)
{
	uint64_t h = s->seed;

	for (size_t i = 0; i < key.size; i++)
		h = (h ^ (unsigned char)key.at[i]) * 0x100000001b3u;
	return h ^ h >> 32;
}

struct shard *store_shard(struct store *s, uint64_t hash)
{
	return &s->shard[hash % SHARDS];
}

void store_drop(struct shard *d, struct entry **at)
{
	struct entry *e = *at;

	*at = e->next;
	d->entries--;
	d->bytes -= sizeof *e + e->key_size + e->value_size;
	free(e);
}

struct entry **store_find(struct shard *d, uint64_t hash, struct resp_arg key)
{
	struct entry **at = d->slots > 0 ? &d->slot[hash / SHARDS & (d->slots - 1)] : NULL;

	for (; at != NULL && *at != NULL; at = &(*at)->next)
		if ((*at)->hash == hash && (*at)->key_size == key.size &&
		    memcmp((*at)->bytes, key.at, key.size) == 0) {
			if ((*at)->expires == CC_FOREVER || (*at)->expires > cc_now())
				return at;
			store_drop(d, at);
			return NULL;
		}
	return NULL;
}

static bool grow(struct shard *d)
{
	const size_t slots = d->slots > 0 ? 2 * d->slots : 16;
	struct entry **slot = calloc(slots, sizeof *slot);

	if (slot == NULL)
		return d->slots > 0;	/* longer chains will do */
	for (size_t i = 0; i < d->slots; i++)
		for (struct entry *e; (e = d->slot[i]) != NULL;) {
			d->slot[i] = e->next;
			e->next = slot[e->hash / SHARDS & (slots - 1)];
			slot[e->hash / SHARDS & (slots - 1)] = e;
		}
	free(d->slot);
	d->slot = slot;
	d->slots = slots;
	return true;
}

bool store_put(struct store *s, uint64_t hash, struct resp_arg key, struct resp_arg value,
                      cc_time expires)
{
	struct shard *d = store_shard(s, hash);
	struct entry **old = store_find(d, hash, key), *e;
	const size_t size = sizeof *e + key.size + value.size;

	if (d->bytes + size > s->most || (d->entries >= d->slots && !grow(d)) ||
	    (e = malloc(size)) == NULL)
		return false;
	if (old != NULL && (old = store_find(d, hash, key)) != NULL)
		store_drop(d, old);
	*e = (struct entry){.hash = hash, .expires = expires, .key_size = key.size,
	                    .value_size = value.size};
	memcpy(e->bytes, key.at, key.size);
	memcpy(e->bytes + key.size, value.at, value.size);
	e->next = d->slot[hash / SHARDS & (d->slots - 1)];
	d->slot[hash / SHARDS & (d->slots - 1)] = e;
	d->entries++;
	d->bytes += size;
	return true;
}
