/* forgotten_close_main.c - the owner receives until the channel is closed, and nobody closes it.
 *
 * exit: SIGABRT
 * says: deadlock: [0-9]+ fibers? and 1 thread wait
 * says: waits to receive from channel 0x[0-9a-f]+ 'Numbers' \(created at forgotten_close_main.c:20\)
 * says: a receiver waits until the channel is closed */
#include "broken.h"

cc_chan_type(Numbers, int);

static cc_task_fn(send_ten, NumbersTx out;)
{
	for (int i = 0; i < 10; i++)
		cc_try(cc_send(self->out, i));
	return 0;
}

static int broken(void)
{
	Numbers numbers = cc_chan_make(Numbers, 4);
	int err;

	cc_nursery_scope(n, &err) {
		cc_spawn(n, send_ten, .out = numbers.tx);
		for (int v; cc_recv(numbers, &v) == 0;)
			continue;
	}
	return err;
}
