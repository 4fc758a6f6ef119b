/* thread_test.c - the records of OS threads: where they come from and go.
 * link-wrap: pthread_setspecific mmap */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "base/atomic.h"
#include "test.h"
#include "wait/thread.h"

static cc__a32 fails, maps;

int __real_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);
void *__real_mmap(void *p, size_t size, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *p, size_t size, int prot, int flags, int fd, off_t offset);

int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
	return cc__load(&fails, CC__RELAXED) ? ENOMEM : __real_pthread_setspecific(key, value);
}

void *__wrap_mmap(void *p, size_t size, int prot, int flags, int fd, off_t offset)
{
	cc__add(&maps, 1, CC__RELAXED);
	return __real_mmap(p, size, prot, flags, fd, offset);
}

static void in_thread(void *(*main)(void *), void *arg)
{
	pthread_t t;

	REQUIRE_EQ(pthread_create(&t, NULL, main, arg), 0);
	REQUIRE_EQ(pthread_join(t, NULL), 0);
}

static void *ask_in_vain(void *arg)
{
	enum { TIMES = 100000 };	/* 64 bytes or more each, were they lost */

	for (int i = 0; i < TIMES; i++)
		if (cc__thread_self() != NULL)
			++*(int *)arg;
	return NULL;
}

TEST(record_that_cannot_be_kept_goes_back)
{
	uint32_t before;
	int got = 0;

	CHECK(cc__thread_self() != NULL);
	before = cc__load(&maps, CC__RELAXED);
	cc__store(&fails, 1, CC__RELAXED);
	in_thread(ask_in_vain, &got);
	cc__store(&fails, 0, CC__RELAXED);
	CHECK_EQ(got, 0);
	/* One for the thread's own stack, perhaps, and none for records. */
	CHECK(cc__load(&maps, CC__RELAXED) - before <= 2);
}

static void *tell_record(void *arg)
{
	*(struct cc__thread **)arg = cc__thread_self();
	return NULL;
}

TEST(record_of_a_thread_that_ended_is_used_again)
{
	struct cc__thread *first = NULL, *second = NULL;

	in_thread(tell_record, &first);
	in_thread(tell_record, &second);
	CHECK(first != NULL);
	CHECK(first == second);
	CHECK(first != cc__thread_self());
}
