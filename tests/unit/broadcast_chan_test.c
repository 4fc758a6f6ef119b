/* broadcast_chan_test.c - a broadcast channel with one subscription keeps what every kind of
 * channel promises.
 * mutate: src/chan */
#include <ccc/broadcast.h>

static CCChanRx subscription;	/* of the channel under test */

#define KINDS_OF_CHANNEL \
	{.name = "broadcast 1", .kind = CC_CHAN_KIND_BROADCAST, .capacity = 1}, \
	{.name = "broadcast 3", .kind = CC_CHAN_KIND_BROADCAST, .capacity = 3}, \
	{.name = "broadcast 8", .kind = CC_CHAN_KIND_BROADCAST, .capacity = 8},
#define RECEIVING_END(c) ((void)(c), subscription.chan)
#define CHAN_IS_MADE(c) CHECK_EQ(cc_chan_subscribe(c, &subscription), 0)
#define CHAN_GOES(c) CHECK_EQ(cc_chan_unsubscribe(subscription), 0)

#include "chan_behaviours.h"
