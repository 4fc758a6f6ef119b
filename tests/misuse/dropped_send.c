/* A value that may not have been sent.
 * flags: -Werror=unused-result
 * expect-gcc: [-Werror=unused-result]
 * expect-clang: [-Werror,-Wunused-result] */
#include <ccc/ccc.h>

cc_chan_type(Numbers, int);

void misuse(Numbers numbers);

void misuse(Numbers numbers)
{
#ifdef RIGHT
	if (cc_send(numbers, 1) != 0)
		cc_close(numbers);	/* fails only by mistake: may be dropped */
#else
	cc_send(numbers, 1);
#endif
}
