/* A task that may still run.
 * flags: -Werror=unused-result
 * expect-gcc: [-Werror=unused-result]
 * expect-clang: [-Werror,-Wunused-result] */
#include <ccc/ccc.h>

void misuse(CCTask task);

void misuse(CCTask task)
{
#ifdef RIGHT
	cc_ignore(cc_task_join(task, CC_FOREVER, NULL));	/* on purpose */
#else
	cc_task_join(task, CC_FOREVER, NULL);
#endif
}
