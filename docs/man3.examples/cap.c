/* Domains, capabilities and rings: <ccc/cap.h>. */
#include <assert.h>

#include <ccc/ccc.h>

static uint32_t words[4];	/* the memory of the domain */

/* A domain with one region. */
static CCDomain *new_domain(void)
{
	CCDomain *domain;

	assert(cc_domain_create(&domain, NULL) == 0);
	assert(cc_domain_map(domain, words, sizeof words, CC_CAP_READ) == 0);
	return domain;
}

/* The caller joins, waits on a word for a moment, and leaves. */
static void join_and_park(void)
{
	CCDomain *domain = new_domain();
	const uint32_t space = cc_domain_cap(domain, CC_CAP_PARK_SPACE);
	CCCapClient *client;
	CCParkStatus status;
	CCStrand *self;
	uint32_t woken;

	assert(cc_domain_cap_kind(domain, space) == CC_CAP_PARK_SPACE);
	assert(cc_cap_client_create(&client, domain) == 0);
	assert(cc_domain_join(domain, &self) == 0);
	assert(cc_strand_id(self) != 0);
	assert(cc_cap_client_park(client, self, space, &words[0], 0, 1000, &status) == 0);
	assert(status == CC_PARK_TIMED_OUT);		/* after 1000 ns */
	assert(cc_cap_client_unpark(client, self, space, &words[0], 1, &woken) == 0);
	assert(woken == 0);				/* no strand waits */
	assert(cc_domain_leave(self) == 0);
	cc_cap_client_free(client);
	assert(cc_domain_free(domain) == 0);
}

/* A timer, as a submission and its completion. */
static void submit_a_timer(void)
{
	CCDomain *domain = new_domain();
	CCCapSubmission timer = {.opcode = CC_CAP_OP_TIMER, .user_data = 7, .dependency = 1000};
	CCCapCompletion done;
	CCCapClient *client;
	CCStrand *self;

	assert(cc_domain_grant_timer(domain, &timer.cap) == 0);
	assert(cc_cap_client_create(&client, domain) == 0);
	assert(cc_domain_join(domain, &self) == 0);
	assert(cc_cap_client_submit(client, &timer) == 0);
	assert(cc_cap_client_next(client, self, &done) == 0);
	assert(done.user_data == 7 && done.result == 0);
	assert(cc_domain_leave(self) == 0);
	cc_cap_client_free(client);
	assert(cc_domain_free(domain) == 0);
}

/* The rings without a client. */
static void use_the_rings(void)
{
	const CCCapSubmission nop = {.opcode = CC_CAP_OP_NOP, .user_data = 5};
	CCDomain *domain = new_domain();
	CCCapRing *ring = cc_domain_ring(domain);
	CCCapCompletion done;
	CCStrand *self;

	assert(cc_cap_push(domain, &nop) == 0);
	assert(cc_cap_submissions(ring)[0].user_data == 5);
	assert(cc_cap_poll(domain) == 1);	/* executed: one completion */
	assert(cc_cap_completions(ring, ring->sq_entries)[0].user_data == 5);
	assert(cc_cap_pop(domain, &done) == 0 && done.result == 0);

	assert(cc_domain_join(domain, &self) == 0);
	assert(cc_cap_push(domain, &nop) == 0);
	assert(cc_cap_enter(self, 1, CC_CAP_NEVER) == 1);	/* waits for one completion */
	assert(cc_cap_pop(domain, &done) == 0 && done.user_data == 5);
	assert(cc_domain_leave(self) == 0);
	assert(cc_domain_free(domain) == 0);
}

/* The direct calls, with the domain's own addresses. */
static void wait_directly(void)
{
	CCDomain *domain = new_domain();
	CCParkStatus status;
	CCStrand *self;

	assert(cc_domain_join(domain, &self) == 0);
	assert(cc_park_wait(cc_strand_park_space(self), &words[1], 0, cc_after(1000), &status) == 0);
	assert(status == CC_PARK_TIMED_OUT);
	assert(cc_domain_leave(self) == 0);
	assert(cc_domain_free(domain) == 0);
}

/* Two domains share an object: each maps it, and gives away what it holds. */
static void share_an_object(void)
{
	CCDomain *a = new_domain(), *b = new_domain();
	static uint32_t shared[4];
	CCCapObject *object;
	uint32_t memory, theirs, space;

	assert(cc_cap_object_create(&object, sizeof shared) == 0);
	assert(cc_domain_grant_object(a, object, &memory) == 0);
	assert(cc_domain_map_object(a, memory, 0, shared, sizeof shared, CC_CAP_READ) == 0);
	assert(cc_domain_derive(a, memory, &space) == 0);	/* wait and wake in it */
	assert(cc_domain_transfer(a, memory, b, &theirs) == 0);
	assert(cc_domain_cap_kind(b, theirs) == CC_CAP_MEMORY_OBJECT);
	assert(cc_domain_release(b, theirs) == 0);
	assert(cc_cap_object_revoke(object) == 0);
	assert(cc_domain_cap_kind(a, memory) == CC_CAP_NONE);	/* all capabilities are gone */
	cc_cap_object_drop(object);
	assert(cc_domain_free(a) == 0 && cc_domain_free(b) == 0);
}

/* Regions come and go. */
static void change_the_address_space(void)
{
	CCDomain *domain = new_domain();
	CCDomainLedger in_use;

	assert(cc_domain_revoke(domain, words) == 0);	/* no access, the addresses stay taken */
	assert(cc_domain_unmap(domain, words) == 0);
	assert(cc_domain_map(domain, words, sizeof words, CC_CAP_READ) == 0);
	assert(cc_domain_renew(domain) == 0);		/* as exec: without regions */
	cc_domain_ledger(domain, &in_use);
	assert(in_use.regions == 0 && in_use.caps == 3);
	assert(cc_domain_free(domain) == 0);
}

/* One strand is ended, then the domain. */
static void end(void)
{
	CCDomain *domain = new_domain();
	CCStrand *self, *late;

	assert(cc_domain_join(domain, &self) == 0);
	assert(cc_domain_interrupt(domain, cc_strand_id(self)) == 0);	/* it does not wait */
	assert(cc_domain_end(domain, cc_strand_id(self)) == 0);
	assert(cc_cap_enter(self, 0, 0) == CC_CAP_E_GONE);
	assert(cc_domain_leave(self) == 0);
	assert(cc_domain_exit(domain) == 0);
	assert(cc_domain_join(domain, &late) == ESHUTDOWN);
	assert(cc_domain_free(domain) == 0);
}

int main(void)
{
	join_and_park();
	submit_a_timer();
	use_the_rings();
	wait_directly();
	share_an_object();
	change_the_address_space();
	end();
	return 0;
}
