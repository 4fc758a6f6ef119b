/* test_main.c - the runner of test.h: all tests of a program in one process. */
#include "test.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <ccc/fiber.h>

#include "base/point.h"
#include "os/trace.h"

/* Not there in a program that links the shared library, or none. */
#pragma weak cc__watch
#pragma weak cc__watch_log
#pragma weak cc__trace_dump
#pragma weak cc_fiber_each

/* glibc has them, in <execinfo.h>; musl does not. */
int backtrace(void **frames, int size);
void backtrace_symbols_fd(void *const *frames, int size, int fd);
#pragma weak backtrace
#pragma weak backtrace_symbols_fd

enum { SECONDS = 30, DEATH_SECONDS = 20, SKIPPED = 77 };

static struct test_case *first;
static struct test_case *volatile current;
static unsigned failures;	/* of the current test; atomic, any thread counts */
static const char *skipped;	/* why the current test was */
static uint64_t seed;
static bool seed_printed;	/* in the current test; atomic, any thread asks */
static int64_t started;		/* when the current test was, in ms */

static const int fatal[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE};
enum { FATALS = sizeof fatal / sizeof *fatal };
static struct sigaction at_start[FATALS];	/* a sanitizer's, or the default */

/* Leaks are looked for in the test program alone: a child of fork has the checker's locks
 * as threads held them that it does not have, and may wait for them at its exit. */
static pid_t test_program;
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return getpid() != test_program;
}

/* Tests fork while threads run, and then start threads in the child.  TSan sleeps for a second
 * at the exit of each such child, to see races there. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "die_after_fork=0:atexit_sleep_ms=0";
}

/* ---- checks ---- */

/* In the order of the source, whatever order the constructors have. */
void test_add(struct test_case *t)
{
	struct test_case **at = &first;

	while (*at != NULL && (*at)->line < t->line)
		at = &(*at)->next;
	t->next = *at;
	*at = t;
}

static void fail(const char *file, int line)
{
	__atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);
	printf("%s:%d: ", file, line);
}

bool test_check(bool ok, const char *text, const char *file, int line)
{
	if (!ok) {
		fail(file, line);
		printf("failed: %s\n", text);
	}
	return ok;
}

bool test_check_eq(intmax_t a, intmax_t b, const char *a_text, const char *b_text, const char *file,
                   int line)
{
	if (a != b) {
		fail(file, line);
		printf("failed: %s == %s: %" PRIdMAX " and %" PRIdMAX "\n", a_text, b_text, a, b);
	}
	return a == b;
}

bool test_check_str(const char *a, const char *b, const char *a_text, const char *b_text,
                    const char *file, int line)
{
	if (a != NULL && b != NULL && strcmp(a, b) == 0)
		return true;
	fail(file, line);
	printf("failed: %s is %s:\n\t\"%s\"\n\t\"%s\"\n", a_text, b_text, a != NULL ? a : "(NULL)",
	       b != NULL ? b : "(NULL)");
	return false;
}

void test_skip(const char *why)
{
	skipped = why;
}

uint64_t test_seed(void)
{
	if (!__atomic_exchange_n(&seed_printed, true, __ATOMIC_RELAXED))
		printf("      %s: TEST_SEED=%" PRIu64 "\n", current->name, seed);
	return seed;
}

uint64_t test_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

unsigned test_slowness(void)
{
	const char *s = getenv("TEST_TIMEOUT");
	int n = s != NULL ? atoi(s) : 1;

	return n > 1 ? (unsigned)n : 1;
}

