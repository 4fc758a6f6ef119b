/* context_layout.h - what monitor/describe.c says about the CPU: where the switch leaves registers
 * (context_x86_64.S, context_aarch64.S), and the note that leads to the description. */
#ifndef CC__OS_CONTEXT_LAYOUT_H
#define CC__OS_CONTEXT_LAYOUT_H

/* A register, by its DWARF number, lies so far above the stack pointer that a switch has left. */
#define CC__DESCRIBED_REGISTER(text, offset) \
	{.name = "context.r" text, .kind = CC_DESCRIBED_FIELD, .size = 8, .value = (offset)}

#ifdef __x86_64__
#define CC__DESCRIBED_CONTEXT \
	CC__DESCRIBED_REGISTER("12", 8), CC__DESCRIBED_REGISTER("13", 16), \
	CC__DESCRIBED_REGISTER("14", 24), CC__DESCRIBED_REGISTER("15", 32), \
	CC__DESCRIBED_REGISTER("3", 40), CC__DESCRIBED_REGISTER("6", 48), \
	{.name = "context.pc", .kind = CC_DESCRIBED_FIELD, .size = 8, .value = 56}, \
	{.name = "context.size", .kind = CC_DESCRIBED_NUMBER, .value = 64}, \
	{.name = "context.sp_register", .kind = CC_DESCRIBED_NUMBER, .value = 7}, \
	{.name = "context.pc_register", .kind = CC_DESCRIBED_NUMBER, .value = 16}
#else
#define CC__DESCRIBED_CONTEXT \
	CC__DESCRIBED_REGISTER("29", 0), CC__DESCRIBED_REGISTER("19", 16), \
	CC__DESCRIBED_REGISTER("20", 24), CC__DESCRIBED_REGISTER("21", 32), \
	CC__DESCRIBED_REGISTER("22", 40), CC__DESCRIBED_REGISTER("23", 48), \
	CC__DESCRIBED_REGISTER("24", 56), CC__DESCRIBED_REGISTER("25", 64), \
	CC__DESCRIBED_REGISTER("26", 72), CC__DESCRIBED_REGISTER("27", 80), \
	CC__DESCRIBED_REGISTER("28", 88), \
	{.name = "context.pc", .kind = CC_DESCRIBED_FIELD, .size = 8, .value = 8}, \
	{.name = "context.size", .kind = CC_DESCRIBED_NUMBER, .value = 176}, \
	{.name = "context.sp_register", .kind = CC_DESCRIBED_NUMBER, .value = 31}, \
	{.name = "context.pc_register", .kind = CC_DESCRIBED_NUMBER, .value = 30}
#endif

#endif
