/* dump.c - collect what is alike, then write it. */
#include "monitor/dump.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "monitor/waits.h"
#include "os/fork.h"
#include "os/where.h"
#include "os/write.h"

enum { GROUPS = 128, DEEPEST = 30 };

struct dump_to {
	int fd;
	CCDumpFormat format;
	cc_time now;
};

/* Fibers, or threads, that are alike; told by the first of them. */
struct alike {
	CCFiberInfo info;	/* id 0: threads */
	const void *thread;	/* the first one's record */
	unsigned count;
	unsigned parent;	/* index + 1 of the group that owns their nursery; 0: none, or not known */
};

struct collection {
	struct cc__dumped all;
	unsigned used, left_out;
	struct alike group[GROUPS];
};

static bool same_wait(const CCFiberInfo *a, const CCFiberInfo *b)
{
	return a->state == b->state && a->wait == b->wait && a->object == b->object &&
	       a->task == b->task && (a->id == 0) == (b->id == 0) &&
	       (a->deadline == CC_FOREVER) == (b->deadline == CC_FOREVER) &&
	       a->nursery == b->nursery && a->function == b->function &&
	       strcmp(a->name, b->name) == 0;
}

static void add_to_group(struct collection *c, const CCFiberInfo *info, const void *thread)
{
	unsigned i = 0;

	if (info->state == CC_FIBER_PARKED || info->wait != CC_WAIT_NONE) {
		*(info->id != 0 ? &c->all.fibers : &c->all.threads) += 1;
		c->all.kinds |= 1u << info->wait;
	}
	while (i < c->used && !same_wait(&c->group[i].info, info))
		i++;
	if (i == GROUPS)
		c->left_out++;
	else if (i < c->used)
		c->group[i].count++;
	else
		c->group[c->used++] = (struct alike){.info = *info, .thread = thread, .count = 1};
}

static int collect_fiber(const CCFiberInfo *info, void *arg)
{
	add_to_group(arg, info, NULL);
	return 0;
}

/* A thread outside of any wait is not ours to tell of; an idle one of a pool waits for nothing. */
static bool collect_thread(void *record, void *arg)
{
	const struct cc__thread *t = record;
	CCFiberInfo info = {.state = CC_FIBER_PARKED};
	struct cc__waits w;

	/* Acquire: the record, from cc__thread_make. */
	if (cc__load(&t->live, CC__ACQUIRE) == CC__THREAD_NONE || !cc__waits_of_thread(t, &w) ||
	    w.what == CC__FOR_JOB)
		return true;
	info.wait = cc__waits_kind(&w);
	info.since = w.since;
	info.deadline = w.deadline;
	*(w.what == CC__FOR_TASK ? &info.task : (uint64_t *)(void *)&info.object) = w.which;
	add_to_group(arg, &info, t);
	return true;
}

/* ---- text ---- */

static const char *const waits[] = {
    [CC_WAIT_NONE] = "is about to wait",
    [CC_WAIT_RECV] = "waits to receive from channel",
    [CC_WAIT_SEND] = "waits to send to channel",
    [CC_WAIT_SELECT] = "waits in a select",
    [CC_WAIT_TASK] = "waits for the end of task",
    [CC_WAIT_NURSERY] = "waits for the children of nursery",
    [CC_WAIT_MUTEX] = "waits for mutex",
    [CC_WAIT_RWLOCK] = "waits for rwlock",
    [CC_WAIT_COND] = "waits for condition",
    [CC_WAIT_SEMAPHORE] = "waits for semaphore",
    [CC_WAIT_ONCE] = "waits for once",
    [CC_WAIT_BARRIER] = "waits at barrier",
    [CC_WAIT_WAIT_GROUP] = "waits for wait group",
    [CC_WAIT_TOKEN] = "waits for token",
    [CC_WAIT_PARK_WORD] = "waits on word",
    [CC_WAIT_SLEEP] = "sleeps",
    [CC_WAIT_FD] = "waits for a descriptor",
    [CC_WAIT_BLOCKING] = "waits for a blocking call",
    [CC_WAIT_OTHER] = "waits for something",
};

static const char *const kinds[] = {
    [CC_WAIT_NONE] = "none",           [CC_WAIT_RECV] = "recv",
    [CC_WAIT_SEND] = "send",           [CC_WAIT_SELECT] = "select",
    [CC_WAIT_TASK] = "task",           [CC_WAIT_NURSERY] = "nursery",
    [CC_WAIT_MUTEX] = "mutex",         [CC_WAIT_RWLOCK] = "rwlock",
    [CC_WAIT_COND] = "cond",           [CC_WAIT_SEMAPHORE] = "semaphore",
    [CC_WAIT_ONCE] = "once",           [CC_WAIT_BARRIER] = "barrier",
    [CC_WAIT_WAIT_GROUP] = "wait_group", [CC_WAIT_TOKEN] = "token",
    [CC_WAIT_PARK_WORD] = "park_word", [CC_WAIT_SLEEP] = "sleep",
    [CC_WAIT_FD] = "fd",               [CC_WAIT_BLOCKING] = "blocking",
    [CC_WAIT_OTHER] = "other",
};

