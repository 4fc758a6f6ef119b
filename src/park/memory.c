/* memory.c - objects come and go, and so do their mappings. */
#include "park/memory.h"

#include <errno.h>

#include "os/fork.h"
#include "os/memfd.h"
#include "base/slab.h"
#include "wait/thread.h"

static struct cc__slab records = CC__SLAB_INIT(struct CCMemory, next);
static struct cc__slab mappings = CC__SLAB_INIT(struct cc__mapping, next);

static struct {
	struct cc__lock lock;
	CCMemory *first;	/* lock */
} objects;

/* ---- pins ---- */

static struct cc__mapping *take_mappings(CCMemory *m)
{
	struct cc__mapping *p = m->mappings;

	m->mappings = NULL;
	return p;
}

/* Nobody has it, or can find it. */
static void destroy(CCMemory *m, struct cc__mapping *p)
{
	while (p != NULL) {
		struct cc__mapping *next = p->next;

		cc__memfd_unmap(p->base, m->size);
		cc__slab_put(&mappings, p);
		p = next;
	}
	cc__memfd_close(m->fd);
	cc__slab_put(&records, m);
}

/* The last pin was dropped, but it may have come in again since: whoever finds it without
 * a pin, and takes it off the list, destroys it. */
static void bury(CCMemory *m)
{
	struct cc__mapping *p = NULL;
	bool dead;

	cc__lock(&objects.lock, CC__RANK_OBJECTS);
	cc__lock(&m->lock, CC__RANK_WAITQ);
	if ((dead = m->pins == 0 && m->place != NULL)) {
		if ((*m->place = m->next) != NULL)
			m->next->place = m->place;
		m->place = NULL;
		p = take_mappings(m);
	}
	cc__unlock(&m->lock);
	cc__unlock(&objects.lock);
	if (dead)
		destroy(m, p);
}

/* Held, and dropped. */
static void unpin(CCMemory *m)
{
	const bool last = --m->pins == 0;

	cc__unlock(&m->lock);
	if (last)
		bury(m);
}

/* Locked, and the caller has a handle.  False: not locked, and he has none. */
static bool enter(CCMemory *m)
{
	if (m == NULL)
		return false;
	cc__lock(&m->lock, CC__RANK_WAITQ);
	if (m->handles > 0)
		return true;
	cc__unlock(&m->lock);
	return false;
}

static int refuse(const void *a, const void *b)
{
	if (cc__forked())
		return ENOTSUP;
	return a == NULL || b == NULL ? EINVAL : 0;
}

/* ---- objects ---- */

static bool same(const CCMemoryIdentity *a, const CCMemoryIdentity *b)
{
	return a->device == b->device && a->inode == b->inode && a->generation == b->generation;
}

/* Under the lock of all: one more handle of the object with that identity, if it is here. */
static CCMemory *known(const CCMemoryIdentity *identity)
{
	CCMemory *m = objects.first;

	while (m != NULL && !same(&m->identity, identity))
		m = m->next;
	if (m != NULL) {
		cc__lock(&m->lock, CC__RANK_WAITQ);
		m->pins++;
		m->handles++;
		cc__unlock(&m->lock);
	}
	return m;
}

/* A record from the slab, which others may have had: its lock stays what it is. */
static void fill(CCMemory *m, int fd, size_t size, const CCMemoryIdentity *identity)
{
	cc__lock(&m->lock, CC__RANK_WAITQ);
	m->pins = m->handles = 1;
	m->waits = 0;
	m->mappings = NULL;
	m->fd = fd;
	m->size = size;
	m->identity = *identity;
	m->space.memory = m;
	cc__unlock(&m->lock);
}

/* Under the lock of all. */
static CCMemory *unknown(int fd, size_t size, const CCMemoryIdentity *identity)
{
	CCMemory *m = cc__slab_get(&records);

	if (m == NULL)
		return NULL;
	fill(m, fd, size, identity);
	if ((m->next = objects.first) != NULL)
		m->next->place = &m->next;
	m->place = &objects.first;
	objects.first = m;
	return m;
}

