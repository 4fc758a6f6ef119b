/* cxx.h - C++ exceptions in fibers.
 *
 * A fiber may wait inside a `catch` block and in a destructor that runs while an exception is
 * thrown: what it handles and throws goes with it from thread to thread.  For that the library
 * has to know the C++ runtime. */
#ifndef CCC_CXX_H
#define CCC_CXX_H

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the exception state of a C++ runtime travel with fibers.  `globals` is the function
 * __cxa_get_globals of that runtime; NULL searches for one among the loaded objects.
 *
 * Rarely called by hand: the library finds a C++ runtime that is loaded when a runtime of its
 * own starts, and C++ code that includes any header of libccc registers its runtime when it is
 * loaded.  What is left is an object that is opened by dlopen after the start, was compiled
 * without these headers, and calls back into code that waits: call cc_cxx_register(NULL) once
 * dlopen has returned.
 *
 * Returns 0, also if that runtime is known already, or
 *   ENOENT   there is no C++ runtime
 *   ENOSPC   the process has four others
 *   ENOTSUP  in a child of fork whose parent had a runtime of the library
 * The object that defines `globals` is never unloaded from then on.
 *
 * Any thread. Never parks. */
__attribute__((visibility("default"))) int cc_cxx_register(void *(*globals)(void));

#ifdef __cpp_exceptions
/* Another name for __cxa_get_globals: <cxxabi.h> may not be included inside extern "C".  Weak:
 * code that links no C++ runtime has none. */
extern void *cc_cxx_globals(void) __asm__("__cxa_get_globals") __attribute__((weak));

static __attribute__((constructor, unused)) void cc_cxx_loaded(void)
{
	if (cc_cxx_globals)
		cc_cxx_register(cc_cxx_globals);
}
#endif

#ifdef __cplusplus
}
#endif
#endif
