/* A pointer where the channel carries numbers.
 * expect-gcc: cc_send_wants_the_type_that_the_channel_carries
 * expect-clang: cc_send_wants_the_type_that_the_channel_carries */
#include <ccc/ccc.h>

cc_chan_type(Numbers, int);

void misuse(Numbers numbers, int number);

void misuse(Numbers numbers, int number)
{
#ifdef RIGHT
	cc_ignore(cc_send(numbers, number));
#else
	cc_send(numbers, &number);
#endif
}
