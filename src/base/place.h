/* place.h - where the program created a task, a channel or a nursery, as one word.
 *
 * PLACE-1  The word is the return address of the call that created the object, or the complement of
 *          the address of a text "NAME FILE:LINE" that a macro of ccc/typed.h has made.  Addresses
 *          of a program are below 2^63, so the sign tells which; 0 means not known.
 * PLACE-2  The word is read by dumps while the object may be reused.  Each value that it ever has is
 *          a place, so a reader gets that of this object or of the next one in the same memory. */
#ifndef CC__BASE_PLACE_H
#define CC__BASE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CC__PLACE_HERE() ((uintptr_t)__builtin_return_address(0))

static inline uintptr_t cc__place_of(const char *text)
{
	return ~(uintptr_t)text;
}

/* "NAME FILE:LINE", or NULL if the place is an address or not known. */
static inline const char *cc__place_text(uintptr_t place)
{
	return (intptr_t)place < -1 ? (const char *)~place : NULL;
}

/* Copies the name, cut to size - 1 characters; "" if there is none. */
static inline void cc__place_name(uintptr_t place, char *name, size_t size)
{
	const char *text = cc__place_text(place);
	const size_t n = text != NULL ? strcspn(text, " ") : 0;

	memset(name, 0, size);
	if (n > 0)
		memcpy(name, text, n < size ? n : size - 1);
}

/* FILE:LINE, or NULL if the place is an address or not known. */
static inline const char *cc__place_line(uintptr_t place)
{
	const char *text = cc__place_text(place), *space = text != NULL ? strchr(text, ' ') : NULL;

	return space != NULL ? space + 1 : NULL;
}

/* FILE:LINE, or the address as cc__where writes it, or "" if it is not known. */
void cc__place_write(uintptr_t place, char *text, size_t size);

#endif
