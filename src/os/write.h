/* write.h - text to a descriptor, whole although signals interrupt it. */
#ifndef CC__OS_WRITE_H
#define CC__OS_WRITE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

/* Write all n bytes.  False: the descriptor does not take them.  Signal handlers may call it. */
static inline bool cc__write_all(int fd, const char *text, size_t n)
{
	while (n > 0) {
		const ssize_t written = write(fd, text, n);

		if (written >= 0) {
			text += written;
			n -= (size_t)written;
		} else if (errno != EINTR) {
			return false;
		}
	}
	return true;
}

#endif
