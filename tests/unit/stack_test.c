/* stack_test.c - stacks: overflow, sizes, ceilings, hooks, pages given back, and
 * the host's own fault handlers.
 *
 * The first half starts runtimes in child processes only: the library's fault
 * handler is installed once for a process, in front of what it finds there.
 *
 * link-wrap: open mmap madvise sigaction syscall */
#include "environment.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ccc/ccc.h>

#include "os/context.h"
#include "os/pages.h"
#include "stack/stack.h"
#include "syscalls.h"
#include "wait/wait.h"

#define K ((size_t)1024)

/* (<linux/futex.h> is not to be had everywhere.) */
enum { FUTEX_COMMAND = 127, FUTEX_WAITS = 9 };

#if defined(CC__ASAN) || defined(CC__TSAN)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* ---- what a child tells its parent ---- */

enum { NEIGHBOUR_TOP = 16 * 1024 };

static struct report {
	/* Written before the overflow. */
	const char *stack;	/* of the fiber that overflows */
	size_t stack_size;
	const char *below;	/* the neighbour whose top an overflow would hit */
	uint64_t sum_before;	/* of that top */
	volatile int most;	/* recursion ends there */
	int depth;
	/* Written by the spy, inside the signal handler. */
	const char *fault;
	const char *handler;	/* an address on its stack */
	uint64_t sum_after;
	int spied;
	/* Written by the host's handler. */
	int hosted, host_sig, host_code;
	const void *host_fault;
	int host_mask_held;	/* sa_mask was in force inside */
	/* Written at the end of a child that must survive. */
	int done;
} * report;

static void new_report(void)
{
	if (report == NULL)
		report = mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE,
		              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memset(report, 0, sizeof *report);
	report->most = INT32_MAX;
}

static struct test_death death;

/* ---- wrapped calls ---- */

static cc__a32 spying;	/* the library's handlers are spied on */
static void (*spied_on)(int, siginfo_t *, void *);

static cc__a32 map_count;	/* what vm.max_map_count seems to be; 0: as it is */
static cc__a32 mmap_fails;
typedef void see_fn(char *p, size_t size);
static CC__ATOMIC(see_fn *) on_discard;	/* sees each MADV_DONTNEED */
static cc__a32 discards;
static cc__a32 watched_thread;	/* its futex waits are counted */
static cc__a32 futex_waits;

RAW static __attribute__((no_sanitize("address"))) uint64_t sum_of(const char *p, size_t size)
{
	uint64_t sum = 14695981039346656037u;

	for (size_t i = 0; i < size; i += 8)
		sum = (sum ^ *(const volatile uint64_t *)(const void *)(p + i)) * 1099511628211u;
	return sum;
}

static void spy(int sig, siginfo_t *info, void *context)
{
	char here;

	report->fault = info->si_addr;
	report->handler = &here;
	if (report->below != NULL)
		report->sum_after = sum_of(report->below, NEIGHBOUR_TOP);
	report->spied++;
	spied_on(sig, info, context);
}

int __real_sigaction(int, const struct sigaction *, struct sigaction *);
int __wrap_sigaction(int, const struct sigaction *, struct sigaction *);
RAW int __wrap_sigaction(int sig, const struct sigaction *new, struct sigaction *old)
{
	struct sigaction a;

	if (new == NULL || cc__load(&spying, CC__RELAXED) == 0 || !(new->sa_flags &SA_SIGINFO))
		return __real_sigaction(sig, new, old);
	a = *new;
	spied_on = a.sa_sigaction;
	a.sa_sigaction = spy;
	return __real_sigaction(sig, &a, old);
}

int __real_open(const char *, int, ...);
int __wrap_open(const char *, int, ...);
RAW int __wrap_open(const char *path, int flags, ...)
{
	const uint32_t count = cc__load(&map_count, CC__RELAXED);
	int fds[2], mode;
	va_list more;

	if (count != 0 && strcmp(path, "/proc/sys/vm/max_map_count") == 0 && pipe(fds) == 0) {
		dprintf(fds[1], "%u\n", count);
		close(fds[1]);
		return fds[0];
	}
	va_start(more, flags);
	mode = flags & O_CREAT ? va_arg(more, int) : 0;
	va_end(more);
	return __real_open(path, flags, mode);
}

void *__real_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap(void *, size_t, int, int, int, off_t);
RAW void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	if (cc__load(&mmap_fails, CC__RELAXED) != 0) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return __real_mmap(at, size, prot, flags, fd, offset);
}

int __real_madvise(void *, size_t, int);
int __wrap_madvise(void *, size_t, int);
RAW int __wrap_madvise(void *p, size_t size, int advice)
{
	see_fn *see = cc__load(&on_discard, CC__ACQUIRE);

	if (advice == MADV_DONTNEED) {
		if (see != NULL)
			see(p, size);
		cc__add(&discards, 1, CC__RELEASE);
	}
	return __real_madvise(p, size, advice);
}

RAW static long on_syscall(long number, const long *a)
{
	if (number == SYS_futex && ((int)a[1] & FUTEX_COMMAND) == FUTEX_WAITS &&
	    cc__load(&watched_thread, CC__RELAXED) == (uint32_t)__real_syscall(SYS_gettid))
		cc__add(&futex_waits, 1, CC__RELAXED);
	return real_syscall(number, a);
}

/* ---- small helpers ---- */

static CCConfig config_of(size_t stack_size, CCGuard guard)
{
	CCConfig c;

	if (cc_config_init(&c) != 0)
		abort();
	c.stack_size = stack_size != 0 ? stack_size : c.stack_size;
	c.guard = guard;
	return c;
}

/* Is there a guard that traps?  An emulator may take the advice and do nothing. */
static bool light_guard_works(void)
{
	const size_t page = cc__page_size();
	char *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fds[2];
	bool traps;

	if (pipe(fds) != 0)
		return false;
	/* The kernel reads the byte for us: EFAULT, where we would be killed. */
	traps = cc__pages_guard(p, page, CC__GUARD_LIGHT) == 0 && write(fds[1], p, 1) < 0;
	close(fds[0]);
	close(fds[1]);
	munmap(p, page);
	return traps;
}

/* qemu-user nods at any advice; and a SIGSEGV from outside may kill it. */
static bool emulated(void)
{
	return __real_madvise(NULL, 0, 0x7fffffff) == 0;
}

struct find {
	uint64_t id;
	CCFiberInfo info;
};

static int is_it(const CCFiberInfo *info, void *arg)
{
	struct find *f = arg;

	if (info->id != f->id)
		return 0;
	f->info = *info;
	return 1;
}

/* The calling fiber. */
static CCFiberInfo my_info(void)
{
	struct find f = {.id = cc_fiber_id()};

	CHECK_EQ(cc_fiber_each(is_it, &f), 1);
	return f.info;
}

/* A place where fibers park until it is opened. */
struct gate {
	struct cc__waitq q;
	bool open;		/* q.lock */
	unsigned inside;	/* q.lock: came so far */
};

static void gate_pass(struct gate *g)
{
	struct cc__waiter w = {0};

	cc__lock(&g->q.lock, CC__RANK_WAITQ);
	g->inside++;
	if (g->open)
		cc__unlock(&g->q.lock);
	else
		cc__wait(&g->q, &w, CC_FOREVER);
}

static void gate_open(struct gate *g)
{
	cc__lock(&g->q.lock, CC__RANK_WAITQ);
	g->open = true;
	cc__unlock(&g->q.lock);
	cc__wake_all(&g->q, CC__REASON_SIGNAL, 0);
}

static unsigned gate_inside(struct gate *g)
{
	unsigned n;

	cc__lock(&g->q.lock, CC__RANK_WAITQ);
	n = g->inside;
	cc__unlock(&g->q.lock);
	return n;
}

static int stand_at_gate(void *arg)
{
	gate_pass(arg);
	return 0;
}

