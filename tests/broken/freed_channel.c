/* freed_channel.c - sends to a channel that has been freed.
 *
 * exit: SIGABRT
 * says: channel 0x[0-9a-f]+ Numbers was freed, and a send uses it */
#include "broken.h"

cc_chan_type(Numbers, int);

static int broken(void)
{
	Numbers numbers = cc_chan_make(Numbers, 16);

	must(cc_free(numbers));
	return cc_send(numbers, 1);
}
