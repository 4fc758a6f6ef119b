/* http.c - the parser.  Each function takes what it recognises off the front of a piece of text. */
#include "http.h"

#include <string.h>
#include <strings.h>

struct text {
	const char *at;
	size_t size;
};

struct head {
	struct http_request *r;
	bool old;	/* HTTP/1.0 */
	bool has_host, has_length, has_encoding;
};

/* ---- characters ---- */

static bool is_token(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c != 0 && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool is_value(char c)
{
	return c == '\t' || ((unsigned char)c >= ' ' && c != 0x7f);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* ---- pieces ---- */

static bool same(struct text t, const char *word)
{
	return t.size == strlen(word) && strncasecmp(t.at, word, t.size) == 0;
}

/* What stands before `end`, which is taken off too.  False: there is none. */
static bool take_to(struct text *t, char end, struct text *piece)
{
	const char *found = memchr(t->at, end, t->size);

	if (found == NULL)
		return false;
	*piece = (struct text){t->at, (size_t)(found - t->at)};
	t->size -= piece->size + 1;
	t->at = found + 1;
	return true;
}

static struct text trimmed(struct text t)
{
	for (; t.size > 0 && is_space(t.at[0]); t.at++, t.size--)
		continue;
	while (t.size > 0 && is_space(t.at[t.size - 1]))
		t.size--;
	return t;
}

/* All of it is digits, 1 to 18 of them. */
static bool number_of(struct text t, uint64_t *value)
{
	if (t.size == 0 || t.size > 18)
		return false;
	for (*value = 0; t.size > 0; t.at++, t.size--) {
		if (t.at[0] < '0' || t.at[0] > '9')
			return false;
		*value = *value * 10 + (uint64_t)(t.at[0] - '0');
	}
	return true;
}

/* ---- the first line ---- */

/* "/.." and "/../" would leave the root. */
static bool climbs(const char *path)
{
	for (const char *p = path; (p = strstr(p, "/..")) != NULL; p += 3)
		if (p[3] == 0 || p[3] == '/')
			return true;
	return false;
}

static int parse_path(struct text t, char path[HTTP_PATH_MAX])
{
	size_t n = 0;
	struct text query;

	if (t.size == 0 || t.at[0] != '/')
		return 400;
	if (take_to(&t, '?', &query))
		t = query;	/* what stands before it */
	for (size_t i = 0; i < t.size; i++) {
		char c = t.at[i];

		if (c == '%') {
			const int high = i + 2 < t.size ? hex_digit(t.at[i + 1]) : -1;
			const int low = i + 2 < t.size ? hex_digit(t.at[i + 2]) : -1;

			if (high < 0 || low < 0 || (c = (char)(high << 4 | low)) == 0)
				return 400;
			i += 2;
		} else if (c <= ' ' || c == 0x7f) {
			return 400;
		}
		if (n + 1 >= HTTP_PATH_MAX)
			return 414;
		path[n++] = c;
	}
	path[n] = 0;
	return climbs(path) ? 400 : 0;
}

static int parse_first(struct text line, struct head *h)
{
	struct text method, target;

	if (!take_to(&line, ' ', &method) || !take_to(&line, ' ', &target) || method.size == 0)
		return 400;
	for (size_t i = 0; i < method.size; i++)
		if (!is_token(method.at[i]))
			return 400;
	if (line.size != 8 || memcmp(line.at, "HTTP/", 5) != 0 || line.at[6] != '.')
		return 400;
	if (line.at[5] != '1' || (line.at[7] != '0' && line.at[7] != '1'))
		return 505;
	h->old = line.at[7] == '0';
	h->r->keep_alive = !h->old;
	h->r->method = method.size == 3 && memcmp(method.at, "GET", 3) == 0    ? HTTP_GET
	               : method.size == 4 && memcmp(method.at, "HEAD", 4) == 0 ? HTTP_HEAD
	                                                                       : HTTP_OTHER;
	return parse_path(target, h->r->path);
}

/* ---- the other lines ---- */

/* "bytes=0-99", "bytes=100-", "bytes=-100".  Anything else is ignored, as the standard allows. */
static void parse_range(struct text t, struct http_request *r)
{
	struct text unit, from;
	uint64_t first = 0, last = UINT64_MAX;

	if (r->has_range || !take_to(&t, '=', &unit) || !same(unit, "bytes") ||
	    !take_to(&t, '-', &from))
		return;
	if (from.size == 0 ? !number_of(t, &first) : !number_of(from, &first))
		return;
	if (from.size > 0 && t.size > 0 && (!number_of(t, &last) || last < first))
		return;
	r->has_range = true;
	r->suffix = from.size == 0;
	r->from = first;
	r->to = last;
}

static void parse_connection(struct text t, struct head *h)
{
	struct text word;

	for (bool more = true; more;) {
		if (!(more = take_to(&t, ',', &word)))
			word = t;
		if (same(trimmed(word), "close"))
			h->r->keep_alive = false;
		else if (same(trimmed(word), "keep-alive") && h->old)
			h->r->keep_alive = true;
	}
}

static int parse_field(struct text name, struct text value, struct head *h)
{
	if (same(name, "host")) {
		if (h->has_host)
			return 400;
		h->has_host = true;
	} else if (same(name, "content-length")) {
		if (h->has_length || !number_of(value, &h->r->body))
			return 400;
		h->has_length = true;
	} else if (same(name, "transfer-encoding")) {
		h->has_encoding = true;
	} else if (same(name, "connection")) {
		parse_connection(value, h);
	} else if (same(name, "range")) {
		parse_range(value, h->r);
	}
	return 0;
}

static int parse_line(struct text line, struct head *h)
{
	struct text name;

	if (!take_to(&line, ':', &name) || name.size == 0)
		return 400;
	for (size_t i = 0; i < name.size; i++)
		if (!is_token(name.at[i]))
			return 400;
	for (size_t i = 0; i < line.size; i++)
		if (!is_value(line.at[i]))
			return 400;
	return parse_field(name, trimmed(line), h);
}

/* ---- the head ---- */

/* A line without its carriage return and line feed. */
static int take_line(struct text *t, struct text *line)
{
	if (!take_to(t, '\n', line))
		return HTTP_MORE;
	if (line->size == 0 || line->at[line->size - 1] != '\r')
		return 400;
	line->size--;
	return 0;
}

static int parse_lines(struct text t, struct head *h, size_t *used)
{
	const char *begin = t.at;
	struct text line;
	int status = take_line(&t, &line);

	if (status == 0)
		status = parse_first(line, h);
	while (status == 0 && (status = take_line(&t, &line)) == 0 && line.size > 0)
		status = parse_line(line, h);
	*used = (size_t)(t.at - begin);
	return status;
}

int http_parse(const char *data, size_t size, struct http_request *r, size_t *used)
{
	struct head h = {.r = r};
	int status;

	*r = (struct http_request){.keep_alive = false};
	*used = 0;
	status = parse_lines((struct text){data, size < HTTP_HEAD_MAX ? size : HTTP_HEAD_MAX}, &h,
	                     used);
	if (status == HTTP_MORE)
		return size >= HTTP_HEAD_MAX ? 431 : HTTP_MORE;
	if (status != 0)
		return status;
	if (!h.has_host && !h.old)
		return 400;
	if (h.has_encoding)
		return h.has_length || h.old ? 400 : 501;
	return HTTP_COMPLETE;
}