/* The last line of a runtime's log, and how many there were. */
struct log {
	cc__a32 lines;
	char last[512];	/* read after `lines` was seen */
};

static void log_line(void *context, const char *line)
{
	struct log *l = context;

	snprintf(l->last, sizeof l->last, "%s", line);
	cc__add(&l->lines, 1, CC__RELEASE);
}

static unsigned log_lines(struct log *l)
{
	return cc__load(&l->lines, CC__ACQUIRE);
}

/* For what a bug would keep from ever coming true: false after 5 seconds. */
static bool soon(bool (*holds)(void *), void *arg)
{
	const cc_time end = cc_now() + 5 * CC_SEC * test_slowness();

	while (!holds(arg))
		if (cc_now() > end)
			return false;
		else
			sched_yield();
	return true;
}

/* ---- overflow ---- */

static __attribute__((noinline)) int run_off(struct report *r, int depth)
{
	volatile char frame[512];
	int below = 0;

	frame[depth % 512] = (char)depth;
	r->depth = depth;
	if (depth < r->most)
		below = run_off(r, depth + 1);
	return below + frame[depth % 512];
}

static int neighbour(void *arg)
{
	volatile char canary[4096];

	for (size_t i = 0; i < sizeof canary; i++)
		canary[i] = (char)(0xa5 ^ i);
	report->below = my_info().stack;
	gate_pass(arg);
	return canary[17];
}

static int overflow(void *arg)
{
	CCFiberInfo me = my_info();

	(void)arg;
	report->stack = me.stack;
	report->stack_size = me.stack_size;
	if (report->below != NULL) {
		report->below += me.stack_size - NEIGHBOUR_TOP;
		report->sum_before = sum_of(report->below, NEIGHBOUR_TOP);
	}
	return run_off(report, 1);
}

struct way {
	CCGuard guard;
	size_t size;
	bool alone;
};

static void overflow_child(void *arg)
{
	static const CCTaskOptions parser = {.name = "parser"};
	static struct gate gate;
	const struct way *way = arg;
	CCConfig c = config_of(way->size, way->guard);
	CCRuntime *rt;
	CCTask t;

	cc__store(&spying, 1, CC__RELAXED);
	if (cc_runtime_new(&rt, &c) != 0)
		_exit(2);
	for (unsigned i = 1; i <= 2 && !way->alone; i++) {
		if (cc_task_spawn(rt, NULL, NULL, neighbour, &gate) != 0)
			_exit(3);
		TEST_UNTIL(gate_inside(&gate) == i);
	}
	if (cc_task_spawn(rt, &t, &parser, overflow, NULL) != 0)
		_exit(4);
	cc_ignore(cc_task_join(t, CC_FOREVER, NULL));
	_exit(5);
}

static void check_overflow(struct way way, const char *size_text)
{
	const char *text;
	size_t guard;

	new_report();
	REQUIRE_EQ(test_dies(overflow_child, &way, &death), 0);
	CHECK(!death.timed_out && WIFSIGNALED(death.status));
	CHECK_EQ(WTERMSIG(death.status), SIGSEGV);
	/* "fiber N 'parser' overflowed its 256 KB stack", with a number for N. */
	text = strstr(death.text, "libccc: fiber ");
	if (!CHECK(text != NULL))
		return;
	text += strlen("libccc: fiber ");
	CHECK(*text >= '1' && *text <= '9');
	text += strspn(text, "0123456789");
	CHECK(strncmp(text, " 'parser' overflowed its ", 25) == 0);
	CHECK(strncmp(text + 25, size_text, strlen(size_text)) == 0);
	/* A third of what is usable is a quarter of the whole. */
	guard = report->stack_size / 3;
	/* Once, at an address in the guard; the handler ran on another stack. */
	CHECK_EQ(report->spied, 1);
	CHECK(report->fault >= report->stack - guard && report->fault < report->stack);
	CHECK(report->handler < report->stack - guard ||
	      report->handler >= report->stack + report->stack_size);
	if (way.alone)
		return;
	/* What lies right below the guard is what it was. */
	CHECK(report->below + NEIGHBOUR_TOP == report->stack - guard);
	CHECK(report->sum_before != 0);
	CHECK(report->sum_before == report->sum_after);
}

TEST(overflow_hits_a_light_guard_and_is_named)	/* covers: SCH-04/d */
{
	if (!light_guard_works())
		SKIP("MADV_GUARD_INSTALL does not work here (Linux before 6.13, or an emulator)");
	check_overflow((struct way){.guard = CC_GUARD_LIGHT, .size = 256 * K}, "256 KB stack; ");
}

TEST(overflow_hits_a_split_guard_and_is_named)	/* covers: SCH-04/d */
{
	check_overflow((struct way){.guard = CC_GUARD_SPLIT, .size = 256 * K}, "256 KB stack; ");
}

/* Whatever the system says it can do, what is chosen by default traps. */
TEST(overflow_hits_the_default_guard_and_is_named)	/* covers: SCH-04/d */
{
	check_overflow((struct way){.guard = CC_GUARD_AUTO, .size = 256 * K}, "256 KB stack; ");
}

/* ---- sizes ---- */

static void env_child(void *arg)
{
	static const struct way way = {.guard = CC_GUARD_SPLIT, .alone = true};

	setenv("CC_STACK_SIZE", arg, 1);
	overflow_child((void *)(uintptr_t)&way);
}

static void build_child(void *arg)
{
	static const struct way way = {.guard = CC_GUARD_SPLIT, .alone = true};

	(void)arg;
	unsetenv("CC_STACK_SIZE");
	overflow_child((void *)(uintptr_t)&way);
}

/* How deep the recursion gets; 0: it did not end as it should. */
static int depth_of(void (*child)(void *), void *arg)
{
	new_report();
	if (test_dies(child, arg, &death) != 0 || !WIFSIGNALED(death.status) ||
	    strstr(death.text, "overflowed") == NULL)
		return 0;
	return report->depth;
}

TEST(usable_depth_grows_with_the_stack_size)	/* covers: SCH-05/u */
{
	struct way small = {.guard = CC_GUARD_SPLIT, .size = 64 * K, .alone = true};
	struct way middle = {.guard = CC_GUARD_SPLIT, .size = 256 * K, .alone = true};
	struct way large = {.guard = CC_GUARD_SPLIT, .size = 1024 * K, .alone = true};
	char env[] = "1M", odd[] = "65536";
	const int a = depth_of(overflow_child, &small);
	const int b = depth_of(overflow_child, &middle);
	const int c = depth_of(overflow_child, &large);
	int d;

	CHECK(a > 30 && b > 0 && c > 0);
	/* Four times the size: four times the depth, but for what is used anyway. */
	CHECK(b > a * 7 / 2 && b < a * 11 / 2);
	CHECK(c > b * 7 / 2 && c < b * 11 / 2);

	d = depth_of(env_child, env);
	CHECK(d > c - 8 && d < c + 8);
	CHECK(strstr(death.text, "overflowed its 1024 KB stack; ") != NULL);
	d = depth_of(env_child, odd);
	CHECK(d > a - 8 && d < a + 8);
	/* What the build says, without either. */
	d = depth_of(build_child, NULL);
	CHECK(d > 0);
	CHECK(d / ((CC_FIBER_STACK_SIZE) / 1024) == b / 256 ||
	      d / ((CC_FIBER_STACK_SIZE) / 1024) == c / 1024);
}

TEST(default_stack_size_is_the_build_s)	/* covers: SCH-05/u */
{
	CCConfig c;

	unsetenv("CC_STACK_SIZE");
	CHECK_EQ(cc_config_init(&c), 0);
	CHECK_EQ(c.stack_size, CC_FIBER_STACK_SIZE);
}

