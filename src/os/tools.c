/* tools.c - the sanitizers' functions, found when the process starts, and Valgrind's requests. */
#include "os/tools.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#ifdef CC__VALGRIND
#include <valgrind/valgrind.h>
#endif

#define WEAK __attribute__((weak))

/* The public interfaces of the sanitizers, as their headers declare them. */
WEAK void __sanitizer_start_switch_fiber(void **fake, const void *bottom, size_t size);
WEAK void __sanitizer_finish_switch_fiber(void *fake, const void **bottom, size_t *size);
WEAK void __asan_unpoison_memory_region(const volatile void *p, size_t size);
WEAK void __lsan_register_root_region(const void *p, size_t size);
WEAK void __lsan_unregister_root_region(const void *p, size_t size);
WEAK void *__tsan_get_current_fiber(void);
WEAK void *__tsan_create_fiber(unsigned flags);
WEAK void __tsan_destroy_fiber(void *fiber);
WEAK void __tsan_switch_to_fiber(void *fiber, unsigned flags);
WEAK void __tsan_acquire(void *at);
WEAK void __tsan_release(void *at);
WEAK void __tsan_atomic64_store(volatile uint64_t *at, uint64_t value, int order);
WEAK void AnnotateBenignRaceSized(const char *file, int line, const volatile void *at, size_t size,
                                  const char *why);
WEAK void AnnotateIgnoreReadsBegin(const char *file, int line);
WEAK void AnnotateIgnoreReadsEnd(const char *file, int line);
WEAK void AnnotateIgnoreWritesBegin(const char *file, int line);
WEAK void AnnotateIgnoreWritesEnd(const char *file, int line);

/* TOOLS-3: the flag of __tsan_switch_to_fiber that orders nothing. */
#ifdef CC__TSAN
enum { UNORDERED = 0 };
#else
enum { UNORDERED = 1 };
#endif

unsigned char cc__tools;

/* The calling thread's own stack, and its flow of control. */
static _Thread_local struct {
	const void *bottom;
	size_t size;
	void *tsan;
	void *maker;	/* a flow that nothing happens in, see create */
} own;

__attribute__((constructor(101))) static void find_tools(void)
{
	if (__sanitizer_start_switch_fiber != NULL && __asan_unpoison_memory_region != NULL)
		cc__tools |= CC__TOOL_ASAN;
	if (__tsan_switch_to_fiber != NULL)
		cc__tools |= CC__TOOL_TSAN;
#ifndef CC__TSAN
	if (__tsan_switch_to_fiber != NULL && __tsan_acquire != NULL && __tsan_release != NULL &&
	    __tsan_atomic64_store != NULL && AnnotateIgnoreReadsBegin != NULL)
		cc__tools |= CC__TOOL_ORDER;
#endif
}

/* ---- what happens before what ---- */

static bool tells_order(void)
{
	return (cc__tools & CC__TOOL_ORDER) != 0;
}

void cc__happens_before(const void *at)
{
	if (tells_order())
		__tsan_release((void *)(uintptr_t)at);
}

void cc__happens_after(const void *at)
{
	if (tells_order())
		__tsan_acquire((void *)(uintptr_t)at);
}

/* A release store is the one operation that TSan lets replace what an address stands for.  The
 * word is the caller's alone, so it may be stored as it is. */
void cc__happens_first(const void *at)
{
	volatile uint64_t *word = (volatile uint64_t *)(uintptr_t)at;

	if (tells_order())
		__tsan_atomic64_store(word, *word, __ATOMIC_RELEASE);
}

void cc__quiet_begin_slowly(void)
{
	AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
	AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
}

