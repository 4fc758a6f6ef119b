/* kvd.c - a store of keys and values that speaks the Redis protocol.
 *
 *	kvd [-a ADDRESS] [-c CONNECTIONS] [-i SECONDS] [-g SECONDS] [-m MEGABYTES]
 *
 * GET, SET, DEL, INCR, EXPIRE, MGET, PING, INFO.  A fiber for each connection; the store is cut
 * into shards with a mutex each (store.h).  All commands that one read has brought are answered with one
 * write: answers collect in the stream until cc_serve_next has to wait. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <ccc/ccc.h>

#include "resp.h"
#include "store.h"

/* SMALL: values up to this size are copied to the stack on their way out. */
enum { SMALL = 1024 };

struct server {
	struct store *store;
	CCServeOptions limits;
	const char *address;
};

struct client {
	CCStream *stream;
	struct store *store;
	const struct resp_command *command;
	cc_time deadline;
};

/* ---- keys ---- */

/* Cancellation must not tear a command in two, so the lock is taken in any case; it is held for
 * less than a microsecond. */
static struct shard *lock_shard(struct client *c, struct resp_arg key, uint64_t *hash)
{
	struct shard *d = store_shard(c->store, *hash = store_hash(c->store, key));

	cc_mutex_lock_anyway(&d->lock);
	d->commands++;
	return d;
}

/* ---- answers ---- */

static int say(struct client *c, const char *text, size_t size)
{
	return cc_stream_write(c->stream, text, size, NULL, c->deadline);
}

static int say_text(struct client *c, const char *text)
{
	return say(c, text, strlen(text));
}

enum { NUMBER_SIZE = 24 };

/* "$12\r\n", for example, at `at`, which has NUMBER_SIZE bytes.  Returns its length.  (printf was
 * 6 % of the server's time.) */
static size_t put_number(char *at, char mark, int64_t value)
{
	uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
	char digits[NUMBER_SIZE];
	size_t n = 0, size = 0;

	do
		digits[n++] = (char)('0' + rest % 10);
	while ((rest /= 10) != 0);
	at[size++] = mark;
	if (value < 0)
		at[size++] = '-';
	for (; n > 0; n--)
		at[size++] = digits[n - 1];
	memcpy(at + size, "\r\n", 2);
	return size + 2;
}

static int say_number(struct client *c, char mark, int64_t value)
{
	char text[NUMBER_SIZE];

	return say(c, text, put_number(text, mark, value));
}

/* A short one in one piece. */
static int say_bulk(struct client *c, const char *text, size_t size)
{
	char whole[NUMBER_SIZE + SMALL + 2];
	size_t head;

	if (size > SMALL) {
		cc_try(say_number(c, '$', (int64_t)size));
		cc_try(say(c, text, size));
		return say(c, "\r\n", 2);
	}
	head = put_number(whole, '$', (int64_t)size);
	memcpy(whole + head, text, size);
	memcpy(whole + head + size, "\r\n", 2);
	return say(c, whole, head + size + 2);
}

/* The value is copied under the lock and sent after it, because sending may wait. */
static int say_value(struct client *c, struct resp_arg key)
{
	char small[SMALL], *copy = small;
	size_t size = 0;
	uint64_t hash;
	struct shard *d = lock_shard(c, key, &hash);
	struct entry **at = store_find(d, hash, key);
	int err;

	if (at != NULL) {
		size = (*at)->value_size;
		if (size <= SMALL || (copy = malloc(size)) != NULL)
			memcpy(copy, (*at)->bytes + key.size, size);
	}
	cc_mutex_unlock(&d->lock);
	if (at == NULL || copy == NULL)
		return say_text(c, at == NULL ? "$-1\r\n" : "-ERR no memory\r\n");
	err = say_bulk(c, copy, size);
	if (copy != small)
		free(copy);
	return err;
}

/* ---- commands ---- */

static int do_ping(struct client *c)
{
	const struct resp_command *m = c->command;

	return m->count > 1 ? say_bulk(c, m->arg[1].at, m->arg[1].size) : say_text(c, "+PONG\r\n");
}

static int do_get(struct client *c)
{
	return say_value(c, c->command->arg[1]);
}

static int do_mget(struct client *c)
{
	cc_try(say_number(c, '*', c->command->count - 1));
	for (unsigned i = 1; i < c->command->count; i++)
		cc_try(say_value(c, c->command->arg[i]));
	return 0;
}