static const char *const states[] = {
    [CC_FIBER_QUEUED] = "queued",
    [CC_FIBER_RUNNING] = "running",
    [CC_FIBER_PARKED] = "parked",
    [CC_FIBER_DONE] = "done",
};

struct dump_line {
	char text[800];
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void append(struct dump_line *l, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(l->text + l->used, sizeof l->text - l->used, format, args);
	va_end(args);
	l->used += n > 0 ? (size_t)n : 0;
	if (l->used >= sizeof l->text)
		l->used = sizeof l->text - 1;
}

static void append_place(struct dump_line *l, const char *verb, uintptr_t place)
{
	char where[160];

	cc__place_write(place, where, sizeof where);
	if (where[0] != '\0')
		append(l, " (%s at %s)", verb, where);
}

/* A lock or the like in static memory has a name in the program's table of symbols. */
static void append_object(struct dump_line *l, CCWaitKind kind, const void *object)
{
	struct cc__waited_object o;
	char where[160];

	if (!cc__object_of(kind, object, &o)) {
		cc__where(object, where, sizeof where);
		append(l, " %s", where);
		return;
	}
	append(l, " %p", object);
	if (o.name[0] != '\0')
		append(l, " '%s'", o.name);
	append_place(l, kind == CC_WAIT_NURSERY ? "opened" : "created", o.place);
}

static void append_wait(struct dump_line *l, const CCFiberInfo *i, cc_time now)
{
	append(l, " %s", waits[i->wait]);
	if (i->wait == CC_WAIT_TASK)
		append(l, " %" PRIu64, i->task);
	else if (i->object != NULL)
		append_object(l, i->wait, i->object);
	if (i->since != 0)
		append(l, ", for %.1f s", (double)(now - i->since) / CC_SEC);
	if (i->deadline != CC_FOREVER)
		append(l, ", until %.1f s from now", (double)(i->deadline - now) / CC_SEC);
}

static void append_family(struct dump_line *l, const CCFiberInfo *i, bool below_owner)
{
	char where[160];

	if (i->place != NULL) {
		append(l, "; spawned at %s", i->place);
	} else if (i->spawned_at != NULL) {
		cc__where((const char *)i->spawned_at - 1, where, sizeof where);
		append(l, "; spawned at %s", where);
	}
	if (i->nursery != NULL && below_owner)
		append(l, "; in nursery %p", i->nursery);
	else if (i->nursery != NULL) {
		append(l, "; in nursery");
		append_object(l, CC_WAIT_NURSERY, i->nursery);
	}
	if (i->function != NULL && i->place == NULL) {
		cc__where(i->function, where, sizeof where);
		append(l, ", runs %s", where);
	}
}

static void put_text(struct dump_line *l, const struct alike *a, unsigned depth, cc_time now)
{
	const CCFiberInfo *i = &a->info;

	append(l, "%*s", 2 * (int)depth + 2, "");
	if (i->id == 0)
		append(l, "thread %p", a->thread);
	else
		append(l, "fiber %" PRIu64, i->id);
	if (i->name[0] != '\0')
		append(l, " '%s'", i->name);
	if (i->state == CC_FIBER_PARKED)
		append_wait(l, i, now);
	else if (i->wait == CC_WAIT_TASK)
		append(l, " waits for the end of task %" PRIu64 ", which runs on its stack", i->task);
	else if (i->state == CC_FIBER_RUNNING)
		append(l, " is running on worker %u", i->worker);
	else
		append(l, " is %s", states[i->state]);
	append_family(l, i, depth > 0);
	if (a->count > 1)
		append(l, " (and %u more like this)", a->count - 1);
	append(l, "\n");
}

/* ---- JSON ---- */

static void append_string(struct dump_line *l, const char *key, const char *text)
{
	append(l, ",\"%s\":\"", key);
	for (const char *c = text; *c != '\0'; c++)
		append(l, *c < ' ' || *c == '"' || *c == '\\' ? "\\u%04x" : "%c", (unsigned char)*c);
	append(l, "\"");
}

static void append_json_object(struct dump_line *l, const CCFiberInfo *i)
{
	struct cc__waited_object o;
	const char *line;

	if (!cc__object_of(i->wait, i->object, &o))
		return;
	append_string(l, "object_name", o.name);
	if ((line = cc__place_line(o.place)) != NULL)
		append_string(l, "object_place", line);
	else
		append(l, ",\"object_created_at\":\"0x%" PRIxPTR "\"", o.place);
}

static void put_json(struct dump_line *l, const struct alike *a, cc_time now)
{
	const CCFiberInfo *i = &a->info;

	append(l, "{\"kind\":\"%s\",\"id\":%" PRIu64, i->id != 0 ? "fiber" : "thread", i->id);
	append_string(l, "name", i->name);
	append(l, ",\"state\":\"%s\",\"wait\":\"%s\",\"object\":\"0x%" PRIxPTR "\",\"task\":%" PRIu64,
	       states[i->state], kinds[i->wait], (uintptr_t)i->object, i->task);
	append(l, ",\"nursery\":\"0x%" PRIxPTR "\",\"function\":\"0x%" PRIxPTR "\"",
	       (uintptr_t)i->nursery, (uintptr_t)i->function);
	if (i->place != NULL)
		append_string(l, "place", i->place);
	else
		append(l, ",\"spawned_at\":\"0x%" PRIxPTR "\"", (uintptr_t)i->spawned_at);
	append_json_object(l, i);
	append(l, ",\"since_ns\":%lld", i->since != 0 ? (long long)(now - i->since) : -1LL);
	if (i->wait != CC_WAIT_NONE && i->deadline != CC_FOREVER)
		append(l, ",\"deadline_ns\":%lld", (long long)(i->deadline - now));
	append(l, ",\"count\":%u}\n", a->count);
}

/* ---- the tree ---- */

/* The group of a parker, which is compared and never followed; 0: none. */
static unsigned group_of(const struct collection *c, const struct cc__parker *owner)
{
	for (unsigned i = 0; i < c->used && owner != NULL; i++)
		if (c->group[i].thread == owner || c->group[i].info.frame == (const void *)owner)
			return i + 1;
	return 0;
}

static void find_parents(struct collection *c)
{
	struct cc__waited_object o;

	for (unsigned i = 0; i < c->used; i++)
		if (cc__object_of(CC_WAIT_NURSERY, c->group[i].info.nursery, &o))
			c->group[i].parent = group_of(c, o.owner);
}

static bool put_group(const struct collection *c, const struct dump_to *to, unsigned i, unsigned depth)
{
	struct dump_line l = {.used = 0};
	bool good;

	if (to->format == CC_DUMP_JSON)
		put_json(&l, &c->group[i], to->now);
	else
		put_text(&l, &c->group[i], depth, to->now);
	good = cc__write_all(to->fd, l.text, l.used);
	for (unsigned n = 0; n < c->used && good && depth < DEEPEST; n++)
		if (c->group[n].parent == i + 1)
			good = put_group(c, to, n, depth + 1);
	return good;
}

/* A group that is its own ancestor, because frames were reused meanwhile, has no root above it. */
static bool has_root(const struct collection *c, unsigned i)
{
	for (unsigned depth = 0; depth < DEEPEST; depth++) {
		if (c->group[i].parent == 0)
			return true;
		i = c->group[i].parent - 1;
	}
	return false;
}

/* ---- all ---- */

int cc__dump(int fd, CCDumpFormat format, struct cc__dumped *all)
{
	const struct dump_to to = {fd, format, cc__now()};
	struct collection c = {.used = 0};
	bool good = true;

	if (cc_fiber_each(collect_fiber, &c) != 0)
		return ENOTSUP;
	cc__thread_walk(collect_thread, &c);
	if (all != NULL)
		*all = c.all;
	if (fd < 0)
		return 0;
	find_parents(&c);
	for (unsigned i = 0; i < c.used; i++)
		if (!has_root(&c, i))
			c.group[i].parent = 0;
	for (unsigned i = 0; i < c.used && good; i++)
		if (c.group[i].parent == 0)
			good = put_group(&c, &to, i, 0);
	if (c.left_out > 0 && good && format == CC_DUMP_TEXT) {
		struct dump_line l = {.used = 0};

		append(&l, "  and %u more, which are different\n", c.left_out);
		good = cc__write_all(fd, l.text, l.used);
	}
	return good ? 0 : EBADF;
}

int cc_dump_as(int fd, CCDumpFormat format)
{
	if (cc__forked())
		return ENOTSUP;
	if (fd < 0)
		return EBADF;
	return (unsigned)format > CC_DUMP_JSON ? EINVAL : cc__dump(fd, format, NULL);
}

int cc_dump(int fd)
{
	return cc_dump_as(fd, CC_DUMP_TEXT);
}
