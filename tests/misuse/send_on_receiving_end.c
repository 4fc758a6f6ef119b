/* A send on a handle that receives.
 * expect-gcc: 'NumbersRx' has no member named 'cc_sends'
 * expect-clang: no member named 'cc_sends' in 'union NumbersRx' */
#include <ccc/ccc.h>

cc_chan_type(Numbers, int);

void misuse(Numbers numbers);

void misuse(Numbers numbers)
{
#ifdef RIGHT
	cc_ignore(cc_send(numbers.tx, 1));
#else
	cc_send(numbers.rx, 1);
#endif
}
