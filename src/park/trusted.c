/* trusted.c - the buckets of the program itself. */
#include "park/engine.h"

/* Many: words that are slept on at the same time should rarely share one.  What nobody
 * uses costs no memory. */
enum { BITS = 14 };

/* Whoever sleeps on a word is seen by the monitor, in a program without a runtime, too: this
 * takes it along from the archive. */
extern const char cc__quiet_linked;
extern const char *const cc__park_watched;
const char *const cc__park_watched = &cc__quiet_linked;

static struct cc__bucket buckets[1 << BITS];
const struct cc__park_table cc__park_trusted = {buckets, BITS};
