/* uring.c - io_uring by its system calls: Debian 12's headers lack the futex operations,
 * and musl-gcc finds none of the kernel's. */
#include "os/uring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/assert.h"

#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#define SYS_io_uring_enter 426
#define SYS_io_uring_register 427
#endif

/* ---- what the kernel calls things ---- */

enum {
	OP_ASYNC_CANCEL = 14,
	OP_FUTEX_WAIT = 51,	/* Linux 6.7 */
	OPS = 64,		/* that we ask about */
	OP_SUPPORTED = 1,
	REGISTER_PROBE = 8,
	SETUP_CQSIZE = 1 << 3,
	SETUP_CLAMP = 1 << 4,
	SETUP_SUBMIT_ALL = 1 << 7,
	FEAT_SINGLE_MMAP = 1 << 0,
	FEAT_NODROP = 1 << 1,
	ENTER_GETEVENTS = 1 << 0,
	FUTEX2_SIZE_U32 = 2,
	FUTEX2_PRIVATE = 128,
};
#define MMAP_RINGS 0
#define MMAP_ENTRIES 0x10000000
#define FUTEX_ANY 0xffffffffu

struct entry {
	uint8_t op, flags;
	uint16_t priority;
	int32_t fd;		/* of a futex: FUTEX2_* */
	uint64_t value;		/* of a futex: what is expected */
	uint64_t address;	/* of the word; the name of what is cancelled */
	uint32_t length, op_flags;
	uint64_t name;
	uint16_t buffer, personality;
	int32_t file;
	uint64_t mask, zero;	/* of a futex: which wakes */
};
_Static_assert(sizeof(struct entry) == 64, "as the kernel has it");

struct completion {
	uint64_t name;
	int32_t result;
	uint32_t flags;
};
_Static_assert(sizeof(struct completion) == 16, "as the kernel has it");

struct setup {
	uint32_t sq_entries, cq_entries, flags, cpu, idle, features, fd, zero[3];
	struct {
		uint32_t head, tail, mask, entries, flags, dropped, array, zero;
		uint64_t address;
	} sq;
	struct {
		uint32_t head, tail, mask, entries, overflow, reports, flags, zero;
		uint64_t address;
	} cq;
};
_Static_assert(sizeof(struct setup) == 120, "as the kernel has it");

struct probe {
	uint8_t last, count;
	uint16_t zero;
	uint32_t zeroes[3];
	struct {
		uint8_t op, zero;
		uint16_t flags;
		uint32_t zeroes;
	} ops[OPS];
};
_Static_assert(sizeof(struct probe) == 16 + 8 * OPS, "as the kernel has it");

/* ---- open and close ---- */

enum { ENTRIES = 256 };	/* told to the kernel at once; more take more calls */

/* The name of every cancel. */
#define NO_REPORT UINT64_MAX

static bool has_futexes(int fd)
{
	struct probe p;

	memset(&p, 0, sizeof p);
	return syscall(SYS_io_uring_register, fd, REGISTER_PROBE, &p, OPS) == 0 &&
	       (p.ops[OP_FUTEX_WAIT].flags & OP_SUPPORTED) != 0 &&
	       (p.ops[OP_ASYNC_CANCEL].flags & OP_SUPPORTED) != 0;
}

static void *map(int fd, size_t size, off_t what)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, what);

	if (p == MAP_FAILED)
		return NULL;
	/* A child of fork has no business with it. */
	madvise(p, size, MADV_DONTFORK);
	return p;
}

static cc__a32 *word_at(const struct cc__uring *u, uint32_t offset)
{
	return (cc__a32 *)(void *)((char *)u->rings + offset);
}

static void find_everything(struct cc__uring *u, const struct setup *s)
{
	u->sq_head = word_at(u, s->sq.head);
	u->sq_tail = word_at(u, s->sq.tail);
	u->cq_head = word_at(u, s->cq.head);
	u->cq_tail = word_at(u, s->cq.tail);
	u->sq_mask = cc__peek(word_at(u, s->sq.mask));
	u->cq_mask = cc__peek(word_at(u, s->cq.mask));
	u->reports = (const char *)u->rings + s->cq.reports;
	/* Entry n is always in place n. */
	for (uint32_t i = 0; i < s->sq_entries; i++)
		cc__init(word_at(u, s->sq.array) + i, i);
}

static int map_rings(struct cc__uring *u, const struct setup *s)
{
	const size_t sq = s->sq.array + s->sq_entries * sizeof(uint32_t);
	const size_t cq = s->cq.reports + s->cq_entries * sizeof(struct completion);

	u->rings_size = sq > cq ? sq : cq;
	u->entries_size = s->sq_entries * sizeof(struct entry);
	if ((u->rings = map(u->fd, u->rings_size, MMAP_RINGS)) == NULL)
		return ENOMEM;
	if ((u->entries = map(u->fd, u->entries_size, MMAP_ENTRIES)) == NULL) {
		munmap(u->rings, u->rings_size);
		return ENOMEM;
	}
	find_everything(u, s);
	return 0;
}

