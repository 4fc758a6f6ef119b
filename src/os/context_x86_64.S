/* context_x86_64.S - the context switch, System V x86-64.  Contract: context.h.
 *
 * A switched-out context is its stack pointer.  What lies there, upwards:
 *      0  MXCSR (4 bytes), x87 control word (2), unused (2)
 *      8  r12  16 r13  24 r14  32 r15  40 rbx  48 rbp
 *     56  return address */
#ifdef __x86_64__

#define MXCSR_DEFAULT 0x1f80
#define X87_DEFAULT 0x37f

#ifdef __CET__
#define LANDING endbr64
#else
#define LANDING
#endif

	.text

/* struct cc__arrival cc__switch_stack(void **save, void *to,
 *                                     void *worker, uintptr_t after)
 *                                     rdi  rsi  rdx  rcx -> rax, rdx
 * Entered by call and left by ret: the return predictor stays balanced, and
 * since every fiber switches through one call site it even predicts right. */
	.globl	cc__switch_stack
	.hidden	cc__switch_stack
	.type	cc__switch_stack, @function
	.p2align 5
cc__switch_stack:
	.cfi_startproc
	LANDING
	leaq	-56(%rsp), %rsp
	.cfi_adjust_cfa_offset 56
	stmxcsr	(%rsp)
	fnstcw	4(%rsp)
	movq	%r12, 8(%rsp)
	.cfi_rel_offset %r12, 8
	movq	%r13, 16(%rsp)
	.cfi_rel_offset %r13, 16
	movq	%r14, 24(%rsp)
	.cfi_rel_offset %r14, 24
	movq	%r15, 32(%rsp)
	.cfi_rel_offset %r15, 32
	movq	%rbx, 40(%rsp)
	.cfi_rel_offset %rbx, 40
	movq	%rbp, 48(%rsp)
	.cfi_rel_offset %rbp, 48
	movq	%rsp, (%rdi)
	/* The frames look alike, so the unwind rows above hold for the new
	 * stack as well. */
	movq	%rsi, %rsp
	/* Comparing first and loading only what differs is slower: the words
	 * have just been stored in another width. */
	ldmxcsr	(%rsp)
	fldcw	4(%rsp)
	movq	%rdx, %rax
	movq	%rcx, %rdx
	movq	8(%rsp), %r12
	.cfi_restore %r12
	movq	16(%rsp), %r13
	.cfi_restore %r13
	movq	24(%rsp), %r14
	.cfi_restore %r14
	movq	32(%rsp), %r15
	.cfi_restore %r15
	movq	40(%rsp), %rbx
	.cfi_restore %rbx
	movq	48(%rsp), %rbp
	.cfi_restore %rbp
	leaq	56(%rsp), %rsp
	.cfi_adjust_cfa_offset -56
	ret
	.cfi_endproc
	.globl	cc__switch_stack_end
	.hidden	cc__switch_stack_end
cc__switch_stack_end:
	.size	cc__switch_stack, .-cc__switch_stack

/* Where a fresh context begins: reached by the ret above with worker in rax,
 * after in rdx and the C function in rbx.  The outermost frame of a fiber: no
 * return address, so unwinders stop here. */
	.globl	cc__context_base
	.hidden	cc__context_base
	.type	cc__context_base, @function
	.p2align 4
	.cfi_startproc
	.cfi_undefined %rip
	.cfi_undefined %rbp
	nop	/* an unwinder looks one byte before the return address */
cc__context_base:
	LANDING
	movq	%rax, %rdi
	movq	%rdx, %rsi
	call	*%rbx
	ud2
	.cfi_endproc
	.size	cc__context_base, .-cc__context_base

/* void *cc__context_frame(void *top, void (*entry)(void *, uintptr_t))
 * Lays the frame above out at the 16-aligned address top; returns its stack
 * pointer.  The highest 16 bytes are unused, 8 of them are the tools'.  The control words are the ABI's at the start of a program. */
	.globl	cc__context_frame
	.hidden	cc__context_frame
	.type	cc__context_frame, @function
	.p2align 4
