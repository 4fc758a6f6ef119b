/* A number where the channel carries pointers.
 * expect-gcc: cc_send_wants_the_type_that_the_channel_carries
 * expect-clang: cc_send_wants_the_type_that_the_channel_carries */
#include <ccc/ccc.h>

cc_chan_type(Names, const char *);

void misuse(Names names, int number);

void misuse(Names names, int number)
{
#ifdef RIGHT
	cc_ignore(cc_send(names, NULL));
	(void)number;
#else
	cc_send(names, number);
#endif
}
