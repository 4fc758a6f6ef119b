/* bell.c - bells and their pool. */
#include "io/bell.h"

#include <errno.h>

#include "os/poller.h"
#include "wait/cancel.h"
#include "base/slab.h"

static struct cc__slab bells = CC__SLAB_INIT(struct cc__bell, next);

struct cc__bell *cc__bell_get(int *err)
{
	struct cc__bell *b = cc__slab_get(&bells);

	*err = b == NULL ? ENOMEM : 0;
	if (b == NULL || b->has_fd)
		return b;
	if ((b->fd = cc__bell_new(err)) >= 0) {
		b->has_fd = true;
		return b;
	}
	cc__slab_put(&bells, b);
	return NULL;
}

void cc__bell_put(struct cc__bell *b)
{
	cc__slab_put(&bells, b);
}

/*      a thread that rings                the owner
 *      changes some state                 cc__poller_wait silences the bell
 *      rung: was 0  (1)                   rung = 0  (2)
 *      ring the bell                      checks the state
 *
 * A 1 left by an earlier ring means that it is still to be heard, or that (2) is still to
 * come and will see what this thread did. */
void cc__poll_ring(struct cc__bell *b)
{
	/* Release (1): what the caller did, to the acquire at (2). */
	if (cc__xchg(&b->rung, 1, CC__RELEASE) == 0)
		cc__bell_ring(b->fd);
}

void cc__bell_heard(struct cc__bell *b)
{
	/* Acquire (2): pairs with the release at (1). */
	cc__xchg(&b->rung, 0, CC__ACQUIRE);
}
