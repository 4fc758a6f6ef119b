/* process.c - posix_spawn, pidfd and wait4. */
#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/outside.h"

/* Not in every C library (Linux 5.1 and 5.3). */
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

enum { STANDARD = 3 };

/* ---- descriptors ---- */

/* Copies of the caller's standard descriptors that become another standard descriptor of the
 * process: dup2 calls one after another would overwrite the one with the other. */
struct sources {
	int fd[STANDARD];	/* what becomes this descriptor; as in CCProcessOptions */
	int copy[STANDARD];	/* ours to close; -1: none */
};

static void close_copies(const struct sources *s)
{
	for (int i = 0; i < STANDARD; i++)
		if (s->copy[i] >= 0)
			close(s->copy[i]);
}

static int find_sources(struct sources *s, const CCProcessOptions *o)
{
	const int wanted[STANDARD] = {o->in, o->out, o->err};

	for (int i = 0; i < STANDARD; i++) {
		s->fd[i] = wanted[i] == i ? 0 : wanted[i];
		s->copy[i] = -1;
	}
	for (int i = 0; i < STANDARD; i++) {
		if (s->fd[i] <= 0 || s->fd[i] >= STANDARD)
			continue;
		if ((s->copy[i] = fcntl(s->fd[i], F_DUPFD_CLOEXEC, STANDARD)) < 0) {
			const int err = errno;

			close_copies(s);
			return err;
		}
		s->fd[i] = s->copy[i];
	}
	return 0;
}

/* posix_spawn reports a bad descriptor of dup2 on some systems only. */
static int check_open(const struct sources *s)
{
	for (int i = 0; i < STANDARD; i++)
		if (s->fd[i] > 0 && fcntl(s->fd[i], F_GETFD) < 0)
			return errno;
	return 0;
}

static int add_actions(posix_spawn_file_actions_t *a, const struct sources *s,
                       const char *directory)
{
	int err = 0;

	for (int i = 0; i < STANDARD && err == 0; i++)
		if (s->fd[i] == CC_PROCESS_NULL)
			err = posix_spawn_file_actions_addopen(a, i, "/dev/null", O_RDWR, 0);
		else if (s->fd[i] != 0)
			err = posix_spawn_file_actions_adddup2(a, s->fd[i], i);
	if (err == 0 && directory != NULL)
		err = posix_spawn_file_actions_addchdir_np(a, directory);
	return err;
}

/* ---- signals ---- */

static int set_signals(posix_spawnattr_t *a, const sigset_t *mask, bool defaults)
{
	short flags = POSIX_SPAWN_SETSIGMASK;
	sigset_t none, all;
	int err = 0;

	sigemptyset(&none);
	sigfillset(&all);
	if (defaults) {
		flags |= POSIX_SPAWN_SETSIGDEF;
		err = posix_spawnattr_setsigdefault(a, &all);
	}
	if (err == 0)
		err = posix_spawnattr_setsigmask(a, defaults ? &none : mask);
	return err != 0 ? err : posix_spawnattr_setflags(a, flags);
}

/* ---- start ---- */

/* A process starts with the timer slack of the thread that starts it. */
static int spawn_with_slack(const posix_spawn_file_actions_t *actions,
                            const posix_spawnattr_t *attributes, const CCProcessOptions *o,
                            char *const argv[], long slack, int *pid)
{
	const long own = prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL);
	char *const *ours = environ;	/* lint: allow(getenv) passed on, not read */
	pid_t started;
	int err;

	if (own > 0 && own != slack)
		prctl(PR_SET_TIMERSLACK, (unsigned long)slack);
	err = posix_spawnp(&started, argv[0], actions, attributes, argv,
	                   o->environment != NULL ? o->environment : ours);
	if (own > 0 && own != slack)
		prctl(PR_SET_TIMERSLACK, (unsigned long)own);
	if (err == 0)
		*pid = started;
	return err;
}

static int spawn_with_attributes(const posix_spawn_file_actions_t *actions,
                                 const CCProcessOptions *o, char *const argv[], int *pid)
{
	struct cc__outside outside;
	posix_spawnattr_t attributes;
	int err;

	(void)cc__outside(&outside);
	if ((err = posix_spawnattr_init(&attributes)) != 0)
		return err;
	err = set_signals(&attributes, &outside.mask, o->default_signals != 0);
	if (err == 0)
		err = spawn_with_slack(actions, &attributes, o, argv, outside.slack, pid);
	posix_spawnattr_destroy(&attributes);
	return err;
}

int cc__process_start(const CCProcessOptions *o, char *const argv[], int *pid)
{
	posix_spawn_file_actions_t actions;
	struct sources sources;
	int err;

	if ((err = find_sources(&sources, o)) != 0)
		return err;
	if ((err = check_open(&sources)) != 0 ||
	    (err = posix_spawn_file_actions_init(&actions)) != 0)
		goto close_copies;
	err = add_actions(&actions, &sources, o->directory);
	if (err == 0)
		err = spawn_with_attributes(&actions, o, argv, pid);
	posix_spawn_file_actions_destroy(&actions);
close_copies:
	close_copies(&sources);
	return err;
}

/* ---- its end ---- */

int cc__process_descriptor(int pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);	/* with FD_CLOEXEC */
}

void cc__process_descriptor_close(int fd)
{
	close(fd);
}

/* By the system call: the sanitizers see what waitpid stores, and know nothing of the order in
 * which the library hands its memory from one process record to the next. */
int cc__process_reap(int pid, int *status)
{
	long got;

	do
		got = syscall(SYS_wait4, pid, status, WNOHANG, NULL);
	while (got < 0 && errno == EINTR);
	return got == pid ? 0 : got == 0 ? EAGAIN : ECHILD;
}

int cc__process_signal(int pid, int fd, int sig)
{
	if (fd >= 0) {
		if (syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0) == 0)
			return 0;
		if (errno != ENOSYS)
			return errno;
	}
	return kill(pid, sig) == 0 ? 0 : errno;
}
