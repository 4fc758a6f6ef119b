/* thread_test.c - the records of OS threads: where they come from and go.
 * link-wrap: pthread_setspecific
 * mutate: src/chan */
#include <ccc/ccc.h>

#include <errno.h>
#include <pthread.h>

#include "os/atomic.h"
#include "test.h"
#include "wait/thread.h"

static cc__a32 fails;

int __real_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);

/* TSan calls it too, before a thread is one for it. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
__attribute__((disable_sanitizer_instrumentation))
#endif
#endif
int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
	return cc__load(&fails, CC__RELAXED) ? ENOMEM : __real_pthread_setspecific(key, value);
}

static void in_thread(void *(*main)(void *), void *arg)
{
	pthread_t t;

	REQUIRE_EQ(pthread_create(&t, NULL, main, arg), 0);
	REQUIRE_EQ(pthread_join(t, NULL), 0);
}

static void *tell_record(void *arg)
{
	*(struct cc__thread **)arg = cc__thread_self();
	return NULL;
}

static void *ask_in_vain(void *arg)
{
	cc__store(&fails, 1, CC__RELAXED);
	*(struct cc__thread **)arg = cc__thread_self();
	cc__store(&fails, 0, CC__RELAXED);
	return NULL;
}

/* The pool gives the last one back first, so it is seen again at once. */
TEST(record_that_cannot_be_kept_goes_back)
{
	struct cc__thread *before = NULL, *none = NULL, *after = NULL;

	in_thread(tell_record, &before);
	in_thread(ask_in_vain, &none);
	in_thread(tell_record, &after);
	CHECK(none == NULL);
	CHECK(before != NULL);
	CHECK(before == after);
}

static void *wait_in_vain(void *arg)
{
	CCToken *token = cc_token_new();

	(void)arg;
	cc__store(&fails, 1, CC__RELAXED);
	for (size_t capacity = 0; capacity <= 8; capacity += 8) {
		CCChan *c = cc_chan_new(sizeof(int), capacity);
		int v = 17;
		CCCase cases[] = {cc_case_recv(c, &v, sizeof v), cc_case_token(token)};

		CHECK_EQ(cc_chan_recv(c, &v, sizeof v), ENOMEM);
		CHECK_EQ(cc_chan_recv_until(c, &v, sizeof v, cc_after(CC_SEC)), ENOMEM);
		CHECK_EQ(cc_select(cases, 2, CC_FOREVER, NULL), ENOMEM);
		CHECK_EQ(v, 17);
		CHECK_EQ(cc_chan_free(c), 0);	/* nobody waits */
	}
	CHECK_EQ(cc_token_wait(token, CC_FOREVER), ENOMEM);
	CHECK_EQ(cc_token_free(token), 0);
	cc__store(&fails, 0, CC__RELAXED);
	return NULL;
}

TEST(who_has_no_record_cannot_wait)
{
	in_thread(wait_in_vain, NULL);
}

TEST(record_of_a_thread_that_ended_is_used_again)
{
	struct cc__thread *mine = cc__thread_self(), *first = NULL, *second = NULL;

	in_thread(tell_record, &first);
	in_thread(tell_record, &second);
	CHECK(first != NULL);
	CHECK(first == second);
	CHECK(first != mine);
	CHECK(cc__thread_self() == mine);
}

/* ---- the end of a thread ---- */

static struct cc__thread *ended;
static pthread_key_t late;
static int late_calls;
static void *late_record;

static void note_end(struct cc__thread *t)
{
	CHECK(cc__thread_self() == t);	/* still the same one to all that is called */
	ended = t;
}

/* The second round of destructors comes after that of the record. */
static void look_late(void *again)
{
	late_calls++;
	late_record = cc__tls_get();
	if (again != &late_calls)
		pthread_setspecific(late, &late_calls);
}

static void *end_with_both(void *arg)
{
	struct cc__thread *t = cc__thread_self();

	t->at_end = note_end;
	*(struct cc__thread **)arg = t;
	pthread_setspecific(late, arg);
	return NULL;
}

TEST(thread_that_ends_is_itself_until_its_record_is_gone)
{
	struct cc__thread *t = NULL;

	late_calls = 0;
	REQUIRE_EQ(pthread_key_create(&late, look_late), 0);
	in_thread(end_with_both, &t);
	CHECK(t != NULL && ended == t);
	CHECK_EQ(late_calls, 2);
	CHECK(late_record == NULL);
	pthread_key_delete(late);
}
