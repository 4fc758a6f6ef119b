/* shared.c - words of memory objects: a thread that sleeps on its own word and on theirs,
 * against wakes, the change of the word, its deadline, its cancellation and the end of the
 * mapping.  What is unmapped is freed here, so whoever touches it late is seen.
 *
 * sources: base/lock.c wait/wait.c wait/thread.c park/memory.c park/shared.c */
#include <errno.h>

#define SHIM_REAL_SLAB
#define SHIM_CANCEL
#include "shim_wait.h"

#include "os/memfd.h"
#include "os/shared.h"
#include "park/memory.h"

/* ---- around the sources ---- */

static struct CCMemory record_of_object;
static struct cc__mapping mapping;
static struct cc__slot slot;
static void *page;
static bool elsewhere;	/* another process has it mapped, too: it stays */

void *cc__slab_get(struct cc__slab *s)
{
	return s->size == sizeof mapping ? (void *)&mapping : (void *)&record_of_object;
}

void cc__slab_put(struct cc__slab *s, void *object)
{
	(void)s, (void)object;
}

struct cc__slot *cc__slot_get(void)
{
	return &slot;
}

void cc__slot_put(struct cc__slot *s)
{
	(void)s;
}

uint32_t cc__slots_used(void)
{
	return 0;
}

void cc__thread_yield(void)
{
	mc_fail("shim: no memory to wait with");
}

int cc__server_open(void)
{
	return 0;
}

int cc__server_start(void)
{
	mc_fail("shim: a fiber");
}

void cc__server_wait(struct cc__slot *s)
{
	(void)s;
}

void cc__server_cancel(struct cc__slot *s)
{
	(void)s;
}

int cc__memfd_new(size_t size, int *fd)
{
	(void)size;
	*fd = 5;
	return 0;
}

int cc__memfd_judge(int fd, size_t *size, CCMemoryIdentity *identity)
{
	(void)fd;
	*size = 64;
	*identity = (CCMemoryIdentity){1, 2, 3};
	return 0;
}

int cc__memfd_copy(int fd, int *copy)
{
	*copy = fd;
	return 0;
}

void cc__memfd_close(int fd)
{
	(void)fd;
}

int cc__memfd_map(int fd, size_t size, void **at)
{
	(void)fd;
	*at = page = mc_alloc_zero(size);
	return 0;
}

void cc__memfd_unmap(void *at, size_t size)
{
	(void)size;
	if (!elsewhere)
		mc_free(at);
	page = NULL;
}

int cc__memfd_send(int socket, int fd)
{
	(void)socket, (void)fd;
	return 0;
}

int cc__memfd_receive(int socket, int *fd)
{
	(void)socket, (void)fd;
	return EAGAIN;
}

/* As in direct.c. */
int cc__park_tell(int err, cc_time deadline, CCParkStatus *status)
{
	(void)deadline;
	*status = err == ETIMEDOUT ? CC_PARK_TIMED_OUT : CC_PARK_INTERRUPTED;
	return err == ETIMEDOUT ? 0 : err;
}

/* ---- one object, mapped ---- */

static CCMemory *memory;
static uint32_t *word;
static cc__a32 cancel;

const cc__a32 *shim_cancel_flag(struct cc__parker *p)
{
	(void)p;
	return &cancel;
}

static void make(void)
{
	void *at;

	MC_ASSERT(cc_memory_new(&memory, 64) == 0);
	MC_ASSERT(cc_memory_map(memory, &at) == 0);
	word = at;
}

static void make_and_pass_on(void)
{
	elsewhere = true;
	make();
}

/* ---- what is done to it ---- */

static int err;
static CCParkStatus status;
static uint32_t woken;

static void wait_until(cc_time deadline)
{
	be_thread();
	err = cc__memory_wait(memory, word, 0, deadline, &status);
}

static void wait_for_ever(void)
{
	wait_until(CC_FOREVER);
}

static void wait_a_second(void)
{
	wait_until(cc__now() + CC_SEC);
}

static void wake_one(void)
{
	be_thread();
	cc__memory_wake(memory, word, 1, &woken);
}

static void change_and_wake(void)
{
	be_thread();
	cc__store((cc__a32 *)(void *)word, 1, CC__RELAXED);
	cc__memory_wake(memory, word, 1, &woken);
}

static void unmap(void)
{
	be_thread();
	MC_ASSERT(cc_memory_unmap(memory, word) == 0);
	MC_ASSERT(page == NULL);
}

static void cancel_sleeper(void)
{
	cc__store(&cancel, 1, CC__RELAXED);
	cc__unpark(thread_parker(0));
}

static bool somebody_waits(void)
{
	bool some;

	cc__lock(&memory->lock, CC__RANK_WAITQ);
	some = memory->waits > 0;
	cc__unlock(&memory->lock);
	return some;
}

/* The last handle, and then a wake as it comes from another process. */
static void close_and_wake(void)
{
	while (!somebody_waits())
		cc__relax();
	MC_ASSERT(cc_memory_close(memory) == 0);
	cc__store((cc__a32 *)(void *)word, 1, CC__RELAXED);
	woken = cc__futex_wake_shared((cc__a32 *)(void *)word, 1);
}

/* Whoever was counted knows it, and nobody else thinks so. */
static void counted_once(void)
{
	static const char *const name[] = {"woken", "differs", "late", "interrupted"};

	check_threads_at_rest();
	MC_ASSERT((err == 0 && status == CC_PARK_WOKEN) == (woken == 1));
	MC_ASSERT(memory->waits == 0);
	MC_ASSERT(mapping.users == 0);
	mc_outcome(err == EFAULT ? "refused" : name[status]);
}

static void counted_and_gone(void)
{
	counted_once();
	MC_ASSERT(page == NULL);
	MC_ASSERT(memory->pins == 0);
}

/* ---- scenarios ---- */

SCENARIO(shared_change_and_wake, .init = make, .body = {wait_for_ever, change_and_wake},
         .final = counted_once, .outcomes = "woken differs")
SCENARIO(shared_wake_or_deadline, .init = make, .body = {wait_a_second, wake_one},
         .final = counted_once, .outcomes = "woken late")
SCENARIO(shared_wake_or_cancel, .init = make, .body = {wait_for_ever, wake_one, cancel_sleeper},
         .final = counted_once, .spurious = MC_NONE, .outcomes = "woken interrupted")
SCENARIO(shared_wake_or_unmap, .init = make, .body = {wait_for_ever, wake_one, unmap},
         .final = counted_once, .spurious = MC_NONE, .weak = 1,
         .outcomes = "woken interrupted refused") /* covers: PRK-112/m */
SCENARIO(shared_deadline_or_unmap, .init = make, .body = {wait_a_second, unmap},
         .final = counted_once, .bound = 2, .spurious = MC_NONE, .timeouts = 1,
         .outcomes = "late interrupted refused")
SCENARIO(shared_closed_while_somebody_waits, .init = make_and_pass_on,
         .body = {wait_for_ever, close_and_wake}, .final = counted_and_gone,
         .outcomes = "woken differs")
