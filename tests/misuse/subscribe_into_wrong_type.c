/* A subscription that is kept in the receiving end of another type.
 * expect-gcc: cc_recv_wants_a_pointer_to_the_type_that_the_channel_carries
 * expect-clang: cc_recv_wants_a_pointer_to_the_type_that_the_channel_carries */
#include <ccc/ccc.h>

cc_chan_type(Numbers, int);
cc_chan_type(Letters, char);

void misuse(Numbers numbers);

void misuse(Numbers numbers)
{
#ifdef RIGHT
	NumbersRx mine;
#else
	LettersRx mine;
#endif

	cc_ignore(cc_subscribe(numbers, &mine));
}
