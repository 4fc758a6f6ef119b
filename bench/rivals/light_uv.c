/* light_uv.c - light_load of bench/idle.c on libuv: descriptor 3 is a socket, the client
 * (client.c) asks a byte and waits for one.  Prints what a request costs as JSON. */
#include <stdio.h>
#include <uv.h>

static char word[16];
static long requests;

static void room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	(void)handle, (void)suggested;
	*buffer = uv_buf_init(word, sizeof word);
}

static void answer(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
	uv_buf_t back = uv_buf_init(buffer->base, length > 0 ? (unsigned)length : 0);

	if (length < 0)
		uv_close((uv_handle_t *)stream, NULL);
	else if (length > 0 && uv_try_write(stream, &back, 1) == (int)length)
		requests++;
}

static double cpu_us(void)
{
	uv_rusage_t usage;

	uv_getrusage(&usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

int main(void)
{
	uv_loop_t *loop = uv_default_loop();
	const double before = cpu_us();
	uv_pipe_t pipe;

	if (uv_pipe_init(loop, &pipe, 0) != 0 || uv_pipe_open(&pipe, 3) != 0 ||
	    uv_read_start((uv_stream_t *)&pipe, room, answer) != 0)
		return 1;
	uv_run(loop, UV_RUN_DEFAULT);
	printf("{\"case\":\"light_load\",\"ops\":%ld,\"cpu_us_per_request\":%.2f}\n", requests,
	       (cpu_us() - before) / (double)requests);
	return 0;
}
