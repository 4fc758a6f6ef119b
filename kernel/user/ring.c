/* ring.c - one submission, one completion, and who gets it. */
#include "ring.h"

/* ---- the two queues ---- */

/* The indices that the kernel writes, as atomics. */
static uint32_t theirs(const uint32_t *index)
{
	/* Acquire: the entries before it, from the kernel's release. */
	return cc__load((const cc__a32 *)(const void *)index, CC__ACQUIRE);
}

static void publish(uint32_t *index, uint32_t value)
{
	/* Release: what we did to the entries, to the kernel's acquire. */
	cc__store((cc__a32 *)(void *)index, value, CC__RELEASE);
}

bool ring_push(const CCCapSubmission *s)
{
	CCCapRing *r = ring();
	const uint32_t tail = r->sq_tail;

	if (tail - theirs(&r->sq_head) == r->sq_entries)
		return false;
	cc_cap_submissions(r)[tail % r->sq_entries] = *s;
	publish(&r->sq_tail, tail + 1);
	return true;
}

bool ring_pop(CCCapCompletion *c)
{
	CCCapRing *r = ring();
	const uint32_t head = r->cq_head;

	if (head == theirs(&r->cq_tail))
		return false;
	*c = cc_cap_completions(r, r->sq_entries)[head % r->cq_entries];
	publish(&r->cq_head, head + 1);
	return true;
}

/* ---- slots ---- */

enum { SLOTS = 64, SLOT_FIRST = 1000 };	/* other user data are not ours */

enum slot_state { SLOT_FREE, SLOT_WAITS, SLOT_DONE };

static struct {
	cc__a32 state;		/* enum slot_state */
	int32_t result;		/* once it is DONE */
} slots[SLOTS];

static cc__a32 held;		/* N1 */
static uint64_t strays;		/* held; completions that nobody has asked for */

static void hold(void)
{
	while (cc__xchg(&held, 1, CC__ACQUIRE) != 0)	/* Acquire: from the release in drop */
		sys_yield();
}

static void drop(void)
{
	cc__store(&held, 0, CC__RELEASE);	/* Release: to the acquire in hold */
}

static unsigned take_slot(void)
{
	for (unsigned i = 0;; i = (i + 1) % SLOTS) {
		uint32_t state = SLOT_FREE;

		/* Relaxed: what is in it passes under `held`. */
		if (cc__cas(&slots[i].state, &state, SLOT_WAITS, CC__RELAXED, CC__RELAXED))
			return i;
	}
}

/* Held: N2. */
static void read_all(void)
{
	CCCapCompletion c;

	while (ring_pop(&c)) {
		const uint64_t i = c.user_data - SLOT_FIRST;

		/* Relaxed, twice: held. */
		if (i >= SLOTS || cc__load(&slots[i].state, CC__RELAXED) != SLOT_WAITS) {
			strays++;
			continue;
		}
		slots[i].result = c.result;
		cc__store(&slots[i].state, SLOT_DONE, CC__RELAXED);
	}
}

uint64_t ring_strays(void)
{
	return strays;
}

static bool is_done(unsigned i)
{
	bool done;

	hold();
	read_all();
	done = cc__load(&slots[i].state, CC__RELAXED) == SLOT_DONE;	/* Relaxed: held */
	drop();
	return done;
}

static bool push_held(const CCCapSubmission *s)
{
	bool pushed;

	hold();
	pushed = ring_push(s);
	drop();
	return pushed;
}

int32_t ring_do(CCCapSubmission s)
{
	const unsigned i = take_slot();
	int32_t result;

	s.user_data = SLOT_FIRST + i;
	while (!push_held(&s)) {
		ring_enter(0, 0);
		sys_yield();
	}
	for (ring_enter(0, 0); !is_done(i); ring_enter(0, 0))
		sys_yield();	/* N3 */
	result = slots[i].result;
	cc__store(&slots[i].state, SLOT_FREE, CC__RELAXED);	/* Relaxed: as in take_slot */
	return result;
}

/* ---- operations ---- */

int32_t park_with(uint32_t cap, const cc__a32 *word, uint32_t expected, uint64_t nanoseconds)
{
	return ring_do((CCCapSubmission){
	    .opcode = CC_CAP_OP_PARK,
	    .flags = CC_CAP_THREAD_OWNED,
	    .cap = cap,
	    .owner = (uint32_t)sys_call(CALL_SELF, 0, 0, 0, 0),
	    .address = (uintptr_t)word,
	    .length = expected,
	    .dependency = nanoseconds,
	});
}

int32_t park(const cc__a32 *word, uint32_t expected, uint64_t nanoseconds)
{
	return park_with(cap_of(CC_CAP_PARK_SPACE), word, expected, nanoseconds);
}

int32_t unpark_with(uint32_t cap, const cc__a32 *word, uint32_t most)
{
	return ring_do((CCCapSubmission){
	    .opcode = CC_CAP_OP_UNPARK,
	    .cap = cap,
	    .address = (uintptr_t)word,
	    .length = most,
	});
}

int32_t unpark(const cc__a32 *word, uint32_t most)
{
	return unpark_with(cap_of(CC_CAP_PARK_SPACE), word, most);
}

int32_t release(uint32_t cap)
{
	return ring_do((CCCapSubmission){.opcode = CC_CAP_OP_RELEASE, .cap = cap});
}