TEST(stack_size_from_the_environment_is_read_or_refused)	/* covers: SCH-05/u */
{
	static const char *const bad[] = {"",
	                                  "0",
	                                  "1",
	                                  "15K",
	                                  "16383",
	                                  "2G",
	                                  "-1",
	                                  "256Q",
	                                  "K",
	                                  " 64K",
	                                  "64 K",
	                                  "64KB",
	                                  "0x10000",
	                                  "99999999999999999999",
	                                  "17179869184G"};
	static const struct {
		const char *text;
		size_t size;
	} good[] = {{"16384", 16 * K}, {"16K", 16 * K},         {"64k", 64 * K}, {"1M", 1024 * K},
	            {"1m", 1024 * K},  {"1G", 1024 * 1024 * K}, {"20001", 20001}};
	CCConfig c;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		setenv("CC_STACK_SIZE", bad[i], 1);
		if (!CHECK_EQ(cc_config_init(&c), EINVAL))
			printf("CC_STACK_SIZE='%s'\n", bad[i]);
	}
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		setenv("CC_STACK_SIZE", good[i].text, 1);
		CHECK_EQ(cc_config_init(&c), 0);
		CHECK_EQ(c.stack_size, good[i].size);
	}
	unsetenv("CC_STACK_SIZE");
}

/* ---- the host's handlers ---- */

static sigjmp_buf back;
static bool host_jumps;

static void host_saw(int sig)
{
	sigset_t now;

	sigprocmask(SIG_BLOCK, NULL, &now);
	report->host_mask_held = sigismember(&now, SIGUSR1) == 1;
	report->host_sig = sig;
	report->hosted++;
	if (report->hosted > 10)
		_exit(9);	/* called for one fault again and again */
	if (host_jumps)
		siglongjmp(back, 1);
}

static void host_plain(int sig)
{
	host_saw(sig);
}

static void host_with_info(int sig, siginfo_t *info, void *context)
{
	(void)context;
	report->host_fault = info->si_addr;
	report->host_code = info->si_code;
	host_saw(sig);
}

struct host {
	int sig;
	bool info;	/* SA_SIGINFO */
	int flags;	/* further ones */
	bool in_fiber;
	void (*disposition)(int);	/* SIG_DFL or SIG_IGN instead of a handler */
	bool set;			/* disposition means something */
};

static void host_installs(const struct host *h)
{
	struct sigaction a;

	memset(&a, 0, sizeof a);
	sigemptyset(&a.sa_mask);
	sigaddset(&a.sa_mask, SIGUSR1);
	a.sa_flags = h->flags;
	if (h->set) {
		a.sa_handler = h->disposition;
	} else if (h->info) {
		a.sa_flags |= SA_SIGINFO;
		a.sa_sigaction = host_with_info;
	} else {
		a.sa_handler = host_plain;
	}
	sigaction(h->sig, &a, NULL);
}

/* Where a write makes that signal. */
static volatile uintptr_t bad_address;

static void find_bad_address(int sig)
{
	bad_address = 64;
	if (sig == SIGBUS) {	/* a page behind the end of its file */
		FILE *f = tmpfile();

		bad_address = f == NULL ? 0
		                        : (uintptr_t)mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		                                          MAP_SHARED, fileno(f), 0);
	}
}

static int provoke(void *arg)
{
	(void)arg;
	*(volatile int *)bad_address = 1;
	return 0;
}

/* Two faults, the host's handler jumping out of each, with a yield between. */
static int provoke_and_return(void *arg)
{
	for (volatile int i = 0; i < 2; i++) {
		if (sigsetjmp(back, 1) == 0) {
			provoke(arg);
			return 1;
		}
		cc_yield();
	}
	return 77;
}

static int say_5(void *arg)
{
	(void)arg;
	return 5;
}

static void start_behind_host(const struct host *h, CCRuntime **rt)
{
	CCConfig c = config_of(0, CC_GUARD_SPLIT);

	find_bad_address(h->sig);
	host_installs(h);
	if (cc_runtime_new(rt, &c) != 0)
		_exit(2);
}

static void still_works(CCRuntime *rt)
{
	CCTask t;
	int result = 0;

	if (cc_task_spawn(rt, &t, NULL, say_5, NULL) != 0 ||
	    cc_task_join(t, CC_FOREVER, &result) != 0 || result != 5 || cc_runtime_free(rt) != 0)
		_exit(3);
	report->done = 1;
}

static void recover_child(void *arg)
{
	const struct host *h = arg;
	CCRuntime *rt;
	CCTask t;
	int result = 0;

	start_behind_host(h, &rt);
	host_jumps = true;
	if (!h->in_fiber)
		result = provoke_and_return(NULL);
	else if (cc_task_spawn(rt, &t, NULL, provoke_and_return, NULL) != 0 ||
	         cc_task_join(t, CC_FOREVER, &result) != 0)
		_exit(4);
	if (result != 77)
		_exit(5);
	still_works(rt);
}

TEST(host_handler_gets_other_faults_and_may_jump_out)
{
	for (int i = 0; i < 8; i++) {
		struct host h = {.sig = i & 1 ? SIGBUS : SIGSEGV, .info = i & 2, .in_fiber = i & 4};

		new_report();
		find_bad_address(h.sig);
		if (h.sig == SIGBUS && (bad_address == 0 || bad_address == (uintptr_t)MAP_FAILED))
			SKIP("no temporary file to fault on");
		REQUIRE_EQ(test_dies(recover_child, &h, &death), 0);
		CHECK(WIFEXITED(death.status));
		CHECK_EQ(WEXITSTATUS(death.status), 0);
		CHECK_EQ(report->done, 1);
		CHECK_EQ(report->hosted, 2);
		CHECK_EQ(report->host_sig, h.sig);
		if (h.info) {
			CHECK(report->host_code > 0);
			CHECK(h.sig == SIGBUS || (uintptr_t)report->host_fault == bad_address);
		}
		CHECK(strstr(death.text, "libccc") == NULL);
	}
}

TEST(host_handler_runs_under_its_own_mask)
{
	struct host h = {.sig = SIGSEGV, .info = true};	/* workers take no SIGUSR1 anyway */

	new_report();
	REQUIRE_EQ(test_dies(recover_child, &h, &death), 0);
	CHECK_EQ(report->hosted, 2);
	CHECK(report->host_mask_held);
}

/* Faults, and dies of it or not; the host's handler returns. */
static void fault_child(void *arg)
{
	const struct host *h = arg;
	CCRuntime *rt;
	CCTask t;

	start_behind_host(h, &rt);
	if (!h->in_fiber)
		provoke(NULL);
	else if (cc_task_spawn(rt, &t, NULL, provoke, NULL) == 0)
		cc_ignore(cc_task_join(t, CC_FOREVER, NULL));
	_exit(6);
}

TEST(fault_under_the_default_action_kills_by_the_signal)
{
	for (int i = 0; i < 8; i++) {
		struct host h = {.sig = i & 1 ? SIGBUS : SIGSEGV, .in_fiber = i & 2, .set = true};

		/* The kernel does not let anybody ignore a fault. */
		h.disposition = i & 4 ? SIG_IGN : SIG_DFL;
		new_report();
		REQUIRE_EQ(test_dies(fault_child, &h, &death), 0);
		CHECK(!death.timed_out && WIFSIGNALED(death.status));
		CHECK_EQ(WTERMSIG(death.status), h.sig);
		CHECK(strstr(death.text, "overflowed") == NULL);
	}
}

/* A crash reporter: says its piece once, returns, and the fault kills. */
TEST(host_handler_for_one_fault_gets_one)
{
	for (int i = 0; i < 4; i++) {
		struct host h = {
		    .sig = SIGSEGV, .info = i & 1, .in_fiber = i & 2, .flags = (int)SA_RESETHAND};

		new_report();
		REQUIRE_EQ(test_dies(fault_child, &h, &death), 0);
		CHECK(!death.timed_out && WIFSIGNALED(death.status) &&
		      WTERMSIG(death.status) == SIGSEGV);
		CHECK_EQ(report->hosted, 1);
	}
}

