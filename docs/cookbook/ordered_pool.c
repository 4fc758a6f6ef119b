/* A pool of tasks whose results come in the order of the input. */
#include <assert.h>

#include <ccc/ccc.h>

struct job {
	CCTask task;	/* first: the handle */
	int number;
	long *result;
};
cc_chan_type(Jobs, struct job);

static cc_task_fn(compute, int number; long *result;)
{
	cc_sleep_ms(self->number % 3);		/* later jobs may end earlier */
	*self->result = (long)self->number * self->number;
	return 0;
}

/* At most as many jobs are under way as the channel has room for. */
static cc_task_fn(start_jobs, JobsTx out; long *results; int count;)
{
	for (int i = 0; i < self->count; i++) {
		struct job job = {.number = i, .result = &self->results[i]};

		cc_try(cc_spawn_send(self->out, &job, compute, .number = i, .result = job.result));
	}
	return cc_close(self->out);
}

int main(void)
{
	Jobs jobs = cc_chan_make_ordered(Jobs, 8);
	struct job job;
	long results[100];
	int next = 0, err = 0;

	cc_nursery_scope(n, &err) {
		cc_spawn(n, start_jobs, .out = jobs.tx, .results = results, .count = 100);
		while (cc_recv(jobs, &job) == 0) {
			assert(cc_task_join(job.task, CC_FOREVER, NULL) == 0);
			assert(job.number == next++ && *job.result == (long)job.number * job.number);
		}
	}
	assert(err == 0 && next == 100);
	cc_free(jobs);
	return 0;
}
