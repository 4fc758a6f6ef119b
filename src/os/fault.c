/* fault.c - the guard-page handler, Linux. */
#include "os/fault.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "os/atomic.h"
#include "os/write.h"

static CC__ATOMIC(cc__fault_claim *) claim_fault;
static struct sigaction before_segv, before_bus;
static pthread_once_t installed = PTHREAD_ONCE_INIT;

/* The default action.  A fault repeats by itself when we return; a kill() does
 * not. */
static void die(int sig, const siginfo_t *info)
{
	signal(sig, SIG_DFL);
	if (info->si_code <= 0)
		raise(sig);
}

/* What the kernel does around a host's handler by its mask and flags.  The
 * return from ours restores the mask. */
static struct sigaction enter(int sig, struct sigaction *before)
{
	const struct sigaction host = *before;
	sigset_t self;

	pthread_sigmask(SIG_BLOCK, &host.sa_mask, NULL);
	if (host.sa_flags & SA_NODEFER) {
		sigemptyset(&self);
		sigaddset(&self, sig);
		pthread_sigmask(SIG_UNBLOCK, &self, NULL);
	}
	if (host.sa_flags & (int)SA_RESETHAND) {
		before->sa_flags = 0;
		before->sa_handler = SIG_DFL;
	}
	return host;
}

/* As if we had never been there. */
static void pass_on(int sig, siginfo_t *info, void *context)
{
	struct sigaction *before = sig == SIGSEGV ? &before_segv : &before_bus;
	const bool plain = !(before->sa_flags & SA_SIGINFO);

	if (plain && before->sa_handler == SIG_IGN && info->si_code <= 0)
		return;	/* nobody ignores a fault, but a kill() */
	if (plain && (before->sa_handler == SIG_DFL || before->sa_handler == SIG_IGN))
		die(sig, info);
	else if (plain)
		enter(sig, before).sa_handler(sig);
	else
		enter(sig, before).sa_sigaction(sig, info, context);
}

static struct cc__fault describe(const siginfo_t *info, const void *context)
{
	const ucontext_t *uc = context;
	struct cc__fault f = {.address = info->si_addr};

#ifdef __x86_64__
	f.sp = (const char *)uc->uc_mcontext.gregs[REG_RSP];
	f.pc = (const char *)uc->uc_mcontext.gregs[REG_RIP];
#else
	f.sp = (const char *)uc->uc_mcontext.sp;
	f.pc = (const char *)uc->uc_mcontext.pc;
#endif
	return f;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	const struct cc__fault fault = describe(info, context);
	char text[512];

	/* Relaxed: set before the handler was installed. */
	cc__fault_claim *claim = cc__load(&claim_fault, CC__RELAXED);

	if (info->si_code > 0 && claim(&fault, text, sizeof text)) {
		if (cc__write_all(STDERR_FILENO, text, strlen(text)))
			fsync(STDERR_FILENO);
		/* Returning runs into the same page: the process dies by the
		 * signal, and a core shows where. */
		signal(sig, SIG_DFL);
		return;
	}
	pass_on(sig, info, context);
}

static void install(void)
{
	struct sigaction a;

	memset(&a, 0, sizeof a);
	a.sa_sigaction = on_fault;
	a.sa_flags = SA_SIGINFO | SA_ONSTACK;
	sigemptyset(&a.sa_mask);
	sigaction(SIGSEGV, &a, &before_segv);
	sigaction(SIGBUS, &a, &before_bus);
}

void cc__fault_install(cc__fault_claim *claim)
{
	/* Relaxed: always the same function. */
	cc__store(&claim_fault, claim, CC__RELAXED);
	pthread_once(&installed, install);
}

/* Room for the handler, the host's handler behind it, and a sanitizer's report. */
enum { ALT_STACK = 64 * 1024 };

static _Thread_local void *alt_stack;	/* ours; NULL: none */

void cc__fault_thread_begin(void)
{
	stack_t s = {.ss_size = ALT_STACK};

	s.ss_sp = mmap(NULL, ALT_STACK, PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	/* Without it an overflow still kills the process, only unnamed. */
	if (s.ss_sp == MAP_FAILED)
		return;
	if (sigaltstack(&s, NULL) == 0)
		alt_stack = s.ss_sp;
	else
		munmap(s.ss_sp, ALT_STACK);
}

void cc__fault_thread_end(void)
{
	stack_t off = {.ss_flags = SS_DISABLE}, now;

	if (alt_stack == NULL)
		return;
	/* The program may have put its own in the place of ours. */
	if (sigaltstack(NULL, &now) == 0 && now.ss_sp == alt_stack)
		sigaltstack(&off, NULL);
	munmap(alt_stack, ALT_STACK);
}
