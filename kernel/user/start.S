/* start.S - where a program begins, with its role and argument in rdi and rsi. */
	.text
	.global start
start:
	xor %ebp, %ebp
	call user_main
	mov %eax, %edi
	xor %eax, %eax			/* CALL_EXIT */
	syscall
	ud2

	.section .note.GNU-stack, "", @progbits
