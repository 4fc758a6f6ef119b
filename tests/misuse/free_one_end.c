/* Who has one end frees the channel.
 * expect-gcc: 'NumbersRx' has no member named 'tx'
 * expect-clang: no member named 'tx' in 'union NumbersRx' */
#include <ccc/ccc.h>

cc_chan_type(Numbers, int);

void misuse(Numbers numbers);

void misuse(Numbers numbers)
{
#ifdef RIGHT
	cc_free(numbers);
#else
	cc_free(numbers.rx);
#endif
}