static int do_set(struct client *c)
{
	const struct resp_arg *arg = c->command->arg;
	uint64_t hash;
	struct shard *d = lock_shard(c, arg[1], &hash);
	const bool done = store_put(c->store, hash, arg[1], arg[2], CC_FOREVER);

	cc_mutex_unlock(&d->lock);
	return say_text(c, done ? "+OK\r\n" : "-OOM the store is full\r\n");
}

static int do_del(struct client *c)
{
	int64_t gone = 0;

	for (unsigned i = 1; i < c->command->count; i++) {
		uint64_t hash;
		struct shard *d = lock_shard(c, c->command->arg[i], &hash);
		struct entry **at = store_find(d, hash, c->command->arg[i]);

		if (at != NULL) {
			store_drop(d, at);
			gone++;
		}
		cc_mutex_unlock(&d->lock);
	}
	return say_number(c, ':', gone);
}

static bool number_of(const char *text, size_t size, int64_t *value)
{
	char copy[24], *end;

	if (size == 0 || size >= sizeof copy || memchr(text, 0, size) != NULL ||
	    strchr("-0123456789", text[0]) == NULL)
		return false;
	memcpy(copy, text, size);
	copy[size] = 0;
	*value = strtoll(copy, &end, 10);
	return *end == 0 && *value < INT64_MAX && *value > INT64_MIN;
}

/* NULL, or why not. */
static const char *increase(struct store *s, struct shard *d, uint64_t hash, struct resp_arg key,
                            int64_t *value)
{
	struct entry **at = store_find(d, hash, key);
	const cc_time expires = at != NULL ? (*at)->expires : CC_FOREVER;
	char text[24];

	*value = 0;
	if (at != NULL && !number_of((*at)->bytes + key.size, (*at)->value_size, value))
		return "-ERR value is not an integer or out of range\r\n";
	++*value;
	return store_put(s, hash, key,
	                 (struct resp_arg){text, (size_t)sprintf(text, "%" PRId64, *value)}, expires)
	           ? NULL
	           : "-OOM the store is full\r\n";
}

static int do_incr(struct client *c)
{
	int64_t value;
	uint64_t hash;
	struct shard *d = lock_shard(c, c->command->arg[1], &hash);
	const char *wrong = increase(c->store, d, hash, c->command->arg[1], &value);

	cc_mutex_unlock(&d->lock);
	return wrong != NULL ? say_text(c, wrong) : say_number(c, ':', value);
}

static int do_expire(struct client *c)
{
	const struct resp_arg *arg = c->command->arg;
	int64_t seconds;
	uint64_t hash;
	struct shard *d;
	struct entry **at;

	if (!number_of(arg[2].at, arg[2].size, &seconds) || seconds > INT32_MAX)
		return say_text(c, "-ERR value is not an integer or out of range\r\n");
	d = lock_shard(c, arg[1], &hash);
	if ((at = store_find(d, hash, arg[1])) != NULL) {
		if (seconds > 0)
			(*at)->expires = cc_after(seconds * CC_SEC);
		else
			store_drop(d, at);
	}
	cc_mutex_unlock(&d->lock);
	return say_number(c, ':', at != NULL);
}

static int do_info(struct client *c)
{
	size_t entries = 0, bytes = 0;
	uint64_t commands = 0;
	char text[128];

	for (struct shard *d = c->store->shard; d < c->store->shard + SHARDS; d++) {
		cc_mutex_lock_anyway(&d->lock);
		entries += d->entries;
		bytes += d->bytes;
		commands += d->commands;
		cc_mutex_unlock(&d->lock);
	}
	snprintf(text, sizeof text, "server:kvd\r\nkeys:%zu\r\nbytes:%zu\r\nkey_commands:%" PRIu64
	         "\r\n", entries, bytes, commands);
	return say_bulk(c, text, strlen(text));
}

static int run_command(struct client *c)
{
	static const struct {
		const char *name;
		unsigned least, most;	/* arguments, the name included */
		int (*run)(struct client *c);
	} commands[] = {
	    {"GET", 2, 2, do_get},   {"SET", 3, 3, do_set},       {"DEL", 2, RESP_ARGS, do_del},
	    {"INCR", 2, 2, do_incr}, {"EXPIRE", 3, 3, do_expire}, {"MGET", 2, RESP_ARGS, do_mget},
	    {"PING", 1, 2, do_ping}, {"INFO", 1, 2, do_info},
	};
	const struct resp_command *m = c->command;

	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (m->arg[0].size == strlen(commands[i].name) &&
		    strncasecmp(m->arg[0].at, commands[i].name, m->arg[0].size) == 0)
			return m->count >= commands[i].least && m->count <= commands[i].most
			           ? commands[i].run(c)
			           : say_text(c, "-ERR wrong number of arguments\r\n");
	return say_text(c, "-ERR unknown command\r\n");
}

