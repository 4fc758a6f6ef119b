/* news.c - every subscriber receives every line; a thermometer shows only the latest value, and a
 * slow reader is told how many it missed. */
#include <stdio.h>

#include <ccc/ccc.h>

cc_chan_type(Lines, const char *);
cc_chan_type(Degrees, int);

/* Counts the lines of its subscription. */
static cc_task_fn(listen, LinesRx lines; int *heard;)
{
	const char *line;
	int err;

	while ((err = cc_recv(self->lines, &line)) == 0)
		++*self->heard;
	cc_unsubscribe(self->lines);
	return err == EPIPE ? 0 : err;
}

int main(void)
{
	Lines lines = cc_chan_make_broadcast(Lines, 4);
	Degrees degrees = cc_chan_make_watch(Degrees);
	LinesRx mine[3] = {{NULL}};
	DegreesRx now = {NULL};
	int heard[3] = {0}, value = 0, err = 0;

	cc_nursery_scope(n, &err) {
		for (int i = 0; i < 3; i++) {
			cc_try(cc_subscribe(lines, &mine[i]));
			cc_spawn(n, listen, .lines = mine[i], .heard = &heard[i]);
		}
		for (int i = 0; i < 1000; i++)
			cc_try(cc_send(lines, "a line"));
		cc_close(lines);
	}
	printf("heard: %d, %d, %d\n", heard[0], heard[1], heard[2]);

	cc_try(cc_subscribe(degrees, &now));
	for (int d = 0; d <= 21; d++)
		cc_try(cc_send(degrees, d));
	cc_try(cc_recv(now, &value));
	printf("%d degrees; missed %llu values\n", value,
	       (unsigned long long)cc_chan_lost((CCChanRx){now.chan}));
	cc_unsubscribe(now);
	cc_free(lines);
	cc_free(degrees);
	return err;
}
