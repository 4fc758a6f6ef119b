/* pages_test.c - os/pages.h: dense memory lies where huge pages do, and there is no more of it
 * than was asked for.
 *
 * link-wrap: mmap munmap */
#include "test.h"

#include <stdint.h>
#include <string.h>

#include "mappings.h"
#include "os/pages.h"

TEST(pages_dense_ones_are_aligned_zero_and_as_many_as_wanted)
{
	enum { DENSE = 2 << 20, TIMES = 16 };
	const size_t before = mapped;
	char *p[TIMES];

	for (int i = 0; i < TIMES; i++) {
		p[i] = cc__pages_map_dense(DENSE);
		REQUIRE(p[i] != NULL);
		CHECK_EQ((uintptr_t)p[i] % DENSE, 0);
		CHECK_EQ(p[i][0] + p[i][DENSE / 2] + p[i][DENSE - 1], 0);
		memset(p[i], 1, DENSE);
	}
	CHECK_EQ(mapped - before, (size_t)TIMES * DENSE);
	for (int i = 0; i < TIMES; i++)
		cc__pages_unmap(p[i], DENSE);
	CHECK_EQ(mapped, before);
}

TEST(pages_dense_ones_that_are_not_to_be_had)
{
	mmap_fails = true;
	CHECK(cc__pages_map_dense(2 << 20) == NULL);
	CHECK(cc__pages_map(4096) == NULL);
	mmap_fails = false;
}
