/* context_aarch64.S - the context switch, AAPCS64.  Contract: context.h.
 *
 * A switched-out context is its stack pointer.  What lies there, upwards:
 *      0  x29, x30   16  x19 ... x28   96  d8 ... d15   160  FPCR, unused */
#ifdef __aarch64__

#define FRAME 176
#ifdef __ARM_FEATURE_BTI_DEFAULT
#define LANDING bti jc
#else
#define LANDING
#endif

	.text

/* struct cc__arrival cc__switch_stack(void **save, void *to,
 *                                     void *worker, uintptr_t after)
 *                                     x0  x1  x2  x3 -> x0, x1 */
	.globl	cc__switch_stack
	.hidden	cc__switch_stack
	.type	cc__switch_stack, %function
	.p2align 5
cc__switch_stack:
	.cfi_startproc
	LANDING
	stp	x29, x30, [sp, #-FRAME]!
	.cfi_adjust_cfa_offset FRAME
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	stp	x19, x20, [sp, #16]
	.cfi_rel_offset x19, 16
	.cfi_rel_offset x20, 24
	stp	x21, x22, [sp, #32]
	.cfi_rel_offset x21, 32
	.cfi_rel_offset x22, 40
	stp	x23, x24, [sp, #48]
	.cfi_rel_offset x23, 48
	.cfi_rel_offset x24, 56
	stp	x25, x26, [sp, #64]
	.cfi_rel_offset x25, 64
	.cfi_rel_offset x26, 72
	stp	x27, x28, [sp, #80]
	.cfi_rel_offset x27, 80
	.cfi_rel_offset x28, 88
	stp	d8, d9, [sp, #96]
	stp	d10, d11, [sp, #112]
	stp	d12, d13, [sp, #128]
	stp	d14, d15, [sp, #144]
	mrs	x9, fpcr
	str	x9, [sp, #160]
	mov	x10, sp
	str	x10, [x0]
	/* The frames look alike: the unwind rows hold for the new stack too. */
	mov	sp, x1
	ldr	x10, [sp, #160]
	cmp	x9, x10
	b.eq	1f
	msr	fpcr, x10
1:	mov	x0, x2
	mov	x1, x3
	ldp	d14, d15, [sp, #144]
	ldp	d12, d13, [sp, #128]
	ldp	d10, d11, [sp, #112]
	ldp	d8, d9, [sp, #96]
	ldp	x27, x28, [sp, #80]
	ldp	x25, x26, [sp, #64]
	ldp	x23, x24, [sp, #48]
	ldp	x21, x22, [sp, #32]
	ldp	x19, x20, [sp, #16]
	ldp	x29, x30, [sp], #FRAME
	.cfi_adjust_cfa_offset -FRAME
	.cfi_restore x29
	.cfi_restore x30
	.cfi_restore x19
	.cfi_restore x20
	.cfi_restore x21
	.cfi_restore x22
	.cfi_restore x23
	.cfi_restore x24
	.cfi_restore x25
	.cfi_restore x26
	.cfi_restore x27
	.cfi_restore x28
	ret
	.cfi_endproc
	.globl	cc__switch_stack_end
	.hidden	cc__switch_stack_end
cc__switch_stack_end:
	.size	cc__switch_stack, .-cc__switch_stack

/* Where a fresh context begins: worker in x0, after in x1, the C function in
 * x19.  The outermost frame of a fiber: no return address. */
	.globl	cc__context_base
	.hidden	cc__context_base
	.type	cc__context_base, %function
	.p2align 4
	.cfi_startproc
	.cfi_undefined x30
	nop	/* an unwinder looks one byte before the return address */
cc__context_base:
	LANDING
	blr	x19
	brk	#0
	.cfi_endproc
	.size	cc__context_base, .-cc__context_base

/* void *cc__context_frame(void *top, void (*entry)(void *, uintptr_t))
 * The first C function begins at top - 16: the highest 8 bytes are the tools'. */
	.globl	cc__context_frame
	.hidden	cc__context_frame
	.type	cc__context_frame, %function
	.p2align 4
cc__context_frame:
	.cfi_startproc
	LANDING
	sub	x0, x0, #FRAME + 16
	adrp	x9, cc__context_base
	add	x9, x9, :lo12:cc__context_base
	stp	xzr, x9, [x0]
	stp	x1, xzr, [x0, #16]
	stp	xzr, xzr, [x0, #32]
	stp	xzr, xzr, [x0, #48]
	stp	xzr, xzr, [x0, #64]
	stp	xzr, xzr, [x0, #80]
	stp	xzr, xzr, [x0, #96]
	stp	xzr, xzr, [x0, #112]
	stp	xzr, xzr, [x0, #128]
	stp	xzr, xzr, [x0, #144]
	stp	xzr, xzr, [x0, #160]
	ret
	.cfi_endproc
	.size	cc__context_frame, .-cc__context_frame

/* void cc__control_reset(void): FPCR as for a fresh context. */
	.globl	cc__control_reset
	.hidden	cc__control_reset
	.type	cc__control_reset, %function
	.p2align 4
cc__control_reset:
	.cfi_startproc
	LANDING
	msr	fpcr, xzr
	ret
	.cfi_endproc
	.size	cc__control_reset, .-cc__control_reset

/* uint64_t cc__control_renew(void): FPCR as it was. */
	.globl	cc__control_renew
	.hidden	cc__control_renew
	.type	cc__control_renew, %function
	.p2align 4
cc__control_renew:
	.cfi_startproc
	LANDING
	mrs	x0, fpcr
	cbz	x0, 1f
	msr	fpcr, xzr
1:	ret
	.cfi_endproc
	.size	cc__control_renew, .-cc__control_renew

/* void cc__control_restore(uint64_t words) */
	.globl	cc__control_restore
	.hidden	cc__control_restore
	.type	cc__control_restore, %function
	.p2align 4
cc__control_restore:
	.cfi_startproc
	LANDING
	mrs	x1, fpcr
	cmp	x0, x1
	b.eq	1f
	msr	fpcr, x0
1:	ret
	.cfi_endproc
	.size	cc__control_restore, .-cc__control_restore

/* void cc__relax(void) */
	.globl	cc__relax
	.hidden	cc__relax
	.type	cc__relax, %function
	.p2align 4
cc__relax:
	.cfi_startproc
	LANDING
	isb
	ret
	.cfi_endproc
	.size	cc__relax, .-cc__relax

#ifdef __ARM_FEATURE_BTI_DEFAULT
	.section .note.gnu.property, "a", %note
	.p2align 3
	.long	4
	.long	16
	.long	5
	.asciz	"GNU"
	.long	0xc0000000
	.long	4
	.long	1
	.long	0
#endif
	.section .note.GNU-stack, "", %progbits
#endif
