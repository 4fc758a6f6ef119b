/* trace_text.c - see trace_text.h. */
#include "monitor/trace_text.h"

#include <errno.h>

#include "os/write.h"

void cc__text_init(struct cc__trace_text *t, int fd)
{
	t->fd = fd;
	t->err = 0;
	t->used = 0;
}

int cc__text_end(struct cc__trace_text *t)
{
	const int before = errno;

	if (t->err == 0 && t->used > 0 && !cc__write_all(t->fd, t->buffer, t->used))
		t->err = errno;
	t->used = 0;
	errno = before;
	return t->err;
}

static void add_char(struct cc__trace_text *t, char c)
{
	if (t->used == sizeof t->buffer)
		cc__text_end(t);
	t->buffer[t->used++] = c;
}

void cc__text_add(struct cc__trace_text *t, const char *text)
{
	for (; *text != '\0'; text++)
		add_char(t, *text);
}

void cc__text_add_name(struct cc__trace_text *t, const char *name, size_t n)
{
	for (size_t i = 0; i < n && name[i] != '\0'; i++) {
		const char c = name[i];

		add_char(t, c < ' ' || c > '~' || c == '"' || c == '\\' ? '?' : c);
	}
}

static void add_digits(struct cc__trace_text *t, uint64_t n, unsigned base, unsigned least)
{
	char digits[20];
	unsigned count = 0;

	while (n > 0 || count < least) {
		digits[count++] = "0123456789abcdef"[n % base];
		n /= base;
	}
	while (count > 0)
		add_char(t, digits[--count]);
}

void cc__text_add_number(struct cc__trace_text *t, uint64_t n)
{
	add_digits(t, n, 10, 1);
}

void cc__text_add_hex(struct cc__trace_text *t, uint64_t n)
{
	cc__text_add(t, "0x");
	add_digits(t, n, 16, 1);
}

void cc__text_add_time(struct cc__trace_text *t, uint64_t ns)
{
	add_digits(t, ns / 1000, 10, 1);
	add_char(t, '.');
	add_digits(t, ns % 1000, 10, 3);
}
