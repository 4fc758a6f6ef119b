/* ordered_map.c - work on many things at once, and have the results in the order of the things:
 * a channel of children, each with what belongs to it, whose receiver joins one after the other. */
#include <stdio.h>

#include <ccc/ccc.h>

enum { LINES = 12, AT_ONCE = 4 };

struct line {
	CCTask task;	/* first: the child that works on it */
	int number;
	int *square;	/* where its result will be */
};
cc_chan_type(Lines, struct line);

/* Later ones are done sooner. */
static cc_task_fn(compress, struct line line;)
{
	cc_try(cc_sleep_until(cc_after((LINES - self->line.number) * CC_MSEC)));
	*self->line.square = self->line.number * self->line.number;
	return 0;
}

static cc_task_fn(read_lines, LinesTx out; int *squares;)
{
	for (int i = 0; i < LINES; i++) {
		struct line line = {.number = i, .square = &self->squares[i]};

		cc_try(cc_spawn_send(self->out, &line, compress, .line = line));
	}
	return cc_close(self->out);
}

int main(void)
{
	Lines lines = cc_chan_make_ordered(Lines, AT_ONCE);
	int squares[LINES], err = 0;

	cc_nursery_scope(n, &err) {
		cc_spawn(n, read_lines, .out = lines.tx, .squares = squares);
		for (struct line line; cc_recv(lines, &line) == 0;) {
			cc_try(cc_task_join(line.task, CC_FOREVER, NULL));
			printf("%d\n", *line.square);
		}
	}
	cc_free(lines);
	return err;
}
