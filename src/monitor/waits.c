/* waits.c - read and name a wait. */
#include "monitor/waits.h"

#include "chan/chan.h"
#include "os/peek.h"
#include "park/engine.h"
#include "scope/nursery.h"

/* Others may write meanwhile (WAITS-1), so no tool looks. */
#define UNWATCHED __attribute__((no_sanitize("thread", "address", "undefined"), noinline))

UNWATCHED static struct cc__own copy_of(const struct cc__own *own)
{
	struct cc__own copy;

	copy.waiter.lock = own->waiter.lock;
	copy.waiter.io = own->waiter.io;
	copy.waiter.ticket = own->waiter.ticket;
	copy.waiter.what = own->waiter.what;
	copy.since = own->since;
	return copy;
}

/* The word that a sleeper of the park engine is on. */
UNWATCHED static uint64_t word_slept_on(const struct cc__sleeper *s)
{
	return s->key.place;
}

UNWATCHED static cc_time deadline_of(const struct cc__fiber *f, const struct cc__stack *s,
                                     uint64_t ticket)
{
	const struct cc__timer *t =
	    (const struct cc__timer *)(const void *)((const char *)s + s->alarm);

	/* They stay when the timer has gone, and name one wait: the stack may have served another
	 * fiber with the same ticket. */
	return t->object == &f->parker && t->value == ticket ? t->deadline : CC_FOREVER;
}

/* When that was, which is at most 52 days ago. */
static cc_time fine(uint32_t coarse)
{
	const cc_time now = cc__now();

	return now - ((cc_time)(cc__coarse(now) - coarse) << 20);
}

/* What is waited for, by the lock of the list; `engine` may be asked for the word. */
static uint64_t which_of(enum cc__for what, const struct cc__own *own, bool engine)
{
	const uintptr_t lock = (uintptr_t)own->waiter.lock, io = (uintptr_t)own->waiter.io;

	if (cc__for_word(what))
		return engine ? word_slept_on(own->waiter.io) : 0;
	switch (what) {
	case CC__FOR_CHAN:
		return lock - offsetof(struct CCChan, lock);
	case CC__FOR_TASK:
		/* Relaxed: a frame stays a frame, and the word is read again. */
		return cc__load(&((struct cc__fiber *)(lock - offsetof(struct cc__fiber, done)))->handle,
		                CC__RELAXED) &
		       CC__HANDLE_ID;
	case CC__FOR_FLAG:
		return io - offsetof(struct cc__nursery, children.over);
	case CC__FOR_TOKEN:
		return io;
	default:
		return 0;
	}
}

static void describe_wait(struct cc__waits *out, const struct cc__own *own, uint64_t ticket, bool engine)
{
	const bool told = own->waiter.ticket == ticket;

	out->what = told ? (enum cc__for)(own->waiter.what & ~CC__WAIT_FIRST) : CC__FOR_OTHER;
	out->since = told ? fine(own->since) : 0;
	out->which = told ? which_of(out->what, own, engine) : 0;
}

/* Acquire, both: what the sleeper wrote before it parked; nothing is read after the second. */
static uint64_t parked_word(const struct cc__parker *p)
{
	const uint64_t word = cc__load(&p->word, CC__ACQUIRE);

	return cc__word_state(word) == CC__PARKED ? word : 0;
}

static bool same_word(const struct cc__parker *p, uint64_t word)
{
	/* Acquire: the fields are read before this. */
	cc__fence(CC__ACQUIRE);
	return cc__load(&p->word, CC__RELAXED) == word;	/* Relaxed: after the fence */
}

bool cc__waits_of_fiber(struct cc__fiber *f, bool exact, struct cc__waits *out)
{
	const uint64_t word = parked_word(&f->parker);
	/* Acquire: the descriptor, from cc__fiber_bind. */
	const struct cc__stack *s = word != 0 ? cc__load(&f->stack, CC__ACQUIRE) : NULL;
	struct cc__own own;

	if (!cc__is_stack(s))
		return false;
	own = copy_of(&s->own);
	if (!same_word(&f->parker, word))
		return false;
	describe_wait(out, &own, cc__word_ticket(word), exact);
	out->deadline = deadline_of(f, s, cc__word_ticket(word));
	return same_word(&f->parker, word);
}

bool cc__waits_of_thread(const struct cc__thread *t, struct cc__waits *out)
{
	const uint64_t word = parked_word(&t->parker);
	struct cc__own own;

	if (word == 0)
		return false;
	own = copy_of(&t->own);
	describe_wait(out, &own, cc__word_ticket(word), false);
	out->deadline = cc__load(&t->deadline, CC__RELAXED);	/* Relaxed: before PARKED */
	if (cc__for_word(out->what))
		out->which = cc__load(&t->which, CC__RELAXED);	/* Relaxed: likewise */
	return same_word(&t->parker, word);
}

/* Both queues of a channel are seldom used at once.  A guess for people. */
UNWATCHED static bool is_send(const struct CCChan *c)
{
	return c->wait[CC__RECV].head == NULL;
}

