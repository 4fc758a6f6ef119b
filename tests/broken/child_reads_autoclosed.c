/* child_reads_autoclosed.c - a child reads the channel that its own nursery closes at its end.
 *
 * exit: SIGABRT
 * says: fiber [0-9]+ 'reader' waits to receive from channel 0x[0-9a-f]+ 'Numbers'
 * says: waits for the children of nursery 0x
 * says: a receiver waits until the channel is closed */
#include "broken.h"

cc_chan_type(Numbers, int);

static cc_task_fn(writer, NumbersTx out;)
{
	return cc_send(self->out, 1);
}

static cc_task_fn(reader, NumbersRx in;)
{
	for (int v; cc_recv(self->in, &v) == 0;)
		continue;
	return 0;
}

static int broken(void)
{
	Numbers numbers = cc_chan_make(Numbers, 8);
	int err;

	cc_nursery_scope(n, &err) {
		must(cc_nursery_autoclose(n, numbers.chan));
		cc_spawn(n, writer, .out = numbers.tx);
		cc_spawn(n, reader, .in = numbers.rx);
	}
	return err;
}
