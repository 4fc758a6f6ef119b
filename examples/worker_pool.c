/* worker_pool.c - as many jobs as there are, a few workers, and one channel of results that
 * closes when the last worker has ended. */
#include <stdio.h>

#include <ccc/ccc.h>

enum { WORKERS = 4, JOBS = 100 };

cc_chan_type(Jobs, int);
struct result {
	int job, divisors;
};
cc_chan_type(Results, struct result);

static cc_task_fn(hand_out, JobsTx jobs;)
{
	for (int job = 1; job <= JOBS; job++)
		cc_try(cc_send(self->jobs, job));
	return cc_close(self->jobs);
}

static cc_task_fn(work, JobsRx jobs; ResultsTx results;)
{
	for (int job; cc_recv(self->jobs, &job) == 0;) {
		struct result r = {.job = job};

		for (int d = 1; d <= job; d++)
			r.divisors += job % d == 0;
		cc_try(cc_send(self->results, r));
	}
	return 0;
}

int main(void)
{
	Jobs jobs = cc_chan_make(Jobs, 8);
	Results results = cc_chan_make(Results, 8);
	int primes = 0, err = 0;

	cc_nursery_scope(n, &err) {
		cc_try(cc_nursery_autoclose(n, results.chan));
		cc_spawn(n, hand_out, .jobs = jobs.tx);
		for (int i = 0; i < WORKERS; i++)
			cc_spawn(n, work, .jobs = jobs.rx, .results = results.tx);
		cc_nursery_seal(n);
		for (struct result r; cc_recv(results, &r) == 0;)
			primes += r.divisors == 2;
	}
	printf("%d of the first %d numbers are prime\n", primes, JOBS);
	cc_free(jobs);
	cc_free(results);
	return err;
}
