/* httpd.c - serves the files of a directory over HTTP/1.1.
 *
 *	httpd [-a ADDRESS] [-c CONNECTIONS] [-r SECONDS] [-i SECONDS] [-g SECONDS] DIRECTORY
 *
 * Keep-alive, pipelining, ranges, HEAD.  A request has -r seconds in all, from its first byte to
 * the last byte of its answer; a silent connection is closed after -i seconds; after SIGTERM the
 * requests that have begun have -g seconds.  Links in the directory are followed; a changed file is
 * served half a second later (files.h). */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ccc/ccc.h>

#include "files.h"
#include "http.h"

struct site {
	struct files files;
	cc_time request;
	CCServeOptions limits;
	const char *address;
};

/* One request and its answer. */
struct exchange {
	CCStream *stream;
	struct site *site;
	struct http_request request;
	cc_time deadline;
	bool keep;	/* the connection stays open after the answer */
};

/* ---- answers ---- */

static const char accepts_ranges[] = "Accept-Ranges: bytes\r\n";

static const char *reason_of(int status)
{
	switch (status) {
	case 200: return "OK";
	case 206: return "Partial Content";
	case 403: return "Forbidden";
	case 404: return "Not Found";
	case 405: return "Method Not Allowed";
	case 408: return "Request Timeout";
	case 413: return "Content Too Large";
	case 414: return "URI Too Long";
	case 416: return "Range Not Satisfiable";
	case 431: return "Request Header Fields Too Large";
	case 500: return "Internal Server Error";
	case 501: return "Not Implemented";
	case 503: return "Service Unavailable";
	case 505: return "HTTP Version Not Supported";
	default: return "Bad Request";
	}
}

static int format_head(char *head, size_t room, int status, const char *type, uint64_t size,
                       const char *more, bool keep)
{
	return snprintf(head, room,
	                "HTTP/1.1 %d %s\r\nServer: httpd\r\nContent-Type: %s\r\n"
	                "Content-Length: %llu\r\n%s%s\r\n",
	                status, reason_of(status), type, (unsigned long long)size, more,
	                keep ? "" : "Connection: close\r\n");
}

static int write_head(struct exchange *x, int status, const char *type, uint64_t size,
                      const char *more)
{
	char head[512];
	const int n = format_head(head, sizeof head, status, type, size, more, x->keep);

	return cc_stream_write(x->stream, head, (size_t)n, NULL, x->deadline);
}

static int write_status(struct exchange *x, int status, const char *more)
{
	char text[64];
	const int n = snprintf(text, sizeof text, "%d %s\n", status, reason_of(status));

	cc_try(write_head(x, status, "text/plain", (uint64_t)n, more));
	if (x->request.method == HTTP_HEAD)
		return 0;
	return cc_stream_write(x->stream, text, (size_t)n, NULL, x->deadline);
}

/* The answer to a request that was not understood, after which nothing more can be.  What the
 * client still sends is read for a second: closing with unread input would reset the connection,
 * and the client might never see the answer. */
static int refuse(struct exchange *x, int status)
{
	char waste[1024];
	const cc_time until = cc_after(CC_SEC);

	x->keep = false;
	x->deadline = until;
	cc_try(write_status(x, status, ""));
	cc_try(cc_stream_shutdown(x->stream, until));
	while (cc_stream_read(x->stream, waste, sizeof waste, NULL, until) == 0 && cc_now() < until)
		continue;
	return EPROTO;
}

/* ---- files ---- */

static const char *type_of(const char *path)
{
	static const char *const types[][2] = {
	    {".html", "text/html"},       {".txt", "text/plain"},       {".css", "text/css"},
	    {".js", "text/javascript"},   {".json", "application/json"}, {".png", "image/png"},
	    {".jpg", "image/jpeg"},       {".svg", "image/svg+xml"},
	};
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot != NULL && i < sizeof types / sizeof *types; i++)
		if (strcmp(dot, types[i][0]) == 0)
			return types[i][1];
	return "application/octet-stream";
}

static int status_of(int err)
{
	switch (err) {
	case EACCES:
	case EPERM:
		return 403;
	case EMFILE:
	case ENFILE:
	case ENOMEM:
		return 503;
	case EIO:
		return 500;
	default:
		return 404;
	}
}

/* Of a small file behind the head, in the stream's buffer: several answers leave in one piece. */
static int write_body(struct exchange *x, const struct file *file, uint64_t from, uint64_t size)
{
	if (x->request.method == HTTP_HEAD || size == 0)
		return 0;
	if (file->text != NULL)
		return cc_stream_write(x->stream, file->text + file->head + from, (size_t)size,
		                       NULL, x->deadline);
	cc_try(cc_stream_flush(x->stream, x->deadline));
	return cc_fd_send_file(cc_stream_fd(x->stream), file->fd, (int64_t)from, (size_t)size,
	                       NULL, x->deadline);
}

/* The answer to most requests, as the cache keeps it. */
static size_t usual_head(char *head, size_t room, const char *path, uint64_t size)
{
	return (size_t)format_head(head, room, 200, type_of(path), size, accepts_ranges, true);
}

/* Head and contents of a small file, as they lie in the cache. */
static bool is_usual(const struct exchange *x, const struct file *file)
{
	return file->text != NULL && x->keep && !x->request.has_range &&
	       x->request.method == HTTP_GET;
}

/* The bytes that the range means.  False: there are none. */
static bool resolve_range(const struct http_request *r, uint64_t size, uint64_t *from, uint64_t *to)
{
	if (r->suffix) {
		*from = r->from < size ? size - r->from : 0;
		*to = size - 1;
		return size > 0 && r->from > 0;
	}
	*from = r->from;
	*to = r->to < size ? r->to : size - 1;
	return r->from < size;
}

