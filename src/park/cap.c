/* cap.c - two tables whose ids are never given out twice. */
#include "park/cap.h"

enum { USES_MAX = UINT32_MAX >> CC__SLOT_BITS };

/* 0: the slot is used up. */
static uint32_t id_of(uint32_t slot, uint32_t uses)
{
	return uses << CC__SLOT_BITS | slot;
}

static uint32_t slot_of(uint32_t id)
{
	return id & (CC__SLOTS_MAX - 1);
}

/* ---- capabilities ---- */

void cc__caps_init(struct cc__caps *c, struct cc__cap *cap, uint32_t count)
{
	CC__CHECK(count <= CC__SLOTS_MAX, "K1: more slots than ids");
	*c = (struct cc__caps){.cap = cap, .count = count};
}

/* Locked: a new one, with a hold on its object.  0: no room. */
static uint32_t put(struct cc__caps *c, CCCapKind kind, struct cc__object *o, uint64_t generation)
{
	for (uint32_t i = 0; i < c->count; i++) {
		struct cc__cap *cap = &c->cap[i];

		if (cap->kind != CC_CAP_NONE || cap->uses == USES_MAX)
			continue;
		*cap = (struct cc__cap){cap->uses + 1, kind, o, generation};
		c->used++;
		if (o != NULL)
			cc__object_hold(o);
		return id_of(i, cap->uses);
	}
	return 0;
}

/* Locked: the one that id names, stale or not; NULL: none. */
static struct cc__cap *named(struct cc__caps *c, uint32_t id)
{
	const uint32_t slot = slot_of(id);

	if (slot >= c->count || c->cap[slot].kind == CC_CAP_NONE ||
	    id_of(slot, c->cap[slot].uses) != id)
		return NULL;
	return &c->cap[slot];
}

/* Locked: it goes, and its object is the caller's to drop. */
static struct cc__object *take(struct cc__caps *c, struct cc__cap *cap)
{
	struct cc__object *o = cap->object;

	*cap = (struct cc__cap){.uses = cap->uses};
	c->used--;
	return o;
}

int cc__caps_mint(struct cc__caps *c)
{
	static const CCCapKind kinds[] = {CC_CAP_THREAD_CONTROL, CC_CAP_THREAD_SPAWNER,
	                                  CC_CAP_PARK_SPACE};
	uint32_t id[3] = {0, 0, 0};
	bool all = true;

	cc__lock(&c->lock, CC__RANK_CAPS);
	for (int i = 0; i < 3; i++)
		all &= (id[i] = put(c, kinds[i], NULL, 0)) != 0;
	for (int i = 0; i < 3 && !all; i++)
		if (id[i] != 0)
			take(c, named(c, id[i]));
	cc__unlock(&c->lock);
	return all ? 0 : EAGAIN;
}

static int grant(struct cc__caps *c, CCCapKind kind, struct cc__object *o, uint64_t generation,
                 uint32_t *id)
{
	int err = ESHUTDOWN;

	cc__lock(&c->lock, CC__RANK_CAPS);
	if (!c->over)
		err = (*id = put(c, kind, o, generation)) != 0 ? 0 : EAGAIN;
	cc__unlock(&c->lock);
	return err;
}

int cc__caps_grant_timer(struct cc__caps *c, uint32_t *id)
{
	return grant(c, CC_CAP_TIMER, NULL, 0, id);
}

int cc__caps_grant_object(struct cc__caps *c, struct cc__object *o, uint32_t *id)
{
	return grant(c, CC_CAP_MEMORY_OBJECT, o, cc__object_generation(o), id);
}

struct cc__cap cc__caps_look(struct cc__caps *c, uint32_t id)
{
	struct cc__cap found = {.kind = CC_CAP_NONE};
	const struct cc__cap *cap;

	cc__lock(&c->lock, CC__RANK_CAPS);
	if ((cap = named(c, id)) != NULL &&
	    (cap->object == NULL || cap->generation == cc__object_generation(cap->object))) {
		found = *cap;
		if (found.object != NULL)
			cc__object_hold(found.object);
	}
	cc__unlock(&c->lock);
	return found;
}

int cc__caps_derive(struct cc__caps *c, uint32_t object, uint32_t *id)
{
	const struct cc__cap cap = cc__caps_look(c, object);
	int err = EBADF;

	if (cap.kind == CC_CAP_MEMORY_OBJECT)
		err = grant(c, CC_CAP_SHARED_PARK_SPACE, cap.object, cap.generation, id);
	cc__cap_look_away(&cap);
	return err;
}

int cc__caps_transfer(struct cc__caps *from, uint32_t id, struct cc__caps *to, uint32_t *copy)
{
	const struct cc__cap cap = cc__caps_look(from, id);
	int err;

	switch (cap.kind) {
	case CC_CAP_MEMORY_OBJECT:
	case CC_CAP_SHARED_PARK_SPACE:
	case CC_CAP_TIMER:
		err = grant(to, cap.kind, cap.object, cap.generation, copy);
		break;
	case CC_CAP_NONE:
		err = EBADF;
		break;
	default:
		err = EPERM;	/* K2 */
	}
	cc__cap_look_away(&cap);
	return err;
}

