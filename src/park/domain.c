/* domain.c - domains of the library: cap.h. */
#include "park/domain.h"

#include <ccc/local.h>

#include "os/fork.h"
#include "os/pages.h"
#include "park/user.h"
#include "wait/thread.h"

/* Addresses of user space are below that, wherever the library runs. */
#define ADDRESS_LIMIT (UINT64_C(1) << 56)

enum { OBJECT_BITS = 5, RING_MAX = 4096, BUCKET_BITS_MAX = 16 };

static cc__a64 charged, domains, spaces;

static uint64_t charge(size_t size)
{
	return cc__add(&charged, size, CC__RELAXED);	/* Relaxed: a count, as below */
}

uint64_t cc__park_charged(void)
{
	return cc__load(&charged, CC__RELAXED);
}

static uint64_t new_id(cc__a64 *of)
{
	return cc__add(of, 1, CC__RELAXED) + 1;	/* Relaxed: nothing but a number */
}

int cc__cap_error(int result)
{
	switch (result) {
	case CC_CAP_E_CAP:
	case CC_CAP_E_KIND:
		return EBADF;
	case CC_CAP_E_OBJECT:
		return EACCES;
	case CC_CAP_E_FAULT:
		return EFAULT;
	case CC_CAP_E_AGAIN:
		return EAGAIN;
	case CC_CAP_E_MEMORY:
		return ENOMEM;
	case CC_CAP_E_CANCELED:
		return ECANCELED;
	case CC_CAP_E_BUSY:
		return EBUSY;
	case CC_CAP_E_GONE:
	case CC_CAP_E_OWNER:
		return ESHUTDOWN;
	case CC_CAP_E_CALLER:
		return EPERM;
	default:
		return result < 0 ? EINVAL : 0;
	}
}

/* ---- what the caller has joined ---- */

/* A list, as a value of his storage: he leaves when that ends. */
static CC__ATOMIC(CCLocal) mine;

static CCLocal key(void)
{
	return cc__load(&mine, CC__RELAXED);	/* Relaxed: nothing but a number */
}

static void leave_all(void *first)
{
	CCStrand *s = first, *next;

	/* Its value is NULL by now, and a leave looks for nothing there. */
	for (; s != NULL; s = next) {
		next = s->next;
		cc_domain_leave(s);
	}
}

/* 0, or EAGAIN. */
static int make_key(void)
{
	CCLocal none = 0, made;
	int err;

	if (key() != 0)
		return 0;
	if ((err = cc_local_new(&made, leave_all)) != 0)
		return err;
	/* Relaxed, both: as above. */
	if (!cc__cas(&mine, &none, made, CC__RELAXED, CC__RELAXED))
		cc_local_delete(made);
	return 0;
}

static void forget(const CCStrand *s)
{
	CCStrand *first = cc_local_get(key()), **at = &first;

	while (*at != NULL && *at != s)
		at = &(*at)->next;
	if (*at == NULL)
		return;
	*at = s->next;
	cc_ignore(cc_local_set(key(), first));	/* there is one, so there is room */
}

bool cc__strand_is_mine(const CCStrand *s)
{
	return cc__self() == s->who;
}

/* ---- create ---- */

static uint32_t or_default(uint32_t value, uint32_t otherwise)
{
	return value != 0 ? value : otherwise;
}

static bool is_power(uint32_t value, uint32_t least, uint32_t most)
{
	return value >= least && value <= most && (value & (value - 1)) == 0;
}

static int complete(CCDomainOptions *o)
{
	o->strands = or_default(o->strands, 64);
	o->regions = or_default(o->regions, 64);
	o->caps = or_default(o->caps, 64);
	o->submissions = or_default(o->submissions, 16);
	o->completions = or_default(o->completions, 32);
	o->buckets = or_default(o->buckets, 64);
	return o->strands <= CC__SLOTS_MAX && o->regions <= CC__SLOTS_MAX && o->caps >= 3 &&
	               o->caps <= CC__SLOTS_MAX && is_power(o->submissions, 1, RING_MAX) &&
	               is_power(o->completions, 2, RING_MAX) &&
	               is_power(o->buckets, 2, 1u << BUCKET_BITS_MAX)
	           ? 0
	           : EINVAL;
}

