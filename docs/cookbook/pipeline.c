/* A pipeline that ends early: what comes last has enough, and all that stands before it stops. */
#include <assert.h>

#include <ccc/ccc.h>

cc_chan_type(Numbers, long);

static cc_task_fn(count, NumbersTx out;)
{
	for (long i = 1;; i++)
		cc_try(cc_send(self->out, i));		/* ends with EPIPE */
}

static cc_task_fn(square, NumbersRx in; NumbersTx out;)
{
	long v;
	int err;

	while ((err = cc_recv(self->in, &v)) == 0 && (err = cc_send(self->out, v * v)) == 0)
		continue;
	cc_close_recv(self->in, 0);		/* what stands before it stops, too */
	return err;
}

int main(void)
{
	const CCNurseryOptions each = {.policy = CC_NURSERY_SUPERVISE};
	Numbers numbers = cc_chan_make(Numbers, 4), squares = cc_chan_make(Numbers, 4);
	long sum = 0, v;
	int err = 0;

	cc_nursery_scope_with(n, &err, &each) {
		cc_spawn(n, count, .out = numbers.tx);
		cc_spawn(n, square, .in = numbers.rx, .out = squares.tx);
		for (int i = 0; i < 10 && cc_recv(squares, &v) == 0; i++)
			sum += v;
		cc_close_recv(squares, 0);	/* ten are enough */
	}
	assert(sum == 385 && err == EPIPE);
	cc_free(numbers);
	cc_free(squares);
	return 0;
}
