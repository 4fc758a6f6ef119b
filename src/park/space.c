/* space.c - regions and what is mapped there, and waits that are checked against them. */
#include "park/space.h"

_Static_assert(offsetof(struct cc__node, sleeper) == 0, "a sleeper in a space is a node");

/* ---- objects ---- */

void cc__object_init(struct cc__object *o, uint64_t id, uint64_t size,
                     struct cc__bucket *buckets, unsigned bits)
{
	o->id = id;
	o->size = size;
	cc__init(&o->generation, 1);
	o->table = (struct cc__park_table){buckets, bits};
	cc__init(&o->holds, 1);
	cc__init(&o->pins, 0);
	o->last = NULL;
}

void cc__object_hold(struct cc__object *o)
{
	cc__add(&o->holds, 1, CC__RELAXED);	/* Relaxed: the caller has one, or a lock on it */
}

void cc__object_drop(struct cc__object *o)
{
	/* Acq_rel: what each holder did, before the last one gives it away. */
	if (cc__sub(&o->holds, 1, CC__ACQ_REL) == 1 && o->last != NULL)
		o->last(o);
}

uint64_t cc__object_generation(const struct cc__object *o)
{
	/* Relaxed: who waits looks once more with his bucket held, which the revoker
	 * passes after the change. */
	return cc__load(&o->generation, CC__RELAXED);
}

static bool of_older_generation(const struct cc__sleeper *s, const void *arg)
{
	return s->key.generation < cc__object_generation(arg);
}

void cc__object_revoke(struct cc__object *o)
{
	cc__add(&o->generation, 1, CC__RELAXED);	/* Relaxed: the buckets' locks order it */
	cc__park_drain(&o->table, of_older_generation, o, EINTR);
}

/* ---- regions ---- */

void cc__space_init(struct cc__space *s, uint64_t id, uint64_t limit,
                    const struct cc__space_memory *m)
{
	*s = (struct cc__space){
	    .id = id,
	    .generation = 1,
	    .limit = limit,
	    .region = m->region,
	    .regions = m->regions,
	    .table = {m->bucket, m->bits},
	};
}

static bool within(const struct cc__region *r, uint64_t address)
{
	return address >= r->base && address - r->base < r->length;
}

/* Locked: where that word lies, unless it is about to go. */
static const struct cc__region *find(const struct cc__space *s, uint64_t address)
{
	for (unsigned i = 0; i < s->regions; i++) {
		const struct cc__region *r = &s->region[i];

		if (r->leaving == 0 && within(r, address) && within(r, address + 3))
			return r;
	}
	return NULL;
}

/* A whole range of words of the space. */
static bool in_space(const struct cc__space *s, const struct cc__region *r)
{
	return r->length > 0 && r->base < s->limit && r->length <= s->limit - r->base;
}

static bool in_object(const struct cc__region *r)
{
	const struct cc__object *o = r->object;

	return o == NULL ||
	       (r->generation == cc__object_generation(o) && r->offset <= o->size &&
	        r->length <= o->size - r->offset && r->offset % 4 == 0 && r->base % 4 == 0);
}

/* Locked: a free place for it.  NULL with *err: there is none. */
static struct cc__region *place_for(struct cc__space *s, const struct cc__region *what, int *err)
{
	struct cc__region *place = NULL;

	*err = EAGAIN;
	for (unsigned i = 0; i < s->regions; i++) {
		struct cc__region *r = &s->region[i];

		if (r->length == 0) {
			place = r;
		} else if (within(r, what->base) || within(what, r->base)) {
			*err = EEXIST;
			return NULL;
		}
	}
	return place;
}

int cc__space_map(struct cc__space *s, const struct cc__region *what)
{
	struct cc__region *place = NULL;
	int err = ESHUTDOWN;

	if (!in_space(s, what) || !in_object(what))
		return EINVAL;
	cc__lock(&s->lock, CC__RANK_SPACE);
	if (!s->over && (place = place_for(s, what, &err)) != NULL) {
		*place = *what;
		place->leaving = 0;
		place->stays = false;
		s->mapped++;
		if (what->object != NULL)
			cc__object_hold(what->object);
	}
	cc__unlock(&s->lock);
	return place != NULL ? 0 : err;
}

/* ---- what goes is drained first ---- */

struct range {
	const struct cc__space *space;
	const struct cc__region *region;
};

