/* chan_test.c - every kind of channel, fibers and threads on both sides.
 * link-lto
 * mutate: src/chan */
#include "chan_behaviours.h"
