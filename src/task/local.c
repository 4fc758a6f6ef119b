/* local.c - keys, values, destructors. */
#include "task/local.h"

#include <errno.h>

#include "os/fork.h"
#include "base/slab.h"
#include "wait/thread.h"

static struct cc__slab chunks = CC__SLAB_INIT(struct cc__locals, next);

/* ---- keys ---- */

/* A key is a number that never repeats, and its index in the table. */
enum { INDEX_BITS = 7 };

_Static_assert(CC_LOCAL_KEYS == 1 << INDEX_BITS && CC_LOCAL_KEYS % CC__LOCALS == 0, "L3");

typedef void destructor_function(void *value);

static struct {
	struct cc__lock lock;	/* who makes or deletes one */
	uint64_t made;		/* lock */
	struct {
		CC__ATOMIC(uint64_t) key;			/* 0: free */
		CC__ATOMIC(destructor_function *) destructor;	/* of that key */
	} entry[CC_LOCAL_KEYS];	/* written under the lock */
} table;

static size_t index_of(CCLocal key)
{
	return key & (CC_LOCAL_KEYS - 1);
}

static bool is_key(CCLocal key)
{
	/* Relaxed: who has the key has it from cc_local_new. */
	return key != 0 && cc__load(&table.entry[index_of(key)].key, CC__RELAXED) == key;
}

int cc_local_new(CCLocal *out, void (*destructor)(void *value))
{
	size_t i = 0;

	if (cc__forked())
		return ENOTSUP;
	if (out == NULL)
		return EINVAL;
	cc__lock(&table.lock, CC__RANK_POOL);
	/* Relaxed: the lock. */
	while (i < CC_LOCAL_KEYS && cc__load(&table.entry[i].key, CC__RELAXED) != 0)
		i++;
	if (i < CC_LOCAL_KEYS) {
		*out = ++table.made << INDEX_BITS | i;
		/* Release, both: that the key before is gone; this one's destructor.  They
		 * pair with the acquires in destructor_of. */
		cc__store(&table.entry[i].destructor, destructor, CC__RELEASE);
		cc__store(&table.entry[i].key, *out, CC__RELEASE);
	}
	cc__unlock(&table.lock);
	return i < CC_LOCAL_KEYS ? 0 : EAGAIN;
}

int cc_local_delete(CCLocal key)
{
	bool there;

	if (cc__forked())
		return ENOTSUP;
	cc__lock(&table.lock, CC__RANK_POOL);
	if ((there = is_key(key)))
		cc__store(&table.entry[index_of(key)].key, 0, CC__RELAXED);	/* Relaxed: the lock */
	cc__unlock(&table.lock);
	return there ? 0 : EINVAL;
}

/* NULL: there is none, or the key is gone. */
static destructor_function *destructor_of(CCLocal key)
{
	const size_t i = index_of(key);
	destructor_function *d;

	/* Acquire, the first: this key's destructor, or a later one's.  The second: if it is
	 * a later one's, that this key is gone, for the third look. */
	if (cc__load(&table.entry[i].key, CC__ACQUIRE) != key)
		return NULL;
	d = cc__load(&table.entry[i].destructor, CC__ACQUIRE);
	return is_key(key) ? d : NULL;
}

/* ---- values ---- */

static struct cc__local *find(struct cc__locals *l, CCLocal key)
{
	while (l != NULL && l->number != index_of(key) / CC__LOCALS)
		l = l->next;
	return l != NULL ? &l->entry[index_of(key) % CC__LOCALS] : NULL;
}

void *cc_local_get(CCLocal key)
{
	struct cc__parker *self = cc__self();
	const struct cc__local *e =
	    self != NULL ? find(cc__locals_in(cc__local_place(self)), key) : NULL;

	return e != NULL && e->key == key ? e->value : NULL;
}

/* Those of a thread end with it. */
static void end_of_thread(struct cc__thread *t)
{
	cc__locals_end(&t->member);
}

static void put_in_place(struct cc__parker *self, struct cc__locals *l)
{
	struct cc__member **place = cc__local_place(self);

	l->member = *place;
	*place = (struct cc__member *)(void *)((char *)l + 1);
	/* Relaxed: a parker is a thread or a fiber for ever. */
	if (cc__word_is_thread(cc__load(&self->word, CC__RELAXED)))
		((struct cc__thread *)(void *)self)->at_end = end_of_thread;
}

/* The place of that key's value; NULL: no memory. */
static struct cc__local *make(struct cc__parker *self, CCLocal key)
{
	struct cc__locals *first = cc__locals_in(cc__local_place(self));
	struct cc__local *e = find(first, key);
	struct cc__locals *l;

	if (e != NULL)
		return e;
	if ((l = cc__slab_get(&chunks)) == NULL)
		return NULL;
	*l = (struct cc__locals){.number = (unsigned)(index_of(key) / CC__LOCALS)};
	if (first != NULL) {
		l->next = first->next;
		first->next = l;
	} else {
		put_in_place(self, l);
	}
	return find(l, key);
}

int cc_local_set(CCLocal key, void *value)
{
	struct cc__parker *self;
	struct cc__local *e;

	if (cc__forked())
		return ENOTSUP;
	if (!is_key(key))
		return EINVAL;
	if (value == NULL && cc_local_get(key) == NULL)
		return 0;
	if ((self = cc__self()) == NULL || (e = make(self, key)) == NULL)
		return ENOMEM;
	*e = (struct cc__local){.key = key, .value = value};
	return 0;
}

/* ---- the end ---- */

/* True: a destructor has been called, which may have set others. */
static bool destroy(struct cc__local *e)
{
	destructor_function *d = e->value != NULL ? destructor_of(e->key) : NULL;
	void *value = e->value;

	e->value = NULL;
	if (d != NULL)
		d(value);
	return d != NULL;
}

static bool destroy_all(struct cc__locals *l)
{
	bool any = false;

	for (; l != NULL; l = l->next)
		for (unsigned i = 0; i < CC__LOCALS; i++)
			any |= destroy(&l->entry[i]);
	return any;
}

void cc__locals_end(struct cc__member **place)
{
	struct cc__locals *l = cc__locals_in(place), *next;

	if (l == NULL)
		return;
	for (unsigned i = 0; i < CC_LOCAL_ROUNDS && destroy_all(l); i++)
		continue;
	*place = l->member;
	for (; l != NULL; l = next) {
		next = l->next;
		cc__slab_put(&chunks, l);
	}
}
