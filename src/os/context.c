/* context.c - the switch as the rest of the library sees it: assembly plus what
 * the sanitizers and Valgrind must be told. */
#include "os/context.h"

#ifdef CC__VALGRIND
#include <valgrind/valgrind.h>
#endif

#ifdef CC__ASAN
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#ifdef CC__TSAN
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
#endif

void cc__stack_tools_init(struct cc__stack_tools *t, void *bottom, size_t size)
{
	(void)t, (void)bottom, (void)size;
#ifdef CC__TSAN
	t->tsan = __tsan_create_fiber(0);
#endif
#ifdef CC__ASAN
	/* Parked fibers hold pointers that LeakSanitizer would not see. */
	__lsan_register_root_region(bottom, size);
#endif
#ifdef CC__VALGRIND
	t->valgrind = VALGRIND_STACK_REGISTER(bottom, (char *)bottom + size);
#endif
}

void cc__stack_tools_fini(struct cc__stack_tools *t, void *bottom, size_t size)
{
	(void)t, (void)bottom, (void)size;
#ifdef CC__TSAN
	__tsan_destroy_fiber(t->tsan);
#endif
#ifdef CC__ASAN
	__lsan_unregister_root_region(bottom, size);
	__asan_unpoison_memory_region(bottom, size);
#endif
#ifdef CC__VALGRIND
	VALGRIND_STACK_DEREGISTER(t->valgrind);
#endif
}

#if defined(CC__ASAN) || defined(CC__TSAN)
void cc__context_on(struct cc__context *c, const struct cc__stack_tools *t, void *bottom,
                    void *top)
{
	(void)t, (void)bottom, (void)top;
#ifdef CC__ASAN
	c->fake_stack = NULL;
	c->bottom = bottom;
	c->size = (size_t)((char *)top - (char *)bottom);
#endif
#ifdef CC__TSAN
	c->tsan = t->tsan;
#endif
}
#endif

void cc__context_make(struct cc__context *c, struct cc__stack_tools *t, void *bottom,
                      void *top, cc__context_main *main)
{
#ifdef CC__ASAN
	/* The task before on this stack left by switching, not by returning:
	 * its redzones are still poisoned. */
	__asan_unpoison_memory_region(bottom, (size_t)((char *)top - (char *)bottom));
#endif
#ifdef CC__TSAN
	/* The same: its calls are still on TSan's stack, and after some tens of
	 * thousands of them that is full. */
	__tsan_destroy_fiber(t->tsan);
	t->tsan = __tsan_create_fiber(0);
#endif
	cc__context_on(c, t, bottom, top);
	c->sp = cc__context_frame(top, main);
}

void cc__context_adopt(struct cc__context *c)
{
	*c = (struct cc__context){0};
#ifdef CC__ASAN
	pthread_attr_t attr;
	void *bottom = NULL;

	if (pthread_getattr_np(pthread_self(), &attr) == 0) {
		pthread_attr_getstack(&attr, &bottom, &c->size);
		pthread_attr_destroy(&attr);
		c->bottom = bottom;
	}
#endif
#ifdef CC__TSAN
	c->tsan = __tsan_get_current_fiber();
#endif
}

/* TSan keeps a shadow call stack a fiber: what lies between its switch and ours
 * must not be counted on either. */
#if defined(CC__TSAN) && defined(__clang__)
/* (no_sanitize leaves the entry and exit counters in.) */
#define UNCOUNTED __attribute__((disable_sanitizer_instrumentation))
#elif defined(CC__TSAN)
#define UNCOUNTED __attribute__((no_sanitize("thread")))
#else
#define UNCOUNTED
#endif

UNCOUNTED void cc__context_leaving(struct cc__context *from, struct cc__context *to, bool last)
{
	(void)from, (void)to, (void)last;
#ifdef CC__ASAN
	__sanitizer_start_switch_fiber(last ? NULL : &from->fake_stack, to->bottom, to->size);
#endif
#ifdef CC__TSAN
	__tsan_switch_to_fiber(to->tsan, 0);
#endif
}

UNCOUNTED void cc__context_arrived(struct cc__context *at)
{
	(void)at;
#ifdef CC__ASAN
	__sanitizer_finish_switch_fiber(at->fake_stack, NULL, NULL);
#endif
}

void cc__context_entered(void)
{
#ifdef CC__ASAN
	__sanitizer_finish_switch_fiber(NULL, NULL, NULL);
#endif
}
