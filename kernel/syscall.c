/* syscall.c - what user code can ask for (calls.h). */
#include <errno.h>

#include "calls.h"
#include "host.h"
#include "kernel.h"
#include "park.h"
#include "process.h"
#include "thread.h"
#include "timer.h"

/* Called by trap.S. */
void system_call(struct frame *f);

typedef int64_t call_fn(struct process *p, const struct frame *f);

static int64_t call_exit(struct process *p, const struct frame *f)
{
	process_end(p, (int)(f->di & 0xff));
	return 0;
}

static int64_t call_write(struct process *p, const struct frame *f)
{
	uint64_t at = f->di, left = f->si;

	while (left > 0) {
		const char *text = page_find(p->top, at, PAGE_READ);
		const uint64_t here = PAGE_SIZE - at % PAGE_SIZE;
		const uint64_t length = left < here ? left : here;

		if (text == NULL)
			return -EFAULT;
		console_write(text, length);
		at += length;
		left -= length;
	}
	return 0;
}

static int64_t call_thread(struct process *p, const struct frame *f)
{
	struct thread *t = thread_new(p, f->di, f->si, f->dx, 0);

	if (t == NULL)
		return -ENOMEM;
	p->threads++;
	return t->id;
}

static int64_t call_thread_exit(struct process *p, const struct frame *f)
{
	(void)p, (void)f;
	thread_end();
}

static int64_t call_yield(struct process *p, const struct frame *f)
{
	(void)p, (void)f;
	thread_yield();
	return 0;
}

static int64_t call_spawn(struct process *p, const struct frame *f)
{
	struct process *child = process_new(p->program, p, f->di, f->si);

	return child != NULL ? (int64_t)child->id : -ENOMEM;
}

static int64_t call_wait(struct process *p, const struct frame *f)
{
	int status = 0;
	const int err = process_wait(f->di, p, &status);

	return err != 0 ? -err : status;
}

static int64_t call_map(struct process *p, const struct frame *f)
{
	return -process_map(p, f->di, f->si, (unsigned)f->dx);
}

static int64_t call_unmap(struct process *p, const struct frame *f)
{
	return -process_unmap(p, f->di, f->si);
}

static int64_t call_park(struct process *p, const struct frame *f)
{
	return park_wait(p, f->di, (uint32_t)f->si, f->dx);
}

static int64_t call_unpark(struct process *p, const struct frame *f)
{
	return park_wake(p, f->di, (uint32_t)f->si);
}

static int64_t call_look(struct process *p, const struct frame *f)
{
	switch (f->di) {
	case LOOK_PARKED:
		return threads_asleep(p);
	case LOOK_THREADS:
		return p->threads;
	case LOOK_PROCESSES:
		return processes();
	case LOOK_PAGES:
		return (int64_t)page_left();
	case LOOK_TICKS:
		return (int64_t)timer_ticks();
	case LOOK_NAPS:
		return (int64_t)worker_naps();
	case LOOK_NAPS_ENDED:
		return (int64_t)host_woken();
	default:
		return -EINVAL;
	}
}

static int64_t call_stop(struct process *p, const struct frame *f)
{
	if (p->parent != NULL || p->id != 1)
		return -EPERM;
	machine_stop(f->di == 0 ? MACHINE_PASSED : MACHINE_FAILED);
}

static call_fn *const calls[CALLS] = {
    [CALL_EXIT] = call_exit,     [CALL_WRITE] = call_write,
    [CALL_THREAD] = call_thread, [CALL_THREAD_EXIT] = call_thread_exit,
    [CALL_YIELD] = call_yield,   [CALL_SPAWN] = call_spawn,
    [CALL_WAIT] = call_wait,     [CALL_MAP] = call_map,
    [CALL_UNMAP] = call_unmap,   [CALL_LOOK] = call_look,
    [CALL_STOP] = call_stop,     [CALL_PARK] = call_park,
    [CALL_UNPARK] = call_unpark,
};

void system_call(struct frame *f)
{
	call_fn *call = f->ax < CALLS ? calls[f->ax] : NULL;

	f->ax = (uint64_t)(call != NULL ? call(thread_self()->process, f) : -ENOSYS);
}
