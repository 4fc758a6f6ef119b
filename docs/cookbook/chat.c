/* A chat server: each line of a client goes to all others.  Two clients test it. */
#include <assert.h>
#include <string.h>

#include <ccc/ccc.h>

typedef struct Line {
	char text[128];
} Line;
cc_chan_type(Lines, Line);

struct member {
	struct member *next;
	Lines lines;	/* what is to be written to this client */
};

struct room {
	CCMutex lock;
	struct member *first;	/* under `lock` */
};

static int enter(struct room *room, struct member *m)
{
	cc_try(cc_mutex_lock(&room->lock));
	m->next = room->first;
	room->first = m;
	return cc_mutex_unlock(&room->lock);
}

/* A member has to leave in any case, so the lock is taken even if the caller is cancelled. */
static void leave(struct room *room, struct member *m)
{
	struct member **at;

	cc_mutex_lock_anyway(&room->lock);
	for (at = &room->first; *at != m; at = &(*at)->next)
		continue;
	*at = m->next;
	cc_mutex_unlock(&room->lock);
}

/* A client that is too slow loses its oldest lines: its channel drops them. */
static int tell_others(struct room *room, const struct member *from, Line line)
{
	cc_try(cc_mutex_lock(&room->lock));
	for (struct member *m = room->first; m != NULL; m = m->next)
		if (m != from)
			cc_ignore(cc_try_send(m->lines, line));
	return cc_mutex_unlock(&room->lock);
}

static cc_task_fn(write_lines, CCStream *stream; LinesRx in;)
{
	Line line;

	while (cc_recv(self->in, &line) == 0) {
		const size_t n = strlen(line.text);

		line.text[n] = '\n';
		cc_try(cc_stream_write(self->stream, line.text, n + 1, NULL, cc_after(10 * CC_SEC)));
		cc_try(cc_stream_flush(self->stream, cc_after(10 * CC_SEC)));
	}
	return 0;
}

/* One task reads what the client says, another writes what the others say. */
static int talk(struct room *room, CCStream *stream)
{
	const CCChanOptions newest = {.mode = CC_CHAN_MODE_DROP_OLD};
	struct member me = {0};
	Line line = {"welcome"};
	int err = 0;

	cc_try(cc_chan_create(&me.lines.chan, sizeof(Line), 64, &newest));
	cc_nursery_scope(n, &err) {
		cc_spawn(n, write_lines, .stream = stream, .in = me.lines.rx);
		if (enter(room, &me) == 0) {
			cc_ignore(cc_try_send(me.lines, line));
			while (cc_stream_read_line(stream, line.text, sizeof line.text - 1, NULL, CC_FOREVER) == 0)
				cc_ignore(tell_others(room, &me, line));
			leave(room, &me);
		}
		cc_close(me.lines);
	}
	cc_free(me.lines);
	return err;
}

static cc_task_fn(serve, struct room *room; int fd;)
{
	CCStream *s;

	if (cc_stream_open(&s, self->fd) != 0)
		return cc_fd_close(self->fd);
	talk(self->room, s);
	cc_stream_close(s, cc_after(CC_SEC));
	return 0;
}

static cc_task_fn(accept_all, struct room *room; int listener;)
{
	int fd, err = 0;

	cc_nursery_scope(n, &err)
		while (cc_net_accept(self->listener, &fd, CC_FOREVER) == 0)
			cc_spawn(n, serve, .room = self->room, .fd = fd);
	return err;
}

/* ---- two clients ---- */

static CCStream *join(const char *address)
{
	char line[64];
	CCStream *s;
	int fd;

	assert(cc_net_dial(&fd, address, NULL, cc_after(10 * CC_SEC)) == 0);
	assert(cc_stream_open(&s, fd) == 0);
	assert(cc_stream_read_line(s, line, sizeof line, NULL, cc_after(10 * CC_SEC)) == 0);
	assert(strcmp(line, "welcome") == 0);
	return s;
}

static void say(CCStream *s, const char *text)
{
	assert(cc_stream_write(s, text, strlen(text), NULL, cc_after(10 * CC_SEC)) == 0);
	assert(cc_stream_flush(s, cc_after(10 * CC_SEC)) == 0);
}

static void expect(CCStream *s, const char *text)
{
	char line[64];

	assert(cc_stream_read_line(s, line, sizeof line, NULL, cc_after(10 * CC_SEC)) == 0);
	assert(strcmp(line, text) == 0);
}

int main(void)
{
	char address[CC_NET_ADDRESS_SIZE];
	struct room room = {0};
	int listener, err = 0;

	assert(cc_net_listen(&listener, "127.0.0.1:0", NULL) == 0);
	assert(cc_net_local_address(listener, address, sizeof address) == 0);
	cc_nursery_scope(n, &err) {
		cc_spawn(n, accept_all, .room = &room, .listener = listener);
		CCStream *a = join(address), *b = join(address);

		say(a, "hello\n");
		expect(b, "hello");
		say(b, "hi\nhow are you?\n");
		expect(a, "hi");
		expect(a, "how are you?");
		cc_stream_close(a, CC_FOREVER);
		cc_stream_close(b, CC_FOREVER);
		cc_nursery_cancel(n, 0);
	}
	assert((err == 0 || err == ECANCELED) && room.first == NULL);
	cc_fd_close(listener);
	return 0;
}