unsigned test_rounds(unsigned n)
{
	const char *s = getenv("TEST_FEWER");
	const unsigned fewer = s != NULL && atoi(s) > 0 ? (unsigned)atoi(s) : 1;
	const unsigned slow = test_slowness() * test_slowness();
	const unsigned rounds = n / (slow > fewer ? slow : fewer);

	return rounds > 0 ? rounds : 1;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool test_has_time(void)
{
	return now_ms() - started < SECONDS * 1000 / 3 * (int64_t)test_slowness();
}

/* ---- a child that may die ---- */

static void child(void (*fn)(void *), void *arg, int fd)
{
	const struct rlimit no_core = {0, 0};

	alarm(0);
	/* The watchdog may end the parent first; an orphan would keep the output of ctest open. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &no_core);
	for (int i = 0; i < FATALS; i++) {
		struct sigaction now;

		sigaction(fatal[i], NULL, &now);
		if (now.sa_handler == at_start[i].sa_handler && now.sa_handler != SIG_IGN)
			signal(fatal[i], SIG_DFL);
	}
	dup2(fd, STDERR_FILENO);
	close(fd);
	fn(arg);
	_exit(0);
}

/* Reads until every writer is gone, kills `pid` when it takes too long. */
static void listen_to(pid_t pid, int fd, struct test_death *out)
{
	const int64_t end = now_ms() + DEATH_SECONDS * 1000 * (int64_t)test_slowness();
	struct pollfd p = {fd, POLLIN, 0};
	char rest[4096];

	for (;;) {
		const size_t room = sizeof out->text - 1 - out->size;
		const int64_t left = end - now_ms();
		ssize_t n;

		if (left <= 0 && !out->timed_out) {
			out->timed_out = true;
			kill(pid, SIGKILL);
		}
		if (poll(&p, 1, left > 0 ? (int)left : 1000) == 0 && left <= 0)
			return;	/* a grandchild holds the pipe */
		if ((p.revents & (POLLIN | POLLHUP)) == 0)
			continue;
		n = read(fd, room > 0 ? out->text + out->size : rest,
		         room > 0 ? room : sizeof rest);
		if (n == 0 || (n < 0 && errno != EINTR))
			return;
		if (n > 0 && room > 0)
			out->size += (size_t)n;
	}
}

int test_dies(void (*fn)(void *), void *arg, struct test_death *out)
{
	int fds[2];
	pid_t pid;

	out->status = 0;
	out->timed_out = false;
	out->size = 0;
	if (pipe(fds) != 0)
		return errno;
	fflush(NULL);
	if ((pid = fork()) < 0) {
		const int err = errno;

		close(fds[0]);
		close(fds[1]);
		return err;
	}
	if (pid == 0) {
		close(fds[0]);
		child(fn, arg, fds[1]);
	}
	close(fds[1]);
	listen_to(pid, fds[0], out);
	close(fds[0]);
	out->text[out->size] = '\0';
	while (waitpid(pid, &out->status, 0) < 0)
		if (errno != EINTR)
			return errno;
	return 0;
}

/* ---- the run ---- */

/* TEST_TRACE=FILE: what happened, for tools/trace-check. */
static void dump_trace(void)
{
	const char *name = getenv("TEST_TRACE");
	int fd;

	if (name == NULL || cc__trace_dump == NULL)
		return;
	if ((fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) < 0) {
		perror(name);
		return;
	}
	cc__trace_dump(fd);
	close(fd);
}

static void dies(int sig)
{
	static int dying;

	while (__atomic_exchange_n(&dying, 1, __ATOMIC_RELAXED))
		pause();	/* another thread writes the log, and ends us */
	dump_trace();		/* not made for a handler, but there is nothing to lose */
	signal(sig, SIG_DFL);
	raise(sig);
}

/* ---- the watchdog: what hangs ---- */

enum { FIBERS_TOLD = 40, FRAMES = 40, DUMP_SECONDS = 5 };

/* To stderr; stdout may be locked by the thread that hangs. */
__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
	char line[256];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof line, format, args);
	va_end(args);
	n = n < (int)sizeof line ? n : (int)sizeof line - 1;
	if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
		_exit(1);
}

static int tell_fiber(const CCFiberInfo *f, void *arg)
{
	static const char *const states[] = {"queued", "running", "parked", "done"};
	unsigned *count = arg;

	if (++*count <= FIBERS_TOLD)
		tell("  fiber %" PRIu64 " '%s' is %s, worker %u\n", f->id, f->name,
		     (unsigned)f->state < 4 ? states[f->state] : "?", f->worker);
	return 0;
}

