/* two_rendezvous.c - two fibers send to each other before they receive.
 *
 * exit: SIGABRT
 * says: fiber [0-9]+ 'swap' waits to send to channel 0x[0-9a-f]+ 'Numbers' \(created at two_rendezvous.c:2[0-9]\)
 * says: start the receiver first, or give the channel a capacity */
#include "broken.h"

cc_chan_type(Numbers, int);

static cc_task_fn(swap, NumbersTx out; NumbersRx in;)
{
	int v;

	cc_try(cc_send(self->out, 1));
	return cc_recv(self->in, &v);
}

static int broken(void)
{
	Numbers there = cc_chan_make(Numbers, 0);
	Numbers back = cc_chan_make(Numbers, 0);
	int err;

	cc_nursery_scope(n, &err) {
		cc_spawn(n, swap, .out = there.tx, .in = back.rx);
		cc_spawn(n, swap, .out = back.tx, .in = there.rx);
	}
	return err;
}
