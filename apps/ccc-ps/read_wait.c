/* read_wait.c - the fields of a wait, as the process describes them. */
#include "read_wait.h"

#include <string.h>

enum { NEST_MOST = 256 };

/* The word of a sleeper, which may lie on the stack of a fiber. */
static uint64_t word_of(struct reader *r, uint64_t io)
{
	uint64_t word = 0;

	memory_read(r->m, io + r->l->sleeper_word.value, &word, sizeof word);
	return word;
}

/* Which of its directions a channel is waited for is told by the list that is not empty. */
static uint8_t direction(struct reader *r, uint64_t channel)
{
	uint64_t receivers = 0;

	memory_get(r->m, channel + r->l->chan_receivers.value, &receivers, sizeof receivers);
	return receivers != 0 ? WAIT_RECV : WAIT_SEND;
}

static uint8_t kind_of(const struct layout *l, uint64_t what)
{
	const struct {
		struct item item;
		uint8_t kind;
	} kinds[] = {
	    {l->for_mutex, WAIT_MUTEX},         {l->for_rwlock, WAIT_RWLOCK},
	    {l->for_cond, WAIT_COND},           {l->for_semaphore, WAIT_SEMAPHORE},
	    {l->for_once, WAIT_ONCE},           {l->for_barrier, WAIT_BARRIER},
	    {l->for_wait_group, WAIT_WAIT_GROUP}, {l->for_word, WAIT_PARK_WORD},
	    {l->for_shared, WAIT_PARK_WORD},    {l->for_chan, WAIT_RECV},
	    {l->for_recv, WAIT_RECV},           {l->for_send, WAIT_SEND},
	    {l->for_select, WAIT_SELECT},       {l->for_token, WAIT_TOKEN},
	    {l->for_task, WAIT_TASK},           {l->for_nursery, WAIT_NURSERY},
	    {l->for_sleep, WAIT_SLEEP},         {l->for_blocking, WAIT_BLOCKING},
	    {l->for_fd, WAIT_FD},               {l->for_fd_here, WAIT_FD},
	};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (kinds[i].item.known && kinds[i].item.value == what)
			return kinds[i].kind;
	return WAIT_OTHER;
}

static bool is_word(uint8_t wait)
{
	return (wait >= WAIT_MUTEX && wait <= WAIT_WAIT_GROUP) || wait == WAIT_PARK_WORD;
}

static uint64_t id_in(struct reader *r, uint64_t frame)
{
	uint64_t handle = 0;

	memory_get(r->m, frame + r->l->fiber_handle.value, &handle, sizeof handle);
	return handle & r->l->handle_id_mask.value;
}

/* The object, by the lock of the list that the waiter is on, or by what is to be moved. */
static bool read_object(struct reader *r, struct fiber *f, const unsigned char *wait, uint64_t what)
{
	const struct layout *l = r->l;
	const uint64_t lock = field(wait, l->wait_lock), io = field(wait, l->wait_io);

	if (is_word(f->wait) && what != l->for_shared.value && f->id != 0)
		f->object = word_of(r, io);
	if (f->wait == WAIT_TASK)
		f->task = id_in(r, lock - l->fiber_joiners.value);
	if (f->wait == WAIT_NURSERY)
		f->object = io - l->nursery_over.value;
	if (f->wait == WAIT_TOKEN)
		f->object = io;
	if (f->wait != WAIT_RECV && f->wait != WAIT_SEND)
		return true;
	f->object = lock - l->chan_lock.value;
	if (l->for_chan.known && what == l->for_chan.value)
		f->wait = direction(r, f->object);
	return reader_note_channel(r, f->object);
}

/* When a coarse time was, which is at most 52 days ago. */
static int64_t fine(const struct reader *r, uint32_t coarse)
{
	const unsigned shift = (unsigned)r->l->wait_since_shift.value & 63;

	return r->s->now - (int64_t)((uint64_t)((uint32_t)(r->s->now >> shift) - coarse) << shift);
}

/* False: out of memory. */
static bool read_wait(struct reader *r, struct fiber *f, const unsigned char *wait)
{
	const struct layout *l = r->l;
	const uint64_t what = field(wait, l->wait_for) & l->wait_for_mask.value;

	f->wait = WAIT_OTHER;
	if (field(wait, l->wait_ticket) != (f->word & l->word_ticket_mask.value))
		return true;
	f->wait = kind_of(l, what);
	f->since = fine(r, (uint32_t)field(wait, l->wait_since));
	return read_object(r, f, wait, what);
}

/* The timer of the wait stays when it has gone, and names one wait. */
static int64_t deadline_of(struct reader *r, const struct fiber *f, uint64_t timer)
{
	const struct layout *l = r->l;
	uint64_t object = 0, value = 0;
	int64_t deadline = NEVER;

	if (memory_get(r->m, timer + l->timer_object.value, &object, sizeof object) &&
	    memory_get(r->m, timer + l->timer_value.value, &value, sizeof value) &&
	    object == f->address && value == (f->word & l->word_ticket_mask.value))
		memory_get(r->m, timer + l->timer_deadline.value, &deadline, sizeof deadline);
	return deadline;
}

bool read_fiber_wait(struct reader *r, struct fiber *f)
{
	const struct layout *l = r->l;
	unsigned char o[65536];
	uint64_t who;

	if (f->stack == 0 || f->state == STATE_DONE || !memory_get(r->m, f->stack, o, l->stack_size))
		return true;
	if (!read_memberships(r, f->address, field(o, l->stack_member)))
		return false;
	if ((f->word & l->word_state_mask.value) == l->state_parked.value) {
		f->deadline = deadline_of(r, f, f->stack + field(o, l->stack_alarm));
		return read_wait(r, f, o + l->stack_wait.value);
	}
	who = field(o + l->stack_wait.value, l->wait_parker);
	if (f->state == STATE_RUNNING && who != 0 && who != f->address) {	/* it runs the task it joins */
		f->wait = WAIT_TASK;
		f->task = id_in(r, who);
	}
	return true;
}

bool read_thread_wait(struct reader *r, struct fiber *f, const unsigned char *record)
{
	const struct layout *l = r->l;
	const unsigned char *wait = record + l->thread_wait.value;
	const uint64_t what = field(wait, l->wait_for) & l->wait_for_mask.value;

	if (l->for_job.known && what == l->for_job.value)
		return false;
	read_wait(r, f, wait);
	if (is_word(f->wait))
		f->object = field(record, l->thread_which);
	return true;
}

bool read_memberships(struct reader *r, uint64_t who, uint64_t member)
{
	const struct layout *l = r->l;

	if (member & l->member_locals.value &&
	    !memory_get(r->m, (member & ~(uint64_t)1) + l->locals_member.value, &member, sizeof member))
		return true;
	if (member & l->member_branches.value &&
	    !memory_get(r->m, (member & ~(uint64_t)3) + l->branches_member.value, &member, sizeof member))
		return true;
	for (unsigned n = 0; member != 0 && member % 8 == 0 && n < NEST_MOST; n++) {
		uint64_t scope = 0, outer = 0, owner = 0;

		if (!memory_read(r->m, member + l->member_scope.value, &scope, sizeof scope) ||
		    !memory_read(r->m, member + l->member_outer.value, &outer, sizeof outer))
			return true;
		if (member == scope + l->nursery_inside.value &&
		    memory_read(r->m, scope + l->nursery_owner.value, &owner, sizeof owner) && owner == who &&
		    !reader_note_nursery(r, scope))
			return false;
		member = outer;
	}
	return true;
}
