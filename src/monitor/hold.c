/* hold.c - records of locks that are held, and what is said of them. */
#include "monitor/hold.h"

#include <stdio.h>

#include "base/lock.h"
#include "os/fork.h"
#include "os/where.h"
#include "park/engine.h"
#include "task/frame.h"

enum { RECORDS = 1024, CHAIN_BITS = 8, CHAINS = 1 << CHAIN_BITS, PLACES = 256 };

struct held {
	struct held *next;		/* lock, as all of it; of its chain, or free */
	uintptr_t lock;			/* 0: free */
	bool writer;
	const struct cc__parker *who;
	uint64_t id;			/* of the task; 0: a thread */
	struct cc__name name;		/* of the task */
	const void *where;		/* the call that locked returns there */
	uint8_t next_for;		/* enum cc__for: what the next wait will be for, ... */
	uint64_t next_which;
	uint8_t what;			/* ... and this one, or the last, is */
	uint64_t which;
	bool parked;
	uint64_t ticket;		/* of that wait; 0: none */
	cc_time since;			/* it began */
};

static struct cc__lock lock;		/* of all below */
static struct held records[RECORDS];
static struct held *freed;		/* given back */
static unsigned fresh;			/* so many have ever been used */
static bool lost;			/* there were more locks than records */

/* Read without the lock, too. */
static struct chain {
	CC__ATOMIC(struct held *) first;
} chains[CHAINS];

static CC__ATOMIC(int64_t) shortest = {CC_FOREVER};	/* span that was asked for */
static cc__a32 changes;					/* of that */
static cc__a64 looks, lines;

/* ---- records; lock ---- */

static struct chain *chain_of(const void *who)
{
	return &chains[((uintptr_t)who * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - CHAIN_BITS)];
}

static struct held *first_of(const struct chain *c)
{
	/* Relaxed: the lock; or who looks without it asks for his own, which he has seen put
	 * there. */
	return cc__load(&c->first, CC__RELAXED);
}

static struct held *find(const struct chain *c, uintptr_t address)
{
	struct held *h = first_of(c);

	while (h != NULL && h->lock != address)
		h = h->next;
	return h;
}

static struct held *make(struct chain *c)
{
	struct held *h = freed;

	if (h != NULL)
		freed = h->next;
	else if (fresh < RECORDS)
		h = &records[fresh++];
	if (h == NULL) {
		lost = true;
		return NULL;
	}
	h->next = first_of(c);
	cc__store(&c->first, h, CC__RELAXED);	/* Relaxed: as above */
	return h;
}

/* It was in there. */
static void take_off(struct chain *c, struct held *h)
{
	struct held *before = first_of(c);

	if (before == h) {
		cc__store(&c->first, h->next, CC__RELAXED);	/* Relaxed: as above */
	} else {
		while (before->next != h)
			before = before->next;
		before->next = h->next;
	}
	*h = (struct held){.next = freed};
	freed = h;
}

/* ---- events ---- */

static uint64_t id_of(const struct cc__parker *who)
{
	const struct cc__fiber *f = (const struct cc__fiber *)(const void *)who;

	/* Relaxed, both: a parker is a thread or a fiber for ever; a task that runs, or is
	 * about to, has its id. */
	return cc__word_is_thread(cc__load(&who->word, CC__RELAXED))
	           ? 0
	           : cc__load(&f->handle, CC__RELAXED) & CC__HANDLE_ID;
}

static void holds(const struct cc__parker *who, uint64_t what, const void *where)
{
	const uintptr_t address = (uintptr_t)what & ~(uintptr_t)CC__HOLD_WRITER;
	struct chain *c = chain_of(who);
	struct held *h;

	cc__lock(&lock, CC__RANK_HELD);
	if ((h = find(c, address)) != NULL || (h = make(c)) != NULL) {
		*h = (struct held){
		    .next = h->next,
		    .lock = address,
		    .writer = (what & CC__HOLD_WRITER) != 0,
		    .who = who,
		    .id = id_of(who),
		    .where = where,
		    .next_for = CC__FOR_OTHER,
		};
		if (h->id != 0)
			cc__fiber_name_of((const struct cc__fiber *)(const void *)who, &h->name);
	}
	cc__unlock(&lock);
}