static bool waits_in(const struct cc__sleeper *s, const void *arg)
{
	const struct cc__node *n = (const struct cc__node *)s;
	const struct range *range = arg;

	return n->space == range->space && within(range->region, n->address);
}

/* It is marked (A2), and a copy. */
static void drain(struct cc__space *s, const struct cc__region *r)
{
	const struct range range = {s, r};

	CC_POINT("space.before_drain", s);
	cc__park_drain(&s->table, waits_in, &range, EINTR);
	if (r->object != NULL)
		cc__park_drain(&r->object->table, waits_in, &range, EINTR);
	CC_POINT("space.after_drain", s);
}

/* Of what was marked so: drained, and gone, unless its addresses stay. */
static void finish(struct cc__space *s, struct cc__region *place, uint64_t mark)
{
	struct cc__region r;
	bool stays;

	cc__lock(&s->lock, CC__RANK_SPACE);
	r = *place;
	cc__unlock(&s->lock);
	if (r.leaving != mark)
		return;
	drain(s, &r);
	cc__lock(&s->lock, CC__RANK_SPACE);
	if ((stays = place->stays)) {	/* and nobody has cleared all meanwhile */
		place->access = 0;
		place->leaving = 0;
	} else {
		*place = (struct cc__region){0};
		s->mapped--;
	}
	cc__unlock(&s->lock);
	if (!stays && r.object != NULL)
		cc__object_drop(r.object);
}

static int take_away(struct cc__space *s, uint64_t base, bool stays)
{
	struct cc__region *place = NULL;
	bool leaving = false;

	cc__lock(&s->lock, CC__RANK_SPACE);
	for (unsigned i = 0; i < s->regions && place == NULL; i++)
		if (s->region[i].length > 0 && s->region[i].base == base)
			place = &s->region[i];
	if (place != NULL && !(leaving = place->leaving != 0)) {
		place->leaving = 1;
		place->stays = stays;
	}
	cc__unlock(&s->lock);
	if (place == NULL || leaving)
		return place == NULL ? ENOENT : EBUSY;
	finish(s, place, 1);
	return 0;
}

int cc__space_unmap(struct cc__space *s, uint64_t base)
{
	return take_away(s, base, false);
}

int cc__space_revoke(struct cc__space *s, uint64_t base)
{
	return take_away(s, base, true);
}

static int clear(struct cc__space *s, bool over)
{
	uint64_t mark;

	cc__lock(&s->lock, CC__RANK_SPACE);
	if (s->over) {
		cc__unlock(&s->lock);
		return ESHUTDOWN;
	}
	s->over = over;
	mark = ++s->generation;
	for (unsigned i = 0; i < s->regions; i++) {
		s->region[i].stays = false;	/* whoever takes it away */
		if (s->region[i].length > 0 && s->region[i].leaving == 0)
			s->region[i].leaving = mark;
	}
	cc__unlock(&s->lock);
	for (unsigned i = 0; i < s->regions; i++)
		finish(s, &s->region[i], mark);
	return 0;
}

int cc__space_renew(struct cc__space *s)
{
	return clear(s, false);
}

void cc__space_end(struct cc__space *s)
{
	clear(s, true);
}

/* ---- whose word it is ---- */

static bool is_address(const struct cc__space *s, uint64_t address)
{
	return address % 4 == 0 && address < s->limit && s->limit - address >= 4;
}

/* Locked: r maps that object as it is now. */
static int prove(const struct cc__region *r, const struct cc__object *o, uint64_t generation)
{
	if (r == NULL)
		return CC_CAP_E_FAULT;
	return r->object == o && r->generation == generation &&
	               cc__object_generation(o) == generation
	           ? 0
	           : CC_CAP_E_OBJECT;
}

/* Locked: r is what the address lies in, which may be NULL for a private key. */
static struct cc__park_key key_of(const struct cc__space *s, const struct cc__region *r,
                                  const struct cc__object *o, uint64_t address)
{
	if (o == NULL)
		return (struct cc__park_key){s->id, s->generation, address};
	return (struct cc__park_key){o->id, r->generation, address - r->base + r->offset};
}

/* ---- to wait ---- */

void cc__node_open(struct cc__node *n, uint32_t id)
{
	cc__lock(&n->lock, CC__RANK_NODE);
	n->id = id;
	cc__store(&n->live, id, CC__RELAXED);	/* Relaxed: who looks has met its wait under a lock */
	cc__unlock(&n->lock);
}

