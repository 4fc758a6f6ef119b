/* process.c - child processes: the one that waits, the one that kills, and the status.
 *
 * P1  The process is reaped under p->lock, once.  Until then its number belongs to it, so a
 *     signal sent by number under the lock reaches no other process.
 * P2  The descriptor stays open until cc_process_free, which counts waiters under the lock: a
 *     waiter never waits for a descriptor that has been closed and given out again. */
#include <ccc/process.h>

#include <ccc/fd.h>
#include <ccc/task.h>

#include <errno.h>

#include "base/lock.h"
#include "io/poll.h"
#include "os/fork.h"
#include "os/process.h"
#include "base/slab.h"

/* Without a descriptor (Linux before 5.3, a sandbox, none left) a waiter asks again and again,
 * after these spans. */
#define ASK_FIRST CC_MSEC
#define ASK_LAST (16 * CC_MSEC)

struct CCProcess {
	CCProcess *next;	/* the slab's when free */
	int pid;		/* constant */
	int fd;			/* constant; -1: none */
	struct cc__lock lock;
	/* Below: that lock. */
	unsigned waiters;	/* calls of cc_process_wait that may use fd */
	int end;		/* EAGAIN: not reaped; 0: status is known; ECHILD: it is lost */
	int status;
};

static struct cc__slab processes = CC__SLAB_INIT(CCProcess, next);

/* ---- start ---- */

static bool can_be(const CCProcessOptions *o, char *const argv[])
{
	return argv != NULL && argv[0] != NULL && o->in >= -1 && o->out >= -1 && o->err >= -1;
}

int cc_process_spawn(CCProcess **process, const CCProcessOptions *options, char *const argv[])
{
	static const CCProcessOptions none = {0};
	CCProcess *p;
	int err, pid;

	if (cc__forked())
		return ENOTSUP;
	if (options == NULL)
		options = &none;
	if (process == NULL || !can_be(options, argv))
		return EINVAL;
	if ((p = cc__slab_get(&processes)) == NULL)
		return ENOMEM;
	if ((err = cc__process_start(options, argv, &pid)) != 0) {
		cc__slab_put(&processes, p);
		return err;
	}
	*p = (CCProcess){.pid = pid, .fd = cc__process_descriptor(pid), .end = EAGAIN};
	*process = p;
	return 0;
}

int cc_process_id(const CCProcess *process)
{
	return process != NULL ? process->pid : 0;
}

/* ---- end ---- */

/* Under the lock. */
static int end_of(CCProcess *p)
{
	if (p->end == EAGAIN)
		p->end = cc__process_reap(p->pid, &p->status);
	return p->end;
}

/* 0, EAGAIN or ECHILD. */
static int ask(CCProcess *p, int *status)
{
	int end;

	cc__lock(&p->lock, CC__RANK_POLLS);
	end = end_of(p);
	if (end == 0 && status != NULL)
		*status = p->status;
	cc__unlock(&p->lock);
	return end;
}

static void count_waiter(CCProcess *p, unsigned one)
{
	cc__lock(&p->lock, CC__RANK_POLLS);
	p->waiters += one;
	cc__unlock(&p->lock);
}

/* 0: ask again.  *span: how long to sleep if there is no descriptor. */
static int wait_once(const CCProcess *p, cc_time deadline, cc_time *span)
{
	cc_time until;
	int err;

	if (p->fd >= 0)
		return cc_wait_fd(p->fd, CC_FD_READ, deadline);
	if (deadline == CC_NOW)
		return EAGAIN;
	until = cc__earlier(cc_now() + *span, deadline);
	if (*span < ASK_LAST)
		*span *= 2;
	if ((err = cc_sleep_until(until)) != 0)
		return err;
	return until == deadline ? ETIMEDOUT : 0;
}

int cc_process_wait(CCProcess *process, cc_time deadline, int *status)
{
	cc_time span = ASK_FIRST;
	int end, err = 0;

	if (cc__forked())
		return ENOTSUP;
	if (process == NULL)
		return EINVAL;
	count_waiter(process, 1);
	/* Asked once more after the wait has failed: the end counts, however late. */
	while ((end = ask(process, status)) == EAGAIN && err == 0)
		err = wait_once(process, deadline, &span);
	count_waiter(process, -1u);
	return end == EAGAIN ? err : end;
}

int cc_process_kill(CCProcess *process, int signal)
{
	int err;

	if (cc__forked())
		return ENOTSUP;
	if (process == NULL)
		return EINVAL;
	cc__lock(&process->lock, CC__RANK_POLLS);
	err = process->end != EAGAIN ? ESRCH
	                             : cc__process_signal(process->pid, process->fd, signal);
	cc__unlock(&process->lock);
	return err;
}

int cc_process_free(CCProcess *process)
{
	bool busy;

	if (cc__forked())
		return ENOTSUP;
	if (process == NULL)
		return 0;
	cc__lock(&process->lock, CC__RANK_POLLS);
	busy = process->waiters > 0 || end_of(process) == EAGAIN;
	cc__unlock(&process->lock);
	if (busy)
		return EBUSY;
	if (process->fd >= 0) {
		cc__poll_forget(process->fd);
		cc__process_descriptor_close(process->fd);
	}
	cc__slab_put(&processes, process);
	return 0;
}
