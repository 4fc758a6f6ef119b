/* A match that sends another type.
 * expect-gcc: cc_send_wants_the_type_that_the_channel_carries
 * expect-clang: cc_send_wants_the_type_that_the_channel_carries */
#include <ccc/ccc.h>

cc_chan_type(Numbers, int);

void misuse(Numbers numbers);

void misuse(Numbers numbers)
{
#ifdef RIGHT
	int err, n = 1;

	cc_match(&err) {
	cc_on_send(numbers, n)
		break;
	}
#else
	int err;
	long n = 1;

	cc_match(&err) {
	cc_on_send(numbers, n)
		break;
	}
#endif
}
