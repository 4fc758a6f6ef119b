/* stop.c - stop PROGRAM [ARGUMENT...]: runs it, and again and again stops one of its
 * threads for a while, wherever that is (ptrace).  tools/noise --stop uses it.
 *
 * P1  The program is not told: signals are passed on, and its system calls go on after a
 *     stop, but for those that the kernel never takes up again (epoll_wait: EINTR).
 * P2  Threads and children that it starts are stopped as well.
 * P3  A stop comes every NOISE_GAP (300) microseconds, on the average, and lasts up to
 *     NOISE_MS (20) milliseconds, mostly far less; drawn from NOISE_SEED's sequence.
 *
 * Ends as the program does; 128 + N for signal N. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SEC INT64_C(1000000000)
enum { MOST = 8192 };

static struct thread {
	pid_t id;
	bool asked;		/* to stop */
	int64_t until;		/* stopped by us; 0: it is not */
} threads[MOST];
static unsigned count;
static uint64_t state, gap, longest;

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * SEC + t.tv_nsec;
}

/* The next number of the sequence (splitmix64). */
static uint64_t draw(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static struct thread *find(pid_t id)
{
	for (unsigned i = 0; i < count; i++)
		if (threads[i].id == id)
			return &threads[i];
	if (count == MOST) {
		fprintf(stderr, "stop: too many threads\n");
		exit(2);
	}
	threads[count] = (struct thread){.id = id};
	return &threads[count++];
}

static void forget(pid_t id)
{
	*find(id) = threads[count - 1];
	count--;
}

static void go_on(const struct thread *t, int sig)
{
	ptrace(PTRACE_CONT, t->id, NULL, (void *)(intptr_t)sig);
}

/* It has stopped: because we asked, for a signal, or for something new. */
static void stopped(struct thread *t, int status)
{
	const int sig = WSTOPSIG(status), event = status >> 16;

	if (event == 0) {
		go_on(t, sig);
	} else if (event != PTRACE_EVENT_STOP) {
		go_on(t, 0);
	} else if (sig != SIGTRAP) {	/* like all of its process, until SIGCONT */
		ptrace(PTRACE_LISTEN, t->id, NULL, NULL);
	} else if (t->asked) {
		const uint64_t x = draw();

		t->asked = false;
		t->until = now() + (int64_t)((x >> 8) % (longest >> (x & 7)) + 1);
	} else {
		go_on(t, 0);
	}
}

/* What has happened to them.  True: the program has ended, so. */
static bool hear(pid_t program, int *end)
{
	int status;
	pid_t id;

	while ((id = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
		if (WIFSTOPPED(status)) {
			stopped(find(id), status);
			continue;
		}
		forget(id);
		if (id == program) {
			*end = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
			return true;
		}
	}
	return false;
}

static void stop_and_go(void)
{
	static int64_t next;
	const int64_t at = now();
	struct thread *t;

	for (t = threads; t < threads + count; t++)
		if (t->until != 0 && t->until <= at) {
			t->until = 0;
			go_on(t, 0);
		}
	if (at < next)
		return;
	next = at + (int64_t)(draw() % (2 * gap));
	t = &threads[draw() % count];
	if (t->until == 0 && !t->asked)
		t->asked = ptrace(PTRACE_INTERRUPT, t->id, NULL, NULL) == 0;
}

static pid_t start(char **command)
{
	const intptr_t options = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
	                         PTRACE_O_EXITKILL;
	pid_t pid = fork();

	if (pid == 0) {
		raise(SIGSTOP);		/* until we are ready */
		execvp(command[0], command);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, NULL, WUNTRACED) != pid ||
	    ptrace(PTRACE_SEIZE, pid, NULL, (void *)options) != 0) {
		perror("stop");
		exit(2);
	}
	find(pid);
	kill(pid, SIGCONT);
	return pid;
}

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text != NULL && strtoull(text, NULL, 10) > 0 ? strtoull(text, NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
	const struct timespec moment = {0, 50000};
	pid_t program;
	int end;

	if (argc < 2) {
		fprintf(stderr, "usage: stop PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	state = number("NOISE_SEED", 1) << 32;
	gap = number("NOISE_GAP", 300) * 1000;
	longest = number("NOISE_MS", 20) * SEC / 1000;
	program = start(argv + 1);
	while (!hear(program, &end)) {
		stop_and_go();
		nanosleep(&moment, NULL);
	}
	return end;
}
