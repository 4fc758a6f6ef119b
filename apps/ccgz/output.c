/* output.c - see output.h. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report.h"

/* The file that the signal handler has to remove; "": none.  Only the main thread runs handlers,
 * because all other threads block these signals, and it blocks them while it changes this. */
static char temporary[PATH_MAX];
static sigset_t ending;	/* the signals that end ccgz */

static void end_by_signal(int number)
{
	if (temporary[0] != '\0')
		unlink(temporary);
	signal(number, SIG_DFL);
	raise(number);	/* is delivered when the handler returns */
}

void output_init(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXCPU, SIGXFSZ};
	struct sigaction act = {.sa_handler = end_by_signal}, old;

	sigemptyset(&ending);
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		sigaddset(&ending, numbers[i]);
	act.sa_mask = ending;
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		/* What was ignored when ccgz started (nohup) stays ignored. */
		if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(numbers[i], &act, NULL);
}

/* No handler runs between this and allow_signals. */
static void hold_signals(void)
{
	pthread_sigmask(SIG_BLOCK, &ending, NULL);
}

static void allow_signals(void)
{
	pthread_sigmask(SIG_UNBLOCK, &ending, NULL);
}

int output_open(struct output *o, const char *path)
{
	const char *slash = strrchr(path, '/');
	const int directory = slash == NULL ? 0 : (int)(slash - path) + 1;
	int err = 0;

	*o = (struct output){.name = path};
	hold_signals();
	if (snprintf(temporary, sizeof temporary, "%.*s.ccgz-XXXXXX", directory, path) >=
	    (int)sizeof temporary)
		err = ENAMETOOLONG;
	else if ((o->fd = mkostemp(temporary, O_CLOEXEC)) < 0)
		err = errno;
	if (err != 0)
		temporary[0] = '\0';
	allow_signals();
	return err == 0 ? 0 : report_errno(path, err);
}

void output_open_stdout(struct output *o)
{
	*o = (struct output){.fd = STDOUT_FILENO, .name = "stdout"};
}

void output_open_none(struct output *o)
{
	*o = (struct output){.fd = -1};
}

int output_write(struct output *o, const void *data, size_t length)
{
	const char *at = data;

	o->written += length;
	while (o->fd >= 0 && length > 0) {
		const ssize_t n = write(o->fd, at, length);

		if (n < 0 && errno != EINTR)
			return report_errno(o->name, errno);
		if (n > 0) {
			at += n;
			length -= (size_t)n;
		}
	}
	return 0;
}

static void copy_attributes(int fd, const struct stat *like, uint32_t time)
{
	const struct timespec times[2] = {
	    like->st_atim, time != 0 ? (struct timespec){.tv_sec = time} : like->st_mtim};

	/* Only root may give files away.  If the owner or the group stays another, bits that
	 * would give rights to it are not copied. */
	mode_t mode = like->st_mode & 07777;

	if (fchown(fd, (uid_t)-1, like->st_gid) != 0)
		mode &= ~(mode_t)(S_ISGID | S_IRWXG);
	if (fchown(fd, like->st_uid, (gid_t)-1) != 0)
		mode &= ~(mode_t)S_ISUID;
	fchmod(fd, mode);
	futimens(fd, times);
}

/* Gives the temporary file its name. */
static int settle(const char *path, bool force)
{
	if (!force) {
		if (renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
			return 0;
		if (errno != EINVAL && errno != ENOSYS)	/* a file system that cannot */
			return errno;
	}
	return rename(temporary, path) == 0 ? 0 : errno;
}

int output_commit(struct output *o, const struct stat *like, uint32_t time, bool force)
{
	int err = 0;

	if (o->fd <= STDOUT_FILENO)
		return 0;
	copy_attributes(o->fd, like, time);
	if (close(o->fd) != 0)
		err = errno;
	o->fd = -1;
	hold_signals();
	if (err == 0)
		err = settle(o->name, force);
	if (err != 0)
		unlink(temporary);
	temporary[0] = '\0';
	allow_signals();
	return err == 0 ? 0 : report_errno(o->name, err);
}

void output_discard(struct output *o)
{
	if (o->fd <= STDOUT_FILENO)
		return;
	close(o->fd);
	hold_signals();
	unlink(temporary);
	temporary[0] = '\0';
	allow_signals();
}
