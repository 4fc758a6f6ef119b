/* door.h - what the calls of park.h have in common: whose words they are about. */
#ifndef CC__PARK_DOOR_H
#define CC__PARK_DOOR_H

#include <ccc/park.h>

#include "park/engine.h"

struct cc__strand;

/* The right to park: of a strand in its domain (domain.h), on the words of a memory object
 * (memory.h), or, both NULL, of the program itself. */
struct CCParkSpace {
	struct cc__strand *strand;	/* constant, both */
	CCMemory *memory;
};

/* What a sleep that ended with `err` is to the caller; the same error, or 0. */
int cc__park_tell(int err, cc_time deadline, CCParkStatus *status);

#endif
