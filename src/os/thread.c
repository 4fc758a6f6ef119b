/* thread.c - threads, thread-local storage, futex, clock, and the last words:
 * what os/atomic.h and os/assert.h declare, on Linux. */
#include "os/assert.h"
#include "os/atomic.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/fault.h"
#include "os/outside.h"
#include "os/write.h"

/* ---- clock ---- */

cc_time cc__now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (cc_time)t.tv_sec * CC_SEC + t.tv_nsec;
}

/* ---- the heavy fence ---- */

/* (The header came with Linux 4.14; musl-gcc does not find it.) */
enum { MEMBARRIER_PRIVATE_EXPEDITED = 1 << 3, MEMBARRIER_REGISTER_PRIVATE_EXPEDITED = 1 << 4 };

bool cc__fence_symmetric = true;

static bool membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0) == 0;
}

static void probe_membarrier(void)
{
	cc__fence_symmetric = !membarrier(MEMBARRIER_REGISTER_PRIVATE_EXPEDITED) ||
	                      !membarrier(MEMBARRIER_PRIVATE_EXPEDITED);
}

void cc__fence_heavy_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, probe_membarrier);
}

void cc__fence_heavy(void)
{
	if (cc__fence_symmetric)
		cc__fence(CC__SEQ_CST);
	else
		CC__CHECK(membarrier(MEMBARRIER_PRIVATE_EXPEDITED),
		          "membarrier is refused that was granted at the start");
}

/* ---- futex ---- */

/* (musl-gcc does not find <linux/futex.h>.) */
enum { FUTEX_WAKE = 1, FUTEX_WAIT_BITSET = 9, FUTEX_PRIVATE_FLAG = 128 };
#define FUTEX_BITSET_MATCH_ANY 0xffffffffu

static int futex_wait(void *word, uint32_t expected, cc_time deadline)
{
	struct timespec at;
	const bool forever = deadline == CC_FOREVER;

	if (!forever) {
		if (deadline < 0)
			deadline = 0;
		at.tv_sec = (time_t)(deadline / CC_SEC);
		at.tv_nsec = (long)(deadline % CC_SEC);
	}
	/* WAIT_BITSET takes an absolute time, unlike WAIT: no drift when a
	 * signal ends the wait and the caller comes back. */
	if (syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
	            forever ? NULL : &at, NULL, FUTEX_BITSET_MATCH_ANY) == 0)
		return 0;
	return errno == ETIMEDOUT ? ETIMEDOUT : 0;
}

static void futex_wake(void *word, int most)
{
	syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, most, NULL, NULL, 0);
}

int cc__futex_wait(cc__a32 *a, uint32_t expected, cc_time deadline)
{
	return futex_wait(&a->raw, expected, deadline);
}

void cc__futex_wake(cc__a32 *a, int most)
{
	futex_wake(&a->raw, most);
}

/* Both CPUs are little-endian: the low half stands first. */
int cc__futex_wait64(cc__a64 *a, uint64_t expected, cc_time deadline)
{
	return futex_wait(&a->raw, (uint32_t)expected, deadline);
}

void cc__futex_wake64(cc__a64 *a)
{
	futex_wake(&a->raw, 1);
}

/* ---- thread-local storage ---- */

static _Thread_local void *tls_record;
static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;
static int exit_key_error;
typedef void exit_function(void *record);
static CC__ATOMIC(exit_function *) exit_call;

/* Cleared first: destructors that run after this one and call us get a new
 * record, and this one its turn again. */
static void thread_exits(void *record)
{
	tls_record = NULL;
	cc__load(&exit_call, CC__RELAXED)(record);	/* Relaxed: always the same one */
}

static void make_exit_key(void)
{
	exit_key_error = pthread_key_create(&exit_key, thread_exits);
}

/* The empty asm keeps link-time optimisation from seeing a function whose
 * result could be kept across a switch. */
__attribute__((noinline)) void *cc__tls_get(void)
{
	__asm__ volatile("" ::: "memory");
	return tls_record;
}

__attribute__((noinline)) int cc__tls_set(void *record, void (*at_exit)(void *record))
{
	int err;

	if (at_exit != NULL) {
		pthread_once(&exit_once, make_exit_key);
		if (exit_key_error != 0)
			return exit_key_error;
		/* Relaxed: always the same one, and ours comes before our exit. */
		cc__store(&exit_call, at_exit, CC__RELAXED);
		if ((err = pthread_setspecific(exit_key, record)) != 0)
			return err;
	}
	tls_record = record;
	__asm__ volatile("" ::: "memory");
	return 0;
}

