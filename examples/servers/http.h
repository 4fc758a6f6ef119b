/* http.h - the head of an HTTP/1.1 request, parsed strictly.
 *
 * Whatever is not exactly of the grammar is refused: servers and proxies that forgive the same
 * mistake in different ways can be led to disagree about where a request ends. */
#ifndef HTTP_H
#define HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A longer head, path or query is refused. */
enum { HTTP_HEAD_MAX = 8192, HTTP_PATH_MAX = 1024 };

struct http_request {
	enum { HTTP_GET, HTTP_HEAD, HTTP_OTHER } method;
	char path[HTTP_PATH_MAX];	/* begins with '/'; decoded; without the query; no ".." in it */
	bool keep_alive;		/* the client may send another request */
	uint64_t body;			/* bytes that follow the head */
	/* One range of bytes: from, or of the last -from bytes; `to` is the last one or UINT64_MAX. */
	bool has_range;
	bool suffix;			/* the last `from` bytes */
	uint64_t from, to;
};

/* What http_parse returns, beside the status of a refusal: 400, 414, 431, 501 or 505. */
enum { HTTP_COMPLETE = 0, HTTP_MORE = 1 };

/* Parses the head at the beginning of `size` bytes.  HTTP_COMPLETE: *used bytes are the head.
 * HTTP_MORE: its end is not there yet. */
int http_parse(const char *data, size_t size, struct http_request *r, size_t *used);

#endif
