/* resp.c - the parser. */
#include "resp.h"

#include <string.h>

struct input {
	const char *data;
	size_t size, at;	/* `at` bytes have been parsed */
};

/* A line without its ending. */
static int take_line(struct input *in, struct resp_arg *line)
{
	const size_t rest = in->size - in->at;
	const char *from = in->data + in->at;
	const char *end = memchr(from, '\n', rest < RESP_LINE_MAX ? rest : RESP_LINE_MAX);

	if (end == NULL)
		return rest < RESP_LINE_MAX ? RESP_MORE : RESP_WRONG;
	*line = (struct resp_arg){from, (size_t)(end - from)};
	in->at += line->size + 1;
	if (line->size > 0 && line->at[line->size - 1] == '\r')
		line->size--;
	return RESP_COMPLETE;
}

/* "*3" or "$10": the number behind the mark, at most `most`. */
static int take_number(struct input *in, char mark, size_t most, size_t *value)
{
	struct resp_arg line;
	int state = take_line(in, &line);

	if (state != RESP_COMPLETE)
		return state;
	if (line.size < 2 || line.size > 8 || line.at[0] != mark)
		return RESP_WRONG;
	*value = 0;
	for (size_t i = 1; i < line.size; i++) {
		if (line.at[i] < '0' || line.at[i] > '9')
			return RESP_WRONG;
		*value = *value * 10 + (size_t)(line.at[i] - '0');
	}
	return *value <= most ? RESP_COMPLETE : RESP_WRONG;
}

static int take_bulk(struct input *in, struct resp_arg *arg)
{
	size_t size;
	int state = take_number(in, '$', RESP_ARG_MAX, &size);

	if (state != RESP_COMPLETE)
		return state;
	if (in->size - in->at < size + 2) {
		in->at += size + 2;	/* so many bytes there must be */
		return RESP_MORE;
	}
	*arg = (struct resp_arg){in->data + in->at, size};
	in->at += size + 2;
	return memcmp(arg->at + size, "\r\n", 2) == 0 ? RESP_COMPLETE : RESP_WRONG;
}

static int take_array(struct input *in, struct resp_command *c)
{
	size_t count = 0;
	int state = take_number(in, '*', RESP_ARGS, &count);

	for (c->count = 0; state == RESP_COMPLETE && c->count < count; c->count++)
		state = take_bulk(in, &c->arg[c->count]);
	return state;
}

static int take_words(struct input *in, struct resp_command *c)
{
	struct resp_arg line;
	const int state = take_line(in, &line);
	size_t i = 0;

	c->count = 0;
	while (state == RESP_COMPLETE) {
		while (i < line.size && line.at[i] == ' ')
			i++;
		if (i == line.size)
			break;
		if (c->count == RESP_ARGS)
			return RESP_WRONG;
		c->arg[c->count].at = line.at + i;
		while (i < line.size && line.at[i] != ' ')
			i++;
		c->arg[c->count].size = (size_t)(line.at + i - c->arg[c->count].at);
		c->count++;
	}
	return state;
}

int resp_parse(const char *data, size_t size, struct resp_command *c, size_t *used)
{
	struct input in = {data, size, 0};
	int state = RESP_MORE;

	if (size > 0)
		state = data[0] == '*' ? take_array(&in, c) : take_words(&in, c);
	if (in.at > RESP_COMMAND_MAX)
		return RESP_WRONG;
	*used = state == RESP_MORE && in.at <= size ? size + 1 : in.at;
	return state;
}