void cc__quiet_end_slowly(void)
{
	AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
	AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

/* ---- stacks ---- */

void cc__stack_tools_init(struct cc__stack_tools *t, void *bottom, size_t size)
{
	(void)t, (void)bottom, (void)size;
	/* Parked fibers hold pointers that LeakSanitizer would not see. */
	if (__lsan_register_root_region != NULL)
		__lsan_register_root_region(bottom, size);
#ifdef CC__VALGRIND
	t->valgrind = VALGRIND_STACK_REGISTER(bottom, (char *)bottom + size);
#endif
}

void cc__stack_tools_fini(struct cc__stack_tools *t, void *bottom, size_t size)
{
	(void)t, (void)bottom, (void)size;
	if (__lsan_unregister_root_region != NULL)
		__lsan_unregister_root_region(bottom, size);
	if (cc__tools & CC__TOOL_ASAN)
		__asan_unpoison_memory_region(bottom, size);
#ifdef CC__VALGRIND
	VALGRIND_STACK_DEREGISTER(t->valgrind);
#endif
}

static void **tsan_of(void *top)
{
	return (void **)top - 1;
}

void cc__tools_adopt(void)
{
	pthread_attr_t attr;
	void *bottom = NULL;

	if (cc__tools & CC__TOOL_ASAN && pthread_getattr_np(pthread_self(), &attr) == 0) {
		pthread_attr_getstack(&attr, &bottom, &own.size);
		pthread_attr_destroy(&attr);
		own.bottom = bottom;
	}
	if (cc__tools & CC__TOOL_TSAN)
		own.tsan = __tsan_get_current_fiber();
	if (tells_order()) {
		own.maker = __tsan_create_fiber(0);
		cc__happens_before(&own);	/* to cc__tools_arrive */
		/* Fibers of one thread share it, and each uses it between two switches. */
		if (AnnotateBenignRaceSized != NULL)
			AnnotateBenignRaceSized(__FILE__, __LINE__, &errno, sizeof errno, "errno");
	}
}

void cc__tools_disown(void)
{
	if (own.maker != NULL)
		__tsan_destroy_fiber(own.maker);
	own.maker = NULL;
}

/* ---- contexts ---- */

/* What has made a flow of control happens before it, as with threads.  Here that is whatever ran
 * before on this worker, and its spawner is somewhere else; so a flow that does nothing
 * makes it. */
CC__UNCOUNTED static void *create(void)
{
	void *self, *made;

	if (own.maker == NULL)
		return __tsan_create_fiber(0);
	self = __tsan_get_current_fiber();
	__tsan_switch_to_fiber(own.maker, UNORDERED);
	made = __tsan_create_fiber(0);
	__tsan_switch_to_fiber(self, UNORDERED);
	return made;
}

/* TOOLS-5: a mapping that is made while nothing is noted has no past. */
static void forget(void *bottom, void *top)
{
	const size_t size = (size_t)((char *)top - (char *)bottom);

	cc__quiet_begin();
	(void)mmap(bottom, size, PROT_READ | PROT_WRITE,
	           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	cc__quiet_end();
}

void cc__tools_new(void *bottom, void *top)
{
	/* The task before on this stack left by switching, not by returning, so its redzones
	 * are still poisoned. */
	if (cc__tools & CC__TOOL_ASAN)
		__asan_unpoison_memory_region(bottom, (size_t)((char *)top - (char *)bottom));
	if (cc__tools & CC__TOOL_TSAN)
		*tsan_of(top) = create();
}

void cc__tools_ended(void *bottom, void *top, bool ours)
{
	if (cc__tools & CC__TOOL_TSAN)
		__tsan_destroy_fiber(*tsan_of(top));
	if (tells_order() && ours)
		forget(bottom, top);
}

CC__UNCOUNTED void cc__tools_leave(void **fake, void *bottom, void *top)
{
	if (cc__tools & CC__TOOL_ASAN) {
		if (bottom == NULL)
			__sanitizer_start_switch_fiber(fake, own.bottom, own.size);
		else
			__sanitizer_start_switch_fiber(fake, bottom,
			                               (size_t)((char *)top - (char *)bottom));
	}
	if (cc__tools & CC__TOOL_TSAN)
		__tsan_switch_to_fiber(bottom == NULL ? own.tsan : *tsan_of(top), UNORDERED);
}

CC__UNCOUNTED void cc__tools_arrive(void *fake)
{
	if (cc__tools & CC__TOOL_ASAN)
		__sanitizer_finish_switch_fiber(fake, NULL, NULL);
	/* The thread has initialised its thread-local variables before any fiber uses them. */
	if (tells_order())
		cc__happens_after(&own);
}
