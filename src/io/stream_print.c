/* stream_print.c - printing to a stream. */
#include <ccc/stream.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHORT_TEXT = 256 };

/* Of `length` characters, which are too many for the stack. */
static int print_long(CCStream *stream, cc_time deadline, size_t length, const char *format,
                      va_list args)
{
	char *text = malloc(length + 1);
	int err;

	if (text == NULL)
		return ENOMEM;
	vsnprintf(text, length + 1, format, args);
	err = cc_stream_write(stream, text, length, NULL, deadline);
	free(text);
	return err;
}

int cc_stream_print(CCStream *stream, cc_time deadline, const char *format, ...)
{
	char text[SHORT_TEXT];
	va_list args;
	int length, err = EINVAL;

	va_start(args, format);
	length = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (length >= 0 && (size_t)length < sizeof text)
		return cc_stream_write(stream, text, (size_t)length, NULL, deadline);
	va_start(args, format);
	if (length >= 0)
		err = print_long(stream, deadline, (size_t)length, format, args);
	va_end(args);
	return err;
}
