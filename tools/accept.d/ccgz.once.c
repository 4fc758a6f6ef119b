/* ccgz.once: runs a command and prints its wall and processor seconds and its peak memory in KB to
 * standard error.  The peak of a process begins with that of the process which forked it, so
 * an interpreter cannot measure a small program, and this small one does. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	const double start = now();
	const pid_t child = argc > 1 ? fork() : -1;
	struct rusage used;
	int status = 0;

	if (child == 0) {
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &used) != child)
		return 2;
	fprintf(stderr, "%.6f %.6f %ld\n", now() - start,
	        seconds(used.ru_utime) + seconds(used.ru_stime), used.ru_maxrss);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
