/* print.c - lines of text, each in one write. */
#include <stdarg.h>

#include "sys.h"

struct line {
	char text[256];
	size_t length;
};

static void add(struct line *l, char c)
{
	if (l->length < sizeof l->text)
		l->text[l->length++] = c;
}

static void add_text(struct line *l, const char *text)
{
	while (*text != '\0')
		add(l, *text++);
}

static void add_number(struct line *l, uint64_t n)
{
	char digit[20];
	unsigned count = 0;

	do
		digit[count++] = (char)('0' + n % 10);
	while ((n /= 10) != 0);
	while (count > 0)
		add(l, digit[--count]);
}

static void add_signed(struct line *l, int64_t n)
{
	if (n < 0)
		add(l, '-');
	add_number(l, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

void print(const char *format, ...)
{
	struct line l;
	va_list args;

	l.length = 0;
	va_start(args, format);
	for (; *format != '\0'; format++) {
		if (*format != '%')
			add(&l, *format);
		else if (*++format == 's')
			add_text(&l, va_arg(args, const char *));
		else if (*format == 'd')
			add_signed(&l, va_arg(args, int64_t));
		else
			add_number(&l, va_arg(args, uint64_t));
	}
	va_end(args);
	sys_call(CALL_WRITE, (uintptr_t)l.text, l.length, 0, 0);
}