/* The head of a channel is never unmapped; its name and place may be those of the next channel. */
UNWATCHED static void tell_channel(const struct CCChan *c, struct cc__waited_object *out)
{
	for (size_t i = 0; i < sizeof out->name - 1; i++)
		out->name[i] = c->name[i];
	out->name[sizeof out->name - 1] = '\0';
	out->place = c->place;
}

/* A nursery lies in memory of its owner, which may be gone. */
static bool tell_nursery(const void *nursery, struct cc__waited_object *out)
{
	struct cc__nursery n;

	if (!cc__copy_if_mapped(&n, nursery, sizeof n))
		return false;
	cc__place_name(n.place, out->name, sizeof out->name);
	out->place = n.place;
	out->owner = n.inside.who;
	return true;
}

bool cc__object_of(CCWaitKind kind, const void *object, struct cc__waited_object *out)
{
	*out = (struct cc__waited_object){.place = 0};
	if (object == NULL)
		return false;
	if (kind == CC_WAIT_NURSERY)
		return tell_nursery(object, out);
	if (kind != CC_WAIT_RECV && kind != CC_WAIT_SEND)
		return false;
	tell_channel(object, out);
	return true;
}

CCWaitKind cc__waits_kind(const struct cc__waits *w)
{
	static const CCWaitKind kinds[] = {
	    [CC__FOR_OTHER] = CC_WAIT_OTHER,
	    [CC__FOR_WORD] = CC_WAIT_PARK_WORD,
	    [CC__FOR_SHARED] = CC_WAIT_PARK_WORD,
	    [CC__FOR_MUTEX] = CC_WAIT_MUTEX,
	    [CC__FOR_RWLOCK] = CC_WAIT_RWLOCK,
	    [CC__FOR_COND] = CC_WAIT_COND,
	    [CC__FOR_SEMAPHORE] = CC_WAIT_SEMAPHORE,
	    [CC__FOR_ONCE] = CC_WAIT_ONCE,
	    [CC__FOR_BARRIER] = CC_WAIT_BARRIER,
	    [CC__FOR_WAIT_GROUP] = CC_WAIT_WAIT_GROUP,
	    [CC__FOR_CHAN] = CC_WAIT_RECV,
	    [CC__FOR_SELECT] = CC_WAIT_SELECT,
	    [CC__FOR_TOKEN] = CC_WAIT_TOKEN,
	    [CC__FOR_TASK] = CC_WAIT_TASK,
	    [CC__FOR_FLAG] = CC_WAIT_NURSERY,
	    [CC__FOR_TIME] = CC_WAIT_SLEEP,
	    [CC__FOR_CALL] = CC_WAIT_BLOCKING,
	    [CC__FOR_FD] = CC_WAIT_FD,
	    [CC__FOR_FD_HERE] = CC_WAIT_FD,
	    [CC__FOR_NOTHING] = CC_WAIT_OTHER,
	    [CC__FOR_RING] = CC_WAIT_OTHER,
	    [CC__FOR_JOB] = CC_WAIT_OTHER,
	};

	if (w->what == CC__FOR_CHAN && is_send((const struct CCChan *)(uintptr_t)w->which))
		return CC_WAIT_SEND;
	return kinds[w->what];
}

/* Under f's lock: what it runs does not change.  The nursery of a daemon is marked. */
static void tell_family(const struct cc__fiber *f, CCFiberInfo *info)
{
	const uintptr_t nursery = (uintptr_t)cc__fiber_nursery(f), place = cc__fiber_place(f);

	info->place = cc__place_line(place);
	if (cc__place_text(place) == NULL)
		info->spawned_at = (const void *)place;
	if (nursery == 0)
		return;
	info->nursery = (const void *)(nursery & ~(uintptr_t)1);
	info->function = cc__child_function(&f->payload.child.what);
}

/* The fiber that has the stack of f, which runs or lies below it (in_place.c). */
UNWATCHED static const struct cc__parker *runs_on_stack_of(const struct cc__fiber *f)
{
	/* Acquire: the descriptor, from cc__fiber_bind. */
	const struct cc__stack *s = cc__load(&f->stack, CC__ACQUIRE);

	return cc__is_stack(s) ? s->own.waiter.who : NULL;
}

/* f is OWNED: it waits if another fiber has its stack. */
static void tell_below(const struct cc__fiber *f, CCFiberInfo *info)
{
	const struct cc__parker *who = runs_on_stack_of(f);

	if (who == NULL || who == &f->parker)
		return;
	info->wait = CC_WAIT_TASK;
	info->deadline = CC_FOREVER;
	/* Relaxed: a frame stays a frame; its task may be another one by now. */
	info->task = cc__load(&((const struct cc__fiber *)(const void *)who)->handle, CC__RELAXED) &
	             CC__HANDLE_ID;
}

void cc__waits_tell(struct cc__fiber *f, CCFiberInfo *info)
{
	struct cc__waits w;

	tell_family(f, info);
	if (info->state == CC_FIBER_RUNNING)
		tell_below(f, info);
	if (info->state != CC_FIBER_PARKED || !cc__waits_of_fiber(f, true, &w))
		return;
	info->wait = cc__waits_kind(&w);
	info->since = w.since;
	info->deadline = w.deadline;
	if (w.what == CC__FOR_TASK)
		info->task = w.which;
	else
		info->object = (const void *)(uintptr_t)w.which;
}