/* What an error of the set-up is to the caller: only a lack of something may pass. */
static int refusal(int err)
{
	return err == EMFILE || err == ENFILE || err == ENOMEM ? err : ENOTSUP;
}

int cc__uring_open(struct cc__uring *u, unsigned waits)
{
	struct setup s;
	int err;

	memset(&s, 0, sizeof s);
	memset(u, 0, sizeof *u);
	s.flags = SETUP_CQSIZE | SETUP_CLAMP | SETUP_SUBMIT_ALL;
	s.cq_entries = 2 * waits > ENTRIES ? 2 * waits : ENTRIES;	/* U3; never fewer */
	if ((u->fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &s)) < 0)
		return refusal(errno);
	if ((s.features & FEAT_SINGLE_MMAP) == 0 || (s.features & FEAT_NODROP) == 0 ||
	    s.cq_entries < 2 * waits || !has_futexes(u->fd))
		err = ENOTSUP;
	else
		err = map_rings(u, &s);
	if (err != 0)
		close(u->fd);
	return err;
}

void cc__uring_close(struct cc__uring *u)
{
	munmap(u->entries, u->entries_size);
	munmap(u->rings, u->rings_size);
	close(u->fd);
}

/* ---- ask ---- */

/* Tell the kernel what was asked, and wait for so many reports. */
static void enter(struct cc__uring *u, unsigned reports)
{
	const long told = syscall(SYS_io_uring_enter, u->fd, u->asked, reports,
	                          reports > 0 ? ENTER_GETEVENTS : 0, NULL, 0);

	if (told >= 0)
		u->asked -= (uint32_t)told;
	else if (errno != EINTR)
		/* Out of memory or of places, for a moment. */
		CC__CHECK(errno == EAGAIN || errno == EBUSY, "io_uring: a ring that worked fails");
}

/* The next entry, all zero. */
static struct entry *entry(struct cc__uring *u)
{
	/* Relaxed: we alone write it. */
	const uint32_t tail = cc__load(u->sq_tail, CC__RELAXED);
	struct entry *e;

	/* Acquire: the kernel has read what was there before. */
	while (tail - cc__load(u->sq_head, CC__ACQUIRE) > u->sq_mask)
		enter(u, 0);
	e = (struct entry *)u->entries + (tail & u->sq_mask);
	memset(e, 0, sizeof *e);
	return e;
}

static void ask(struct cc__uring *u)
{
	/* Relaxed: as above.  Release: the entry, to the kernel. */
	cc__store(u->sq_tail, cc__load(u->sq_tail, CC__RELAXED) + 1, CC__RELEASE);
	u->asked++;
}

void cc__uring_wait(struct cc__uring *u, const cc__a32 *word, uint32_t expected, bool shared,
                    uint64_t name)
{
	struct entry *e = entry(u);

	e->op = OP_FUTEX_WAIT;
	e->fd = FUTEX2_SIZE_U32 | (shared ? 0 : FUTEX2_PRIVATE);
	e->address = (uintptr_t)&word->raw;
	e->value = expected;
	e->mask = FUTEX_ANY;
	e->name = name;
	ask(u);
}

void cc__uring_cancel(struct cc__uring *u, uint64_t name)
{
	struct entry *e = entry(u);

	e->op = OP_ASYNC_CANCEL;
	e->fd = -1;
	e->address = name;
	e->name = NO_REPORT;
	ask(u);
}

/* ---- reports ---- */

static unsigned reap(struct cc__uring *u, struct cc__uring_report *reports, unsigned most)
{
	/* Relaxed: we alone write it.  Acquire: the reports, from the kernel. */
	uint32_t head = cc__load(u->cq_head, CC__RELAXED);
	const uint32_t tail = cc__load(u->cq_tail, CC__ACQUIRE);
	unsigned count = 0;

	for (; head != tail && count < most; head++) {
		const struct completion *c =
		    (const struct completion *)u->reports + (head & u->cq_mask);

		if (c->name != NO_REPORT)
			reports[count++] =
			    (struct cc__uring_report){c->name, c->result < 0 ? -c->result : 0};
	}
	/* Release: read, so that the kernel may write there again. */
	cc__store(u->cq_head, head, CC__RELEASE);
	return count;
}

static bool reported(const struct cc__uring *u)
{
	/* Relaxed, both: reap looks again. */
	return cc__load(u->cq_head, CC__RELAXED) != cc__load(u->cq_tail, CC__RELAXED);
}

unsigned cc__uring_run(struct cc__uring *u, struct cc__uring_report *reports, unsigned most)
{
	unsigned count;

	do {
		const bool some = reported(u);

		if (!some || u->asked > 0)
			enter(u, some ? 0 : 1);
	} while ((count = reap(u, reports, most)) == 0);
	return count;
}
