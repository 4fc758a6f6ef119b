/* trap.S - the doors between user and kernel, and the switch from stack to stack.
 *
 * Whatever comes in leaves a struct frame (cpu.h) on the kernel stack of its thread, and
 * goes back through trap_leave, which may not return: a thread of a process that has been
 * ended goes no further than here. */

	.macro push_registers
	push %rax
	push %rbx
	push %rcx
	push %rdx
	push %rsi
	push %rdi
	push %rbp
	push %r8
	push %r9
	push %r10
	push %r11
	push %r12
	push %r13
	push %r14
	push %r15
	.endm

	.macro pop_registers
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %r11
	pop %r10
	pop %r9
	pop %r8
	pop %rbp
	pop %rdi
	pop %rsi
	pop %rdx
	pop %rcx
	pop %rbx
	pop %rax
	add $16, %rsp			/* vector, error */
	.endm

	.text
/* 48 entries of 16 bytes, one a vector.  Some faults push an error, the others get a 0. */
	.balign 16
	.global trap_entries
trap_entries:
	.set vector, 0
	.rept 48
	.balign 16
	.if vector >= 32 || !((0x60227d00 >> vector) & 1)
	push $0
	.endif
	push $vector
	jmp trap_enter
	.set vector, vector + 1
	.endr

trap_enter:
	push_registers
	cld
	mov %rsp, %rdi
	call trap
	.global trap_return
trap_return:
	mov %rsp, %rdi
	call trap_leave
	pop_registers
	iretq

/* One processor, interrupts off: two words are enough to change stacks. */
	.global trap_system_call
trap_system_call:
	mov %rsp, trap_user_stack(%rip)
	mov trap_kernel_stack(%rip), %rsp
	push $0x1b			/* CPU_USER_DATA */
	push trap_user_stack(%rip)
	push %r11			/* flags */
	push $0x23			/* CPU_USER_CODE */
	push %rcx			/* where it goes on */
	push $0
	push $0x80			/* CPU_SYSTEM_CALL */
	push_registers
	mov %rsp, %rdi
	call system_call
	mov %rsp, %rdi
	call trap_leave
	pop_registers			/* rcx and r11 too, as the call left them */
	mov 24(%rsp), %rsp
	sysretq

/* void switch_stacks(void **from, void *to): what C expects to find again is kept. */
	.global switch_stacks
switch_stacks:
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	mov %rsp, (%rdi)
	mov %rsi, %rsp
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret

	.bss
	.balign 8
trap_user_stack:
	.skip 8
	.global trap_kernel_stack
trap_kernel_stack:
	.skip 8

	.section .note.GNU-stack, "", @progbits
