/* json.c - see json.h. */
#include "json.h"

#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 64 };

void json_init(struct json *j, const char *text)
{
	*j = (struct json){.at = text, .begin = text};
}

static bool fail(struct json *j, const char *wanted)
{
	if (j->wrong == NULL)
		j->wrong = wanted;
	return false;
}

static char peek(struct json *j)
{
	while (*j->at != '\0' && strchr(" \t\r\n", *j->at) != NULL)
		j->at++;
	return j->wrong == NULL ? *j->at : '\0';
}

static bool expect(struct json *j, char c, const char *wanted)
{
	if (peek(j) != c)
		return fail(j, wanted);
	j->at++;
	return true;
}

bool json_enter(struct json *j, char bracket)
{
	j->first = true;
	return expect(j, bracket, bracket == '{' ? "an object" : "an array");
}

/* Past the comma in front of an element; false at the closing bracket. */
static bool next_element(struct json *j, char closing)
{
	const bool first = j->first;

	j->first = false;
	if (peek(j) == closing) {
		j->at++;
		return false;
	}
	return first ? j->wrong == NULL : expect(j, ',', "a comma");
}

bool json_element(struct json *j)
{
	return next_element(j, ']');
}

bool json_key(struct json *j, char *key, size_t size)
{
	return next_element(j, '}') && json_text(j, key, size) && expect(j, ':', "a colon");
}

bool json_text(struct json *j, char *text, size_t size)
{
	size_t n = 0;

	if (!expect(j, '"', "a string"))
		return false;
	for (; *j->at != '"'; j->at++) {
		if (*j->at == '\\' && j->at[1] != '\0')
			j->at++;	/* what follows stands for itself here */
		if (*j->at == '\0' || *j->at == '\n')
			return fail(j, "the end of a string");
		if (n + 1 < size)
			text[n++] = *j->at;
	}
	j->at++;
	if (size > 0)
		text[n] = '\0';
	return true;
}

bool json_number(struct json *j, double *number)
{
	char *end;

	if (peek(j) == '\0' || strchr("-0123456789", *j->at) == NULL)
		return fail(j, "a number");
	*number = strtod(j->at, &end);
	j->at = end;
	return true;
}

static bool skip_word(struct json *j)
{
	static const char *const known[] = {"true", "false", "null"};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strncmp(j->at, known[i], strlen(known[i])) == 0) {
			j->at += strlen(known[i]);
			return true;
		}
	return fail(j, "a value");
}

static bool skip_deep(struct json *j, unsigned depth)
{
	char key[8];
	double number;

	if (depth > DEEPEST)
		return fail(j, "less nesting");
	switch (peek(j)) {
	case '{':
		json_enter(j, '{');
		while (json_key(j, key, sizeof key))
			skip_deep(j, depth + 1);
		break;
	case '[':
		json_enter(j, '[');
		while (json_element(j))
			skip_deep(j, depth + 1);
		break;
	case '"':
		json_text(j, key, sizeof key);
		break;
	case '-':
	case '0':
	case '1':
	case '2':
	case '3':
	case '4':
	case '5':
	case '6':
	case '7':
	case '8':
	case '9':
		json_number(j, &number);
		break;
	default:
		return skip_word(j);
	}
	return j->wrong == NULL;
}

bool json_skip(struct json *j)
{
	return skip_deep(j, 0);
}
