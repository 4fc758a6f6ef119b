/* client.c - `client N COMMAND...`: starts COMMAND with a socket as descriptor 3, asks it N times,
 * one byte a millisecond, and waits for each answer.  Exits with 0 if all came and COMMAND
 * succeeded. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int pair[2], status = 0;
	char byte = 0;
	pid_t server;

	if (argc < 3 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return 2;
	if ((server = fork()) == 0) {
		if (dup2(pair[1], 3) == 3)
			execvp(argv[2], argv + 2);
		_exit(127);
	}
	close(pair[1]);
	for (long n = atol(argv[1]); n > 0; n--) {
		usleep(1000);
		if (write(pair[0], &byte, 1) != 1 || read(pair[0], &byte, 1) != 1)
			status = 1;
	}
	close(pair[0]);
	return waitpid(server, &argc, 0) == server && argc == 0 ? status : 1;
}
