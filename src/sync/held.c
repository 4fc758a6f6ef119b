/* held.c - locks tell who holds them. */
#include "sync/sync.h"

int cc__sync_holds(const void *lock, unsigned writer, const void *where)
{
	cc__happens_after(lock);
	if (writer)
		cc__happens_after(cc__sync_readers(lock));
	CC__EVENT(CC__EV_HOLD, cc__self(), (uintptr_t)lock | writer, (uintptr_t)where);
	(void)lock, (void)writer, (void)where;	/* where there are no events */
	return 0;
}

void cc__sync_lets_go(const void *lock)
{
	cc__happens_before(lock);
	CC__EVENT(CC__EV_LET_GO, cc__self(), (uintptr_t)lock, 0);
	(void)lock;
}
