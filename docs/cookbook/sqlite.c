/* SQLite: a pool of connections; each statement runs in a thread, outside of the fibers. */
#include <assert.h>
#include <sqlite3.h>
#include <stdio.h>

#include <ccc/ccc.h>

static const char *path = "file:cookbook?mode=memory&cache=shared";

/* The pool opens a connection when one is wanted, and closes what is left when it is freed. */
static int open_connection(void *context, void *item)
{
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;

	(void)context;
	return sqlite3_open_v2(path, item, flags, NULL) == SQLITE_OK ? 0 : EIO;
}

static void close_connection(void *context, void *item)
{
	(void)context;
	sqlite3_close(*(sqlite3 **)item);
}

struct statement {
	sqlite3 *db;
	const char *text;
	long result;	/* the first column of the last row */
};

static int take_number(void *arg, int columns, char **values, char **names)
{
	(void)columns, (void)names;
	return sscanf(values[0], "%ld", (long *)arg) != 1;
}

/* In a thread: the callback must not wait as a fiber does. */
static int run_statement(void *arg)
{
	struct statement *s = arg;

	return sqlite3_exec(s->db, s->text, take_number, &s->result, NULL);
}

/* Waits for a free connection, and for the statement. */
static int query(CCChan *pool, const char *text, long *result)
{
	struct statement s = {.text = text};
	int status = SQLITE_OK, err;

	cc_try(cc_chan_recv(pool, &s.db, sizeof s.db));
	err = cc_blocking(run_statement, &s, &status);
	cc_ignore(cc_chan_send(pool, &s.db, sizeof s.db));	/* back into the pool */
	*result = s.result;
	return err != 0 ? err : status == SQLITE_OK ? 0 : EIO;
}

static cc_task_fn(insert, CCChan *pool; CCMutex *writer; int value;)
{
	char text[64];
	long none;
	int err;

	snprintf(text, sizeof text, "insert into numbers values (%d)", self->value);
	cc_try(cc_mutex_lock(self->writer));	/* SQLite has one writer at a time */
	err = query(self->pool, text, &none);
	cc_mutex_unlock(self->writer);
	return err;
}

int main(void)
{
	const CCChanOptions options = {.kind = CC_CHAN_KIND_OWNED, .create = open_connection,
	                               .destroy = close_connection};
	CCMutex writer = {0};
	CCChan *pool;
	long sum = 0;
	int err = 0;

	assert(cc_chan_create(&pool, sizeof(sqlite3 *), 4, &options) == 0);
	assert(query(pool, "create table numbers (n integer)", &sum) == 0);
	cc_nursery_scope(n, &err)
		for (int i = 1; i <= 20; i++)
			cc_spawn(n, insert, .pool = pool, .writer = &writer, .value = i);
	assert(err == 0);
	assert(query(pool, "select sum(n) from numbers", &sum) == 0 && sum == 210);
	assert(cc_chan_free(pool) == 0);
	return 0;
}
