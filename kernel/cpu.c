/* cpu.c - segments, gates, and the registers of the system call. */
#include "cpu.h"

void trap_system_call(void);
extern const char trap_entries[CPU_VECTORS][16];
extern void *trap_kernel_stack;

/* In the order that sysret wants: user data before user code. */
static uint64_t gdt[7] = {
    0,
    0x00af9a000000ffff,		/* kernel code */
    0x00cf92000000ffff,		/* kernel data */
    0x00cff2000000ffff,		/* user data */
    0x00affa000000ffff,		/* user code */
};

struct gate {
	uint16_t low, segment, kind, middle;
	uint32_t high, zero;
};

static struct gate idt[CPU_VECTORS];

static struct __attribute__((packed)) {
	uint32_t unused;
	uint64_t stack[3];		/* 0: of traps from user code */
	uint64_t none;
	uint64_t apart[7];		/* 0: of a fault that has no stack left */
	uint64_t more_none;
	uint16_t also_none, ports;
} task;

static char last_stack[4096] __attribute__((aligned(16)));

struct __attribute__((packed)) table_pointer {
	uint16_t limit;
	uint64_t base;
};

static void write_register(uint32_t number, uint64_t value)
{
	__asm__ volatile("wrmsr" : : "c"(number), "a"((uint32_t)value), "d"((uint32_t)(value >> 32)));
}

static void load_segments(void)
{
	const struct table_pointer p = {sizeof gdt - 1, (uintptr_t)gdt};
	const uint64_t at = (uintptr_t)&task;

	task.ports = sizeof task;	/* none */
	gdt[5] = (sizeof task - 1) | (at & 0xffffff) << 16 | UINT64_C(0x89) << 40 |
	         (at >> 24 & 0xff) << 56;
	gdt[6] = at >> 32;
	__asm__ volatile("lgdt %0" : : "m"(p) : "memory");
	__asm__ volatile("ltr %w0" : : "r"((uint32_t)CPU_TASK));
}

static void load_gates(void)
{
	enum { INTERRUPT = 0x8e00, DOUBLE_FAULT = 8 };
	const struct table_pointer p = {sizeof idt - 1, (uintptr_t)idt};

	for (unsigned i = 0; i < CPU_VECTORS; i++) {
		const uint64_t at = (uintptr_t)trap_entries[i];

		idt[i] = (struct gate){(uint16_t)at, CPU_KERNEL_CODE, INTERRUPT,
		                       (uint16_t)(at >> 16), (uint32_t)(at >> 32), 0};
	}
	task.apart[0] = (uintptr_t)(last_stack + sizeof last_stack);
	idt[DOUBLE_FAULT].kind |= 1;
	__asm__ volatile("lidt %0" : : "m"(p) : "memory");
}

static void load_system_call(void)
{
	enum { STAR = 0xc0000081, LSTAR = 0xc0000082, FMASK = 0xc0000084 };
	/* Interrupts, single step, direction, nested task, alignment check. */
	const uint64_t cleared = 0x44700;

	write_register(STAR, (uint64_t)CPU_KERNEL_CODE << 32 |
	                     (uint64_t)(CPU_KERNEL_DATA | 3) << 48);
	write_register(LSTAR, (uintptr_t)trap_system_call);
	write_register(FMASK, cleared);
}

/* The kernel reaches a process's memory by its own addresses only (page.h).  Where the
 * processor can, it sees to that: no user page is run or read by the kernel. */
static void fence_off_user(void)
{
	enum { SMEP = 1 << 7, SMAP = 1 << 20 };
	uint32_t most, a, b, c = 0, d;
	uint64_t cr4;

	__asm__ volatile("cpuid" : "=a"(most), "=b"(b), "+c"(c), "=d"(d) : "a"(0));
	if (most < 7)
		return;
	c = 0;
	__asm__ volatile("cpuid" : "=a"(a), "=b"(b), "+c"(c), "=d"(d) : "a"(7));
	__asm__ volatile("mov %%cr4, %0" : "=r"(cr4));
	if (b & SMEP)
		cr4 |= 1 << 20;
	if (b & SMAP)
		cr4 |= 1 << 21;
	__asm__ volatile("mov %0, %%cr4" : : "r"(cr4));
}

void cpu_start(void)
{
	load_segments();
	load_gates();
	load_system_call();
	fence_off_user();
}

void cpu_use_stack(void *end)
{
	trap_kernel_stack = end;
	task.stack[0] = (uintptr_t)end;
}
