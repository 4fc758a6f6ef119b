/* boot.S - from the loader's 32 bits to kernel_main in 64.
 *
 * The loader finds the entry in a note (PVH) and comes with paging off, flat segments and
 * the address of its start information in ebx.  The first tables map the first gigabyte
 * twice, at 0 and at BASE; kernel_main takes the lower one away. */
#define BASE 0xffffffff80000000
#define PRESENT_WRITABLE 3
#define LARGE 0x80

	.section .note.boot, "a", @note
	.balign 4
	.long 4, 4, 18			/* name, value, PHYS32_ENTRY */
	.asciz "Xen"
	.long boot

	.section .boot, "ax"
	.code32
	.global boot
boot:
	cli
	cld
	mov $(boot_pd - BASE), %edi
	mov $(LARGE | PRESENT_WRITABLE), %eax
	mov $512, %ecx
1:	mov %eax, (%edi)		/* 2 MB each */
	add $0x200000, %eax
	add $8, %edi
	loop 1b
	movl $(boot_pd - BASE + PRESENT_WRITABLE), boot_pdpt - BASE
	movl $(boot_pd - BASE + PRESENT_WRITABLE), boot_pdpt - BASE + 510 * 8
	movl $(boot_pdpt - BASE + PRESENT_WRITABLE), page_kernel_top - BASE
	movl $(boot_pdpt - BASE + PRESENT_WRITABLE), page_kernel_top - BASE + 511 * 8

	mov $(page_kernel_top - BASE), %eax
	mov %eax, %cr3
	mov %cr4, %eax
	or $0x20, %eax			/* PAE */
	mov %eax, %cr4
	mov $0xc0000080, %ecx		/* EFER: system calls, long mode, no-execute */
	rdmsr
	or $0x901, %eax
	wrmsr
	mov %cr0, %eax
	or $0x80010005, %eax		/* paging, write protection, no FPU, protected mode */
	mov %eax, %cr0
	lgdt boot_gdt_pointer
	ljmp $8, $boot_64

	.code64
boot_64:
	mov $16, %eax
	mov %eax, %ds
	mov %eax, %es
	mov %eax, %ss
	mov $boot_stack_end, %rsp
	mov %ebx, %edi			/* where the loader says what there is */
	xor %ebp, %ebp
	mov $kernel_main, %rax
	call *%rax
	ud2

	.balign 8
boot_gdt:
	.quad 0, 0x00af9a000000ffff, 0x00cf92000000ffff
boot_gdt_pointer:
	.word . - boot_gdt - 1
	.long boot_gdt

	.bss
	.balign 4096
	.global page_kernel_top
page_kernel_top:
	.skip 4096
boot_pdpt:
	.skip 4096
boot_pd:
	.skip 4096
	.global boot_stack_end
	.skip 16384			/* the worker's stack (thread.c) */
boot_stack_end:

	.section .note.GNU-stack, "", @progbits