TEST(overflow_is_not_the_host_handler_s)
{
	struct host h = {.sig = SIGSEGV, .info = true};
	struct sigaction before;

	/* The child inherits it: installed before the runtime there. */
	new_report();
	sigaction(SIGSEGV, NULL, &before);
	host_installs(&h);
	check_overflow((struct way){.guard = CC_GUARD_SPLIT, .size = 64 * K}, "64 KB stack; ");
	CHECK_EQ(report->hosted, 0);
	sigaction(SIGSEGV, &before, NULL);
}

/* The signal comes from another process. */
static void sent_child(void *arg)
{
	const struct host *h = arg;
	const pid_t me = getpid();
	CCRuntime *rt;
	pid_t other;

	start_behind_host(h, &rt);
	if ((other = fork()) == 0) {
		kill(me, h->sig);
		_exit(0);
	}
	while (waitpid(other, NULL, 0) < 0 && errno == EINTR)
		continue;
	if (h->set && h->disposition == SIG_DFL)
		for (;;)
			pause();
	if (!h->set)
		TEST_UNTIL(*(volatile int *)&report->hosted > 0);
	still_works(rt);
}

TEST(sent_signal_does_what_it_did_before)
{
#ifdef CC__TSAN
	SKIP("TSan holds signals back");
#endif
	if (emulated())
		SKIP("an emulator may die of the signal itself");
	for (int i = 0; i < 6; i++) {
		struct host h = {.sig = i % 2 ? SIGBUS : SIGSEGV, .info = true};

		h.set = i / 2 != 2;
		h.disposition = i / 2 == 0 ? SIG_DFL : SIG_IGN;
		new_report();
		REQUIRE_EQ(test_dies(sent_child, &h, &death), 0);
		CHECK(!death.timed_out);
		if (h.set && h.disposition == SIG_DFL) {
			CHECK(WIFSIGNALED(death.status) && WTERMSIG(death.status) == h.sig);
			continue;
		}
		/* Ignored, or the host's: the process lives. */
		CHECK_EQ(death.status, 0);
		CHECK_EQ(report->done, 1);
		CHECK_EQ(report->hosted, h.set ? 0 : 1);
	}
}

/* ---- from here on in this process: sizes ---- */

static int tell_size(void *arg)
{
	*(size_t *)arg = my_info().stack_size;
	return 0;
}

TEST(absurd_stack_sizes_are_refused_and_odd_ones_rounded)
{
	static const size_t bad[] = {0,
	                             1,
	                             15 * K,
	                             16 * K - 1,
	                             ((size_t)1 << 30) + 1,
	                             (size_t)2 << 30,
	                             SIZE_MAX,
	                             SIZE_MAX - 4096};
	static const size_t good[] = {64 * K, 64 * K + 1, 65 * K, 68 * K - 1, 100000, 512 * K};
	const size_t page = cc__page_size();
	static struct log log;
	CCRuntime *rt = NULL;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		CCConfig c = config_of(0, CC_GUARD_AUTO);

		c.stack_size = bad[i];
		c.log = log_line;
		c.log_context = &log;
		cc__init(&log.lines, 0);
		CHECK_EQ(cc_runtime_new(&rt, &c), EINVAL);
		CHECK(rt == NULL);
		CHECK(log_lines(&log) == 1 && strstr(log.last, "stack_size") != NULL);
	}
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		CCConfig c = config_of(good[i], CC_GUARD_AUTO);
		size_t size = 0, whole;
		CCTask t;

		REQUIRE_EQ(cc_runtime_new(&rt, &c), 0);
		REQUIRE_EQ(cc_task_spawn(rt, &t, NULL, tell_size, &size), 0);
		CHECK_EQ(cc_task_join(t, CC_FOREVER, NULL), 0);
		/* The lowest quarter, in whole pages, is the guard. */
		whole = (good[i] + page - 1) / page * page;
		CHECK_EQ(size, whole - whole / 4 / page * page);
		CHECK_EQ(cc_runtime_free(rt), 0);
	}
}

TEST(smallest_and_largest_stack_work)
{
	static const size_t sizes[] = {16 * K, (size_t)1 << 30};

	for (int i = SANITIZED; i < 2; i++) {
		CCConfig c = config_of(sizes[i], CC_GUARD_AUTO);
		CCRuntime *rt;
		CCTask t;
		int result = 0;

		REQUIRE_EQ(cc_runtime_new(&rt, &c), 0);
		REQUIRE_EQ(cc_task_spawn(rt, &t, NULL, say_5, NULL), 0);
		CHECK_EQ(cc_task_join(t, CC_FOREVER, &result), 0);
		CHECK_EQ(result, 5);
		CHECK_EQ(cc_runtime_free(rt), 0);
	}
}

/* ---- ceilings ---- */

static int count_run(void *arg)
{
	cc__add((cc__a32 *)arg, 1, CC__RELAXED);
	return 0;
}

static int spawn_refused(void *arg)
{
	return cc_task_spawn(cc_runtime_current(), NULL, NULL, count_run, arg);
}

static bool has_log(void *arg)
{
	return log_lines(arg) > 0;
}

/* Fibers stand at a gate until there is no stack for one more.  It starves,
 * spawns are refused, and once the gate opens everybody runs. */
