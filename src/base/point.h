/* point.h - named places where a test may hold, delay or watch a thread.
 *
 * CC_POINT(label, object) is nothing, unless the build has CC__POINTS: then it
 * calls cc__point_hook with both, if the program has set one before it started
 * a thread (tests/points.h).  A hook may block its thread, and call into the
 * library except at the points whose label says that a lock is held. */
#ifndef CC__BASE_POINT_H
#define CC__BASE_POINT_H

#ifdef CC__POINTS
/* Weak: one for the program, whichever file it comes from. */
__attribute__((weak)) void (*cc__point_hook)(const char *label, const void *object);
#define CC_POINT(label, object) (cc__point_hook ? cc__point_hook(label, object) : (void)0)
#else
#define CC_POINT(label, object) ((void)0)
#endif

#endif
