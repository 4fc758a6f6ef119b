/* domain.h - a domain of the library: one piece of memory with all that it will ever need. */
#ifndef CC__PARK_DOMAIN_H
#define CC__PARK_DOMAIN_H

#include "park/door.h"
#include "park/ring.h"

/* The handle of a strand.  It is the one of whoever joined until he leaves, at his end at the
 * latest; so who he is, is all that has to be compared. */
struct CCStrand {
	struct cc__strand *strand;	/* constant, as the next three */
	struct CCDomain *domain;
	struct CCParkSpace park_space;
	const struct cc__parker *who;
	struct CCStrand *next;		/* his own: what else he has joined */
};

/* The caller is who joined. */
bool cc__strand_is_mine(const CCStrand *s);

struct CCDomain {
	uint64_t id;			/* constant; the space has one of its own */
	size_t size;			/* constant; of this piece of memory */
	struct cc__space space;
	struct cc__caps caps;
	struct cc__strands strands;
	struct cc__capring ring;
	struct CCStrand *handle;	/* constant; one for each strand's slot */
};

struct CCCapObject {
	struct cc__object object;	/* first */
	size_t size;			/* constant; of this piece of memory */
};

/* What CC_CAP_E_* is as an error number; 0: a result that is none. */
int cc__cap_error(int result);

/* Bytes that domains and objects have been charged with, until they are freed. */
uint64_t cc__park_charged(void);

#endif
