/* points.h - holds threads at the race points of base/point.h, or has them do
 * something there.  For one source file of a test program: it sets the hook.
 *
 *	struct point *p = point_hold("park.before_commit", who);
 *	...					// start what comes by
 *	point_until_held(p);			// it stands there now
 *	...
 *	point_release(p);			// and goes on
 *
 * A point that is armed works once.  POINTS is 0 in builds without them. */
#ifndef POINTS_H
#define POINTS_H

#include "test.h"

#include <pthread.h>
#include <string.h>

#include "os/atomic.h"
#include "base/point.h"

#ifdef CC__POINTS
#define POINTS 1
#else
#define POINTS 0
#endif

#define NEED_POINTS() \
	do { \
		if (!POINTS) \
			SKIP("no race points in this build"); \
	} while (0)

enum { POINT_OFF, POINT_ARMED, POINT_HELD, POINT_RELEASED };

struct point {
	const char *label;		/* points_lock, as the next three */
	const void *object;		/* NULL: any */
	void (*call)(const void *object, void *arg);	/* instead of holding */
	void *arg;
	cc__a32 state;
};

enum { POINTS_MAX = 8 };
static struct point points[POINTS_MAX];
static pthread_mutex_t points_lock = PTHREAD_MUTEX_INITIALIZER;	/* never held for long */

static inline struct point *point_arm(const char *label, const void *object,
                                      void (*call)(const void *object, void *arg), void *arg)
{
	struct point *p = points;

	while (cc__load(&p->state, CC__ACQUIRE) != POINT_OFF)
		if (++p == points + POINTS_MAX) {
			test_check(false, "a point is free", __FILE__, __LINE__);
			return points;
		}
	pthread_mutex_lock(&points_lock);
	p->label = label;
	p->object = object;
	p->call = call;
	p->arg = arg;
	cc__store(&p->state, POINT_ARMED, CC__RELEASE);
	pthread_mutex_unlock(&points_lock);
	return p;
}

/* The next thread that comes to `label` (with `object`, unless that is NULL)
 * stays there until it is released. */
static inline struct point *point_hold(const char *label, const void *object)
{
	return point_arm(label, object, NULL, NULL);
}

/* It calls fn(object, arg) there. */
static inline struct point *point_call(const char *label, const void *object,
                                       void (*fn)(const void *object, void *arg), void *arg)
{
	return point_arm(label, object, fn, arg);
}

static inline bool point_is_held(const struct point *p)
{
	return cc__load(&p->state, CC__ACQUIRE) == POINT_HELD;
}

static inline void point_until_held(const struct point *p)
{
	TEST_UNTIL(point_is_held(p));
}

static inline void point_release(struct point *p)
{
	cc__store(&p->state, POINT_RELEASED, CC__RELEASE);
	TEST_UNTIL(cc__load(&p->state, CC__ACQUIRE) == POINT_OFF);
}

/* True: it was passed and is free again; false: nobody came, and it is taken
 * out. */
static inline bool point_passed(struct point *p)
{
	uint32_t armed = POINT_ARMED;

	return !cc__cas(&p->state, &armed, POINT_OFF, CC__ACQ_REL, CC__ACQUIRE);
}

#ifdef CC__POINTS
/* The armed point that this is, now held. */
static struct point *point_here(const char *label, const void *object)
{
	struct point *found = NULL;

	pthread_mutex_lock(&points_lock);
	for (struct point *p = points; p < points + POINTS_MAX && found == NULL; p++) {
		uint32_t armed = POINT_ARMED;

		if (cc__load(&p->state, CC__RELAXED) == POINT_ARMED &&
		    strcmp(p->label, label) == 0 &&
		    (p->object == NULL || p->object == object) &&
		    cc__cas(&p->state, &armed, POINT_HELD, CC__ACQ_REL, CC__RELAXED))
			found = p;
	}
	pthread_mutex_unlock(&points_lock);
	return found;
}

static void point_hook(const char *label, const void *object)
{
	struct point *p = point_here(label, object);

	if (p == NULL)
		return;
	if (p->call != NULL)
		p->call(object, p->arg);
	else
		TEST_UNTIL(cc__load(&p->state, CC__ACQUIRE) == POINT_RELEASED);
	cc__store(&p->state, POINT_OFF, CC__RELEASE);
}

__attribute__((constructor)) static void point_init(void)
{
	cc__point_hook = point_hook;
}
#endif

#endif
