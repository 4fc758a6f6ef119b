/* chat_server.c - what one client says, all others read.  Each connection is a task that waits for
 * two things at once: a line of its client, and lines of the others.
 *
 *      chat_server 127.0.0.1:4000      and then, several times: nc 127.0.0.1 4000
 *
 * Without an address it talks to itself, which is its test. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <ccc/ccc.h>

enum { SEATS = 100 };

typedef struct Line {
	char text[200];
} Line;
cc_chan_type(Lines, Line);

struct room {
	CCMutex lock;
	Lines seat[SEATS];	/* lock; the lines for that client; `chan` NULL: a free seat */
};

/* A client that does not read misses lines; the others do not wait for it. */
static void tell_others(struct room *room, size_t me, const Line *line)
{
	cc_mutex_lock_anyway(&room->lock);
	for (size_t i = 0; i < SEATS; i++)
		if (i != me && room->seat[i].chan != NULL)
			cc_ignore(cc_try_send(room->seat[i], *line));
	cc_mutex_unlock(&room->lock);
}

static int sit_down(struct room *room, size_t *me)
{
	cc_mutex_lock_anyway(&room->lock);
	for (*me = 0; *me < SEATS && room->seat[*me].chan != NULL; (*me)++)
		continue;
	if (*me < SEATS)
		room->seat[*me] = cc_chan_make(Lines, 16);
	cc_mutex_unlock(&room->lock);
	return *me < SEATS && room->seat[*me].chan != NULL ? 0 : EBUSY;
}

static void stand_up(struct room *room, size_t me)
{
	cc_mutex_lock_anyway(&room->lock);
	cc_free(room->seat[me]);
	room->seat[me].chan = NULL;
	cc_mutex_unlock(&room->lock);
}

/* The lines that have come are read before each wait: the descriptor says nothing about bytes that
 * the stream has already read. */
static int listen_and_talk(CCStream *stream, struct room *room, size_t me)
{
	Line line, heard;
	int err;

	for (;;) {
		while ((err = cc_stream_read_line(stream, line.text, sizeof line.text, NULL,
		                                  CC_NOW)) == 0)
			tell_others(room, me, &line);
		if (err != EAGAIN)
			return err;
		cc_try(cc_stream_flush(stream, cc_after(5 * CC_SEC)));
		cc_match(&err) {
		cc_on_fd(cc_stream_fd(stream), CC_FD_READ, NULL)
			err = 0;
		cc_on_recv(room->seat[me], &heard)
			err = cc_stream_print(stream, cc_after(5 * CC_SEC), "%s\n", heard.text);
		}
		cc_try(err);
	}
}

static cc_serve_fn(chat, struct room *room)
{
	size_t me;
	int err;

	cc_try(sit_down(room, &me));
	err = listen_and_talk(stream, room, me);
	stand_up(room, me);
	return err;
}

static cc_task_fn(serve, int listener; struct room *room;)
{
	const CCServeOptions limits = {.connections = SEATS};

	return cc_serve_on(self->listener, chat, self->room, &limits);
}

/* Two clients: one speaks until the other, which may come later, has heard it. */
static int talk_to_myself(const char *address)
{
	const cc_time end = cc_after(20 * CC_SEC);
	CCStream *a, *b;
	Line heard;
	int err;

	cc_try(cc_stream_dial(&a, address, NULL, end));
	cc_try(cc_stream_dial(&b, address, NULL, end));
	do {
		cc_try(cc_stream_print(a, end, "hello\n"));
		cc_try(cc_stream_flush(a, end));
		err = cc_stream_read_line(b, heard.text, sizeof heard.text, NULL,
		                          cc_after(10 * CC_MSEC));
	} while (err == ETIMEDOUT && cc_now() < end);
	if (err == 0)
		printf("b heard: %s\n", heard.text);
	cc_stream_close(a, end);
	cc_stream_close(b, end);
	return err;
}

int main(int argc, char **argv)
{
	static struct room room;
	char address[CC_NET_ADDRESS_SIZE];
	int listener, err = 0, spoke = 0;

	cc_try(cc_net_listen(&listener, argc > 1 ? argv[1] : "127.0.0.1:0", NULL));
	cc_try(cc_net_local_address(listener, address, sizeof address));
	cc_nursery_scope(n, &err) {
		cc_nursery_cancel_on(n, SIGINT);
		cc_spawn(n, serve, .listener = listener, .room = &room);
		if (argc == 1) {
			spoke = talk_to_myself(address);
			cc_fd_close(listener);	/* cc_serve returns when its clients have gone */
		}
	}
	if (argc > 1)
		cc_fd_close(listener);
	return err != 0 ? err : spoke;
}
