/* cpu.h - the processor: its instructions, segments and traps.
 *
 * There is one, and the kernel runs with interrupts off; only a processor that has nothing
 * to do takes them (cpu_pause).  So nothing in the kernel is ever interrupted in the middle,
 * and its locks are never found taken. */
#ifndef KERNEL_CPU_H
#define KERNEL_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a thread left behind when it came into the kernel; written by trap.S. */
struct frame {
	uint64_t r15, r14, r13, r12, r11, r10, r9, r8, bp, di, si, dx, cx, bx, ax;
	uint64_t vector, error;
	uint64_t ip, cs, flags, sp, ss;		/* as the processor pushes them */
};

enum {
	CPU_KERNEL_CODE = 0x08,
	CPU_KERNEL_DATA = 0x10,
	CPU_USER_DATA = 0x1b,
	CPU_USER_CODE = 0x23,
	CPU_TASK = 0x28,
	CPU_FLAG_INTERRUPTS = 0x200,
	CPU_FLAGS_USER = CPU_FLAG_INTERRUPTS | 2,
	CPU_PAGE_FAULT = 14,
	CPU_FIRST_INTERRUPT = 32,
	CPU_TIMER = CPU_FIRST_INTERRUPT,
	CPU_VECTORS = 48,		/* as many as trap.S has entries */
	CPU_SYSTEM_CALL = 0x80,		/* in a frame only */
};

static inline bool frame_of_user(const struct frame *f)
{
	return (f->cs & 3) != 0;
}

/* Descriptor tables, the system call's registers, what keeps the kernel from touching user
 * pages by mistake. */
void cpu_start(void);

/* The stack that the next trap from user code begins on. */
void cpu_use_stack(void *end);

static inline void cpu_out(uint16_t port, uint8_t value)
{
	__asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}

static inline uint8_t cpu_in(uint16_t port)
{
	uint8_t value;

	__asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
	return value;
}

static inline void cpu_use_table(uint64_t physical)
{
	__asm__ volatile("mov %0, %%cr3" : : "r"(physical) : "memory");
}

static inline void cpu_forget(uint64_t address)
{
	__asm__ volatile("invlpg (%0)" : : "r"(address) : "memory");
}

static inline uint64_t cpu_fault_address(void)
{
	uint64_t address;

	__asm__ volatile("mov %%cr2, %0" : "=r"(address));
	return address;
}

/* Until an interrupt, which is served; one that came before, too. */
static inline void cpu_pause(void)
{
	__asm__ volatile("sti; hlt; cli" : : : "memory");
}

#endif
