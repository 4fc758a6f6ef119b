/* census.c - the kernel's count of our threads.
 *
 * /proc/self/stat has it as its 20th field.  The kernel reads its counter once, so a thread that
 * starts another and ends is never missed, as it could be in a listing of /proc/self/task. */
#include "os/census.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "os/number.h"

enum { STATE = 3, THREADS = 20 };

/* The text of the file, ended by 0.  False: there is none. */
static bool read_stat(char *text, size_t size)
{
	const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

unsigned cc__census(void)
{
	char text[512];
	const char *at;
	uint64_t count = 0;

	/* The name of the program, in brackets, may have any character. */
	if (!read_stat(text, sizeof text) || (at = strrchr(text, ')')) == NULL)
		return 0;
	for (int field = STATE - 1; field < THREADS && at != NULL; field++)
		at = (at = strchr(at, ' ')) != NULL ? at + 1 : NULL;
	if (at == NULL || (at = cc__number(at, &count)) == NULL || *at != ' ')
		return 0;
	return (unsigned)count;
}
