/* raw.h - a function that a test wraps, and whatever it calls. */
#ifndef TEST_RAW_H
#define TEST_RAW_H

/* clang's TSan calls what we wrap before it is ready to be called itself. */
#if defined(CC__TSAN) && defined(__clang__)
#define RAW __attribute__((disable_sanitizer_instrumentation))
#else
#define RAW
#endif

#endif
