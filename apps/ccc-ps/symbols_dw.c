/* symbols_dw.c - names, lines and call frame information by libdw.
 *
 * What the call frame information says of an address is kept as a rule: where the caller's registers
 * are.  100,000 fibers are at few different addresses, so most frames cost a look into a table. */
#include "symbols.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RULES = 4096, PAGE = 4096 };

/* The caller's frame, by the registers at an address of code. */
struct rule {
	uint64_t pc;			/* 0: no rule */
	bool good;			/* there is a caller */
	unsigned base;			/* the caller's sp is this register ... */
	int64_t offset;			/* ... and so much */
	struct {
		enum { SAME, SAVED, VALUE, GONE } kind;
		int64_t offset;		/* from the caller's sp */
	} reg[LAYOUT_REGISTERS];
};

struct symbols {
	Dwfl *dwfl;
	Elf *core;
	struct memory *m;
	struct name_table *names;
	struct rule *rule;
	/* A piece of a stack. */
	uint64_t window_at;
	size_t window_size;
	unsigned char window[PAGE];
};

bool symbols_there(void)
{
	return true;
}

/* ---- the files of the process ---- */

static char *debuginfo_path;

static const Dwfl_Callbacks of_process = {
    .find_elf = dwfl_linux_proc_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .debuginfo_path = &debuginfo_path,
};
static const Dwfl_Callbacks of_core = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .debuginfo_path = &debuginfo_path,
};

static void report(struct symbols *s, const char *program)
{
	if (s->m->core == NULL)
		dwfl_linux_proc_report(s->dwfl, s->m->pid);
	else {
		elf_version(EV_CURRENT);
		s->core = elf_begin(core_fd(s->m->core), ELF_C_READ_MMAP, NULL);
		if (s->core != NULL)
			dwfl_core_file_report(s->dwfl, s->core, program);
	}
	dwfl_report_end(s->dwfl, NULL, NULL);
}

struct symbols *symbols_open(struct memory *m, const char *core, const char *program)
{
	struct symbols *s = calloc(1, sizeof *s);

	(void)core;
	if (s == NULL)
		return NULL;
	unsetenv("DEBUGINFOD_URLS");	/* no look-up over the network */
	s->m = m;
	s->names = names_new();
	s->rule = calloc(RULES, sizeof *s->rule);
	s->dwfl = dwfl_begin(m->core == NULL ? &of_process : &of_core);
	if (s->names == NULL || s->rule == NULL || s->dwfl == NULL) {
		symbols_close(s);
		return NULL;
	}
	report(s, program);
	return s;
}

void symbols_close(struct symbols *s)
{
	if (s->dwfl != NULL)
		dwfl_end(s->dwfl);
	if (s->core != NULL)
		elf_end(s->core);
	names_free(s->names);
	free(s->rule);
	free(s);
}

/* ---- names ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static void make_name(struct symbols *s, uint64_t address, char *text, size_t size)
{
	Dwfl_Module *module = dwfl_addrmodule(s->dwfl, address);
	const char *name = module != NULL ? dwfl_module_addrname(module, address) : NULL;
	Dwfl_Line *line = module != NULL ? dwfl_module_getsrc(module, address) : NULL;
	const char *file = NULL;
	int number = 0;

	if (name == NULL) {
		symbols_plain(s->m, address, text, size);
		return;
	}
	if (line != NULL)
		file = dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
	if (file != NULL)
		snprintf(text, size, "%s (%s:%d)", name, base_name(file), number);
	else
		snprintf(text, size, "%s", name);
}

const char *symbols_name(struct symbols *s, uint64_t address, bool call)
{
	const uint64_t looked_up = call ? address - 1 : address;
	char **at = names_place(s->names, looked_up), text[512];

	if (at != NULL && *at == NULL) {
		make_name(s, looked_up, text, sizeof text);
		*at = strdup(text);
	}
	return at != NULL && *at != NULL ? *at : "?";
}

/* ---- rules ---- */

/* Only the usual form: a register and an offset. */
static bool read_base(struct rule *r, Dwarf_Frame *frame)
{
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_frame_cfa(frame, &ops, &n) != 0 || n != 1)
		return false;
	if (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31) {
		r->base = (unsigned)(ops[0].atom - DW_OP_breg0);
		r->offset = (int64_t)ops[0].number;
	} else if (ops[0].atom == DW_OP_bregx) {
		r->base = (unsigned)ops[0].number;
		r->offset = (int64_t)ops[0].number2;
	} else {
		return false;
	}
	return r->base < LAYOUT_REGISTERS;
}

