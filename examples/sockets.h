/* sockets.h - reading and writing that waits for the descriptor, for echo_server.c. */
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ccc/ccc.h>

/* Errno is the thread's, and a wait may change the thread: it is read in a function that does
 * not wait, and is not made part of one that does. */
static __attribute__((noinline)) ssize_t attempt(int fd, unsigned how, char *text, size_t size)
{
	const ssize_t n = how == CC_FD_READ ? read(fd, text, size) : write(fd, text, size);

	return n < 0 ? -errno : n;
}

/* How is CC_FD_READ or CC_FD_WRITE.  How many bytes, or an error number, negative. */
static inline ssize_t move(int fd, unsigned how, char *text, size_t size)
{
	ssize_t n;

	while ((n = attempt(fd, how, text, size)) == -EAGAIN &&
	       cc_wait_fd(fd, how, CC_FOREVER) == 0)
		continue;
	return n;
}

/* A socket that listens on this machine, at *at; -1: none. */
static inline int listen_here(struct sockaddr_in *at, int most)
{
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	*at = (struct sockaddr_in){.sin_family = AF_INET,
	                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (bind(fd, (struct sockaddr *)at, sizeof *at) != 0 || listen(fd, most) != 0 ||
	    getsockname(fd, (struct sockaddr *)at, &(socklen_t){sizeof *at}) != 0)
		return -1;
	return fd;
}