/* The first line of a file in /proc/self/task/TID, without its newline. */
static void thread_line(const char *tid, const char *name, char *line, size_t size)
{
	char path[300];
	ssize_t n = 0;
	int fd;

	(void)snprintf(path, sizeof path, "/proc/self/task/%s/%s", tid, name);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) >= 0) {
		n = read(fd, line, size - 1);
		close(fd);
	}
	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
}

static void tell_thread(const char *tid)
{
	char name[32], in[128];

	thread_line(tid, "comm", name, sizeof name);
	thread_line(tid, "syscall", in, sizeof in);
	tell("  thread %s '%s': %s%s\n", tid, name, strcmp(in, "running") == 0 ? "" : "in system call ",
	     in);
}

/* Without opendir, which allocates: TSan reports that in a handler, and takes seconds for it. */
static void tell_threads(void)
{
	struct entry {
		uint64_t inode, offset;
		unsigned short size;
		unsigned char type;
		char name[];
	};
	_Alignas(struct entry) char entries[4096];
	const int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long n;

	while (fd >= 0 && (n = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0)
		for (long at = 0; at < n;) {
			const struct entry *e = (const void *)(entries + at);

			if (e->name[0] != '.')
				tell_thread(e->name);
			at += e->size;
		}
	if (fd >= 0)
		close(fd);
}

static void give_up(int sig)
{
	(void)sig;
	tell("  (no more: a lock that the report needs is held)\n");
	abort();
}

/* It allocates nothing, but takes locks.  If it needs a lock that the interrupted thread holds, a second
 * alarm ends it; the name and the seed have been told by then. */
static void tell_what_hangs(void)
{
	struct sigaction end = {.sa_handler = give_up};
	void *frames[FRAMES];
	unsigned count = 0;
	sigset_t alarms;

	sigaction(SIGALRM, &end, NULL);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
	alarm(DUMP_SECONDS * test_slowness());
	if (backtrace != NULL && backtrace_symbols_fd != NULL) {
		tell("this thread (addr2line -fe PROGRAM OFFSET names the lines):\n");
		backtrace_symbols_fd(frames, backtrace(frames, FRAMES), STDERR_FILENO);
	}
	tell("threads, and the numbers of their system calls:\n");
	tell_threads();
	if (cc_fiber_each == NULL)
		return;
	tell("fibers:\n");
	cc_fiber_each(tell_fiber, &count);
	tell(count > FIBERS_TOLD ? "  and more: %u in all\n" : "  %u in all\n", count);
}

static void too_long(int sig)
{
	(void)sig;
	tell("\ntest takes too long: %s\nTEST_SEED=%" PRIu64 ", %" PRId64 " s\n", current->name, seed,
	     (now_ms() - started) / 1000);
	tell_what_hangs();
	abort();
}

/* ---- a run ---- */

/* Returns 'p'assed, 'f'ailed or 's'kipped. */
static char run(struct test_case *t)
{
	char verdict = 'p';

	current = t;
	started = now_ms();
	failures = 0;
	skipped = NULL;
	seed_printed = false;
	alarm(SECONDS * test_slowness());
	t->run();
	alarm(0);

	if (__atomic_load_n(&failures, __ATOMIC_RELAXED) != 0)
		verdict = 'f';
	else if (skipped != NULL)
		verdict = 's';
	printf("%-5s %s", verdict == 'f' ? "FAIL" : verdict == 's' ? "skip" : "ok", t->name);
	if (verdict == 's')
		printf(": %s", skipped);
	if (now_ms() - started >= 100)
		printf("  (%" PRId64 " ms)", now_ms() - started);
	putchar('\n');
	return verdict;
}

static bool wanted(const char *name, char **patterns)
{
	bool match = *patterns == NULL;

	for (; *patterns != NULL && !match; patterns++)
		match = strchr(*patterns, '*') != NULL ? fnmatch(*patterns, name, 0) == 0
		                                       : strstr(name, *patterns) != NULL;
	return match;
}

/* A pattern that matches no test is a typing error: its tests would be left out silently. */
static bool each_matches(char **patterns)
{
	bool all = true;

	for (; *patterns != NULL; patterns++) {
		char *one[] = {*patterns, NULL};
		const struct test_case *t = first;

		while (t != NULL && !wanted(t->name, one))
			t = t->next;
		if (t == NULL)
			fprintf(stderr, "no test matches '%s'; --list names them\n", *patterns);
		all = all && t != NULL;
	}
	return all;
}

static int usage(const char *program)
{
	fprintf(stderr, "usage: %s [--list] [--repeat N] [pattern...]\n", program);
	return 2;
}

/* ---- noise (tests/noise/noise.c), if it is there ---- */

static void (*noise_point)(void);

static void noisy_event(enum cc__event kind, const void *who, uint64_t a, uint64_t b)
{
	(void)kind, (void)who, (void)a, (void)b;
	noise_point();
}

#ifdef CC__POINTS
static void (*own_hook)(const char *label, const void *object);	/* the program's */

static void noisy_point(const char *label, const void *object)
{
	noise_point();
	if (own_hook != NULL)
		own_hook(label, object);
}
#endif

/* At every event and every race point, until the test takes the hook for itself. */
static void hear_noise(void)
{
	*(void **)&noise_point = dlsym(RTLD_DEFAULT, "noise_point");
	if (noise_point == NULL)
		return;
	if (cc__watch_log != NULL)
		cc__watch_log(noisy_event);
#ifdef CC__POINTS
	own_hook = cc__point_hook;
	cc__point_hook = noisy_point;
#endif
}

static void set_up(void)
{
	const char *s = getenv("TEST_SEED");
	struct sigaction watchdog = {.sa_handler = too_long};

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (backtrace != NULL)
		backtrace(&(void *){NULL}, 1);	/* its first call loads a library */
	seed = s != NULL ? strtoull(s, NULL, 0) : (uint64_t)time(NULL) ^ (uint64_t)getpid() << 32;
	if (getenv("TEST_TRACE") != NULL && cc__watch != NULL) {
		cc__watch(CC__WATCH_TRACE | CC__WATCH_ASSERT);
		for (int i = 0; i < FATALS; i++)
			signal(fatal[i], dies);
	}
	for (int i = 0; i < FATALS; i++)
		sigaction(fatal[i], NULL, &at_start[i]);
	sigaction(SIGALRM, &watchdog, NULL);
	hear_noise();
}

int main(int argc, char **argv)
{
	unsigned passed = 0, failed = 0, skips = 0;
	long repeat = 1;
	bool list = false;
	char **patterns;

	test_program = getpid();
	for (patterns = argv + 1; *patterns != NULL && (*patterns)[0] == '-'; patterns++) {
		if (strcmp(*patterns, "--list") == 0)
			list = true;
		else if (strcmp(*patterns, "--repeat") == 0 && patterns[1] != NULL)
			repeat = strtol(*++patterns, NULL, 10);
		else
			return usage(argv[0]);
	}
	(void)argc;
	if (!each_matches(patterns))
		return 2;
	set_up();
	for (long i = 0; i < repeat; i++)
		for (struct test_case *t = first; t != NULL; t = t->next) {
			char verdict;

			if (!wanted(t->name, patterns))
				continue;
			if (list) {
				printf("%s\n", t->name);
				continue;
			}
			verdict = run(t);
			passed += verdict == 'p';
			failed += verdict == 'f';
			skips += verdict == 's';
		}
	if (list)
		return 0;
	dump_trace();
	printf("%u passed, %u failed", passed, failed);
	if (skips != 0)
		printf(", %u skipped", skips);
	putchar('\n');
	if (failed != 0 || passed + skips == 0)
		return 1;
	return passed == 0 ? SKIPPED : 0;
}