static void lets_go(const struct cc__parker *who, uintptr_t address)
{
	struct chain *c = chain_of(who);
	struct held *h;

	cc__lock(&lock, CC__RANK_HELD);
	h = find(c, address);
	for (unsigned i = 0; h == NULL && i < CHAINS; i++)	/* another one's (H2) */
		h = find(c = &chains[i], address);
	if (h != NULL)
		take_off(c, h);
	cc__unlock(&lock);
}

/* Without a move of its word: in a system call, or because what it joins runs on its stack. */
static void waits_here(struct held *h, bool parked, enum cc__for what, uint64_t which)
{
	h->parked = parked;
	h->what = (uint8_t)what;
	h->which = which;
	h->ticket = 0;
	h->since = cc__now();
}

static void next_wait_is_for(struct held *h, uint64_t what, uint64_t which)
{
	h->next_for = (uint8_t)what;
	h->next_which = which;
}

static void begins_to_wait(struct held *h, uint64_t ticket)
{
	h->parked = true;
	if (ticket == h->ticket)
		return;		/* it goes on */
	h->ticket = ticket;
	h->since = cc__now();
	h->what = h->next_for;
	h->which = h->next_which;
	h->next_for = CC__FOR_OTHER;
}

static void learn(struct held *h, enum cc__event kind, uint64_t a, uint64_t b)
{
	switch (kind) {
	case CC__EV_FOR:
		if (a == CC__FOR_FD_HERE || a == CC__FOR_NOTHING)
			waits_here(h, a == CC__FOR_FD_HERE, CC__FOR_FD, b);
		else
			next_wait_is_for(h, a, b);
		break;
	case CC__EV_PLACE:
		waits_here(h, a != 0, CC__FOR_TASK, a != 0 ? id_of((const void *)(uintptr_t)a) : 0);
		break;
	case CC__EV_JOIN:
		next_wait_is_for(h, CC__FOR_TASK, a);
		break;
	case CC__EV_FLAG:	/* it has begun to wait */
		h->what = CC__FOR_FLAG;
		break;
	default:
		/* (Who lets a thread go tells it late: it may be in its next wait.) */
		if (cc__word_state(b) == CC__PARKING)
			begins_to_wait(h, cc__word_ticket(b));
		else if (cc__word_state(b) == CC__OWNED && cc__word_ticket(b) == h->ticket)
			h->parked = false;
	}
}

/* Something happens to `who`, and all that he holds should know. */
static void tell_all_of(const struct cc__parker *who, enum cc__event kind, uint64_t a, uint64_t b)
{
	const struct chain *c = chain_of(who);
	uint64_t id;

	if (first_of(c) == NULL)
		return;
	id = id_of(who);
	cc__lock(&lock, CC__RANK_HELD);
	for (struct held *h = first_of(c); h != NULL; h = h->next)
		if (h->who == who && h->id == id)
			learn(h, kind, a, b);
	cc__unlock(&lock);
}

void cc__hold_see(enum cc__event kind, const void *who, uint64_t a, uint64_t b)
{
	/* Relaxed: a switch. */
	if (who == NULL || cc__load(&shortest, CC__RELAXED) == CC_FOREVER || cc__forked())
		return;
	switch (kind) {
	case CC__EV_HOLD:
		holds(who, a, (const void *)(uintptr_t)b);
		break;
	case CC__EV_LET_GO:
		lets_go(who, (uintptr_t)a);
		break;
	case CC__EV_MOVE:
	case CC__EV_FOR:
	case CC__EV_JOIN:
	case CC__EV_FLAG:
	case CC__EV_PLACE:
		tell_all_of(who, kind, a, b);
		break;
	default:
		break;
	}
}

