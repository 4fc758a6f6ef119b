/* fan_out.c - many at once; the first error ends the others, wherever they wait, and is what
 * the block returns. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <ccc/ccc.h>

/* A server that answers after a while, except for one. */
static cc_task_fn(fetch, int page; int *cut_short;)
{
	int err;

	if (self->page == 7)
		return ENOENT;
	err = cc_sleep_until(cc_after(3600 * CC_SEC));
	if (err == ECANCELED)
		++*self->cut_short;
	return err;
}

int main(void)
{
	int cut_short[10] = {0}, stopped = 0, err = 0;

	cc_nursery_scope(n, &err)
		for (int page = 0; page < 10; page++)
			if (cc_spawn(n, fetch, .page = page, .cut_short = &cut_short[page]) != 0)
				cut_short[page] = 1;	/* it has failed already */
	for (int page = 0; page < 10; page++)
		stopped += cut_short[page];
	printf("%s; the other %d did not go on\n", strerror(err), stopped);
	return err == ENOENT ? 0 : 1;
}
