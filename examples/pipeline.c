/* pipeline.c - stages that run at the same time, joined by channels.  Each closes what it sends
 * to when there is no more; one that fails stops all. */
#include <stdio.h>

#include <ccc/ccc.h>

cc_chan_type(Numbers, long);

static cc_task_fn(count, NumbersTx out; long n;)
{
	for (long i = 1; i <= self->n; i++)
		cc_try(cc_send(self->out, i));
	return cc_close(self->out);
}

static cc_task_fn(square, NumbersRx in; NumbersTx out;)
{
	for (long v; cc_recv(self->in, &v) == 0;)
		cc_try(cc_send(self->out, v * v));
	return cc_close(self->out);
}

static cc_task_fn(keep_odd, NumbersRx in; NumbersTx out;)
{
	for (long v; cc_recv(self->in, &v) == 0;)
		if (v % 2 != 0)
			cc_try(cc_send(self->out, v));
	return cc_close(self->out);
}

int main(void)
{
	Numbers numbers = cc_chan_make(Numbers, 16), squares = cc_chan_make(Numbers, 16),
		odd = cc_chan_make(Numbers, 16);
	long sum = 0;
	int err = 0;

	cc_nursery_scope(n, &err) {
		cc_spawn(n, count, .out = numbers.tx, .n = 1000);
		cc_spawn(n, square, .in = numbers.rx, .out = squares.tx);
		cc_spawn(n, keep_odd, .in = squares.rx, .out = odd.tx);
		for (long v; cc_recv(odd, &v) == 0;)
			sum += v;
	}
	printf("the odd squares up to 1000 * 1000 sum up to %ld\n", sum);
	cc_free(numbers);
	cc_free(squares);
	cc_free(odd);
	return err;
}
