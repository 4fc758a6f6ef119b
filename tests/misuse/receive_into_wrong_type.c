/* A receive into a variable that is wider than the element.
 * expect-gcc: cc_recv_wants_a_pointer_to_the_type_that_the_channel_carries
 * expect-clang: cc_recv_wants_a_pointer_to_the_type_that_the_channel_carries */
#include <ccc/ccc.h>

cc_chan_type(Numbers, int);

void misuse(Numbers numbers);

void misuse(Numbers numbers)
{
#ifdef RIGHT
	int into;

	cc_ignore(cc_recv(numbers, &into));
#else
	long into;

	cc_recv(numbers, &into);
#endif
}
