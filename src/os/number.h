/* number.h - decimal numbers as people and the kernel write them. */
#ifndef CC__OS_NUMBER_H
#define CC__OS_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/* The number that `text` begins with, digits and nothing else, goes to *out.
 * Returns what follows it; NULL: there is none, or it does not fit. */
static inline const char *cc__number(const char *text, uint64_t *out)
{
	uint64_t n = 0;

	if (*text < '0' || *text > '9')
		return NULL;
	for (; *text >= '0' && *text <= '9'; text++) {
		const uint64_t digit = (uint64_t)(*text - '0');

		if (n > (UINT64_MAX - digit) / 10)
			return NULL;
		n = n * 10 + digit;
	}
	*out = n;
	return text;
}

#endif
