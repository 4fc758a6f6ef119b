/* json.h - a reader of JSON text that is in memory: the caller asks for what it expects.
 *
 *	if (json_enter(j, '{'))
 *		while (json_key(j, key, sizeof key))
 *			json_skip(j);
 *
 * The first mistake in the text is kept, and from then on every call returns false. */
#ifndef CCC_TRACE_JSON_H
#define CCC_TRACE_JSON_H

#include <stdbool.h>
#include <stddef.h>

struct json {
	const char *at, *begin;	/* the text ends with a 0 */
	const char *wrong;	/* what was expected; NULL: nothing is wrong */
	bool first;		/* no element of the innermost has been read */
};

void json_init(struct json *j, const char *text);
/* The beginning of an object or an array. */
bool json_enter(struct json *j, char bracket);
/* The next key of an object; false: it is over. */
bool json_key(struct json *j, char *key, size_t size);
/* There is a next element of an array; false: it is over. */
bool json_element(struct json *j);
/* Values.  A text that is too long is cut. */
bool json_text(struct json *j, char *text, size_t size);
bool json_number(struct json *j, double *number);
bool json_skip(struct json *j);

#endif
