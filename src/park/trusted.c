/* trusted.c - the buckets of the program itself. */
#include "park/engine.h"

/* Many: words that are slept on at the same time should rarely share one.  What nobody
 * uses costs no memory. */
enum { BITS = 14 };

static struct cc__bucket buckets[1 << BITS];
const struct cc__park_table cc__park_trusted = {buckets, BITS};
