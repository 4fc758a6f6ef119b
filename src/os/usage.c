/* usage.c - a thread's state and the time that it has had a CPU, from /proc. */
#include "os/usage.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

uint32_t cc__thread_number(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

/* False: there is no such file, or it is empty. */
static bool read_file(uint32_t number, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/self/task/%u/%s", number, name);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		return false;
	n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* The third field of `stat`; the second, a name in parentheses, may have any character. */
static bool is_asleep(const char *stat)
{
	const char *end = strrchr(stat, ')');

	return end != NULL && end[1] == ' ' && end[2] != 'R';
}

struct cc__usage cc__usage_of(uint32_t number)
{
	struct cc__usage u = {0};
	char text[512];

	if (read_file(number, "stat", text, sizeof text))
		u.asleep = is_asleep(text);
	/* Nanoseconds that it ran, nanoseconds that it waited, and a count.  (What it waits now is
	 * added when it gets a CPU.) */
	if (read_file(number, "schedstat", text, sizeof text))
		u.ran = strtoll(text, NULL, 10);
	return u;
}
