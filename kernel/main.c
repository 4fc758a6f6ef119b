/* main.c - from the loader to the first process.
 *
 * The command line is the name of the program to run. */
#include "cpu.h"
#include "kernel.h"
#include "page.h"
#include "process.h"
#include "thread.h"
#include "timer.h"

/* What the loader says (PVH); physical addresses. */
struct start_info {
	uint32_t magic, version, flags, modules;
	uint64_t module_list, command_line, rsdp, memory_map;
	uint32_t memory_map_entries, reserved;
};

struct memory_map_entry {
	uint64_t address, size;
	uint32_t kind, reserved;
};

enum { START_MAGIC = 0x336ec578, MEMORY_USABLE = 1 };

void kernel_main(uint64_t start);

static const void *at(uint64_t physical)
{
	return (const void *)(PAGE_BASE + physical);
}

/* The end of the memory that the kernel lies in. */
static uint64_t memory_end(const struct start_info *s)
{
	const struct memory_map_entry *e = at(s->memory_map);
	const uint64_t here = (uintptr_t)&memory_end - PAGE_BASE;

	for (uint32_t i = 0; i < s->memory_map_entries; i++)
		if (e[i].kind == MEMORY_USABLE && here - e[i].address < e[i].size)
			return e[i].address + e[i].size;
	CC__UNREACHABLE("main: the kernel lies nowhere");
}

static bool same(const char *a, const char *b)
{
	while (*a != '\0' && *a == *b)
		a++, b++;
	return *a == *b;
}

/* programs.S */
extern const char program_smoke[], program_fails[], program_offsets[], program_hostile[],
    program_measure[];

static const struct program programs[] = {
    {"smoke", program_smoke},
    {"fails", program_fails},
    {"offsets", program_offsets},
    {"hostile", program_hostile},
    {"measure", program_measure},
};

static const struct program *program_named(const char *name)
{
	for (unsigned i = 0; i < sizeof programs / sizeof *programs; i++)
		if (same(programs[i].name, name))
			return &programs[i];
	console_print("kernel: no program '%s'\n", name);
	machine_stop(MACHINE_BROKEN);
}

void kernel_main(uint64_t start)
{
	const struct start_info *s = at(start);
	struct process *first;

	CC__CHECK(s->magic == START_MAGIC && s->version >= 1, "main: an unknown loader");
	cpu_start();
	page_start(memory_end(s));
	timer_start();
	CC__CHECK(process_new(program_named(at(s->command_line)), NULL, 0, 0, 0, &first) == 0,
	          "main: no memory for the first process");
	worker_run();
}
