/* client.c - the safe client: cap.h. */
#include "park/client.h"

#include "os/pages.h"
#include "park/user.h"

enum { SLOT_SHIFT = 24, DATA_SHIFT = 56 };

/* ---- create ---- */

int cc_cap_client_create(CCCapClient **out, CCDomain *d)
{
	const uint32_t slots = d != NULL ? 2 * d->strands.count : 0;
	CCCapClient *c;
	size_t slot_size, size;

	if (out == NULL || d == NULL)
		return EINVAL;
	slot_size = (slots * sizeof *c->slot + 63) / 64 * 64;
	size = sizeof *c + slot_size + d->ring.cq_entries * sizeof *c->shelf;
	if ((c = cc__pages_map(size)) == NULL)
		return ENOMEM;
	c->domain = d;
	c->size = size;
	c->slot = (struct cc__client_slot *)(c + 1);
	c->slots = slots;
	c->shelf = (CCCapCompletion *)(void *)((char *)(c + 1) + slot_size);
	/* Relaxed: nobody reads completions yet. */
	c->read = cc__load(cc__user_index(&d->ring.user->cq_head), CC__RELAXED);
	*out = c;
	return 0;
}

void cc_cap_client_free(CCCapClient *c)
{
	if (c != NULL)
		cc__pages_unmap(c, c->size);
}

/* ---- slots; lock ---- */

static uint64_t data_of(const CCCapClient *c, const struct cc__client_slot *slot)
{
	return CC_CAP_CLIENT_DATA | (uint64_t)slot->uses << SLOT_SHIFT | (uint64_t)(slot - c->slot);
}

static bool is_clients(uint64_t user_data)
{
	return user_data >> DATA_SHIFT == CC_CAP_CLIENT_DATA >> DATA_SHIFT;
}

static struct cc__client_slot *take_slot(CCCapClient *c)
{
	for (uint32_t i = 0; i < c->slots; i++)
		if (!c->slot[i].used) {
			c->slot[i] = (struct cc__client_slot){.used = true,
			                                      .uses = c->slot[i].uses + 1};
			return &c->slot[i];
		}
	return NULL;
}

/* Where it belongs (C3).  What nobody waits for any more is dropped. */
static void put_away(CCCapClient *c, const CCCapCompletion *done)
{
	const uint32_t mask = c->domain->ring.cq_entries - 1;
	struct cc__client_slot *slot;

	if (!is_clients(done->user_data)) {
		c->shelf[c->shelved++ & mask] = *done;
		return;
	}
	slot = &c->slot[done->user_data & ((UINT64_C(1) << SLOT_SHIFT) - 1)];
	if (slot < c->slot + c->slots && slot->used && data_of(c, slot) == done->user_data) {
		slot->done = true;
		slot->result = done->result;
	}
}

/* All that are there; one is left unread for who may be about to block (C4), unless that is
 * the caller. */
static void read_all(CCCapClient *c, bool my_turn)
{
	const struct cc__capring *r = &c->domain->ring;
	const uint32_t before = c->read;
	CCCapCompletion done;

	while (cc__user_read(r->user, r->sq_entries, r->cq_entries, c->read, &done) == 0) {
		put_away(c, &done);
		c->read++;
	}
	if (my_turn || !c->ordinary)
		cc__user_have_read(r->user, c->read);
	else if (c->read != before)
		cc__user_have_read(r->user, c->read - 1);
}

/* ---- submit ---- */

/* The slot where its completion will be.  NULL: no room, or no slot. */
static struct cc__client_slot *submit(CCCapClient *c, CCCapSubmission *e)
{
	const struct cc__capring *r = &c->domain->ring;
	struct cc__client_slot *slot;

	cc__lock(&c->lock, CC__RANK_CLIENT);
	if ((slot = take_slot(c)) != NULL) {
		e->user_data = data_of(c, slot);
		if (cc__user_push(r->user, r->sq_entries, e) != 0) {
			slot->used = false;
			slot = NULL;
		}
	}
	cc__unlock(&c->lock);
	return slot;
}

/* What has come for the slot: true, and *result. */
static bool look(CCCapClient *c, const struct cc__client_slot *slot, int *result)
{
	bool done;

	cc__lock(&c->lock, CC__RANK_CLIENT);
	read_all(c, false);
	if ((done = slot->done))
		*result = slot->result;
	cc__unlock(&c->lock);
	return done;
}

static void give_back(CCCapClient *c, struct cc__client_slot *slot)
{
	cc__lock(&c->lock, CC__RANK_CLIENT);
	slot->used = false;
	cc__unlock(&c->lock);
}

/* ---- park, unpark ---- */

/* Before anything of his is submitted. */
static int refuse(const CCCapClient *c, const CCStrand *s)
{
	if (c == NULL || s == NULL || s->domain != c->domain)
		return EINVAL;
	return cc__strand_is_mine(s) ? 0 : EPERM;
}

