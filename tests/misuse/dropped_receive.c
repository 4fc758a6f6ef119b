/* A value that may not have come.
 * flags: -Werror=unused-result
 * expect-gcc: [-Werror=unused-result]
 * expect-clang: [-Werror,-Wunused-result] */
#include <ccc/ccc.h>

cc_chan_type(Numbers, int);

int misuse(Numbers numbers);

int misuse(Numbers numbers)
{
#ifdef RIGHT
	int v;

	return cc_recv(numbers, &v) == 0 ? v : 0;
#else
	int v = 0;

	cc_recv(numbers, &v);
	return v;
#endif
}
