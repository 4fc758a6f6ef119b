/* Try again, after spans that double, with some chance in them, until a deadline. */
#include <assert.h>
#include <stdlib.h>

#include <ccc/ccc.h>

/* Errors after which a later call may succeed. */
static int is_temporary(int err)
{
	return err == EAGAIN || err == ECONNREFUSED || err == ECONNRESET || err == ETIMEDOUT;
}

static int retry(int (*call)(void *arg), void *arg, cc_time deadline)
{
	cc_time span = 10 * CC_MSEC;

	for (;;) {
		const int err = call(arg);
		/* Half of the span, and up to as much again: callers do not come back together. */
		const cc_time at = cc_after(span / 2 + rand() % (span / 2));

		if (!is_temporary(err))
			return err;
		if (at >= deadline)
			return err;
		cc_try(cc_sleep_until(at));	/* ECANCELED: the caller is not wanted any more */
		span = span < CC_SEC ? 2 * span : span;
	}
}

/* Stands for a service that comes up late. */
static int connect_to_service(void *arg)
{
	return ++*(int *)arg < 3 ? ECONNREFUSED : 0;
}

static int connect_to_nothing(void *arg)
{
	++*(int *)arg;
	return ECONNREFUSED;
}

int main(void)
{
	int calls = 0;

	assert(retry(connect_to_service, &calls, cc_after(60 * CC_SEC)) == 0 && calls == 3);
	calls = 0;
	assert(retry(connect_to_nothing, &calls, cc_after(20 * CC_MSEC)) == ECONNREFUSED);
	assert(calls >= 1 && calls < 5);
	return 0;
}