static int send_range(struct exchange *x, const struct file *file)
{
	uint64_t from, to;
	char more[96];

	if (!resolve_range(&x->request, file->size, &from, &to)) {
		snprintf(more, sizeof more, "Content-Range: bytes */%llu\r\n",
		         (unsigned long long)file->size);
		return write_status(x, 416, more);
	}
	snprintf(more, sizeof more, "Content-Range: bytes %llu-%llu/%llu\r\n",
	         (unsigned long long)from, (unsigned long long)to, (unsigned long long)file->size);
	cc_try(write_head(x, 206, type_of(file->path), to - from + 1, more));
	return write_body(x, file, from, to - from + 1);
}

static int send_file(struct exchange *x, const struct file *file)
{
	if (is_usual(x, file))
		return cc_stream_write(x->stream, file->text, file->head + (size_t)file->size, NULL,
		                       x->deadline);
	if (x->request.has_range)
		return send_range(x, file);
	cc_try(write_head(x, 200, type_of(file->path), file->size, accepts_ranges));
	return write_body(x, file, 0, file->size);
}

static int answer_file(struct exchange *x)
{
	struct file *file;
	int err = files_get(&x->site->files, x->request.path, &file);

	if (err != 0)
		return write_status(x, status_of(err), "");
	err = send_file(x, file);
	files_put(file);
	return err;
}

/* ---- requests ---- */

/* Shows more input than `seen` bytes.  Answers to earlier requests are sent before a wait. */
static int more_input(struct exchange *x, size_t seen, const char **data, size_t *size)
{
	int err = cc_stream_peek(x->stream, seen + 1, data, size, CC_NOW);

	if (err != EAGAIN)
		return err;
	cc_try(cc_stream_flush(x->stream, x->deadline));
	return cc_stream_peek(x->stream, seen + 1, data, size, x->deadline);
}

static int read_head(struct exchange *x, int *status)
{
	const char *data;
	size_t size = 0, used = 0;
	int err;

	do {
		if ((err = more_input(x, size, &data, &size)) != 0)
			return err;
	} while ((*status = http_parse(data, size, &x->request, &used)) == HTTP_MORE);
	cc_stream_consume(x->stream, used);
	return 0;
}

static int exchange_one(CCStream *stream, struct site *site)
{
	struct exchange x = {.stream = stream, .site = site, .deadline = cc_after(site->request)};
	int status = 0;
	const int err = read_head(&x, &status);

	if (err == ETIMEDOUT)
		return refuse(&x, 408);
	if (err != 0)
		return err;
	if (status != HTTP_COMPLETE)
		return refuse(&x, status);
	if (x.request.body > 0)
		return refuse(&x, 413);
	x.keep = x.request.keep_alive;
	cc_try(x.request.method == HTTP_OTHER ? write_status(&x, 405, "Allow: GET, HEAD\r\n")
	                                      : answer_file(&x));
	return x.keep ? 0 : EPIPE;
}

static cc_serve_fn(serve_client, struct site *site)
{
	int err = 0;

	cc_net_no_delay(cc_stream_fd(stream), 1);
	while (err == 0 && (err = cc_serve_next(stream, cc_after(site->limits.idle))) == 0)
		err = exchange_one(stream, site);
	return err;
}

/* ---- main ---- */

static int usage(void)
{
	fprintf(stderr, "usage: httpd [-a ADDRESS] [-c CONNECTIONS] [-r SECONDS] [-i SECONDS] "
	                "[-g SECONDS] DIRECTORY\n");
	return 2;
}

static bool parse_options(struct site *site, int argc, char **argv)
{
	for (int o; (o = getopt(argc, argv, "a:c:r:i:g:")) != -1;)
		switch (o) {
		case 'a': site->address = optarg; break;
		case 'c': site->limits.connections = (unsigned)atoi(optarg); break;
		case 'r': site->request = (cc_time)(atof(optarg) * 1e9); break;
		case 'i': site->limits.idle = (cc_time)(atof(optarg) * 1e9); break;
		case 'g': site->limits.grace = (cc_time)(atof(optarg) * 1e9); break;
		default: return false;
		}
	return optind == argc - 1;
}

static int run(struct site *site, int listener)
{
	char address[CC_NET_ADDRESS_SIZE];
	int err = 0, stopped = 0;

	cc_try(cc_net_local_address(listener, address, sizeof address));
	cc_nursery_scope(n, &err) {
		cc_nursery_cancel_on(n, SIGTERM);
		cc_nursery_cancel_on(n, SIGINT);
		printf("listening at %s\n", address);
		fflush(stdout);
		stopped = cc_serve_on(listener, serve_client, site, &site->limits);
	}
	return stopped == ECANCELED && err == EINTR ? 0 : stopped;	/* by one of the signals */
}

int main(int argc, char **argv)
{
	static struct site site = {
	    .request = 30 * CC_SEC,
	    .limits = {.connections = 10000, .idle = 60 * CC_SEC, .grace = 10 * CC_SEC},
	    .address = "127.0.0.1:8080",
	};
	int listener, err;

	if (!parse_options(&site, argc, argv))
		return usage();
	site.files.write_head = usual_head;
	if ((site.files.root = open(argv[optind], O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
		perror(argv[optind]);
		return 1;
	}
	if ((err = cc_net_listen(&listener, site.address, NULL)) == 0) {
		err = run(&site, listener);
		cc_fd_close(listener);
	}
	close(site.files.root);
	if (err != 0)
		fprintf(stderr, "httpd: %s: %s\n", site.address, strerror(err));
	return err != 0;
}