bool cc__node_lives(const struct cc__node *n)
{
	/* Relaxed: who closes it passes the bucket after that, and we are in it or it is
	 * our own. */
	return cc__load(&n->live, CC__RELAXED) == n->id;
}

static int status_of(int err, cc_time deadline)
{
	switch (err) {
	case 0:
		return CC_PARK_WOKEN;
	case ETIMEDOUT:
		/* Or it was that of a scope around the caller. */
		return cc__now() >= deadline ? CC_PARK_TIMED_OUT : CC_PARK_INTERRUPTED;
	case ESHUTDOWN:
		return CC_CAP_E_GONE;
	case ENOMEM:
		return CC_CAP_E_MEMORY;
	default:
		return CC_PARK_INTERRUPTED;
	}
}

/* Whoever takes it off, with the bucket held: the only results that are not its own. */
static int taken(struct cc__sleeper *s, int result, struct cc__batch *b)
{
	struct cc__node *n = (struct cc__node *)s;

	CC__ASSERT(result == 0 || result == EINTR || result == ESHUTDOWN, "A3: what ends a wait");
	if (!cc__node_lives(n))
		result = ESHUTDOWN;
	if (n->ended != NULL)
		cc__batch_add(b, n->ended(n, status_of(result, 0)));
	return result;
}

static bool was_taken(int err)
{
	return err == 0 || err == EINTR || err == ESHUTDOWN;
}

/* Nobody else has ended it. */
static int end_own(struct cc__node *n, int result)
{
	struct cc__wake wake = {NULL, 0};

	cc__lock(&n->lock, CC__RANK_NODE);
	if (!cc__node_lives(n))
		result = CC_CAP_E_GONE;
	if (n->ended != NULL)
		wake = n->ended(n, result);
	cc__unlock(&n->lock);
	cc__wake(wake);
	return result;
}

/* Where that word of r lies for us. */
static const cc__a32 *find_word(const struct cc__region *r, uint64_t address)
{
	const uintptr_t base = r->memory != NULL ? (uintptr_t)r->memory : (uintptr_t)r->base;

	return (const cc__a32 *)(base + (uintptr_t)(address - r->base));
}

/* With the bucket held.  0: it may sleep. */
static int compare(struct cc__node *n, const struct cc__region *r, const struct cc__node_wait *w)
{
	const cc__a32 *word = find_word(r, w->address);

	CC_POINT("node.before_read_under_lock", n);
	if (w->object != NULL && cc__object_generation(w->object) != n->sleeper.key.generation)
		return CC_CAP_E_OBJECT;
	/* Relaxed: who changed the word and comes to wake holds the bucket after us, or
	 * has held it before, and we see what he wrote. */
	if (cc__load(word, CC__RELAXED) != w->expected)
		return CC_PARK_VALUE_MISMATCH;
	if (w->deadline == CC_NOW)
		return CC_PARK_TIMED_OUT;
	return n->admit == NULL || n->admit(n) ? 0 : CC_CAP_E_AGAIN;
}

/* With the space locked and the node: the bucket held if it may sleep, else NULL and the
 * result. */
static struct cc__bucket *enlist(struct cc__node *n, const struct cc__region *r,
                                 const struct cc__node_wait *w, int *result)
{
	struct cc__bucket *b;

	CC__CHECK(!n->waits, "A3: one wait at a time");
	n->sleeper = (struct cc__sleeper){
	    .key = key_of(n->space, r, w->object, w->address), .taken = taken};
	n->table = w->object != NULL ? &w->object->table : &n->space->table;
	n->object = w->object;
	n->address = w->address;
	b = cc__park_hold(n->table, &n->sleeper.key);
	if ((*result = compare(n, r, w)) != 0) {
		cc__park_drop(b);
		return NULL;
	}
	n->waits = true;
	if (n->object != NULL) {
		cc__object_hold(n->object);
		cc__add(&n->object->pins, 1, CC__RELAXED);	/* Relaxed: a count */
	}
	return b;
}

/* With the space locked. */
static struct cc__bucket *check_and_enlist(struct cc__node *n, const struct cc__node_wait *w,
                                           int *result)
{
	const struct cc__region *r = find(n->space, w->address);
	struct cc__bucket *b = NULL;

	*result = w->object != NULL ? prove(r, w->object, w->generation) : 0;
	if (*result == 0 && (r == NULL || (r->access & CC_CAP_READ) == 0))
		*result = CC_CAP_E_FAULT;
	CC_POINT("space.checked_under_lock", n);
	if (*result != 0)
		return NULL;
	cc__lock(&n->lock, CC__RANK_NODE);
	if (cc__node_lives(n))
		b = enlist(n, r, w, result);
	else
		*result = CC_CAP_E_GONE;
	cc__unlock(&n->lock);
	return b;
}