/* The parts of one piece of memory; with none, only its size is counted. */
struct piece {
	char *memory;
	size_t size;
};

static void *cut(struct piece *p, size_t size)
{
	void *part = p->memory != NULL ? p->memory + p->size : NULL;

	p->size += (size + 63) / 64 * 64;
	return part;
}

static CCDomain *lay_out(struct piece *p, const CCDomainOptions *o, struct cc__space_memory *m,
                         struct cc__cap **cap, struct cc__strand **strand, CCCapRing **ring)
{
	CCDomain *d = cut(p, sizeof *d);
	CCStrand *handle = cut(p, o->strands * sizeof *handle);

	m->region = cut(p, o->regions * sizeof *m->region);
	m->regions = o->regions;
	m->bucket = cut(p, o->buckets * sizeof *m->bucket);
	for (m->bits = 1; 1u << m->bits < o->buckets;)
		m->bits++;
	*cap = cut(p, o->caps * sizeof **cap);
	*strand = cut(p, o->strands * sizeof **strand);
	*ring = cut(p, cc__capring_size(o->submissions, o->completions));
	if (d != NULL)
		d->handle = handle;
	return d;
}

static CCDomain *build(struct piece *p, const CCDomainOptions *o)
{
	struct cc__space_memory m;
	struct cc__cap *cap;
	struct cc__strand *strand;
	CCCapRing *ring;
	CCDomain *d = lay_out(p, o, &m, &cap, &strand, &ring);

	if (d == NULL)
		return NULL;
	d->id = new_id(&domains);
	d->size = p->size;
	cc__space_init(&d->space, new_id(&spaces) << 8, ADDRESS_LIMIT, &m);
	cc__caps_init(&d->caps, cap, o->caps);
	cc__strands_init(&d->strands, &d->space, strand, o->strands);
	cc__capring_init(&d->ring, ring, o->submissions, o->completions);
	d->ring.space = &d->space;
	d->ring.caps = &d->caps;
	d->ring.strands = &d->strands;
	return d;
}

int cc_domain_create(CCDomain **out, const CCDomainOptions *options)
{
	CCDomainOptions o = options != NULL ? *options : (CCDomainOptions){0};
	struct piece p = {NULL, 0};
	CCDomain *d;

	if (cc__forked())
		return ENOTSUP;
	if (out == NULL || complete(&o) != 0)
		return EINVAL;
	if (make_key() != 0)
		return EAGAIN;
	build(&p, &o);
	if ((p.memory = cc__pages_map(p.size)) == NULL)
		return ENOMEM;
	p.size = 0;
	d = build(&p, &o);
	charge(d->size);
	cc__caps_mint(&d->caps);	/* there is room for three */
	*out = d;
	return 0;
}

/* ---- end ---- */

int cc_domain_exit(CCDomain *d)
{
	if (d == NULL)
		return EINVAL;
	cc__capring_exit(&d->ring);
	return 0;
}

int cc_domain_free(CCDomain *d)
{
	bool used;

	if (d == NULL)
		return EINVAL;
	cc__lock(&d->strands.lock, CC__RANK_CAPS);
	used = d->strands.used > 0;
	cc__unlock(&d->strands.lock);
	if (used)
		return EBUSY;
	cc__capring_exit(&d->ring);
	charge(0 - d->size);
	cc__pages_unmap(d, d->size);
	return 0;
}

/* ---- strands ---- */

/* False: it has left. */
static bool end(const CCStrand *s)
{
	cc__capring_strand_end(&s->domain->ring, cc__strand_id(s->strand));
	return cc__strand_free(s->strand);
}

