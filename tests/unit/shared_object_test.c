/* shared_object_test.c - memory objects themselves: what is taken for one, and what a handle
 * can do. */
#include <sys/mman.h>

#include "objects.h"

const struct peer_play peer_plays[] = {{"obeys", peer_obeys}, {NULL, NULL}};

TEST(shared_import_wants_the_seals_and_the_size)	/* covers: PRK-107/u */
{
	static const int wanted[] = {F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_SEAL};
	CCMemory *m = NULL;
	int ends[2], plain;

	for (unsigned without = 0; without <= 3; without++) {
		const int fd = memfd_create("some", MFD_ALLOW_SEALING | MFD_CLOEXEC);

		CHECK_EQ(ftruncate(fd, SIZE), 0);
		for (unsigned i = 0; i < 3; i++)
			if (i != without)
				CHECK_EQ(fcntl(fd, F_ADD_SEALS, wanted[i]), 0);
		if (without < 3) {
			CHECK_EQ(cc_memory_import(&m, fd, SIZE), EPERM);
		} else {
			CHECK_EQ(cc_memory_import(&m, fd, SIZE - 1), ERANGE);
			CHECK_EQ(cc_memory_import(&m, fd, SIZE + 1), ERANGE);
			CHECK_EQ(cc_memory_import(&m, fd, 0), ERANGE);
			CHECK_EQ(cc_memory_import(&m, fd, SIZE), 0);
			CHECK_EQ(cc_memory_close(m), 0);
		}
		close(fd);
	}
	CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
	plain = open("/dev/zero", O_RDWR | O_CLOEXEC);
	CHECK_EQ(cc_memory_import(&m, ends[0], SIZE), EINVAL);
	CHECK_EQ(cc_memory_import(&m, plain, SIZE), EINVAL);
	close(plain);
	CHECK_EQ(cc_memory_import(&m, plain, SIZE), EBADF);
	CHECK_EQ(cc_memory_import(&m, -1, SIZE), EBADF);
	close(ends[0]);
	close(ends[1]);
}

TEST(shared_bad_input_is_refused)
{
	CCMemory *m = NULL;
	CCParkSpace *space;
	CCMemoryInfo info;
	void *at;
	int fd;

	CHECK_EQ(cc_memory_new(NULL, SIZE), EINVAL);
	CHECK_EQ(cc_memory_new(&m, 0), EINVAL);
	CHECK_EQ(cc_memory_new(&m, SIZE_MAX), EINVAL);
	CHECK_EQ(cc_memory_import(NULL, 0, SIZE), EINVAL);
	CHECK_EQ(cc_memory_receive(NULL, 0, SIZE), EINVAL);
	CHECK_EQ(cc_memory_receive(&m, -1, SIZE), EBADF);
	CHECK_EQ(cc_memory_map(NULL, &at), EINVAL);
	CHECK_EQ(cc_memory_unmap(NULL, &at), EINVAL);
	CHECK_EQ(cc_memory_close(NULL), EINVAL);
	CHECK_EQ(cc_memory_fd(NULL, &fd), EINVAL);
	CHECK_EQ(cc_memory_info(NULL, &info), EINVAL);
	CHECK_EQ(cc_memory_send(NULL, 0), EINVAL);
	CHECK_EQ(cc_memory_park_space(NULL, &space), EINVAL);
	CHECK(m == NULL);

	CHECK_EQ(cc_memory_new(&m, 5), 0);
	CHECK_EQ(cc_memory_map(m, NULL), EINVAL);
	CHECK_EQ(cc_memory_info(m, NULL), EINVAL);
	CHECK_EQ(cc_memory_map(m, &at), 0);
	CHECK_EQ(cc_memory_unmap(m, (char *)at + 1), EINVAL);
	CHECK_EQ(cc_memory_unmap(m, at), 0);
	CHECK_EQ(cc_memory_unmap(m, at), EINVAL);
	CHECK_EQ(cc_memory_send(m, -1), EBADF);
	CHECK_EQ(cc_memory_fd(m, &fd), 0);
	CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	CHECK_EQ(cc_memory_close(m), 0);
	CHECK_EQ(fcntl(fd, F_GETFD), -1);
	/* A handle that is closed is none. */
	CHECK_EQ(cc_memory_map(m, &at), EINVAL);
	CHECK_EQ(cc_memory_close(m), EINVAL);
}

/* An object that comes in again is the one that was there, with all its mappings. */
TEST(shared_object_is_there_once)
{
	struct object o;
	CCMemory *again = NULL;
	CCParkSpace *space = NULL;
	CCParkStatus status;
	int fd;

	NEED_OBJECT(&o);
	CHECK_EQ(cc_memory_fd(o.memory, &fd), 0);
	CHECK_EQ(cc_memory_import(&again, fd, SIZE), 0);
	CHECK(again == o.memory);
	CHECK_EQ(cc_memory_park_space(again, &space), 0);
	CHECK_EQ(cc_park_wait(space, o.word, 1, CC_FOREVER, &status), 0);
	CHECK_EQ(status, CC_PARK_VALUE_MISMATCH);
	CHECK_EQ(info_of(&o).handles, 2);
	CHECK_EQ(info_of(&o).mappings, 1);
	CHECK_EQ(cc_memory_close(again), 0);
	CHECK_EQ(cc_park_wait(o.space, o.word, 1, CC_FOREVER, NULL), 0);
	object_drop(&o);
}
