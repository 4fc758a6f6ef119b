/* signal.h - wait for signals of the process, and end a nursery with one.
 *
 * A signal is taken by these calls if every thread of the program blocks it; otherwise the system
 * delivers it to a thread that does not, with the handler or the default action.  The threads of
 * runtimes block all such signals.  The program's own threads inherit the mask of the thread that
 * starts them, so main blocks the signals before it starts any (docs/signals.md):
 *
 *      sigset_t set;
 *      int which;
 *
 *      sigemptyset(&set);
 *      sigaddset(&set, SIGHUP);
 *      pthread_sigmask(SIG_BLOCK, &set, NULL);         // in main
 *      ...
 *      while (cc_signal_wait(&set, CC_FOREVER, &which) == 0)
 *              reload(); */
#ifndef CCC_SIGNAL_H
#define CCC_SIGNAL_H

#include <ccc/nursery.h>

#include <sys/select.h>	/* sigset_t, which <signal.h> has not in strict C */

#ifdef __cplusplus
extern "C" {
#endif

/* Waits until a signal of `set` is pending for the process, at most until `deadline`, and takes it.
 * Stores its number in *which, unless `which` is NULL.  Each signal is taken by one caller; a
 * signal that comes between two calls waits for the next one, if it is blocked in all threads.
 *
 * A signal that is sent to one thread (pthread_kill, raise) is not seen by the others: send it to
 * the process (kill).
 *
 * Returns 0, or
 *   ETIMEDOUT   the deadline passed, of the call or of a nursery; EAGAIN if it was CC_NOW
 *   ECANCELED   a nursery around the caller was cancelled, or the caller's runtime is ending
 *   EINVAL      `set` is NULL
 *   EMFILE, ENFILE, ENOMEM   no descriptor or memory for the call
 *   ENOTSUP     the call would have to wait, in a child of fork (runtime.h)
 * After an error no signal was taken and *which is unchanged.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_signal_wait(const sigset_t *set, cc_time deadline, int *which);

/* Opens a descriptor that can be read while a signal of `set` is pending for the process, and stores
 * it in *signals: for cc_case_signal of a select, cc_on_signal of a match, and cc_fd_ready.  Such a
 * case takes the signal.  Close the descriptor with cc_fd_close.
 *
 *      sigset_t set;
 *      int signals, which;
 *
 *      cc_try(cc_signal_open(&signals, &set));
 *      cc_match(&err) {
 *      cc_on_signal(signals, &which)
 *              err = which == SIGHUP ? reload() : EINTR;
 *      cc_on_recv(jobs, &job)
 *              work(&job);
 *      }
 *
 * Returns 0, or
 *   EINVAL   `signals` or `set` is NULL
 *   EMFILE, ENFILE, ENOMEM   no descriptor or memory is left
 * After an error there is no descriptor and *signals is unchanged.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_signal_open(int *signals, const sigset_t *set);

/* Cancels `nursery` with the reason EINTR when the process gets `signal`.  A daemon child of the
 * nursery waits for it, so the call ends with the nursery.  If the caller is a thread of the
 * program, as main, the call blocks the signal in that thread, for good; other threads of the
 * program must block it themselves.  Processes that such a thread starts inherit that
 * (CCProcessOptions.default_signals).
 *
 *      cc_nursery_scope(n, &err) {
 *              cc_nursery_cancel_on(n, SIGTERM);
 *              cc_nursery_cancel_on(n, SIGINT);
 *              ...
 *      }
 *      return err == EINTR ? 0 : err;
 *
 * Returns 0, or
 *   EINVAL   there is no such signal, or the nursery is not open
 *   (other)  the errors of cc_nursery_spawn, which are the nursery's errors too
 *
 * Any thread.  Never parks. */
CC_API int cc_nursery_cancel_on(CCNursery *nursery, int signal);

#ifdef __cplusplus
}
#endif
#endif
