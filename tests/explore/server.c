/* server.c - what is left for the server of shared words, and its bell: nothing stays with
 * it that it does not know of, and each wait is reported once.
 *
 * The kernel of this model finds another value in every word but the bell, so it reports
 * at once what it is asked; only the bell is slept on.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c park/slots.c */
#include <errno.h>

#include "shim_wait.h"

#include "os/shared.h"
#include "os/uring.h"
#include "park/slots.h"

/* ---- the kernel ---- */

bool cc__futex_either_works(void)
{
	return true;
}

int cc__uring_open(struct cc__uring *u, unsigned waits)
{
	(void)u, (void)waits;
	return 0;
}

/* The server's own. */
static struct cc__uring_report reports[8];
static unsigned reported, cancels;
static const cc__a32 *bell;	/* it waits there */
static uint64_t bell_name;

void cc__uring_wait(struct cc__uring *u, const cc__a32 *word, uint32_t expected, bool shared,
                    uint64_t name)
{
	(void)u, (void)expected;
	if (shared) {
		reports[reported++] = (struct cc__uring_report){name, EAGAIN};
		return;
	}
	MC_ASSERT(bell == NULL);
	bell = word;
	bell_name = name;
}

void cc__uring_cancel(struct cc__uring *u, uint64_t name)
{
	(void)u, (void)name;
	cancels++;	/* too late, always */
}

unsigned cc__uring_run(struct cc__uring *u, struct cc__uring_report *to, unsigned most)
{
	unsigned n = 0;

	(void)u;
	while (reported > 0 && n < most)
		to[n++] = reports[--reported];
	if (n == 0) {
		cc__futex_wait((cc__a32 *)(uintptr_t)bell, 1, CC_FOREVER);
		bell = NULL;
		to[n++] = (struct cc__uring_report){bell_name, 0};
	}
	return n;
}

/* ---- those who ask ---- */

static struct cc__lock lock[2];

static void until_told(struct cc__slot *s)
{
	cc__lock(s->lock, CC__RANK_WAITQ);
	while (s->other.end == CC__FUTEX_UNDECIDED) {
		struct cc__waiter w = {.lock = s->lock, .cancel = &cc__uncancelled};

		cc__wait(&s->sleeper, &w, CC_FOREVER);
		cc__lock(s->lock, CC__RANK_WAITQ);
	}
	cc__unlock(s->lock);
}

static void ask(bool gives_up)
{
	struct cc__slot *s = cc__slot_get();

	MC_ASSERT(s != NULL);
	s->lock = &lock[mc_self()];
	s->other.end = CC__FUTEX_UNDECIDED;
	cc__server_wait(s);
	if (gives_up)
		cc__server_cancel(s);
	until_told(s);
	MC_ASSERT(s->other.end == CC__FUTEX_DIFFERS ||
	          (gives_up && s->other.end == CC__FUTEX_CANCELLED));
	cc__slot_put(s);
}

static void start_and_ask(void)
{
	be_thread();
	MC_ASSERT(cc__server_open() == 0 && cc__server_start() == 0);
	ask(false);
	ask(false);
}

static void start_and_ask_once(void)
{
	be_thread();
	MC_ASSERT(cc__server_open() == 0 && cc__server_start() == 0);
	ask(false);
}

/* The cancel may find the slot in use again. */
static void start_and_give_up(void)
{
	be_thread();
	MC_ASSERT(cc__server_open() == 0 && cc__server_start() == 0);
	ask(true);
	ask(false);
}

static void all_given_back(void)
{
	MC_ASSERT(cc__slots_used() == 0);
	MC_ASSERT(reported == 0);
}

#define SMALL .bound = 2, .weak = 1, .spurious = MC_NONE

SCENARIO(server_hears_of_every_wait, .body = {start_and_ask}, .daemon = 2, SMALL,
         .final = all_given_back) /* covers: RES-59/m */
SCENARIO(server_two_ask_at_once, .body = {start_and_ask_once, start_and_ask_once}, .daemon = 4,
         .bound = 1, .weak = 1, .spurious = MC_NONE, .final = all_given_back)
SCENARIO(server_cancel_meets_the_next_wait, .body = {start_and_give_up}, .daemon = 2, SMALL,
         .final = all_given_back)
