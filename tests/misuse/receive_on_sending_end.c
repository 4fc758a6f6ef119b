/* A receive on a handle that sends.
 * expect-gcc: 'NumbersTx' has no member named 'cc_receives'
 * expect-clang: no member named 'cc_receives' in 'union NumbersTx' */
#include <ccc/ccc.h>

cc_chan_type(Numbers, int);

void misuse(Numbers numbers, int *into);

void misuse(Numbers numbers, int *into)
{
#ifdef RIGHT
	cc_ignore(cc_recv(numbers.rx, into));
#else
	cc_recv(numbers.tx, into);
#endif
}