int cc__caps_release(struct cc__caps *c, uint32_t id)
{
	struct cc__object *o = NULL;
	struct cc__cap *cap;

	cc__lock(&c->lock, CC__RANK_CAPS);
	if ((cap = named(c, id)) != NULL)
		o = take(c, cap);
	cc__unlock(&c->lock);
	if (o != NULL)
		cc__object_drop(o);
	return cap != NULL ? 0 : EBADF;
}

void cc__caps_end(struct cc__caps *c)
{
	cc__lock(&c->lock, CC__RANK_CAPS);
	c->over = true;
	cc__unlock(&c->lock);
	for (uint32_t i = 0; i < c->count; i++) {
		struct cc__object *o = NULL;

		cc__lock(&c->lock, CC__RANK_CAPS);
		if (c->cap[i].kind != CC_CAP_NONE)
			o = take(c, &c->cap[i]);
		cc__unlock(&c->lock);
		if (o != NULL)
			cc__object_drop(o);
	}
}

uint32_t cc__caps_find(struct cc__caps *c, CCCapKind kind)
{
	uint32_t id = 0;

	cc__lock(&c->lock, CC__RANK_CAPS);
	for (uint32_t i = 0; i < c->count && id == 0 && kind != CC_CAP_NONE; i++)
		if (c->cap[i].kind == kind)
			id = id_of(i, c->cap[i].uses);
	cc__unlock(&c->lock);
	return id;
}

/* ---- strands ---- */

void cc__strands_init(struct cc__strands *all, struct cc__space *space,
                      struct cc__strand *strand, uint32_t count)
{
	CC__CHECK(count <= CC__SLOTS_MAX, "K1: more slots than ids");
	*all = (struct cc__strands){.space = space, .strand = strand, .count = count};
}

/* Locked: a slot, taken. */
static struct cc__strand *take_slot(struct cc__strands *all)
{
	for (uint32_t i = 0; i < all->count; i++) {
		struct cc__strand *s = &all->strand[i];

		if (s->joined || s->uses == USES_MAX)
			continue;
		s->joined = true;
		s->uses++;
		s->all = all;
		s->node.space = all->space;
		all->used++;
		cc__node_open(&s->node, id_of(i, s->uses));
		return s;
	}
	return NULL;
}

struct cc__strand *cc__strand_join(struct cc__strands *all, int *err)
{
	struct cc__strand *s = NULL;

	cc__lock(&all->lock, CC__RANK_CAPS);
	*err = all->over ? ESHUTDOWN : EAGAIN;
	if (!all->over && (s = take_slot(all)) != NULL)
		*err = 0;
	cc__unlock(&all->lock);
	return s;
}

bool cc__strand_end(struct cc__strands *all, uint32_t id)
{
	const uint32_t slot = slot_of(id);

	return id != 0 && slot < all->count && cc__node_close(&all->strand[slot].node, id);
}

bool cc__strand_interrupt(struct cc__strands *all, uint32_t id)
{
	if (!cc__strand_lives(all, id))
		return false;
	cc__node_interrupt(&all->strand[slot_of(id)].node, id);
	return true;
}

bool cc__strand_free(struct cc__strand *s)
{
	struct cc__strands *all = s->all;
	bool joined;

	CC__CHECK(!cc__node_waits(&s->node) && cc__load(&s->inside, CC__RELAXED) == 0,
	          "K4: a strand is freed in a call of its own");	/* Relaxed: the caller's own */
	cc__lock(&all->lock, CC__RANK_CAPS);
	if ((joined = s->joined)) {
		s->joined = false;
		all->used--;
	}
	cc__unlock(&all->lock);
	return joined;
}

void cc__strands_end(struct cc__strands *all)
{
	cc__lock(&all->lock, CC__RANK_CAPS);
	all->over = true;
	cc__unlock(&all->lock);
	for (uint32_t i = 0; i < all->count; i++)
		cc__node_close(&all->strand[i].node, 0);
}

bool cc__strand_lives(struct cc__strands *all, uint32_t id)
{
	const uint32_t slot = slot_of(id);

	/* Relaxed: it is as if we had asked a moment earlier. */
	return id != 0 && slot < all->count &&
	       cc__load(&all->strand[slot].node.live, CC__RELAXED) == id;
}

bool cc__strand_enter(struct cc__strand *s)
{
	uint32_t outside = 0;

	/* Acquire: what the call before left, from the release below. */
	return cc__cas(&s->inside, &outside, 1, CC__ACQUIRE, CC__RELAXED);
}

void cc__strand_exit(struct cc__strand *s)
{
	cc__store(&s->inside, 0, CC__RELEASE);	/* Release: to the acquire above */
}

uint32_t cc__strands_waiting(struct cc__strands *all)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < all->count; i++)
		count += cc__node_waits(&all->strand[i].node);
	return count;
}
