/* process.h - start child processes and wait for their end, in fibers and threads.
 *
 * A process inherits its signal mask and its timer slack from the thread that starts it.  The
 * threads of a runtime block signals and have a small timer slack (docs/signals.md), which a child
 * process should not inherit.  So a process that cc_process_spawn starts gets the signal mask and
 * the timer slack of the program's own threads.  docs/processes.md says what to set if a program
 * calls posix_spawn or fork itself.
 *
 *	CCProcess *p;
 *	int status, err;
 *
 *	cc_try(cc_process_spawn(&p, NULL, (char *[]){"gzip", "-k", "data", NULL}));
 *	if ((err = cc_process_wait(p, cc_after(CC_SEC), &status)) != 0) {
 *		cc_process_kill(p, SIGKILL);
 *		cc_shield_scope(CC_FOREVER)
 *			err = cc_process_wait(p, CC_FOREVER, &status);
 *	}
 *	cc_process_free(p); */
#ifndef CCC_PROCESS_H
#define CCC_PROCESS_H

#include <ccc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A child process.  The fields are private. */
typedef struct CCProcess CCProcess;

/* A value of CCProcessOptions.in, out and err: /dev/null. */
#define CC_PROCESS_NULL (-1)

/* Options.  A zeroed struct is the default. */
typedef struct CCProcessOptions {
	/* Descriptors of the caller that become the descriptors 0, 1 and 2 of the process, or
	 * CC_PROCESS_NULL.  0: the process inherits the caller's descriptor of that number.  The
	 * descriptors stay open in the caller. */
	int in, out, err;
	/* Array of "NAME=value" strings that ends with NULL.  NULL: the caller's environment. */
	char *const *environment;
	/* Directory in which the process starts.  NULL: the caller's current directory. */
	const char *directory;
	/* Not 0: the process starts with no signal blocked and none ignored. */
	int default_signals;
} CCProcessOptions;

/* Starts the program argv[0] with the arguments `argv`, an array that ends with NULL, and stores
 * the process in *process.  A name without a slash is searched for in PATH.  `options` may be NULL.
 * The caller must free *process with cc_process_free.
 *
 * As with posix_spawn, the process inherits every descriptor without FD_CLOEXEC and the signals
 * that the program ignores.  If the caller is a thread of the program, the process has the caller's
 * signal mask.  If the caller is a fiber or a thread of a runtime, the process has the signal mask
 * that the thread which started the runtime had at that time.
 *
 * Returns 0, or
 *   EINVAL      `argv` or `process` is NULL, `argv` is empty, or a descriptor is less than -1
 *   EBADF       a descriptor is not open
 *   ENOENT, EACCES, ENOEXEC, E2BIG   the program cannot be executed, or the directory cannot be
 *               entered
 *   EAGAIN, ENOMEM, EMFILE   the system has no process, memory or descriptor left
 *   ENOTSUP     in a child of fork (runtime.h)
 *   (other)     another error of posix_spawn
 * After an error no process was started.
 *
 * Any thread.  Does not park, but occupies the thread until the program has been loaded, usually
 * for less than a millisecond. */
CC_API CC_MUST_CHECK int cc_process_spawn(CCProcess **process, const CCProcessOptions *options,
                                          char *const argv[]);

/* Waits until the process ends, at most until `deadline`.  If `status` is not NULL, *status
 * receives the status as waitpid reports it: see WIFEXITED, WEXITSTATUS, WIFSIGNALED and WTERMSIG
 * in <sys/wait.h>.  Any number of callers may wait, at the same time or one after another; all get
 * the same status.
 *
 * Returns 0 if the process has ended, whatever its status, or
 *   ETIMEDOUT   the deadline passed (EAGAIN if it was CC_NOW), or the deadline of a nursery
 *               around the caller passed
 *   ECANCELED   a nursery around the caller was cancelled, or the calling fiber's runtime is
 *               ending (cc_runtime_free)
 *   ECHILD      the process has ended, but its status is lost because the program ignores SIGCHLD
 *               or has waited for the process itself
 *   EINVAL      `process` is NULL
 *   ENOMEM, EMFILE, ENFILE   as for cc_wait_fd
 *   ENOTSUP     in a child of fork (runtime.h)
 * After an error *status is unchanged, and except after ECHILD the process may still run.  A wait
 * that fails does not end the process.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_process_wait(CCProcess *process, cc_time deadline, int *status);

/* Sends the signal `signal` to the process.  It never reaches another process that the system has
 * given the same number.  If the process has ended but was not waited for yet, the signal has no
 * effect and the call returns 0.
 *
 * Returns 0, or
 *   ESRCH       the process has ended, and it was waited for or the program ignores SIGCHLD
 *   EINVAL      `process` is NULL, or there is no such signal
 *   EPERM       the process has acquired privileges that the caller does not have
 *   ENOTSUP     in a child of fork (runtime.h)
 * After an error no signal was sent.
 *
 * Any thread.  Never parks. */
CC_API int cc_process_kill(CCProcess *process, int signal);

/* Returns the number of the process (pid), for messages; 0 if `process` is NULL.  After the process
 * has ended and was waited for, the system may give the number to another process.
 *
 * Any thread.  Never parks. */
CC_API int cc_process_id(const CCProcess *process);

/* Frees what cc_process_spawn has created.  The process must have ended.  No other call with
 * `process` may be in progress, and none may follow.  NULL is allowed.
 *
 * Returns 0, or
 *   EBUSY       the process has not ended, or a caller waits for it
 *   ENOTSUP     in a child of fork (runtime.h)
 * After an error nothing was freed.
 *
 * Any thread.  Never parks. */
CC_API int cc_process_free(CCProcess *process);

#ifdef __cplusplus
}
#endif
#endif