cc__context_frame:
	.cfi_startproc
	LANDING
	leaq	-80(%rdi), %rax
	xorl	%ecx, %ecx
	movl	$MXCSR_DEFAULT, (%rax)
	movl	$X87_DEFAULT, 4(%rax)
	movq	%rcx, 8(%rax)
	movq	%rcx, 16(%rax)
	movq	%rcx, 24(%rax)
	movq	%rcx, 32(%rax)
	movq	%rsi, 40(%rax)
	movq	%rcx, 48(%rax)
	leaq	cc__context_base(%rip), %rdx
	movq	%rdx, 56(%rax)
	movq	%rcx, 64(%rax)
	ret
	.cfi_endproc
	.size	cc__context_frame, .-cc__context_frame

/* void cc__control_reset(void): the control words as for a fresh context. */
	.globl	cc__control_reset
	.hidden	cc__control_reset
	.type	cc__control_reset, @function
	.p2align 4
cc__control_reset:
	.cfi_startproc
	LANDING
	ldmxcsr	defaults(%rip)
	fldcw	4+defaults(%rip)
	ret
	.cfi_endproc
	.size	cc__control_reset, .-cc__control_reset

/* uint64_t cc__control_renew(void): x87 control word << 32 | MXCSR, as they were. */
	.globl	cc__control_renew
	.hidden	cc__control_renew
	.type	cc__control_renew, @function
	.p2align 4
cc__control_renew:
	.cfi_startproc
	LANDING
	stmxcsr	-8(%rsp)
	fnstcw	-4(%rsp)
	movl	-8(%rsp), %eax
	movzwl	-4(%rsp), %edx
	cmpl	$MXCSR_DEFAULT, %eax
	je	1f
	ldmxcsr	defaults(%rip)
1:	cmpl	$X87_DEFAULT, %edx
	je	2f
	fldcw	4+defaults(%rip)
2:	shlq	$32, %rdx
	orq	%rdx, %rax
	ret
	.cfi_endproc
	.size	cc__control_renew, .-cc__control_renew

/* void cc__control_restore(uint64_t words) */
	.globl	cc__control_restore
	.hidden	cc__control_restore
	.type	cc__control_restore, @function
	.p2align 4
cc__control_restore:
	.cfi_startproc
	LANDING
	stmxcsr	-8(%rsp)
	fnstcw	-4(%rsp)
	movq	%rdi, %rdx
	shrq	$32, %rdx
	cmpl	%edi, -8(%rsp)
	je	1f
	movl	%edi, -8(%rsp)
	ldmxcsr	-8(%rsp)
1:	cmpw	%dx, -4(%rsp)
	je	2f
	movw	%dx, -4(%rsp)
	fldcw	-4(%rsp)
2:	ret
	.cfi_endproc
	.size	cc__control_restore, .-cc__control_restore

	.section .rodata
	.p2align 3
defaults:
	.long	MXCSR_DEFAULT, X87_DEFAULT
	.text

/* void cc__relax(void) */
	.globl	cc__relax
	.hidden	cc__relax
	.type	cc__relax, @function
	.p2align 4
cc__relax:
	.cfi_startproc
	LANDING
	pause
	ret
	.cfi_endproc
	.size	cc__relax, .-cc__relax

/* Branch targets are marked (IBT).  Shadow stacks are not switched, so SHSTK is
 * left out: the loader then keeps them off for the process. */
#ifdef __CET__
	.section .note.gnu.property, "a", @note
	.p2align 3
	.long	4
	.long	16
	.long	5
	.asciz	"GNU"
	.long	0xc0000002
	.long	4
	.long	1
	.long	0
#endif
	.section .note.GNU-stack, "", @progbits
#endif