/* ---- what is said; the thread's own ---- */

/* Each place is told once, and once more when it hurts. */
static struct place {
	const void *where;
	uint8_t what;
	bool hurts;
} places[PLACES];
static unsigned told;

/* True, once for each, as long as there is room. */
static bool is_new(const struct held *h, bool hurts)
{
	for (unsigned i = 0; i < told; i++)
		if (places[i].where == h->where && places[i].what == h->what &&
		    places[i].hurts >= hurts)
			return false;
	if (told == PLACES)
		return false;
	places[told++] = (struct place){h->where, h->what, hurts};
	return true;
}

struct hold_text {
	char text[96];
};

static struct cc__debug_name holder_name(const struct held *h)
{
	struct cc__debug_name n;

	if (h->id == 0)
		return cc__debug_name(h->who);
	snprintf(n.text, sizeof n.text, "task %llu%s%s", (unsigned long long)h->id,
	         h->name.text[0] != '\0' ? " " : "", h->name.text);
	return n;
}

/* Who waits for that lock; false: nobody. */
static bool first_waiter(uintptr_t address, struct cc__debug_name *name)
{
	const struct cc__park_key key = cc__park_trusted_key((const void *)address);
	struct cc__bucket *b = cc__park_hold(&cc__park_trusted, &key);
	const struct cc__sleeper *s = cc__park_first(b, &key);

	if (s != NULL)
		*name = cc__debug_name(s->waiter->who);
	cc__park_drop(b);
	return s != NULL;
}

/* ", which ... holds", if that is known. */
static struct hold_text held_by(uintptr_t address)
{
	struct held found = {0};
	struct hold_text t = {""};

	cc__lock(&lock, CC__RANK_HELD);
	for (unsigned i = 0; i < fresh && found.lock == 0; i++)
		if (records[i].lock == address)
			found = records[i];
	cc__unlock(&lock);
	if (found.lock != 0)
		snprintf(t.text, sizeof t.text, ", which %s holds,", holder_name(&found).text);
	return t;
}

static bool is_a_lock(uint8_t what)
{
	return what == CC__FOR_MUTEX || what == CC__FOR_RWLOCK;
}

static struct hold_text waits_for(const struct held *h)
{
	static const char *const format[] = {
	    [CC__FOR_WORD] = "on the word at 0x%llx",
	    [CC__FOR_MUTEX] = "for the mutex at 0x%llx",
	    [CC__FOR_RWLOCK] = "for the rwlock at 0x%llx",
	    [CC__FOR_COND] = "for the condition at 0x%llx",
	    [CC__FOR_SEMAPHORE] = "for the semaphore at 0x%llx",
	    [CC__FOR_ONCE] = "for the once at 0x%llx",
	    [CC__FOR_BARRIER] = "at the barrier at 0x%llx",
	    [CC__FOR_WAIT_GROUP] = "for the wait group at 0x%llx",
	    [CC__FOR_CHAN] = "at the channel at 0x%llx",
	    [CC__FOR_SELECT] = "in a select of %llu",
	    [CC__FOR_TOKEN] = "for the token at 0x%llx",
	    [CC__FOR_TASK] = "for the end of task %llu",
	    [CC__FOR_FLAG] = "for its children",
	    [CC__FOR_TIME] = "in a sleep",
	    [CC__FOR_CALL] = "for a blocking call",
	    [CC__FOR_FD] = "for descriptor %llu",
	    [CC__FOR_RING] = "for completions of the ring at 0x%llx",
	    [CC__FOR_OTHER] = "for something",
	};
	struct hold_text t;

	snprintf(t.text, sizeof t.text, format[h->what], (unsigned long long)h->which);
	return t;
}