/* `fd` is the object's from here on, or closed. */
static int adopt(CCMemory **out, int fd, size_t size)
{
	CCMemoryIdentity identity;
	CCMemory *m = NULL;
	size_t real = 0;
	int err = cc__memfd_judge(fd, &real, &identity);
	bool was_here = false;

	if (err == 0 && real != size)
		err = ERANGE;
	if (err == 0) {
		cc__lock(&objects.lock, CC__RANK_OBJECTS);
		was_here = (m = known(&identity)) != NULL;
		if (!was_here && (m = unknown(fd, size, &identity)) == NULL)
			err = ENOMEM;
		cc__unlock(&objects.lock);
	}
	if (err != 0 || was_here)
		cc__memfd_close(fd);
	if (err == 0)
		*out = m;
	return err;
}

int cc_memory_new(CCMemory **out, size_t size)
{
	int fd, err = refuse(out, out);

	if (err == 0 && size == 0)
		err = EINVAL;
	if (err != 0 || (err = cc__memfd_new(size, &fd)) != 0)
		return err;
	return adopt(out, fd, size);
}

int cc_memory_import(CCMemory **out, int fd, size_t size)
{
	int copy, err = refuse(out, out);

	if (err != 0 || (err = cc__memfd_copy(fd, &copy)) != 0)
		return err;
	return adopt(out, copy, size);
}

int cc_memory_receive(CCMemory **out, int socket, size_t size)
{
	int fd, err = refuse(out, out);

	if (err != 0 || (err = cc__memfd_receive(socket, &fd)) != 0)
		return err;
	return adopt(out, fd, size);
}

int cc_memory_send(CCMemory *m, int socket)
{
	int err = refuse(m, m);

	if (err != 0)
		return err;
	if (!enter(m))
		return EINVAL;
	m->pins++;
	cc__unlock(&m->lock);
	err = cc__memfd_send(socket, m->fd);
	cc__lock(&m->lock, CC__RANK_WAITQ);
	unpin(m);
	return err;
}

int cc_memory_fd(CCMemory *m, int *fd)
{
	const int err = refuse(m, fd);

	if (err != 0)
		return err;
	if (!enter(m))
		return EINVAL;
	*fd = m->fd;
	cc__unlock(&m->lock);
	return 0;
}

int cc_memory_info(CCMemory *m, CCMemoryInfo *out)
{
	const int err = refuse(m, out);

	if (err != 0)
		return err;
	if (!enter(m))
		return EINVAL;
	*out = (CCMemoryInfo){
	    .identity = m->identity,
	    .size = m->size,
	    .handles = m->handles,
	    .waits = m->waits,
	    .slots = CC__SLOTS,
	};
	for (const struct cc__mapping *p = m->mappings; p != NULL; p = p->next)
		out->mappings++;
	cc__unlock(&m->lock);
	out->slots_used = cc__slots_used();
	return 0;
}

int cc_memory_close(CCMemory *m)
{
	const int err = refuse(m, m);

	if (err != 0)
		return err;
	if (!enter(m))
		return EINVAL;
	m->handles--;
	unpin(m);
	return 0;
}

int cc_memory_park_space(CCMemory *m, CCParkSpace **out)
{
	int err = refuse(m, out);

	if (err != 0 || (err = cc__server_open()) != 0)
		return err;
	if (!enter(m))
		return EINVAL;
	*out = &m->space;
	cc__unlock(&m->lock);
	return 0;
}

/* ---- mappings ---- */

/* All that is constant, by somebody who has a handle. */
static int map(CCMemory *m, struct cc__mapping *p)
{
	void *at;
	const int err = cc__memfd_map(m->fd, m->size, &at);

	if (err == 0)
		*p = (struct cc__mapping){.base = at};
	return err;
}

int cc_memory_map(CCMemory *m, void **at)
{
	int err = refuse(m, at);
	struct cc__mapping *p;

	if (err != 0)
		return err;
	if ((p = cc__slab_get(&mappings)) == NULL)
		return ENOMEM;
	if ((err = enter(m) ? 0 : EINVAL) == 0) {
		m->pins++;
		cc__unlock(&m->lock);
		err = map(m, p);
		cc__lock(&m->lock, CC__RANK_WAITQ);
		if (err == 0) {
			*at = p->base;
			p->next = m->mappings;
			m->mappings = p;
		}
		unpin(m);
	}
	if (err != 0)
		cc__slab_put(&mappings, p);
	return err;
}

