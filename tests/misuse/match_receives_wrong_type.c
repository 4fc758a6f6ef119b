/* A match that receives into another type.
 * expect-gcc: cc_recv_wants_a_pointer_to_the_type_that_the_channel_carries
 * expect-clang: cc_recv_wants_a_pointer_to_the_type_that_the_channel_carries */
#include <ccc/ccc.h>

cc_chan_type(Numbers, int);

void misuse(Numbers numbers);

void misuse(Numbers numbers)
{
#ifdef RIGHT
	int err, n;

	cc_match(&err) {
	cc_on_recv(numbers, &n)
		break;
	}
#else
	int err;
	char n;

	cc_match(&err) {
	cc_on_recv(numbers, &n)
		break;
	}
#endif
}