/* The result of an entry, or CC_CAP_E_*: of an enter, and none has come.  Who stands in the
 * way has submitted before us and is about to enter, or is inside with our entry: it is
 * running. */
static int complete(CCCapClient *c, CCStrand *s, CCCapSubmission *e)
{
	struct cc__client_slot *slot;
	int entered, result = 0;
	bool done;

	while ((slot = submit(c, e)) == NULL) {
		if ((entered = cc_cap_enter(s, 0, 0)) < 0)
			return entered;
		cc__thread_yield();
	}
	for (;;) {
		entered = cc_cap_enter(s, 0, 0);
		if ((done = look(c, slot, &result)) || entered < 0)
			break;
		cc__thread_yield();
	}
	give_back(c, slot);
	return done ? result : entered;
}

int cc_cap_client_park(CCCapClient *c, CCStrand *s, uint32_t cap, const uint32_t *word,
                       uint32_t expected, uint64_t timeout, CCParkStatus *status)
{
	CCCapSubmission e = {.opcode = CC_CAP_OP_PARK,
	                     .flags = CC_CAP_THREAD_OWNED,
	                     .cap = cap,
	                     .owner = cc_strand_id(s),
	                     .address = (uintptr_t)word,
	                     .length = expected,
	                     .dependency = timeout};
	int result = refuse(c, s);

	if (result != 0)
		return result;
	result = complete(c, s, &e);
	if (result >= 0 && status != NULL)
		*status = (CCParkStatus)result;
	return cc__cap_error(result);
}

int cc_cap_client_unpark(CCCapClient *c, CCStrand *s, uint32_t cap, const uint32_t *word,
                         uint32_t max, uint32_t *woken)
{
	CCCapSubmission e = {.opcode = CC_CAP_OP_UNPARK,
	                     .cap = cap,
	                     .address = (uintptr_t)word,
	                     .length = max};
	int result = refuse(c, s);

	if (result != 0)
		return result;
	result = complete(c, s, &e);
	if (result >= 0 && woken != NULL)
		*woken = (uint32_t)result;
	return cc__cap_error(result);
}

/* ---- others ---- */

/* Whose turn it is to wait for one. */
static int take_turn(CCCapClient *c)
{
	struct cc__waiter w = {0};

	cc__lock(&c->turn.lock, CC__RANK_WAITQ);
	if (c->turned)
		return cc__wait(&c->turn, &w, CC_FOREVER);
	c->turned = true;
	cc__unlock(&c->turn.lock);
	return 0;
}

static void pass_turn(CCCapClient *c)
{
	struct cc__wake wake;

	cc__lock(&c->turn.lock, CC__RANK_WAITQ);
	wake = cc__waitq_tell_first(&c->turn, CC__REASON_SIGNAL, 0);
	c->turned = wake.who != NULL;
	cc__unlock(&c->turn.lock);
	cc__wake(wake);
}

int cc_cap_client_submit(CCCapClient *c, const CCCapSubmission *entry)
{
	const struct cc__capring *r;
	int err = EAGAIN;

	if (c == NULL || entry == NULL || is_clients(entry->user_data) ||
	    entry->opcode == CC_CAP_OP_PARK)
		return EINVAL;
	r = &c->domain->ring;
	cc__lock(&c->lock, CC__RANK_CLIENT);
	if (c->asked < r->cq_entries && (err = cc__user_push(r->user, r->sq_entries, entry)) == 0)
		c->asked++;
	cc__unlock(&c->lock);
	return err;
}

/* 0; EAGAIN: it has yet to come; ENOENT. */
static int take_shelved(CCCapClient *c, CCCapCompletion *out)
{
	const uint32_t mask = c->domain->ring.cq_entries - 1;
	int err = ENOENT;

	cc__lock(&c->lock, CC__RANK_CLIENT);
	read_all(c, true);
	if (c->taken != c->shelved) {
		*out = c->shelf[c->taken++ & mask];
		c->asked--;
		err = 0;
	} else if (c->asked > 0) {
		err = EAGAIN;
	}
	c->ordinary = err == EAGAIN;
	cc__unlock(&c->lock);
	return err;
}

int cc_cap_client_next(CCCapClient *c, CCStrand *s, CCCapCompletion *out)
{
	int err = out != NULL ? refuse(c, s) : EINVAL, entered = 0;

	if (err != 0 || (err = take_turn(c)) != 0)
		return err;
	while ((err = take_shelved(c, out)) == EAGAIN)
		if ((entered = cc_cap_enter(s, 1, CC_CAP_NEVER)) < 0) {
			cc__lock(&c->lock, CC__RANK_CLIENT);
			c->ordinary = false;
			cc__unlock(&c->lock);
			err = cc__cap_error(entered);
			break;
		}
	pass_turn(c);
	return err;
}