/* ---- connections ---- */

/* The answer to bytes that are no command, after which nothing more can be understood.  What the
 * client still sends is read for a second: closing with unread input would reset the connection,
 * and the client might never see the answer. */
static int refuse(struct client *c)
{
	const cc_time until = cc_after(CC_SEC);
	char waste[4096];

	cc_try(say_text(c, "-ERR protocol error\r\n"));
	cc_try(cc_stream_shutdown(c->stream, until));
	while (cc_stream_read(c->stream, waste, sizeof waste, NULL, until) == 0 && cc_now() < until)
		continue;
	return EPROTO;
}

/* Answers all commands that have arrived.  A command that is not complete has until the deadline,
 * and the answers before it are sent first. */
static int answer_all(struct client *c)
{
	struct resp_command command;
	const char *data;
	size_t size, used;

	c->command = &command;
	for (int state;;) {
		cc_try(cc_stream_peek(c->stream, 0, &data, &size, CC_NOW));
		if (size == 0)
			return 0;
		if ((state = resp_parse(data, size, &command, &used)) == RESP_WRONG)
			return refuse(c);
		if (state == RESP_MORE) {
			cc_try(cc_stream_flush(c->stream, c->deadline));
			cc_try(cc_stream_peek(c->stream, used, &data, &size, c->deadline));
			continue;
		}
		if (command.count > 0)
			cc_try(run_command(c));
		cc_stream_consume(c->stream, used);
	}
}

static cc_serve_fn(serve_client, struct store *store)
{
	struct client c = {.stream = stream, .store = store};
	int err = 0;

	cc_net_no_delay(cc_stream_fd(stream), 1);
	while (err == 0 && (err = cc_serve_next(stream, CC_FOREVER)) == 0) {
		c.deadline = cc_after(30 * CC_SEC);
		err = answer_all(&c);
	}
	return err;
}

/* ---- main ---- */

static bool parse_options(struct server *s, int argc, char **argv)
{
	for (int o; (o = getopt(argc, argv, "a:c:i:g:m:")) != -1;)
		switch (o) {
		case 'a': s->address = optarg; break;
		case 'c': s->limits.connections = (unsigned)atoi(optarg); break;
		case 'i': s->limits.idle = (cc_time)(atof(optarg) * 1e9); break;
		case 'g': s->limits.grace = (cc_time)(atof(optarg) * 1e9); break;
		case 'm': s->store->most = (size_t)(atof(optarg) * (1 << 20)) / SHARDS; break;
		default: return false;
		}
	return optind == argc;
}

static int run(struct server *s, int listener)
{
	char address[CC_NET_ADDRESS_SIZE];
	int err = 0, stopped = 0;

	cc_try(cc_net_local_address(listener, address, sizeof address));
	cc_nursery_scope(n, &err) {
		cc_nursery_cancel_on(n, SIGTERM);
		cc_nursery_cancel_on(n, SIGINT);
		printf("listening at %s\n", address);
		fflush(stdout);
		stopped = cc_serve_on(listener, serve_client, s->store, &s->limits);
	}
	return stopped == ECANCELED && err == EINTR ? 0 : stopped;	/* by one of the signals */
}

int main(int argc, char **argv)
{
	static struct store store = {.most = SIZE_MAX / SHARDS};
	struct server server = {
	    .store = &store,
	    .limits = {.connections = 10000, .idle = 3600 * CC_SEC, .grace = CC_SEC},
	    .address = "127.0.0.1:6379",
	};
	int listener, err;

	if (!parse_options(&server, argc, argv)) {
		fprintf(stderr, "usage: kvd [-a ADDRESS] [-c CONNECTIONS] [-i SECONDS] "
		                "[-g SECONDS] [-m MEGABYTES]\n");
		return 2;
	}
	store.seed = (uint64_t)cc_now() * 0x9e3779b97f4a7c15u ^ (uintptr_t)&listener;
	if ((err = cc_net_listen(&listener, server.address, NULL)) == 0) {
		err = run(&server, listener);
		cc_fd_close(listener);
	}
	if (err != 0)
		fprintf(stderr, "kvd: %s: %s\n", server.address, strerror(err));
	return err != 0;
}
