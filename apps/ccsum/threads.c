/* threads.c - ccsum without the library: threads that take the next file of the list, and a
 * condition that tells the main thread which are done.  It is what the fibers are measured
 * against (ccsum --engine=thread). */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <ccc/ccc.h>

#include "ccsum.h"

struct crew {
	pthread_mutex_t mutex;
	pthread_cond_t done;
	struct list *list;
	size_t next;	/* mutex: the entry that is hashed next */
};

struct member {
	pthread_t thread;
	struct crew *crew;
	struct hasher *hasher;
};

static void *hash_many(void *arg)
{
	struct member *m = arg;
	struct crew *c = m->crew;
	struct entry *e = NULL;

	do {
		pthread_mutex_lock(&c->mutex);
		if (e != NULL) {
			e->done = true;
			pthread_cond_signal(&c->done);
		}
		e = c->next < c->list->count ? &c->list->entries[c->next++] : NULL;
		pthread_mutex_unlock(&c->mutex);
		if (e != NULL)
			hash_entry(m->hasher, e);
	} while (e != NULL);
	return NULL;
}

static void print_all(struct crew *c)
{
	for (size_t i = 0; i < c->list->count; i++) {
		pthread_mutex_lock(&c->mutex);
		while (!c->list->entries[i].done)
			pthread_cond_wait(&c->done, &c->mutex);
		pthread_mutex_unlock(&c->mutex);
		print_entry(&c->list->entries[i]);
	}
}

int run_on_threads(struct list *list, unsigned processes)
{
	struct crew crew = {
	    .mutex = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER, .list = list};
	struct member *members = calloc(processes, sizeof *members);
	unsigned started = 0;

	for (; members != NULL && started < processes; started++) {
		struct member *m = &members[started];

		*m = (struct member){.crew = &crew, .hasher = hasher_new()};
		if (m->hasher == NULL || pthread_create(&m->thread, NULL, hash_many, m) != 0) {
			hasher_free(m->hasher);
			break;
		}
	}
	if (started > 0)	/* one is enough */
		print_all(&crew);
	for (unsigned i = 0; i < started; i++) {
		pthread_join(members[i].thread, NULL);
		hasher_free(members[i].hasher);
	}
	free(members);
	return started > 0 ? 0 : ENOMEM;
}