static void read_register(struct rule *r, Dwarf_Frame *frame, unsigned number)
{
	Dwarf_Op memory[3], *ops;
	size_t n;

	r->reg[number].kind = SAME;
	if (dwarf_frame_register(frame, (int)number, memory, &ops, &n) != 0 || (n == 0 && ops == NULL))
		return;
	r->reg[number].kind = GONE;
	if (n == 0 || ops[0].atom != DW_OP_call_frame_cfa)
		return;
	if (n >= 2 && ops[1].atom == DW_OP_plus_uconst)
		r->reg[number].offset = (int64_t)ops[1].number;
	else if (n >= 2 && ops[1].atom != DW_OP_stack_value)
		return;
	r->reg[number].kind = ops[n - 1].atom == DW_OP_stack_value ? VALUE : SAVED;
}

static void read_rule(struct symbols *s, struct rule *r)
{
	Dwfl_Module *module = dwfl_addrmodule(s->dwfl, r->pc);
	Dwarf_Frame *frame = NULL;
	Dwarf_Addr bias;
	Dwarf_CFI *cfi;

	if (module == NULL)
		return;
	if (((cfi = dwfl_module_eh_cfi(module, &bias)) == NULL ||
	     dwarf_cfi_addrframe(cfi, r->pc - bias, &frame) != 0) &&
	    ((cfi = dwfl_module_dwarf_cfi(module, &bias)) == NULL ||
	     dwarf_cfi_addrframe(cfi, r->pc - bias, &frame) != 0))
		return;
	r->good = read_base(r, frame);
	for (unsigned i = 0; r->good && i < LAYOUT_REGISTERS; i++)
		read_register(r, frame, i);
	free(frame);
}

static const struct rule *rule_at(struct symbols *s, uint64_t pc)
{
	struct rule *r = &s->rule[(pc * 0x9e3779b97f4a7c15u) >> 52];

	if (r->pc != pc) {
		*r = (struct rule){.pc = pc};
		read_rule(s, r);
	}
	return r;
}

/* ---- the walk ---- */

/* The rest of a page is read at once: what lies on the next one may be a guard. */
static bool read_word(struct symbols *s, uint64_t address, uint64_t *word)
{
	if (address % sizeof *word != 0)
		return memory_read(s->m, address, word, sizeof *word);
	if (s->window_size < sizeof *word || address < s->window_at ||
	    address - s->window_at > s->window_size - sizeof *word) {
		s->window_at = address;
		s->window_size = PAGE - address % PAGE;
		if (!memory_read(s->m, address, s->window, s->window_size))
			s->window_size = 0;
	}
	if (s->window_size == 0)
		return false;
	memcpy(word, s->window + (address - s->window_at), sizeof *word);
	return true;
}

/* From the registers of a frame to those of its caller.  False: there is none. */
static bool go_up(struct symbols *s, const struct layout *l, uint64_t value[LAYOUT_REGISTERS],
                  uint64_t *pc)
{
	const struct rule *r = rule_at(s, *pc - 1);
	const unsigned sp = (unsigned)l->context_sp_register.value;
	uint64_t next[LAYOUT_REGISTERS], top;

	if (!r->good)
		return false;
	top = value[r->base] + (uint64_t)r->offset;
	if (top <= value[sp] || top - value[sp] > 1 << 30)
		return false;
	for (unsigned i = 0; i < LAYOUT_REGISTERS; i++) {
		next[i] = r->reg[i].kind == SAME ? value[i] : 0;
		if (r->reg[i].kind == VALUE)
			next[i] = top + (uint64_t)r->reg[i].offset;
		else if (r->reg[i].kind == SAVED &&
		         !read_word(s, top + (uint64_t)r->reg[i].offset, &next[i]))
			return false;
	}
	*pc = next[l->context_pc_register.value];
	next[sp] = top;
	memcpy(value, next, sizeof next);
	return *pc != 0 && r->reg[l->context_pc_register.value].kind == SAVED;
}

unsigned symbols_unwind(struct symbols *s, const struct layout *l, uint64_t sp, uint64_t *pc,
                        unsigned most)
{
	uint64_t value[LAYOUT_REGISTERS], at;
	unsigned n = 0;

	s->window_size = 0;
	if (l->context_pc_register.value >= LAYOUT_REGISTERS || !symbols_start(s->m, l, sp, value, &at))
		return 0;
	while (n < most) {
		pc[n++] = at;
		if (!go_up(s, l, value, &at))
			break;
	}
	return n;
}
