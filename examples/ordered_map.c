/* ordered_map.c - work on many things at once, and have the results in the order of the things:
 * a channel of tasks, whose receiver joins one after the other. */
#include <stdio.h>

#include <ccc/ccc.h>

enum { LINES = 12, AT_ONCE = 4 };

/* Later ones are done sooner. */
static int compress(void *arg)
{
	int *line = arg;

	cc_sleep_until(cc_after((LINES - *line) * CC_MSEC));
	*line *= *line;
	return 0;
}

static cc_task_fn(read_lines, CCChan *out; int *lines;)
{
	for (int i = 0; i < LINES; i++) {
		self->lines[i] = i;
		cc_try(cc_chan_spawn(self->out, NULL, compress, &self->lines[i], CC_FOREVER));
	}
	return cc_chan_close(self->out);
}

int main(void)
{
	const CCChanOptions ordered = {.kind = CC_CHAN_KIND_ORDERED};
	int lines[LINES], next = 0, err = 0;
	CCChan *tasks;
	CCTask task;

	cc_try(cc_chan_create(&tasks, sizeof(CCTask), AT_ONCE, &ordered));
	cc_nursery_scope(n, &err) {
		cc_spawn(n, read_lines, .out = tasks, .lines = lines);
		while (cc_chan_recv(tasks, &task, sizeof task) == 0) {
			cc_try(cc_task_join(task, CC_FOREVER, NULL));
			printf("%d\n", lines[next++]);
		}
	}
	cc_chan_free(tasks);
	return err;
}
