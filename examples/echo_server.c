/* echo_server.c - a server on plain sockets: a task for each connection.  Its clients are in here
 * as well, so that it can run by itself; when they have ended, it does. */
#include <stdio.h>
#include <string.h>

#include "sockets.h"

enum { CLIENTS = 20 };

static cc_task_fn(echo, int fd;)
{
	char text[256];

	for (ssize_t n; (n = move(self->fd, CC_FD_READ, text, sizeof text)) > 0;)
		move(self->fd, CC_FD_WRITE, text, (size_t)n);
	return close(self->fd);
}

static cc_task_fn(serve, CCNursery *n; int fd;)
{
	for (int fd; cc_wait_fd(self->fd, CC_FD_READ, CC_FOREVER) == 0;)
		if ((fd = accept4(self->fd, NULL, NULL, SOCK_NONBLOCK)) >= 0)
			cc_spawn(self->n, echo, .fd = fd);
	return close(self->fd);
}

static cc_task_fn(ask, struct sockaddr_in server; int *right;)
{
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	char text[16] = "hello?", answer[16] = "";

	connect(fd, (struct sockaddr *)&self->server, sizeof self->server);
	if (cc_wait_fd(fd, CC_FD_WRITE, CC_FOREVER) == 0) {
		move(fd, CC_FD_WRITE, text, strlen(text));
		move(fd, CC_FD_READ, answer, sizeof answer - 1);
	}
	*self->right = strcmp(answer, text) == 0;
	return close(fd);
}

int main(void)
{
	struct sockaddr_in at;
	const int fd = listen_here(&at, CLIENTS);
	int right[CLIENTS] = {0}, sum = 0, err = 0;

	cc_nursery_scope(n, &err) {
		cc_spawn_daemon(n, serve, .n = n, .fd = fd);
		for (int i = 0; i < CLIENTS; i++)
			cc_spawn(n, ask, .server = at, .right = &right[i]);
	}
	for (int i = 0; i < CLIENTS; i++)
		sum += right[i];
	printf("%d of %d clients have their answer\n", sum, CLIENTS);
	return err;
}
