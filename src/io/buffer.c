/* buffer.c - memory that grows with what is held. */
#include "io/buffer.h"

#include <stdlib.h>
#include <string.h>

static size_t room_for(const struct cc__buffer *b, size_t want)
{
	size_t room = b->next != 0 ? b->next : CC__BUFFER_FIRST;

	while (room < want)
		room *= 2;
	return room;
}

/* Moves what is held to the beginning of `to`. */
static void move_held(struct cc__buffer *b, char *to)
{
	const size_t held = cc__buffer_held(b);

	if (held > 0)
		memmove(to, cc__buffer_first(b), held);
	b->begin = 0;
	b->end = held;
}

bool cc__buffer_reserve(struct cc__buffer *b, size_t want)
{
	size_t room;
	char *at;

	if (b->room - b->begin >= want && b->at != NULL)
		return true;
	if (b->room >= want && b->at != NULL) {
		move_held(b, b->at);
		return true;
	}
	if (want > SIZE_MAX / 4 || (at = malloc(room = room_for(b, want))) == NULL)
		return false;
	move_held(b, at);
	free(b->at);
	b->at = at;
	b->room = room;
	return true;
}

void cc__buffer_filled(struct cc__buffer *b, size_t count)
{
	const size_t offered = b->room - b->end;

	b->end += count;
	b->next = b->next != 0 ? b->next : CC__BUFFER_FIRST;
	if (count == offered && b->next < CC__BUFFER_LARGEST)
		b->next *= 2;
	else if (count < offered / 4 && b->next > CC__BUFFER_FIRST)
		b->next /= 2;
}

void cc__buffer_drop(struct cc__buffer *b, size_t count)
{
	b->begin += count;
	if (b->begin == b->end)
		b->begin = b->end = 0;
}

void cc__buffer_release(struct cc__buffer *b)
{
	if (b->begin == b->end)
		cc__buffer_fini(b);
}

void cc__buffer_fini(struct cc__buffer *b)
{
	free(b->at);
	*b = (struct cc__buffer){.next = b->next};
}
