/* tools.c - the sanitizers' functions, found when the process starts, and Valgrind's requests. */
#include "os/tools.h"

#include <pthread.h>

#include "os/context.h"

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

/* TOOLS-3: the flag of __tsan_switch_to_fiber that orders nothing. */
#ifdef CC__TSAN
enum { UNORDERED = 0 };
#else
enum { UNORDERED = 1 };
#endif

/* TSan keeps a shadow call stack a fiber: calls that lie between its switch and ours must not
 * be counted on either. */
#if defined(CC__TSAN) && defined(__clang__)
/* (no_sanitize leaves the entry and exit counters in.) */
#define UNCOUNTED __attribute__((disable_sanitizer_instrumentation))
#elif defined(CC__TSAN)
#define UNCOUNTED __attribute__((no_sanitize("thread")))
#elif defined(CC__ASAN)
#define UNCOUNTED __attribute__((no_sanitize("address")))	/* `fake` lies on the real stack */
#else
#define UNCOUNTED
#endif

unsigned char cc__tools;

/* The calling thread's own stack, and its flow of control. */
static _Thread_local struct {
	const void *bottom;
	size_t size;
	void *tsan;
} own;

__attribute__((constructor(101))) static void find_tools(void)
{
	if (__sanitizer_start_switch_fiber != NULL && __asan_unpoison_memory_region != NULL)
		cc__tools |= CC__TOOL_ASAN;
	if (__tsan_switch_to_fiber != NULL)
		cc__tools |= CC__TOOL_TSAN;
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
}

/* ---- contexts ---- */

void cc__tools_new(void *bottom, void *top)
{
	/* The task before on this stack left by switching, not by returning, so its redzones
	 * are still poisoned. */
	if (cc__tools & CC__TOOL_ASAN)
		__asan_unpoison_memory_region(bottom, (size_t)((char *)top - (char *)bottom));
	if (cc__tools & CC__TOOL_TSAN)
		*tsan_of(top) = __tsan_create_fiber(0);
}

void cc__tools_ended(void *top)
{
	if (cc__tools & CC__TOOL_TSAN)
		__tsan_destroy_fiber(*tsan_of(top));
}

UNCOUNTED void cc__tools_leave(void **fake, void *bottom, void *top)
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

UNCOUNTED void cc__tools_arrive(void *fake)
{
	if (cc__tools & CC__TOOL_ASAN)
		__sanitizer_finish_switch_fiber(fake, NULL, NULL);
}

UNCOUNTED struct cc__arrival cc__context_switch_told(struct cc__context *from, void *to, void *worker,
                                                     uintptr_t after, bool last, void *bottom,
                                                     void *top)
{
	struct cc__arrival a;
	void *fake = NULL;

	cc__tools_leave(last ? NULL : &fake, bottom, top);
	a = cc__switch_stack(&from->sp, to, worker, after);
	cc__tools_arrive(fake);
	return a;
}