int cc_domain_join(CCDomain *d, CCStrand **out)
{
	struct cc__strand *s;
	CCStrand *handle;
	int err;

	if (cc__forked())
		return ENOTSUP;
	if (d == NULL || out == NULL)
		return EINVAL;
	/* The record of a thread is made here: later nothing is allocated. */
	if (cc__self() == NULL)
		return ENOMEM;
	if ((s = cc__strand_join(&d->strands, &err)) == NULL)
		return err;
	handle = &d->handle[s - d->strands.strand];
	*handle = (CCStrand){.strand = s,
	                     .domain = d,
	                     .park_space = {.strand = s},
	                     .who = cc__self(),
	                     .next = cc_local_get(key())};
	s->host = handle;
	if ((err = cc_local_set(key(), handle)) != 0) {
		end(handle);
		return err;
	}
	*out = handle;
	return 0;
}

int cc_domain_leave(CCStrand *s)
{
	if (s == NULL)
		return EINVAL;
	if (!cc__strand_is_mine(s))
		return EPERM;
	forget(s);
	return end(s) ? 0 : EINVAL;
}

uint32_t cc_strand_id(const CCStrand *s)
{
	return s != NULL ? cc__strand_id(s->strand) : 0;
}

CCParkSpace *cc_strand_park_space(CCStrand *s)
{
	return s != NULL ? &s->park_space : NULL;
}

int cc_domain_end(CCDomain *d, uint32_t id)
{
	if (d == NULL)
		return EINVAL;
	return cc__capring_strand_end(&d->ring, id) ? 0 : ESRCH;
}

int cc_domain_interrupt(CCDomain *d, uint32_t id)
{
	if (d == NULL)
		return EINVAL;
	return cc__strand_interrupt(&d->strands, id) ? 0 : ESRCH;
}

/* ---- the address space ---- */

int cc_domain_map(CCDomain *d, const void *base, size_t length, uint32_t access)
{
	const struct cc__region r = {
	    .base = (uintptr_t)base, .length = length, .access = access};

	return d != NULL ? cc__space_map(&d->space, &r) : EINVAL;
}

int cc_domain_map_object(CCDomain *d, uint32_t cap, uint64_t offset, const void *base,
                         size_t length, uint32_t access)
{
	struct cc__region r = {.base = (uintptr_t)base, .length = length, .access = access};
	struct cc__cap c;
	int err = EBADF;

	if (d == NULL)
		return EINVAL;
	c = cc__caps_look(&d->caps, cap);
	if (c.kind == CC_CAP_MEMORY_OBJECT) {
		r.object = c.object;
		r.generation = c.generation;
		r.offset = offset;
		err = cc__space_map(&d->space, &r);
	}
	cc__cap_look_away(&c);
	return err;
}

int cc_domain_unmap(CCDomain *d, const void *base)
{
	return d != NULL ? cc__space_unmap(&d->space, (uintptr_t)base) : EINVAL;
}

int cc_domain_revoke(CCDomain *d, const void *base)
{
	return d != NULL ? cc__space_revoke(&d->space, (uintptr_t)base) : EINVAL;
}

int cc_domain_renew(CCDomain *d)
{
	return d != NULL ? cc__space_renew(&d->space) : EINVAL;
}

/* ---- capabilities ---- */

uint32_t cc_domain_cap(CCDomain *d, CCCapKind kind)
{
	return d != NULL ? cc__caps_find(&d->caps, kind) : 0;
}

CCCapKind cc_domain_cap_kind(CCDomain *d, uint32_t cap)
{
	struct cc__cap c = {.kind = CC_CAP_NONE};

	if (d != NULL)
		c = cc__caps_look(&d->caps, cap);
	cc__cap_look_away(&c);
	return c.kind;
}

int cc_domain_grant_timer(CCDomain *d, uint32_t *cap)
{
	return d != NULL && cap != NULL ? cc__caps_grant_timer(&d->caps, cap) : EINVAL;
}

int cc_domain_grant_object(CCDomain *d, CCCapObject *o, uint32_t *cap)
{
	return d != NULL && o != NULL && cap != NULL
	           ? cc__caps_grant_object(&d->caps, &o->object, cap)
	           : EINVAL;
}

