/* trap.c - what happens when the processor comes into the kernel by itself. */
#include "calls.h"
#include "kernel.h"
#include "process.h"
#include "thread.h"
#include "timer.h"

static const char *const fault_name[] = {
    [0] = "division by zero",
    [3] = "breakpoint",
    [6] = "invalid instruction",
    [7] = "no floating point",
    [12] = "stack",
    [13] = "general protection",
    [14] = "page fault",
    [17] = "alignment",
};

static const char *name_of(uint64_t vector)
{
	const char *name = vector < sizeof fault_name / sizeof *fault_name ? fault_name[vector] : NULL;

	return name != NULL ? name : "fault";
}

static void tell(const struct frame *f)
{
	console_print("%s (%u) at %x", name_of(f->vector), f->vector, f->ip);
	if (f->vector == CPU_PAGE_FAULT)
		console_print(", address %x", cpu_fault_address());
	console_print("\n");
}

/* A fault ends its process; one of the kernel's own ends the machine. */
static void fault(const struct frame *f)
{
	if (!frame_of_user(f)) {
		console_print("kernel: ");
		tell(f);
		machine_stop(MACHINE_BROKEN);
	}
	console_print("process %u, thread %u: ", thread_self()->process->id,
	              (uint64_t)cc__strand_id(thread_self()->strand));
	tell(f);
	process_end(thread_self()->process, STATUS_FAULT + (int)f->vector);
}

/* Called by trap.S. */
void trap(struct frame *f);
void trap_leave(const struct frame *f);

void trap(struct frame *f)
{
	if (f->vector < CPU_FIRST_INTERRUPT) {
		fault(f);
	} else if (f->vector == CPU_TIMER) {
		timer_tick();
		if (frame_of_user(f))
			process_poll(thread_self()->process);
		if (frame_of_user(f) && thread_others())
			thread_yield();
	}
}

void trap_leave(const struct frame *f)
{
	if (frame_of_user(f) && process_is_over(thread_self()->process))
		thread_end();
}
