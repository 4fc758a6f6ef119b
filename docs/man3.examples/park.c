/* Park words, and words that processes share: <ccc/park.h>. */
#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ccc/ccc.h>

static _Atomic uint32_t ready;

static int wake_it(void *arg)
{
	(void)arg;
	atomic_store(&ready, 1);
	return cc_park_wake(cc_park_space(), (uint32_t *)&ready, UINT32_MAX, NULL);
}

/* Sleeps until the word has changed; no wake is lost. */
static void wait_for_a_word(void)
{
	CCParkStatus status;
	int err = 0;

	cc_nursery_scope(n, &err) {
		cc_nursery_spawn(n, NULL, wake_it, NULL);
		while (atomic_load(&ready) == 0)
			assert(cc_park_wait(cc_park_space(), (uint32_t *)&ready, 0, CC_FOREVER,
			                    &status) == 0);
	}
	assert(err == 0);
	assert(cc_park_wait(cc_park_space(), (uint32_t *)&ready, 0, CC_FOREVER, &status) == 0);
	assert(status == CC_PARK_VALUE_MISMATCH);	/* the word is 1: no wait */
}

/* Two handles, as two processes would have them, and two mappings of the same memory. */
static void share_memory(void)
{
	CCMemory *mine, *theirs;
	CCParkSpace *space;
	CCMemoryInfo info;
	void *here, *there;
	int pair[2], fd, err;

	assert(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	assert(cc_memory_new(&mine, 4096) == 0);
	assert(cc_memory_send(mine, pair[0]) == 0);
	assert(cc_memory_receive(&theirs, pair[1], 4096) == 0);
	assert(cc_memory_map(mine, &here) == 0);
	assert(cc_memory_map(theirs, &there) == 0);
	*(uint32_t *)here = 5;
	assert(*(uint32_t *)there == 5);

	assert(cc_memory_info(mine, &info) == 0);
	assert(info.size == 4096 && info.handles == 2 && info.mappings == 2);

	/* A kernel before Linux 6.7 cannot wait on such words: ENOTSUP. */
	err = cc_memory_park_space(mine, &space);
	if (err == 0)
		assert(cc_park_wake(space, here, 1, NULL) == 0);
	else
		assert(err == ENOTSUP);

	assert(cc_memory_unmap(theirs, there) == 0);
	assert(cc_memory_close(theirs) == 0);

	/* The descriptor can be passed on in other ways. */
	assert(cc_memory_fd(mine, &fd) == 0);
	assert(cc_memory_import(&theirs, fd, 4096) == 0);
	assert(cc_memory_close(theirs) == 0);
	assert(cc_memory_close(mine) == 0);
	close(pair[0]);
	close(pair[1]);
}

int main(void)
{
	wait_for_a_word();
	share_memory();
	return 0;
}