int cc_domain_derive(CCDomain *d, uint32_t object, uint32_t *cap)
{
	return d != NULL && cap != NULL ? cc__caps_derive(&d->caps, object, cap) : EINVAL;
}

int cc_domain_transfer(CCDomain *from, uint32_t cap, CCDomain *to, uint32_t *copy)
{
	return from != NULL && to != NULL && copy != NULL
	           ? cc__caps_transfer(&from->caps, cap, &to->caps, copy)
	           : EINVAL;
}

int cc_domain_release(CCDomain *d, uint32_t cap)
{
	return d != NULL ? cc__caps_release(&d->caps, cap) : EINVAL;
}

/* ---- objects ---- */

static void free_object(struct cc__object *object)
{
	CCCapObject *o = (CCCapObject *)object;

	charge(0 - o->size);
	cc__pages_unmap(o, o->size);
}

int cc_cap_object_create(CCCapObject **out, uint64_t size)
{
	struct piece p = {NULL, 0};
	struct cc__bucket *buckets;
	CCCapObject *o;

	if (cc__forked())
		return ENOTSUP;
	if (out == NULL || size == 0)
		return EINVAL;
	cut(&p, sizeof *o);
	cut(&p, sizeof *buckets << OBJECT_BITS);
	if ((p.memory = cc__pages_map(p.size)) == NULL)
		return ENOMEM;
	p.size = 0;
	o = cut(&p, sizeof *o);
	buckets = cut(&p, sizeof *buckets << OBJECT_BITS);
	o->size = p.size;
	cc__object_init(&o->object, new_id(&spaces), size, buckets, OBJECT_BITS);
	o->object.last = free_object;
	charge(o->size);
	*out = o;
	return 0;
}

void cc_cap_object_drop(CCCapObject *o)
{
	if (o != NULL)
		cc__object_drop(&o->object);
}

int cc_cap_object_revoke(CCCapObject *o)
{
	if (o == NULL)
		return EINVAL;
	cc__object_revoke(&o->object);
	return 0;
}

/* ---- the ring ---- */

CCCapRing *cc_domain_ring(CCDomain *d)
{
	return d != NULL ? d->ring.user : NULL;
}

int cc_cap_push(CCDomain *d, const CCCapSubmission *entry)
{
	return d != NULL && entry != NULL ? cc__user_push(d->ring.user, d->ring.sq_entries, entry)
	                                  : EINVAL;
}

int cc_cap_pop(CCDomain *d, CCCapCompletion *completion)
{
	if (d == NULL || completion == NULL)
		return EINVAL;
	return cc__user_pop(d->ring.user, d->ring.sq_entries, d->ring.cq_entries, completion);
}

int cc_cap_enter(CCStrand *s, uint32_t min_complete, uint64_t timeout)
{
	if (s == NULL)
		return CC_CAP_E_MALFORMED;
	if (!cc__strand_is_mine(s))
		return CC_CAP_E_CALLER;
	return cc__capring_enter(&s->domain->ring, s->strand, min_complete, timeout);
}

int cc_cap_poll(CCDomain *d)
{
	return d != NULL ? cc__capring_poll(&d->ring) : CC_CAP_E_MALFORMED;
}

void cc_domain_ledger(CCDomain *d, CCDomainLedger *out)
{
	*out = (CCDomainLedger){.buckets = 1u << d->space.table.bits};
	cc__lock(&d->strands.lock, CC__RANK_CAPS);
	out->strands = d->strands.used;
	cc__unlock(&d->strands.lock);
	cc__lock(&d->caps.lock, CC__RANK_CAPS);
	out->caps = d->caps.used;
	cc__unlock(&d->caps.lock);
	cc__lock(&d->space.lock, CC__RANK_SPACE);
	out->regions = d->space.mapped;
	cc__unlock(&d->space.lock);
	cc__lock(&d->ring.done.lock, CC__RANK_DONE);
	out->promised = d->ring.promised;
	out->timers = d->ring.armed;
	out->silent = d->ring.silent;
	cc__unlock(&d->ring.done.lock);
	out->waits = cc__strands_waiting(&d->strands);
}
