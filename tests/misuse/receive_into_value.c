/* A receive into a value, not its address.
 * expect-gcc: cc_recv_wants_a_pointer_to_the_type_that_the_channel_carries
 * expect-clang: cc_recv_wants_a_pointer_to_the_type_that_the_channel_carries */
#include <ccc/ccc.h>

cc_chan_type(Numbers, int);

void misuse(Numbers numbers, int *into);

void misuse(Numbers numbers, int *into)
{
#ifdef RIGHT
	cc_ignore(cc_recv(numbers, into));
#else
	cc_recv(numbers, *into);
#endif
}