static void check_ceiling(CCConfig c, unsigned stacks, const char *const *words)
{
	struct log log = {{0}, ""};
	struct gate gate = {.open = false};
	cc__a32 late = {0}, refused = {0};
	CCRuntime *rt;
	CCTask holder[64], starved, after;

	only_workers(&c, 1);	/* of several, each holds a stack in reserve */
	c.log = log_line;
	c.log_context = &log;
	REQUIRE_EQ(cc_runtime_new(&rt, &c), 0);
	for (unsigned i = 0; i < stacks; i++) {
		REQUIRE_EQ(cc_task_spawn(rt, &holder[i], NULL, stand_at_gate, &gate), 0);
		TEST_UNTIL(gate_inside(&gate) == i + 1);
	}
	CHECK_EQ(log_lines(&log), 0);	/* that many fit */
	REQUIRE_EQ(cc_task_spawn(rt, &starved, NULL, count_run, &late), 0);
	if (!CHECK(soon(has_log, &log)))
		goto open;
	for (; *words != NULL; words++)
		if (!CHECK(strstr(log.last, *words) != NULL))
			printf("no \"%s\" in \"%s\"\n", *words, log.last);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(cc_task_spawn(rt, &after, NULL, count_run, &refused), EAGAIN);
	CHECK_EQ(cc_task_join(starved, CC_NOW, NULL), EAGAIN);	/* not lost, not run */
	CHECK_EQ(cc__load(&late, CC__RELAXED), 0);
open:
	gate_open(&gate);
	for (unsigned i = 0; i < stacks; i++)
		CHECK_EQ(cc_task_join(holder[i], CC_FOREVER, NULL), 0);
	CHECK_EQ(cc_task_join(starved, CC_FOREVER, NULL), 0);
	CHECK_EQ(cc__load(&late, CC__RELAXED), 1);
	/* And all is as before. */
	for (int i = 0; i < 3; i++) {
		REQUIRE_EQ(cc_task_spawn(rt, &after, NULL, count_run, &late), 0);
		CHECK_EQ(cc_task_join(after, CC_FOREVER, NULL), 0);
	}
	CHECK_EQ(cc__load(&late, CC__RELAXED), 4);
	CHECK_EQ(cc__load(&refused, CC__RELAXED), 0);
	CHECK_EQ(log_lines(&log), 1);	/* said once */
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(stacks_max_starves_and_recovers)
{
	static const char *const words[] = {"libccc: no stack for a fiber", "stacks_max = 5", NULL};
	CCConfig c = config_of(64 * K, light_guard_works() ? CC_GUARD_LIGHT : CC_GUARD_SPLIT);

	c.stacks_max = 5;
	check_ceiling(c, 5, words);
}

TEST(stacks_max_is_what_is_named_with_split_guards_too)
{
	static const char *const words[] = {"stacks_max = 5", NULL};
	CCConfig c = config_of(64 * K, CC_GUARD_SPLIT);

	c.stacks_max = 5;
	check_ceiling(c, 5, words);
}

TEST(one_stack_is_enough_to_go_on)
{
	static const char *const words[] = {"no stack for a fiber", NULL};
	CCConfig c = config_of(64 * K, CC_GUARD_AUTO);

	c.stacks_max = 1;
	check_ceiling(c, 1, words);
}

TEST(split_guards_know_their_ceiling_and_name_the_sysctl)
{
	static const char *const words[] = {"libccc: no stack for a fiber", "vm.max_map_count = 64",
	                                    "allows about 16 ",
	                                    "sysctl -w vm.max_map_count=", NULL};

	cc__store(&map_count, 64, CC__RELAXED);
	check_ceiling(config_of(64 * K, CC_GUARD_SPLIT), 16, words);
	cc__store(&map_count, 0, CC__RELAXED);
}

/* While a fiber runs that spawns itself. */
TEST(spawn_from_a_fiber_is_refused_while_tasks_starve)
{
	struct log log = {{0}, ""};
	struct gate gate = {.open = false};
	CCConfig c = config_of(64 * K, CC_GUARD_AUTO);
	cc__a32 runs = {0};
	CCRuntime *rt;
	CCTask holder, starved, spawner;
	int result = 0;

	only_workers(&c, 1);
	c.stacks_max = 1;
	c.log = log_line;
	c.log_context = &log;
	REQUIRE_EQ(cc_runtime_new(&rt, &c), 0);
	REQUIRE_EQ(cc_task_spawn(rt, &holder, NULL, stand_at_gate, &gate), 0);
	TEST_UNTIL(gate_inside(&gate) == 1);
	/* Both starve; when the gate opens, the second is refused nothing. */
	REQUIRE_EQ(cc_task_spawn(rt, &starved, NULL, count_run, &runs), 0);
	CHECK(soon(has_log, &log));
	CHECK_EQ(cc_task_spawn(rt, &spawner, NULL, spawn_refused, &runs), EAGAIN);
	gate_open(&gate);
	CHECK_EQ(cc_task_join(holder, CC_FOREVER, NULL), 0);
	CHECK_EQ(cc_task_join(starved, CC_FOREVER, NULL), 0);
	REQUIRE_EQ(cc_task_spawn(rt, &spawner, NULL, spawn_refused, &runs), 0);
	CHECK_EQ(cc_task_join(spawner, CC_FOREVER, &result), 0);
	CHECK_EQ(result, 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(cc__load(&runs, CC__RELAXED), 2);
}

/* ---- pools forced empty ---- */

struct empty {
	cc__a32 witness;	/* turns that another fiber had */
	cc__a32 stop;
	cc__a32 runs;
	unsigned spawned;
	int last;		/* what the last spawn said */
	uint32_t turns, waits;	/* while it spawned */
};

static int turn_after_turn(void *arg)
{
	struct empty *e = arg;

	while (cc__load(&e->stop, CC__RELAXED) == 0) {
		cc__add(&e->witness, 1, CC__RELAXED);
		cc_yield();
	}
	return 0;
}

static uint32_t turns_and_waits(struct empty *e)
{
	return cc__load(&e->witness, CC__RELAXED) + cc__load(&futex_waits, CC__RELAXED);
}

/* Spawns until the frames are used up too, without giving way to anybody. */
static int spawn_without_pools(void *arg)
{
	struct empty *e = arg;
	uint32_t before;

	while (cc__load(&e->witness, CC__RELAXED) == 0)
		cc_yield();
	cc__store(&watched_thread, (uint32_t)__real_syscall(SYS_gettid), CC__RELAXED);
	before = turns_and_waits(e);
	cc__store(&mmap_fails, 1, CC__RELAXED);
	while ((e->last = cc_task_spawn(NULL, NULL, NULL, count_run, &e->runs)) == 0 &&
	       e->spawned < 1000000)
		e->spawned++;
	cc__store(&mmap_fails, 0, CC__RELAXED);
	/* There is memory again, so there are frames again: at once. */
	if (cc_task_spawn(NULL, NULL, NULL, count_run, &e->runs) == 0)
		e->spawned++;
	e->turns = turns_and_waits(e) - before;
	cc__store(&watched_thread, 0, CC__RELAXED);
	cc__store(&e->stop, 1, CC__RELAXED);
	return 0;
}

TEST(spawn_with_all_pools_empty_neither_parks_nor_sleeps)	/* covers: SCH-06/f */
{
	CCConfig c = config_of(64 * K, CC_GUARD_AUTO);
	struct log log = {{0}, ""};
	struct empty e = {.last = -1};
	CCRuntime *rt;
	CCTask witness, spawner;

	only_workers(&c, 1);
	c.stacks_max = 2;	/* and both are in use below */
	c.stack_cache = 0;
	c.log = log_line;
	c.log_context = &log;
	REQUIRE_EQ(cc_runtime_new(&rt, &c), 0);
	REQUIRE_EQ(cc_task_spawn(rt, &witness, NULL, turn_after_turn, &e), 0);
	REQUIRE_EQ(cc_task_spawn(rt, &spawner, NULL, spawn_without_pools, &e), 0);
	CHECK_EQ(cc_task_join(spawner, CC_FOREVER, NULL), 0);
	CHECK_EQ(cc_task_join(witness, CC_FOREVER, NULL), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(e.last, ENOMEM);
	CHECK(e.spawned > 1);
	CHECK_EQ(e.turns, 0);
	CHECK_EQ(cc__load(&e.runs, CC__RELAXED), e.spawned);	/* each ran in the end */
}

/* The system refuses a stack once, to a worker that has no reason to sleep. */
struct busy {
	cc__a32 child_ran;
	int spawned;
	bool in_time;
	int again;
};

static int yield_for_child(void *arg)
{
	struct busy *b = arg;
	const cc_time end = cc_now() + 5 * CC_SEC * test_slowness();

	b->spawned = cc_task_spawn(NULL, NULL, NULL, count_run, &b->child_ran);
	cc_yield();	/* no stack for it */
	cc__store(&mmap_fails, 0, CC__RELAXED);
	while (cc__load(&b->child_ran, CC__RELAXED) == 0 && cc_now() < end)
		cc_yield();
	b->in_time = cc_now() < end;
	b->again = cc_task_spawn(NULL, NULL, NULL, count_run, &b->child_ran);
	return 0;
}

/* Takes the stacks that exist already. */
static int hold_stacks(CCRuntime *rt, struct gate *gate, CCTask *holder, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (cc_task_spawn(rt, &holder[i], NULL, stand_at_gate, gate) != 0)
			return -1;
		TEST_UNTIL(gate_inside(gate) == i + 1);
	}
	return 0;
}

TEST(starved_task_runs_when_the_system_grants_stacks_again)
{
	enum { FIRST_REGION = 16 };
	CCConfig c = config_of(64 * K, CC_GUARD_AUTO);
	struct log log = {{0}, ""};
	struct gate gate = {.open = false};
	struct busy b = {.spawned = -1, .again = -1};
	CCTask holder[FIRST_REGION], t;
	CCRuntime *rt;

	only_workers(&c, 1);
	c.log = log_line;
	c.log_context = &log;
	REQUIRE_EQ(cc_runtime_new(&rt, &c), 0);
	/* The region but for the worker's reserve, which goes to the spawner. */
	REQUIRE_EQ(hold_stacks(rt, &gate, holder, FIRST_REGION - 1), 0);
	cc__store(&mmap_fails, 1, CC__RELAXED);
	REQUIRE_EQ(cc_task_spawn(rt, &t, NULL, yield_for_child, &b), 0);
	CHECK_EQ(cc_task_join(t, CC_FOREVER, NULL), 0);
	CHECK_EQ(log_lines(&log), 1);	/* it did starve */
	gate_open(&gate);
	for (int i = 0; i < FIRST_REGION - 1; i++)
		CHECK_EQ(cc_task_join(holder[i], CC_FOREVER, NULL), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(b.spawned, 0);
	CHECK(b.in_time);
	CHECK_EQ(b.again, 0);
}

/* ---- hooks ---- */

struct hooks {
	unsigned acquired, released;	/* the pool's lock */
	unsigned most;			/* acquire gives no more than that at once */
	size_t size;
	unsigned wrong;	/* sizes and addresses */
	void *given[64];
};

static void *hook_acquire(void *context, size_t size)
{
	struct hooks *h = context;
	void *p;

	h->wrong += size != h->size;
	if (__atomic_load_n(&h->most, __ATOMIC_RELAXED) <= h->acquired - h->released)
		return NULL;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	for (int i = 0; i < 64; i++)
		if (h->given[i] == NULL) {
			h->given[i] = p;
			break;
		}
	h->acquired++;
	return p;
}

static void hook_release(void *context, void *stack, size_t size)
{
	struct hooks *h = context;
	bool known = false;

	for (int i = 0; i < 64 && !known; i++)
		if (h->given[i] == stack) {
			h->given[i] = NULL;
			known = true;
		}
	h->wrong += !known || size != h->size;
	munmap(stack, size);
	__atomic_store_n(&h->released, h->released + 1, __ATOMIC_RELAXED);
}

static CCConfig config_with(struct hooks *h)
{
	CCConfig c = config_of(h->size, CC_GUARD_AUTO);

	c.stacks.acquire = hook_acquire;
	c.stacks.release = hook_release;
	c.stacks.context = h;
	return c;
}

static int where_am_i(void *arg)
{
	CCFiberInfo me = my_info();

	*(const void **)arg = me.stack;
	CHECK_EQ(me.stack_size, 96 * K);	/* all of it: no guard of ours */
	return 0;
}

static int sleep_a_little(void *arg)
{
	(void)arg;
	for (int i = 0; i < 3; i++)
		CHECK_EQ(cc_sleep_until(cc_now() + CC_MSEC), 0);
	return 0;
}

TEST(stack_hooks_are_balanced)
{
	static const char *const words[] = {"no stack for a fiber", NULL};
	struct hooks h = {.most = 8, .size = 96 * K};
	CCConfig c = config_with(&h);
	const void *stack = NULL;
	CCRuntime *rt;
	CCTask t;

	check_ceiling(c, 8, words);
	CHECK_EQ(h.acquired, h.released);
	CHECK(h.acquired >= 8);
	CHECK_EQ(h.wrong, 0);

	only_workers(&c, 1);
	REQUIRE_EQ(cc_runtime_new(&rt, &c), 0);
	REQUIRE_EQ(cc_task_spawn(rt, &t, NULL, where_am_i, &stack), 0);
	CHECK_EQ(cc_task_join(t, CC_FOREVER, NULL), 0);
	CHECK(stack != NULL && (stack == h.given[0] || stack == h.given[1]));
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(h.acquired, h.released);
}

/* The descriptor of such a stack has its own alarm. */
TEST(fiber_on_a_hooked_stack_can_wait_for_a_time)
{
	struct hooks h = {.most = 8, .size = 96 * K};
	CCConfig c = config_with(&h);
	CCTask t[4];
	CCRuntime *rt;

	only_workers(&c, 1);
	REQUIRE_EQ(cc_runtime_new(&rt, &c), 0);
	for (int i = 0; i < 4; i++)
		REQUIRE_EQ(cc_task_spawn(rt, &t[i], NULL, sleep_a_little, NULL), 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(cc_task_join(t[i], CC_FOREVER, NULL), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(h.acquired, h.released);
}

TEST(stack_hook_without_any_stack_is_an_error)
{
	struct hooks h = {.most = 0, .size = 96 * K};
	CCConfig c = config_with(&h);
	CCRuntime *rt = NULL;

	CHECK_EQ(cc_runtime_new(&rt, &c), ENOMEM);
	CHECK(rt == NULL && h.acquired == 0 && h.released == 0);
	c.stacks.release = NULL;
	c.log = log_line;
	c.log_context = &(struct log){{0}, ""};
	CHECK_EQ(cc_runtime_new(&rt, &c), EINVAL);
}

/* Nobody gives a stack back, but the hook has some again. */
TEST(starved_task_runs_when_the_hook_has_stacks_again)
{
	struct hooks h = {.most = 1, .size = 96 * K};
	struct log log = {{0}, ""};
	struct gate gate = {.open = false};
	CCConfig c = config_with(&h);
	cc__a32 runs = {0};
	CCRuntime *rt;
	CCTask holder, t;

	only_workers(&c, 1);
	c.log = log_line;
	c.log_context = &log;
	REQUIRE_EQ(cc_runtime_new(&rt, &c), 0);
	REQUIRE_EQ(cc_task_spawn(rt, &holder, NULL, stand_at_gate, &gate), 0);
	TEST_UNTIL(gate_inside(&gate) == 1);
	REQUIRE_EQ(cc_task_spawn(rt, &t, NULL, count_run, &runs), 0);
	CHECK(soon(has_log, &log));
	__atomic_store_n(&h.most, 3, __ATOMIC_RELAXED);
	CHECK_EQ(cc_task_join(t, CC_FOREVER, NULL), 0);
	gate_open(&gate);
	CHECK_EQ(cc_task_join(holder, CC_FOREVER, NULL), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(h.acquired, h.released);
}

static uint64_t times_starved(CCRuntime *rt)
{
	CCStats s = {0};

	CHECK_EQ(cc_stats(rt, &s), 0);
	return s.starved;
}

/* Not for the first time, and whoever holds the deadlines sleeps already. */
TEST(starved_task_is_tried_again_though_all_sleep)
{
	enum { AGAIN = 3 };
	struct hooks h = {.most = 2, .size = 96 * K};
	struct log log = {{0}, ""};
	struct gate gate = {.open = false};
	CCConfig c = config_with(&h);
	CCRuntime *rt;

	only_workers(&c, 2);	/* each has a stack in reserve */
	c.idle_wait = CC_FOREVER;
	c.stack_idle = 3600 * CC_SEC;
	c.log = log_line;
	c.log_context = &log;
	REQUIRE_EQ(cc_runtime_new(&rt, &c), 0);
	for (unsigned i = 1; i <= 2 + AGAIN; i++) {
		const uint64_t before = times_starved(rt);

		TEST_UNTIL(cc_task_spawn(rt, NULL, NULL, stand_at_gate, &gate) == 0);
		TEST_UNTIL(i <= 2 || times_starved(rt) > before);
		__atomic_store_n(&h.most, i > 2 ? i : 2, __ATOMIC_RELAXED);
		TEST_UNTIL(gate_inside(&gate) == i);
	}
	gate_open(&gate);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(h.acquired, h.released);
}

/* ---- pages given back ---- */

enum { IDLERS = 24, TOUCHED = 40 * 1024 };

struct idlers {
	struct gate gate;
	cc__a32 next;
	char *stack[IDLERS];
	size_t size;
};

static size_t resident(const char *p, size_t size)
{
	const size_t page = cc__page_size();
	unsigned char seen[1024];
	size_t n = 0;

	if (size / page > sizeof seen || mincore((void *)(uintptr_t)p, size, (void *)seen) != 0)
		return SIZE_MAX;
	for (size_t i = 0; i < size / page; i++)
		n += seen[i] & 1;
	return n;
}

/* Does mincore see a page come and go? */
static bool mincore_works(void)
{
	const size_t page = cc__page_size();
	char *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool works = resident(p, page) == 0;

	*(volatile char *)p = 1;
	works = works && resident(p, page) == 1;
	__real_madvise(p, page, MADV_DONTNEED);
	works = works && resident(p, page) == 0;
	munmap(p, page);
	return works;
}

static __attribute__((noinline)) int touch(struct idlers *s)
{
	volatile char deep[TOUCHED];
	int wrong = 0;

	for (int i = 0; i < TOUCHED; i++)
		deep[i] = (char)(i * 7);
	gate_pass(&s->gate);
	for (int i = 0; i < TOUCHED; i++)
		wrong += deep[i] != (char)(i * 7);
	return wrong;
}

static int idler(void *arg)
{
	struct idlers *s = arg;
	CCFiberInfo me = my_info();
	const uint32_t i = cc__add(&s->next, 1, CC__RELAXED);

	s->stack[i] = (char *)(uintptr_t)me.stack;
	if (i == 0)
		s->size = me.stack_size;	/* the same for all */
	return touch(s);
}

/* IDLERS fibers at once, each of which touches its stack. */
static void run_idlers(CCRuntime *rt, struct idlers *s)
{
	CCTask t[IDLERS];
	int wrong = 0, result;

	*s = (struct idlers){.size = 0};
	for (int i = 0; i < IDLERS; i++)
		REQUIRE_EQ(cc_task_spawn(rt, &t[i], NULL, idler, s), 0);
	TEST_UNTIL(gate_inside(&s->gate) == IDLERS);
	for (int i = 0; i < IDLERS; i++)
		CHECK(resident(s->stack[i], s->size) >= TOUCHED / cc__page_size());
	gate_open(&s->gate);
	for (int i = 0; i < IDLERS; i++) {
		CHECK_EQ(cc_task_join(t[i], CC_FOREVER, &result), 0);
		wrong += result;
	}
	CHECK_EQ(wrong, 0);
}

static bool all_but_one_are_cold(void *arg)
{
	const struct idlers *s = arg;
	int warm = 0;

	for (int i = 0; i < IDLERS; i++)
		warm += resident(s->stack[i], s->size) != 0;
	return warm <= 1;	/* the worker's reserve stays */
}

/* Whatever the size of the worker's cache: all stacks in it, all in the pool,
 * some here and some there. */
static void check_idle(CCGuard guard, unsigned cache)
{
	CCConfig c = config_of(128 * K, guard);
	struct idlers s;
	CCRuntime *rt;

	if (!mincore_works())
		SKIP("mincore does not tell here");
	c.stack_idle = 20 * CC_MSEC;
	c.stack_cache = cache;
	REQUIRE_EQ(cc_runtime_new(&rt, &c), 0);
	for (int round = 0; round < 3; round++) {	/* cold ones come to life again */
		run_idlers(rt, &s);
		if (!CHECK(soon(all_but_one_are_cold, &s)))
			break;
	}
	CHECK_EQ(cc_runtime_free(rt), 0);
}

TEST(idle_stacks_give_their_pages_back)	/* covers: RES-33/u */
{
	check_idle(CC_GUARD_AUTO, 64);
}

TEST(idle_stacks_behind_split_guards_give_their_pages_back)	/* covers: RES-33/u */
{
	check_idle(CC_GUARD_SPLIT, 64);
}

TEST(idle_stacks_in_the_pool_give_their_pages_back)	/* covers: RES-33/u */
{
	check_idle(CC_GUARD_AUTO, 0);
	check_idle(CC_GUARD_AUTO, 1);
	check_idle(CC_GUARD_AUTO, IDLERS - 2);
}

/* A period is the pool's, however many ask: what was free for less keeps its pages. */
TEST(idle_stacks_are_as_old_as_the_pool_says)	/* covers: RES-33/u */
{
	enum { MANY = 200, IDLE = 1000 };	/* more than are taken in one hold */
	const CCConfig c = config_of(64 * K, CC_GUARD_AUTO);
	struct cc__stack_list all = {0};
	struct cc__stack_pool p;
	cc_time now = 5 * IDLE;
	unsigned cold;

	REQUIRE_EQ(cc__stack_pool_init(&p, &c), 0);
	CHECK_EQ(cc__stack_pool_age(&p, now, IDLE), CC_FOREVER);
	for (int i = 0; i < MANY; i++)
		cc__stack_push(&all, cc__stack_get(&p, 0));
	cc__stack_put_list(&p, &all);
	for (int i = 0; i < 5; i++)	/* still the period that began at 5 */
		CHECK_EQ(cc__stack_pool_age(&p, now + i, IDLE), now + IDLE);
	CHECK_EQ(p.shelf[0].free[CC__STACK_WARM].count, MANY);
	now += IDLE;
	for (int i = 0; i < 5; i++)
		CHECK_EQ(cc__stack_pool_age(&p, now, IDLE), now + IDLE);
	CHECK_EQ(p.shelf[0].free[CC__STACK_RESTED].count, MANY);
	cc__stack_put(&p, cc__stack_get(&p, 0));	/* has been used since */
	now += IDLE;
	for (cold = 0; cc__stack_pool_age(&p, now, IDLE) == now;
	     cold = p.shelf[0].free[CC__STACK_COLD].count)
		CHECK(p.shelf[0].free[CC__STACK_COLD].count - cold <
		      MANY / 4); /* a few in each call */
	CHECK_EQ(p.shelf[0].free[CC__STACK_COLD].count, MANY - 1);
	CHECK_EQ(p.shelf[0].free[CC__STACK_RESTED].count, 1);
	now += IDLE;
	CHECK_EQ(cc__stack_pool_age(&p, now, IDLE), now);
	CHECK_EQ(cc__stack_pool_age(&p, now, IDLE), CC_FOREVER);
	CHECK_EQ(p.shelf[0].free[CC__STACK_COLD].count, MANY);
	cc__stack_pool_fini(&p);
}

static bool all_released(void *arg)
{
	struct hooks *h = arg;

	return __atomic_load_n(&h->released, __ATOMIC_RELAXED) >= IDLERS - 1;
}

TEST(idle_stacks_of_hooks_go_back_whole)
{
	struct hooks h = {.most = 64, .size = 128 * K};
	CCConfig c = config_with(&h);
	struct idlers s;
	CCRuntime *rt;

	c.stack_idle = 20 * CC_MSEC;
	REQUIRE_EQ(cc_runtime_new(&rt, &c), 0);
	run_idlers(rt, &s);
	CHECK(soon(all_released, &h));
	run_idlers(rt, &s);
	CHECK_EQ(cc_runtime_free(rt), 0);
	CHECK_EQ(h.acquired, h.released);
	CHECK_EQ(h.wrong, 0);
}

/* ---- live stacks are left alone ---- */

enum { KEEPERS = 20, CHURN = 40, BURSTS = 60, KEPT = 8 * 1024 };

typedef CC__ATOMIC(char *) kept_stack;

static struct keeping {
	struct gate gate;
	kept_stack stack[KEEPERS];	/* of the fibers that stay */
	size_t size;
	cc__a32 hit;	/* a discard that touches one of them */
} keeping;

static void see_discard(char *p, size_t size)
{
	for (int i = 0; i < KEEPERS; i++) {
		char *stack = cc__load(&keeping.stack[i], CC__ACQUIRE);

		if (stack != NULL && p < stack + keeping.size && stack < p + size)
			cc__add(&keeping.hit, 1, CC__RELAXED);
	}
}

static int keeper(void *arg)
{
	kept_stack *slot = arg;
	volatile unsigned char data[KEPT];
	const unsigned mark = (unsigned)cc_fiber_id();
	int wrong = 0;

	for (unsigned i = 0; i < KEPT; i++)
		data[i] = (unsigned char)(i * 31 + mark);
	cc__store(slot, (char *)(uintptr_t)my_info().stack, CC__RELEASE);
	gate_pass(&keeping.gate);
	cc__store(slot, NULL, CC__RELEASE);
	for (unsigned i = 0; i < KEPT; i++)
		wrong += data[i] != (unsigned char)(i * 31 + mark);
	return wrong;
}

static __attribute__((noinline)) int deep(unsigned depth)
{
	volatile unsigned char data[1024];
	int wrong = 0;

	memset((void *)(uintptr_t)data, (int)depth, sizeof data);
	if (depth > 0)
		wrong = deep(depth - 1);
	else
		cc_yield();
	for (unsigned i = 0; i < sizeof data; i++)
		wrong += data[i] != (unsigned char)depth;
	return wrong;
}

static int comes_and_goes(void *arg)
{
	return deep((unsigned)(uintptr_t)arg);
}

static bool discarded_again(void *arg)
{
	return cc__load(&discards, CC__ACQUIRE) != *(uint32_t *)arg;
}

/* Bursts of others around the keepers, which stand between them in the same
 * regions; after each burst the idle ones are discarded, in runs. */
static void churn(CCRuntime *rt, uint64_t *random)
{
	for (int burst = 0; burst < BURSTS; burst++) {
		const unsigned n = 1 + (unsigned)(test_random(random) % CHURN);
		uint32_t seen = cc__load(&discards, CC__ACQUIRE);
		CCTask t[CHURN];
		int result = 0, wrong = 0;

		for (unsigned i = 0; i < n; i++)
			REQUIRE_EQ(cc_task_spawn(rt, &t[i], NULL, comes_and_goes,
			                         (void *)(uintptr_t)(test_random(random) % 40)),
			           0);
		for (unsigned i = 0; i < n; i++) {
			REQUIRE_EQ(cc_task_join(t[i], CC_FOREVER, &result), 0);
			wrong += result;
		}
		REQUIRE_EQ(wrong, 0);
		/* A third of the bursts follow at once, in the middle of a period. */
		if (n > 2 && test_random(random) % 3 != 0)
			REQUIRE(soon(discarded_again, &seen));
	}
}

static void check_keepers(CCGuard guard)
{
	CCConfig c = config_of(128 * K, guard);
	uint64_t random = test_seed();
	CCTask kept[KEEPERS], passing[KEEPERS];
	CCRuntime *rt;
	int result, wrong = 0;

	memset(&keeping, 0, sizeof keeping);
	keeping.size = c.stack_size / 4 * 3;
	cc__store(&on_discard, see_discard, CC__RELEASE);
	c.stack_idle = 2 * CC_MSEC;
	c.stack_cache = 4;
	REQUIRE_EQ(cc_runtime_new(&rt, &c), 0);
	if (mincore_works()) {	/* stacks that were cold once */
		struct idlers s;

		run_idlers(rt, &s);
		CHECK(soon(all_but_one_are_cold, &s));
	}
	for (int i = 0; i < KEEPERS; i++) {	/* every other stack of the first ones */
		REQUIRE_EQ(cc_task_spawn(rt, &passing[i], NULL, comes_and_goes, NULL), 0);
		REQUIRE_EQ(cc_task_spawn(rt, &kept[i], NULL, keeper, &keeping.stack[i]), 0);
	}
	for (int i = 0; i < KEEPERS; i++)
		CHECK_EQ(cc_task_join(passing[i], CC_FOREVER, NULL), 0);
	TEST_UNTIL(gate_inside(&keeping.gate) == KEEPERS);
	churn(rt, &random);
	gate_open(&keeping.gate);
	for (int i = 0; i < KEEPERS; i++) {
		CHECK_EQ(cc_task_join(kept[i], CC_FOREVER, &result), 0);
		wrong += result;
	}
	CHECK_EQ(wrong, 0);
	CHECK_EQ(cc__load(&keeping.hit, CC__RELAXED), 0);
	CHECK_EQ(cc_runtime_free(rt), 0);
	cc__store(&on_discard, NULL, CC__RELEASE);
}

TEST(live_stacks_keep_their_pages)	/* covers: RES-33/u */
{
	check_keepers(CC_GUARD_AUTO);
}

TEST(live_stacks_behind_split_guards_keep_their_pages)	/* covers: RES-33/u */
{
	check_keepers(CC_GUARD_SPLIT);
}

/* The guard still traps after the pages around it were given back. */
static void cold_overflow_child(void *arg)
{
	static const CCTaskOptions parser = {.name = "parser"};
	CCConfig c = config_of(128 * K, *(CCGuard *)arg);
	struct idlers s;
	CCRuntime *rt;
	CCTask t;

	cc__store(&spying, 1, CC__RELAXED);
	c.stack_idle = 5 * CC_MSEC;
	if (cc_runtime_new(&rt, &c) != 0)
		_exit(2);
	run_idlers(rt, &s);
	if (!soon(all_but_one_are_cold, &s))
		_exit(3);
	if (cc_task_spawn(rt, &t, &parser, overflow, NULL) == 0)
		cc_ignore(cc_task_join(t, CC_FOREVER, NULL));
	_exit(4);
}

TEST(guards_outlive_the_pages_given_back)	/* covers: SCH-04/d */
{
	CCGuard guard[] = {CC_GUARD_SPLIT, CC_GUARD_LIGHT};

	if (!mincore_works())
		SKIP("mincore does not tell here");
	for (int i = 0; i < (light_guard_works() ? 2 : 1); i++) {
		new_report();
		REQUIRE_EQ(test_dies(cold_overflow_child, &guard[i], &death), 0);
		CHECK(WIFSIGNALED(death.status) && WTERMSIG(death.status) == SIGSEGV);
		CHECK(strstr(death.text, "'parser' overflowed its 128 KB stack; ") != NULL);
	}
}

/* ---- no huge pages ---- */

/* The VmFlags line of the mapping that p lies in; false: not to be had. */
static bool flags_of(const void *p, char *line, int size)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	bool inside = false, found = false;
	unsigned long begin, end;

	if (f == NULL)
		return false;
	while (!found && fgets(line, size, f) != NULL) {
		if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
			inside = (uintptr_t)p >= begin && (uintptr_t)p < end;
		else if (inside && strncmp(line, "VmFlags:", 8) == 0)
			found = true;
	}
	fclose(f);
	return found;
}

static bool has_no_huge(const void *p)
{
	char line[512];

	return flags_of(p, line, sizeof line) && strstr(line, " nh") != NULL;
}

static int stack_has_no_huge(void *arg)
{
	const char *stack = my_info().stack;

	(void)arg;
	return has_no_huge(stack) && has_no_huge(&stack);
}

TEST(stacks_never_use_huge_pages)
{
	const size_t page = cc__page_size();
	char *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool told;
	CCRuntime *rt;
	CCTask t;
	int result = 0;

	*(volatile char *)p = 1;
	told = __real_madvise(p, page, MADV_NOHUGEPAGE) == 0 && has_no_huge(p);
	munmap(p, page);
	if (!told)
		SKIP("/proc/self/smaps does not tell here");
	REQUIRE_EQ(cc_runtime_new(&rt, &(CCConfig){0}), EINVAL);
	REQUIRE_EQ(cc_runtime_new(&rt, NULL), 0);
	REQUIRE_EQ(cc_task_spawn(rt, &t, NULL, stack_has_no_huge, NULL), 0);
	CHECK_EQ(cc_task_join(t, CC_FOREVER, &result), 0);
	CHECK_EQ(result, 1);
	CHECK_EQ(cc_runtime_free(rt), 0);
}
