/* select_without_cases.c - a select that nothing could end returns an error at once.
 *
 * exit: 1
 * says: Invalid argument */
#include "broken.h"

static int broken(void)
{
	must(cc_select(NULL, 0, CC_FOREVER, NULL));
	return 0;
}
