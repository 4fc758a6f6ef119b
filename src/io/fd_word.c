/* fd_word.c - the table of words. */
#include "io/fd_word.h"

enum { WORDS_SHARED = 64 };
static cc__a32 fd_words[CC__FD_WORDS + WORDS_SHARED];

static bool has_own_word(int fd)
{
	return fd < CC__FD_WORDS;
}

static cc__a32 *fd_word_at(int fd)
{
	return &fd_words[has_own_word(fd) ? fd : CC__FD_WORDS + fd % WORDS_SHARED];
}

uint32_t cc__fd_word(int fd)
{
	/* Acquire: the use of the file comes after.  Pairs with the release in set_word: a call that
	 * reads a new word finds the new file, or none. */
	return cc__load(fd_word_at(fd), CC__ACQUIRE);
}

bool cc__fd_is_file(int fd)
{
	/* Relaxed: the caller has been given the number by the thread that opened the file. */
	return (unsigned)fd < CC__FD_WORDS && (cc__load(&fd_words[fd], CC__RELAXED) & CC__FD_FILE);
}

static uint32_t next_generation(uint32_t word)
{
	return (word & ~(uint32_t)(CC__FD_GENERATION - 1)) + CC__FD_GENERATION;
}

/* A close takes two generations, and what is opened has a flag. */
bool cc__fd_closed_since(int fd, uint32_t word)
{
	const uint32_t now = cc__fd_word(fd);

	return now != word && now != next_generation(word);
}

/* The next generation with these flags, unless the word has one of the flags in `unless`: false
 * then.  *now is the word afterwards. */
static bool set_word(int fd, uint32_t flags, uint32_t unless, uint32_t *now)
{
	cc__a32 *at = fd_word_at(fd);
	uint32_t word = cc__load(at, CC__RELAXED);	/* Relaxed: the exchange decides */

	do {
		if ((word & unless) != 0)
			return false;
		*now = next_generation(word) | flags;
	} while (!cc__cas_weak(at, &word, *now, CC__RELEASE, CC__RELAXED)); /* see cc__fd_word */
	return true;
}

void cc__fd_made(int fd, uint32_t kind)
{
	uint32_t now;

	set_word(fd, has_own_word(fd) ? CC__FD_MADE | kind : 0, 0, &now);
}

void cc__fd_foreign(int fd)
{
	uint32_t now;

	set_word(fd, 0, 0, &now);
}

bool cc__fd_close_begin(int fd, uint32_t *word)
{
	return set_word(fd, has_own_word(fd) ? CC__FD_CLOSING : 0, CC__FD_CLOSING, word);
}

void cc__fd_close_end(int fd, uint32_t word)
{
	const uint32_t next = next_generation(word);

	/* Release: see cc__fd_word.  Relaxed: another thread has opened a file there already, and
	 * its word stays. */
	cc__cas(fd_word_at(fd), &word, next, CC__RELEASE, CC__RELAXED);
}