/* The bucket is held. */
static int sleep_in(struct cc__node *n, struct cc__bucket *b, cc_time deadline)
{
	const int err = cc__park_sleep(b, &n->sleeper, deadline);
	int result = status_of(err, deadline);
	struct cc__object *o;

	n->error = err;
	if (!was_taken(err))
		result = end_own(n, result);
	cc__lock(&n->lock, CC__RANK_NODE);
	n->waits = false;
	o = n->object;
	cc__unlock(&n->lock);
	if (o != NULL) {
		cc__sub(&o->pins, 1, CC__RELAXED);	/* Relaxed: a count */
		cc__object_drop(o);
	}
	return result;
}

int cc__node_wait(struct cc__node *n, const struct cc__node_wait *w)
{
	struct cc__bucket *b = NULL;
	int result = CC_CAP_E_ADDRESS;

	if (is_address(n->space, w->address)) {
		cc__lock(&n->space->lock, CC__RANK_SPACE);
		b = check_and_enlist(n, w, &result);
		cc__unlock(&n->space->lock);
	}
	return b != NULL ? sleep_in(n, b, w->deadline) : end_own(n, result);
}

/* ---- to end a wait ---- */

/* Locked: the wait that he is in, if nobody has ended it. */
static bool end_held(struct cc__node *n, int result, struct cc__batch *batch)
{
	struct cc__bucket *b;
	bool listed;

	if (!n->waits)
		return false;
	b = cc__park_hold(n->table, &n->sleeper.key);
	if ((listed = n->sleeper.listed))
		cc__park_end(&n->sleeper, result, batch);
	cc__park_drop(b);
	return listed;
}

bool cc__node_close(struct cc__node *n, uint32_t id)
{
	struct cc__batch batch;
	bool lived;

	cc__batch_init(&batch);
	cc__lock(&n->lock, CC__RANK_NODE);
	/* Relaxed, both: written under this lock alone; the bucket's orders the end. */
	lived = cc__load(&n->live, CC__RELAXED) != 0 && (id == 0 || id == n->id);
	if (lived) {
		cc__store(&n->live, 0, CC__RELAXED);
		CC_POINT("node.closed_under_lock", n);
		end_held(n, ESHUTDOWN, &batch);
	}
	cc__unlock(&n->lock);
	cc__batch_flush(&batch);
	return lived;
}

bool cc__node_interrupt(struct cc__node *n, uint32_t id)
{
	struct cc__batch batch;
	bool ended;

	cc__batch_init(&batch);
	cc__lock(&n->lock, CC__RANK_NODE);
	ended = id == n->id && end_held(n, EINTR, &batch);
	cc__unlock(&n->lock);
	cc__batch_flush(&batch);
	return ended;
}

bool cc__node_waits(struct cc__node *n)
{
	bool waits;

	cc__lock(&n->lock, CC__RANK_NODE);
	waits = n->waits;
	cc__unlock(&n->lock);
	return waits;
}

/* ---- to wake ---- */

int cc__space_wake(struct cc__space *s, struct cc__object *object, uint64_t generation,
                   uint64_t address, uint32_t most)
{
	const struct cc__region *r;
	struct cc__park_key key = {0, 0, 0};
	int err = 0;

	if (!is_address(s, address))
		return CC_CAP_E_ADDRESS;
	cc__lock(&s->lock, CC__RANK_SPACE);
	r = find(s, address);
	if (object != NULL)
		err = prove(r, object, generation);
	if (err == 0)
		key = key_of(s, r, object, address);
	cc__unlock(&s->lock);
	if (err != 0)
		return err;
	CC_POINT("space.wake_resolved", s);
	return (int)cc__park_wake(object != NULL ? &object->table : &s->table, &key, most, 0);
}

cc_time cc__park_deadline(uint64_t timeout)
{
	cc_time now;

	if (timeout == CC_CAP_NEVER)
		return CC_FOREVER;
	if (timeout == 0)
		return CC_NOW;
	now = cc__now();
	return timeout >= (uint64_t)(CC_FOREVER - now) ? CC_FOREVER - 1 : now + (cc_time)timeout;
}
