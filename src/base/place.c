/* place.c - a place in words. */
#include "base/place.h"

#include <stdio.h>

#include "os/where.h"

void cc__place_write(uintptr_t place, char *text, size_t size)
{
	const char *line = cc__place_line(place);

	if (line != NULL)
		snprintf(text, size, "%s", line);
	else if (place != 0 && cc__place_text(place) == NULL)
		/* The call lies before its return address. */
		cc__where((const void *)(place - 1), text, size);
	else
		text[0] = '\0';
}
