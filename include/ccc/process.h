/* process.h - child processes, started from a fiber as from main, and their end.
 *
 * Threads of a runtime block signals and ask for exact timers (docs/signals.md), and a process
 * inherits both from the thread that starts it.  A process that cc_process_spawn starts has the
 * signal mask and the timer slack of the program's own threads instead.  docs/processes.md says
 * what to set where posix_spawn or fork is called by hand.
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

typedef struct CCProcess CCProcess;

/* For CCProcessOptions.in, out and err: /dev/null. */
#define CC_PROCESS_NULL (-1)

/* How a process starts.  All zero: like the caller. */
typedef struct CCProcessOptions {
	/* Descriptors of the caller that become 0, 1 and 2 of the process, or CC_PROCESS_NULL.
	 * 0: the process has the caller's own.  They stay open in the caller. */
	int in, out, err;
	/* "NAME=value" strings up to a NULL; NULL: the caller's environment. */
	char *const *environment;
	/* Where it starts; NULL: where the caller is. */
	const char *directory;
	/* 1: no signal is blocked or ignored, whatever the program blocks and ignores. */
	int default_signals;
} CCProcessOptions;

/* Start the program argv[0] with the arguments argv, up to a NULL.  A name without a slash is
 * searched for in PATH.
 *
 * The process inherits, as from posix_spawn, every descriptor without FD_CLOEXEC and the
 * signals that the program ignores.  Its signal mask is the caller's; if the caller is a fiber
 * or a thread of a runtime, the mask of the thread that started the runtime, at that time.
 *
 * Returns 0, and *process is the caller's until cc_process_free.
 * EINVAL   argv or process is NULL, argv is empty, or a descriptor is less than -1
 * ENOENT, EACCES, ENOEXEC, E2BIG ...	the program cannot be executed, or the directory entered
 * EBADF    a descriptor is not open
 * EAGAIN, ENOMEM, EMFILE	the system has no room for it
 * ENOTSUP  in a child of fork (runtime.h)
 * After an error no process is left.
 *
 * Any thread.  Does not park, but keeps the thread until the program has been loaded, usually
 * for less than a millisecond. */
CC_API CC_MUST_CHECK int cc_process_spawn(CCProcess **process, const CCProcessOptions *options,
                                          char *const argv[]);

/* Wait until the process has ended.  *status, unless status is NULL, is what waitpid reports:
 * see WIFEXITED, WEXITSTATUS, WIFSIGNALED and WTERMSIG in <sys/wait.h>.  Any number of callers
 * may wait, at once or one after another; all get the same status.
 *
 * Returns 0 if the process has ended, whatever its status.
 * ETIMEDOUT   it has not ended by the deadline, of this call or of a nursery around it
 * EAGAIN      the deadline is CC_NOW, and it has not ended
 * ECANCELED   the caller is cancelled, and it has not ended
 * ECHILD      it has ended, but the program ignores SIGCHLD or has called wait for it itself:
 *             the status is lost
 * EINVAL      process is NULL
 * ENOTSUP     in a child of fork (runtime.h)
 * After an error the process may still run, and *status is unchanged.  The end of a wait does
 * not end the process.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_process_wait(CCProcess *process, cc_time deadline, int *status);

/* Send the signal to the process.  Never reaches another process that has been given the same
 * number.
 *
 * Returns 0.
 * ESRCH    it has ended
 * EINVAL   process is NULL, or there is no such signal
 * EPERM    it has other privileges by now
 * ENOTSUP  in a child of fork (runtime.h)
 *
 * Any thread.  Does not park. */
CC_API int cc_process_kill(CCProcess *process, int signal);

/* The number of the process, for messages; 0 for NULL.  Once it has ended and been waited for,
 * the system may give the number to another one.  Any thread. */
CC_API int cc_process_id(const CCProcess *process);

/* Free what cc_process_spawn has made, when no other call is in progress and none will come.
 *
 * Returns 0; 0 for NULL, too.
 * EBUSY    the process has not ended, or a caller waits for it; nothing is freed
 * ENOTSUP  in a child of fork (runtime.h)
 *
 * Any thread.  Does not park. */
CC_API int cc_process_free(CCProcess *process);

#ifdef __cplusplus
}
#endif
#endif
