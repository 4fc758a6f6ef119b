/* console.c - the serial line, and last words. */
#include "kernel.h"

#include <stdarg.h>

#include "cpu.h"

enum { SERIAL = 0x3f8, SERIAL_STATUS = SERIAL + 5, SERIAL_READY = 0x20, EXIT = 0xf4 };

static void write_char(char c)
{
	while (!(cpu_in(SERIAL_STATUS) & SERIAL_READY))
		continue;
	cpu_out(SERIAL, (uint8_t)c);
}

void console_write(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		write_char(text[i]);
}

static void write_text(const char *text)
{
	while (*text != '\0')
		write_char(*text++);
}

static void write_number(uint64_t n, unsigned base)
{
	char digit[24];
	unsigned count = 0;

	do
		digit[count++] = "0123456789abcdef"[n % base];
	while ((n /= base) != 0);
	while (count > 0)
		write_char(digit[--count]);
}

void console_print(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	for (; *format != '\0'; format++) {
		if (*format != '%') {
			write_char(*format);
			continue;
		}
		switch (*++format) {
		case 's':
			write_text(va_arg(args, const char *));
			break;
		case 'u':
			write_number(va_arg(args, uint64_t), 10);
			break;
		default:
			write_number(va_arg(args, uint64_t), 16);
		}
	}
	va_end(args);
}

_Noreturn void machine_stop(unsigned how)
{
	/* The emulator's device: exits with how * 2 + 1. */
	cpu_out(EXIT, (uint8_t)how);
	for (;;)
		__asm__ volatile("cli; hlt");
}

/* ---- os/assert.h ---- */

void (*cc__panic_hook)(void);

void cc__say_all(const char *text, ...)
{
	va_list args;

	va_start(args, text);
	for (; text != NULL; text = va_arg(args, const char *))
		write_text(text);
	va_end(args);
}

_Noreturn void cc__panic(const char *file, int line, const char *what)
{
	console_print("kernel: %s:%u: %s\n", file, (uint64_t)line, what);
	machine_stop(MACHINE_BROKEN);
}
