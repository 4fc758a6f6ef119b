/* fd_word.h - what the library knows about the file behind a descriptor's number.
 *
 * One word a number, process-wide: generation << 4 | flags.
 *
 *   any      -> MADE      cc__fd_made         a call of the library has opened a file there
 *   any      -> foreign   cc__fd_foreign      the program hands in a file of its own
 *   any      -> CLOSING   cc__fd_close_begin  cc_fd_close; refused if CLOSING already
 *   CLOSING  -> foreign   cc__fd_close_end    after close(2), unless another change came first
 *
 * FD-WORD-1  Each change raises the generation, so a word that is read twice with the same value
 *           means the same file, as far as the library can know: a program that closes and opens
 *           by itself does not change it.
 * FD-WORD-2  The closing thread changes the word before it takes the locks of the waiters' lists, and a
 *           waiter reads the word while it holds such a lock: either the waiter sees CLOSING, or
 *           the closing thread finds the waiter.
 * FD-WORD-3  A file that is MADE is closed by cc_fd_close and nothing else.  So what is registered
 *           with the kernel for it stays registered for as long as the word is the same, and the
 *           poller need not ask again (poll.h).  STREAM says in addition that a read which
 *           returns fewer bytes than it asked for has emptied the socket: TCP only, because a
 *           Unix socket also stops at passed descriptors and at another sender's credentials.
 *           FILE says that a read waits for a disk (io/file.c).
 *
 * Numbers beyond the table share a few words: they are always foreign, are never CLOSING, and only
 * their generations count. */
#ifndef CC__IO_FD_WORD_H
#define CC__IO_FD_WORD_H

#include "os/atomic.h"

/* Linux allows 2^20 descriptors unless fs.nr_open is raised.  Untouched pages cost nothing. */
#ifndef CC__FD_WORDS
#define CC__FD_WORDS (1 << 20)
#endif

enum {
	CC__FD_MADE = 1,	/* FD-WORD-3 */
	CC__FD_STREAM = 2,	/* FD-WORD-3; only with MADE */
	CC__FD_CLOSING = 4,	/* cc_fd_close is at work; the only flag */
	CC__FD_FILE = 8,	/* FD-WORD-3; only with MADE */
	CC__FD_GENERATION = 16,
};

uint32_t cc__fd_word(int fd);
/* `fd` may be any number. */
bool cc__fd_is_file(int fd);
/* The file that fd was when it had that word has been closed: by cc_fd_close, or the number was
 * opened again.  Not if it was only found to be foreign. */
bool cc__fd_closed_since(int fd, uint32_t word);

/* `kind`: 0, CC__FD_STREAM or CC__FD_FILE. */
void cc__fd_made(int fd, uint32_t kind);
void cc__fd_foreign(int fd);

/* False: another thread is closing it.  *word is for cc__fd_close_end. */
bool cc__fd_close_begin(int fd, uint32_t *word);
void cc__fd_close_end(int fd, uint32_t word);

#endif
