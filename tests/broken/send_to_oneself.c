/* send_to_oneself.c - sends to a rendezvous channel that only it could receive from.
 *
 * exit: SIGABRT
 * says: waits to send to channel 0x[0-9a-f]+ 'Numbers' \(created at send_to_oneself.c:12\)
 * says: start the receiver first, or give the channel a capacity */
#include "broken.h"

cc_chan_type(Numbers, int);

static int broken(void)
{
	Numbers numbers = cc_chan_make(Numbers, 0);
	int v;

	must(cc_send(numbers, 1));
	return cc_recv(numbers, &v);
}
