/* programs.S - the programs that the kernel can run, as their linker left them. */
	.section .rodata
	.balign 16
	.global program_smoke
program_smoke:
	.incbin "smoke.elf"
	.balign 16
	.global program_fails
program_fails:
	.incbin "fails.elf"
	.balign 16
	.global program_offsets
program_offsets:
	.incbin "offsets.elf"
	.balign 16
	.global program_hostile
program_hostile:
	.incbin "hostile.elf"
	.balign 16
	.global program_measure
program_measure:
	.incbin "measure.elf"

	.section .note.GNU-stack, "", @progbits