__attribute__((noinline)) void *cc__thread_scratch(void)
{
	static _Thread_local _Alignas(16) unsigned char scratch[CC__THREAD_SCRATCH];

	__asm__ volatile("" ::: "memory");
	return scratch;
}

static _Thread_local uint64_t contentions;

__attribute__((noinline)) void cc__contended(void)
{
	__asm__ volatile("" ::: "memory");
	contentions++;
}

__attribute__((noinline)) uint64_t cc__contentions(void)
{
	__asm__ volatile("" ::: "memory");
	return contentions;
}

/* ---- threads ---- */

struct start {
	void (*main)(void *arg);
	void *arg;
	char name[16];
	struct cc__outside outside;	/* as the program's thread had it */
};

/* Of a thread of ours: on its own stack. */
static _Thread_local const struct cc__outside *outside_of_ours;

__attribute__((noinline)) bool cc__outside(struct cc__outside *o)
{
	const struct cc__outside *known;

	__asm__ volatile("" ::: "memory");
	if ((known = outside_of_ours) != NULL) {
		*o = *known;
		return true;
	}
	pthread_sigmask(SIG_BLOCK, NULL, &o->mask);
	o->slack = prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL);
	return false;
}

static void *thread_main(void *p)
{
	struct start s = *(struct start *)p;

	free(p);
	outside_of_ours = &s.outside;
	pthread_setname_np(pthread_self(), s.name);
	cc__fault_thread_begin();
	s.main(s.arg);
	cc__fault_thread_end();
	return NULL;
}

/* What a thread of ours blocks on top of what the thread that starts it blocks.  A signal to
 * the process goes to any thread that does not block it, so a worker must block the signals
 * that the program handles, or waits for in sigwait or a signalfd, in threads of its choice.
 * Not blocked are faults, which a thread brings upon itself, and the signals of profiling
 * timers, which mean the thread that computes: without them a profiler sees no fiber.
 * docs/signals.md tells users; this list is the only place that decides. */
static void signals_to_block(sigset_t *mask)
{
	static const int ours[] = {SIGSEGV, SIGBUS, SIGFPE,  SIGILL,   SIGTRAP,
	                           SIGABRT, SIGSYS, SIGPROF, SIGVTALRM};

	sigfillset(mask);
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		sigdelset(mask, ours[i]);
}

int cc__thread_start(struct cc__os_thread *t, void (*main)(void *), void *arg, const char *name)
{
	struct start *s = malloc(sizeof *s);
	sigset_t mask, before;
	pthread_t id;
	int err;

	if (s == NULL)
		return ENOMEM;
	s->main = main;
	s->arg = arg;
	strncpy(s->name, name, sizeof s->name - 1);
	s->name[sizeof s->name - 1] = '\0';
	(void)cc__outside(&s->outside);
	signals_to_block(&mask);
	pthread_sigmask(SIG_BLOCK, &mask, &before);
	err = pthread_create(&id, NULL, thread_main, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err != 0) {
		free(s);
		return err;
	}
	t->handle = (uintptr_t)id;
	return 0;
}

void cc__thread_join(struct cc__os_thread t)
{
	pthread_join((pthread_t)t.handle, NULL);
}

void cc__thread_detach(struct cc__os_thread t)
{
	pthread_detach((pthread_t)t.handle);
}

void cc__thread_yield(void)
{
	sched_yield();
}

void cc__thread_prompt(void)
{
	prctl(PR_SET_TIMERSLACK, 1UL);	/* ns, the least; refused, it is late */
}

/* ---- last words ---- */

static void say(const char *text, size_t *n)
{
	/* A failure has no place left to be reported. */
	(void)cc__write_all(STDERR_FILENO, text, *n);
	*n = 0;
}

void cc__say_all(const char *first, ...)
{
	char line[512];
	size_t n = 0;
	va_list more;

	va_start(more, first);
	for (const char *s = first; s != NULL; s = va_arg(more, const char *))
		while (*s != '\0') {
			line[n++] = *s++;
			if (n == sizeof line)
				say(line, &n);
		}
	va_end(more);
	say(line, &n);
}

_Noreturn void cc__panic(const char *file, int line, const char *what)
{
	char digits[12];
	char *d = digits + sizeof digits;

	*--d = '\0';
	do
		*--d = (char)('0' + line % 10);
	while ((line /= 10) > 0);
	cc__say("libccc: ", file, ":", d, ": ", what, "\n");
	if (cc__panic_hook != NULL)
		cc__panic_hook();
	abort();
}
