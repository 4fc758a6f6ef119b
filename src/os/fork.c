/* fork.c - the mark of fork.h: in a page that Linux (4.14) wipes in a child; without
 * such pages, in a word that libc's fork clears. */
#include "os/fork.h"

#include <pthread.h>
#include <unistd.h>

#include "os/pages.h"

static cc__a32 plain = {1};
static cc__a32 runtimes;	/* how many there are; in a child, were */

struct cc__fork_mark cc__fork_mark = {{&plain}};

static void wipe(void)
{
	cc__store(&plain, 0, CC__RELAXED);	/* Relaxed: the child's only thread */
}

static void make_mark(void)
{
	const size_t size = cc__page_size();
	cc__a32 *page = cc__pages_map(size);

	if (page != NULL && cc__pages_wipe_on_fork(page, size)) {
		cc__store(page, 1, CC__RELAXED);	/* Relaxed: published by the next */
		/* Release: the mark.  Who forks without having seen this one started no
		 * runtime. */
		cc__store(&cc__fork_mark.at, page, CC__RELEASE);
		return;
	}
	if (page != NULL)
		cc__pages_unmap(page, size);
	(void)pthread_atfork(NULL, NULL, wipe);
}

bool cc__fork_left_some(void)
{
	return cc__load(&runtimes, CC__RELAXED) != 0;	/* Relaxed: as in cc__forked */
}

void cc__fork_watch(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint32_t wiped = 0;

	pthread_once(&once, make_mark);
	/* A child that was left none is as good as its parent.  Relaxed, all: a fork
	 * by a thread that has not seen the runtime start is none of its business. */
	cc__cas(cc__load(&cc__fork_mark.at, CC__RELAXED), &wiped, 1, CC__RELAXED, CC__RELAXED);
	cc__add(&runtimes, 1, CC__RELAXED);
}

void cc__fork_unwatch(void)
{
	cc__sub(&runtimes, 1, CC__RELAXED);	/* Relaxed: as above */
}

void cc__fork_exit(int status)
{
	_exit(status);
}