/* All of the word is in it. */
static bool covers(const CCMemory *m, const struct cc__mapping *p, const void *word)
{
	const uintptr_t place = (uintptr_t)word - (uintptr_t)p->base;

	return place < m->size && m->size - place >= sizeof(uint32_t);
}

int cc__mapping_use(CCMemory *m, const void *word, struct cc__mapping **out)
{
	struct cc__mapping *p = m->mappings;

	if (m->handles == 0)
		return EINVAL;
	while (p != NULL && !covers(m, p, word))
		p = p->next;
	if (p == NULL || p->leaving)
		return EFAULT;
	p->users++;
	m->pins++;
	*out = p;
	return 0;
}

void cc__mapping_done(CCMemory *m, struct cc__mapping *p, struct cc__slot *s)
{
	struct cc__wake wake = {NULL, 0};
	bool last;

	cc__lock(&m->lock, CC__RANK_WAITQ);
	if (s != NULL) {
		cc__slot_take_off(s);
		m->waits--;
	}
	if (--p->users == 0)
		wake = cc__waitq_tell_first(&p->unmapper, CC__REASON_SIGNAL, 0);
	last = --m->pins == 0;
	cc__unlock(&m->lock);
	cc__wake(wake);
	if (last)
		bury(m);
}

/* Held, and again at the end: nobody waits in it any more, or is about to. */
static void end_waits(CCMemory *m, struct cc__mapping *p)
{
	struct cc__batch batch;

	cc__batch_init(&batch);
	while (p->waits != NULL) {
		while (p->waits != NULL && !cc__batch_full(&batch)) {
			struct cc__slot *s = p->waits;

			cc__slot_take_off(s);
			s->interrupted = true;
			cc__waitq_take(&s->sleeper, &batch, CC__REASON_CLOSE, EINTR);
		}
		cc__unlock(&m->lock);
		cc__batch_flush(&batch);
		cc__lock(&m->lock, CC__RANK_WAITQ);
	}
}

/* Held, and again at the end. */
static void until_unused(CCMemory *m, struct cc__mapping *p)
{
	while (p->users > 0) {
		struct cc__waiter w = {.lock = &m->lock, .cancel = &cc__uncancelled};

		if (cc__wait(&p->unmapper, &w, CC_FOREVER) != 0)
			cc__thread_yield();	/* no memory to wait with: look again */
		cc__lock(&m->lock, CC__RANK_WAITQ);
	}
}

/* Held: the one that begins there, leaving.  NULL: there is none, or it leaves already. */
static struct cc__mapping *find_to_leave(CCMemory *m, const void *at)
{
	struct cc__mapping *p = m->mappings;

	while (p != NULL && p->base != at)
		p = p->next;
	if (p == NULL || p->leaving)
		return NULL;
	p->leaving = true;
	return p;
}

static void forget(CCMemory *m, const struct cc__mapping *p)
{
	struct cc__mapping **at = &m->mappings;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
}

int cc_memory_unmap(CCMemory *m, void *at)
{
	const int err = refuse(m, at);
	struct cc__mapping *p;

	if (err != 0)
		return err;
	if (!enter(m))
		return EINVAL;
	if ((p = find_to_leave(m, at)) == NULL) {
		cc__unlock(&m->lock);
		return EINVAL;
	}
	m->pins++;
	CC_POINT("memory.leaving_under_lock", p);
	end_waits(m, p);
	until_unused(m, p);
	/* It stands in the list until here: an address in it is refused, not taken for
	 * one of an older mapping. */
	forget(m, p);
	cc__unlock(&m->lock);
	cc__memfd_unmap(p->base, m->size);
	cc__slab_put(&mappings, p);
	cc__lock(&m->lock, CC__RANK_WAITQ);
	unpin(m);
	return 0;
}
