/* syscall.c - what user code can ask for (calls.h). */
#include <errno.h>

#include "calls.h"
#include "host.h"
#include "kernel.h"
#include "object.h"
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
	uint32_t id;
	const int err = thread_new(p, f->di, f->si, f->dx, 0, &id);

	return err != 0 ? -err : (int64_t)id;
}

static int64_t call_thread_exit(struct process *p, const struct frame *f)
{
	(void)p, (void)f;
	thread_end();
}

static int64_t call_self(struct process *p, const struct frame *f)
{
	(void)p, (void)f;
	return cc__strand_id(thread_self()->strand);
}

static int64_t call_yield(struct process *p, const struct frame *f)
{
	(void)p, (void)f;
	thread_yield();
	return 0;
}

static int64_t call_spawn(struct process *p, const struct frame *f)
{
	struct process *child;
	const int err = process_new(p->program, p, (uint32_t)f->dx, f->di, f->si, &child);

	return err != 0 ? -err : (int64_t)child->id;
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
	return -process_unmap(p, f->di);
}

static int64_t call_object(struct process *p, const struct frame *f)
{
	struct object *o = object_new(f->di);
	uint32_t cap;
	int err;

	if (o == NULL)
		return -ENOMEM;
	err = cc__caps_grant_object(&p->caps, &o->engine, &cap);
	cc__object_drop(&o->engine);	/* it is the capability's */
	return err != 0 ? -err : (int64_t)cap;
}

static int64_t call_map_object(struct process *p, const struct frame *f)
{
	return -process_map_object(p, (uint32_t)f->di, f->si, (unsigned)f->dx);
}

static int64_t call_derive(struct process *p, const struct frame *f)
{
	uint32_t cap;
	const int err = cc__caps_derive(&p->caps, (uint32_t)f->di, &cap);

	return err != 0 ? -err : (int64_t)cap;
}

static int64_t call_cap(struct process *p, const struct frame *f)
{
	return cc__caps_find(&p->caps, (CCCapKind)f->di);
}

static int64_t call_enter(struct process *p, const struct frame *f)
{
	return cc__capring_enter(&p->ring, thread_self()->strand, (uint32_t)f->di, f->si);
}

static int64_t call_look(struct process *p, const struct frame *f)
{
	switch (f->di) {
	case LOOK_THREADS:
		return p->threads;
	case LOOK_ASLEEP:
		return threads_asleep(p);
	case LOOK_WAITS:
		return cc__strands_waiting(&p->strands);
	case LOOK_LISTED:
		return process_listed(p);
	case LOOK_PROMISED:
		return p->ring.promised;
	case LOOK_PROCESSES:
		return processes();
	case LOOK_ALL_WAITS:
		return process_all_waits();
	case LOOK_OBJECTS:
		return objects();
	case LOOK_PINS:
		return objects_pins();
	case LOOK_PINNED:
		return (int64_t)process_pinned();
	case LOOK_PAGES:
		return (int64_t)page_left();
	case LOOK_TICKS:
		return (int64_t)timer_ticks();
	case LOOK_POLLS:
		return (int64_t)process_polls();
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
    [CALL_EXIT] = call_exit,
    [CALL_WRITE] = call_write,
    [CALL_THREAD] = call_thread,
    [CALL_THREAD_EXIT] = call_thread_exit,
    [CALL_SELF] = call_self,
    [CALL_YIELD] = call_yield,
    [CALL_SPAWN] = call_spawn,
    [CALL_WAIT] = call_wait,
    [CALL_MAP] = call_map,
    [CALL_UNMAP] = call_unmap,
    [CALL_OBJECT] = call_object,
    [CALL_MAP_OBJECT] = call_map_object,
    [CALL_DERIVE] = call_derive,
    [CALL_CAP] = call_cap,
    [CALL_ENTER] = call_enter,
    [CALL_LOOK] = call_look,
    [CALL_STOP] = call_stop,
};

void system_call(struct frame *f)
{
	call_fn *call = f->ax < CALLS ? calls[f->ax] : NULL;

	f->ax = (uint64_t)(call != NULL ? call(thread_self()->process, f) : -ENOSYS);
}
