/* fails.c - a check that does not hold: whoever runs the kernel has to notice. */
#include "check.h"

TEST(a_check_that_fails_is_told)
{
	CHECK_EQ(sys_look(LOOK_PROCESSES), 2);
}
