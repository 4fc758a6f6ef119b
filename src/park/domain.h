/* domain.h - a domain of the library: one piece of memory with all that it will ever need. */
#ifndef CC__PARK_DOMAIN_H
#define CC__PARK_DOMAIN_H

#include "park/door.h"
#include "park/ring.h"

struct CCStrand {
	struct cc__strand *strand;	/* constant, as the others */
	struct CCDomain *domain;
	struct CCParkSpace park_space;
};

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
