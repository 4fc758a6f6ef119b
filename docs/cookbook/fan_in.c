/* Many sources, one reader: one channel that all of them share, or a match over several. */
#include <assert.h>

#include <ccc/ccc.h>

cc_chan_type(Numbers, int);

static cc_task_fn(produce, NumbersTx out; int from; int to;)
{
	for (int i = self->from; i < self->to; i++)
		cc_try(cc_send(self->out, i));
	return 0;
}

/* The nursery closes the channel when the last source has ended. */
static int sum_of_shared(void)
{
	Numbers numbers = cc_chan_make(Numbers, 16);
	int sum = 0, err = 0;

	cc_nursery_scope(n, &err) {
		if (cc_nursery_autoclose(n, numbers.chan) != 0)
			return -1;
		for (int i = 0; i < 4; i++)
			cc_spawn(n, produce, .out = numbers.tx, .from = 25 * i, .to = 25 * (i + 1));
		cc_nursery_seal(n);
		for (int v; cc_recv(numbers, &v) == 0;)
			sum += v;
	}
	cc_free(numbers);
	return err == 0 ? sum : -1;
}

static cc_task_fn(produce_and_close, NumbersTx out; int from; int to;)
{
	for (int i = self->from; i < self->to; i++)
		cc_try(cc_send(self->out, i));
	return cc_close(self->out);
}

/* Channels that differ: a case for each, switched off when its channel is closed. */
static int merge(NumbersRx a, NumbersRx b, int *sum)
{
	int v, err = 0;

	while (a.chan != NULL || b.chan != NULL) {
		cc_match(&err) {
		cc_on_recv(a, &v)
			*sum += v;
		cc_on_recv(b, &v)
			*sum += v;
		cc_on_closed(a)
			a.chan = NULL;
		cc_on_closed(b)
			b.chan = NULL;
		}
		cc_try(err);
	}
	return 0;
}

int main(void)
{
	Numbers a = cc_chan_make(Numbers, 4), b = cc_chan_make(Numbers, 4);
	int sum = 0, err = 0;

	assert(sum_of_shared() == 4950);
	cc_nursery_scope(n, &err) {
		cc_spawn(n, produce_and_close, .out = a.tx, .from = 0, .to = 50);
		cc_spawn(n, produce_and_close, .out = b.tx, .from = 50, .to = 100);
		assert(merge(a.rx, b.rx, &sum) == 0);
	}
	assert(err == 0 && sum == 4950);
	cc_free(a);
	cc_free(b);
	return 0;
}
