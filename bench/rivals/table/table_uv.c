/* table_uv.c - timers of libuv: `table_uv CASE workers=1` prints one line of JSON, {"na":true} for a case
 * that is not here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

static void fired(uv_timer_t *timer)
{
	(void)timer;
	abort();	/* a second has not passed */
}

static double set_and_cancel(uv_loop_t *loop, long n)
{
	const uint64_t begin = uv_hrtime();
	uv_timer_t timer;

	uv_timer_init(loop, &timer);
	for (long i = 0; i < n; i++) {
		uv_timer_start(&timer, fired, 1000, 0);
		uv_timer_stop(&timer);
	}
	return (double)(uv_hrtime() - begin);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	double took = 0;
	long n = 5000;

	if (strcmp(name, "timer_cancel") != 0) {
		printf("{\"peer\":\"libuv\",\"case\":\"%s\",\"na\":true}\n", name);
		return 0;
	}
	while ((took = set_and_cancel(uv_default_loop(), n)) < 2e8)
		n *= 4;
	printf("{\"peer\":\"libuv\",\"case\":\"%s\",\"ops\":%ld,\"ns_per_op\":%.2f,\"wall_s\":%.6f}\n", name, n,
	       took / (double)n, took / 1e9);
	return 0;
}
