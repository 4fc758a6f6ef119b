/* A receiver that closes as a sender does.
 * expect-gcc: 'NumbersRx' has no member named 'cc_sends'
 * expect-clang: no member named 'cc_sends' in 'union NumbersRx' */
#include <ccc/ccc.h>

cc_chan_type(Numbers, int);

void misuse(Numbers numbers);

void misuse(Numbers numbers)
{
#ifdef RIGHT
	cc_close_recv(numbers.rx, 0);
#else
	cc_close(numbers.rx);
#endif
}