static void say(const struct held *h, cc_time now, bool hurts, const struct cc__debug_name *waiter)
{
	const struct hold_text what = waits_for(h);
	const struct hold_text by = is_a_lock(h->what) ? held_by((uintptr_t)h->which) : (struct hold_text){""};
	char where[160], line[640];

	cc__where(h->where, where, sizeof where);
	snprintf(line, sizeof line,
	         "libccc: hold: %s has been parked %s%s for %lld ms and holds the %s at %p, "
	         "locked at %s; %s waits for it\n",
	         holder_name(h).text, what.text, by.text, (long long)((now - h->since) / CC_MSEC),
	         h->writer ? "rwlock" : "mutex", (void *)h->lock, where,
	         hurts ? waiter->text : "nobody");
	cc__say(line);
	cc__add(&lines, 1, CC__RELEASE);	/* Release: the line, to cc__hold_lines */
}

/* ---- the thread ---- */

static void judge(const struct held *h, cc_time now)
{
	struct cc__debug_name waiter;
	bool hurts;

	if (h->lock == 0 || !h->parked ||
	    now - h->since < cc__load(&shortest, CC__RELAXED))	/* Relaxed: a number */
		return;
	hurts = first_waiter(h->lock, &waiter);
	/* To wait for one lock with another held is how locks are nested. */
	if ((hurts || !is_a_lock(h->what)) && is_new(h, hurts))
		say(h, now, hurts, &waiter);
}

static void look(void)
{
	bool some_lost = false;
	unsigned n = 1;

	for (unsigned i = 0; i < n; i++) {
		struct held h;

		cc__lock(&lock, CC__RANK_HELD);
		h = records[i];
		n = fresh;
		some_lost |= lost;
		lost = false;
		cc__unlock(&lock);
		judge(&h, cc__now());
	}
	if (some_lost)
		cc__say("libccc: hold: more than 1024 locks are held, not all of them are watched\n");
	cc__add(&looks, 1, CC__RELEASE);	/* Release: what was seen, to cc__hold_looks */
}

/* Between two looks, however short the span is. */
#define LEAST (100 * CC_USEC)

static void watch(void *unused)
{
	(void)unused;
	for (;;) {
		/* Acquire: the span, from change. */
		const uint32_t seen = cc__load(&changes, CC__ACQUIRE);
		const cc_time half = cc__load(&shortest, CC__RELAXED) / 2;	/* Relaxed: as said */

		cc__futex_wait(&changes, seen, cc__from_now(half > LEAST ? half : LEAST));
		look();
	}
}

static void change(cc_time span)
{
	cc__store(&shortest, span, CC__RELAXED);	/* Relaxed: ordered by the next */
	cc__add(&changes, 1, CC__RELEASE);		/* Release: the span, to watch */
	cc__futex_wake(&changes, 1);
}

/* The thread that looks never ends.  A child of fork would have none, and records of its
 * parent's. */
static int start(void)
{
	struct cc__os_thread thread;
	int err;

	cc__fork_watch();
	if ((err = cc__thread_start(&thread, watch, NULL, "cc-hold")) != 0)
		cc__fork_unwatch();
	return err;
}

static cc__a32 running;	/* 1: there is one; written under the lock */

unsigned cc__hold_threads(void)
{
	return cc__load(&running, CC__ACQUIRE);	/* Acquire: after its start */
}

int cc__debug_hold(cc_time span)
{
	int err = 0;

	cc__lock(&lock, CC__RANK_HELD);
	if (cc__load(&running, CC__RELAXED) == 0 && (err = start()) == 0)	/* Relaxed: the lock */
		cc__store(&running, 1, CC__RELEASE);	/* Release: to cc__hold_threads */
	if (err == 0 && span < cc__load(&shortest, CC__RELAXED))	/* Relaxed: the lock */
		change(span);
	cc__unlock(&lock);
	return err;
}

uint64_t cc__hold_looks(void)
{
	return cc__load(&looks, CC__ACQUIRE);	/* Acquire: from the release in look */
}

uint64_t cc__hold_lines(void)
{
	return cc__load(&lines, CC__ACQUIRE);	/* Acquire: from the release in say */
}
