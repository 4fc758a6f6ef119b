/* read_wait.h - what a fiber or thread waits for, and the nurseries that it is inside of. */
#ifndef CCC_PS_READ_WAIT_H
#define CCC_PS_READ_WAIT_H

#include "snapshot.h"

struct reader {
	struct snapshot *s;
	struct memory *m;
	const struct layout *l;
	uint64_t in_frame, in_piece, in_memory;	/* what children with captures begin with */
	struct fiber *thread;
	size_t threads;
};

/* All return false if there is no memory; read_thread_wait also if the thread waits for nothing. */
bool read_fiber_wait(struct reader *r, struct fiber *f);
bool read_thread_wait(struct reader *r, struct fiber *f, const unsigned char *record);
/* Notes the nurseries whose owner is `who`, from its innermost membership outwards. */
bool read_memberships(struct reader *r, uint64_t who, uint64_t member);

/* snapshot.c */
bool reader_note_nursery(struct reader *r, uint64_t address);
bool reader_note_channel(struct reader *r, uint64_t address);
/* The task of a frame; 0: none. */
uint64_t reader_id(const struct reader *r, uint64_t frame);

#endif
