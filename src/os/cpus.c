/* cpus.c - CPUs by affinity mask and by cgroup quota.
 *
 * A cgroup's quota binds everything below it, so the smallest on the way from
 * our own group up to the mount is ours.  Version 1 has a mount a controller,
 * version 2 one for all; both may be there at once.  In a namespace or a
 * container the mount may show a part of the tree only: its root, in mountinfo,
 * says which.  What cannot be read or understood limits nothing. */
#include "os/cpus.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/number.h"

/* ---- the affinity mask ---- */

enum { CPUS_MAX = 1 << 20 };

/* CPUs in the mask if it fits into one of `room` bits, else 0 with *larger
 * true where more room may help. */
static unsigned count_mask(unsigned room, bool *larger)
{
	cpu_set_t *mask = CPU_ALLOC(room);
	const size_t size = CPU_ALLOC_SIZE(room);
	unsigned n = 0;

	*larger = false;
	if (mask == NULL)
		return 0;
	CPU_ZERO_S(size, mask);
	if (sched_getaffinity(0, size, mask) == 0)
		n = (unsigned)CPU_COUNT_S(size, mask);
	else
		*larger = errno == EINVAL;
	CPU_FREE(mask);
	return n;
}

unsigned cc__cpus_allowed(void)
{
	unsigned n = 0;
	bool larger = true;

	for (unsigned room = CPU_SETSIZE; larger && room <= CPUS_MAX; room *= 2)
		n = count_mask(room, &larger);
	return n > 0 ? n : 1;
}

/* ---- cgroups ---- */

struct search {
	const char *root;		/* before every path */
	unsigned least;			/* CPUs by the smallest quota so far */
	char line[3 * PATH_MAX];	/* of a file in /proc */
	char own[PATH_MAX];		/* our group, as /proc/self/cgroup names it */
	char dir[PATH_MAX];		/* the group that is looked at */
	char file[PATH_MAX + 32];	/* of it */
};

static void count_quota(struct search *s, uint64_t quota, uint64_t period)
{
	uint64_t cpus;

	if (quota == 0 || period == 0)
		return;
	cpus = quota / period + (quota % period != 0);
	if (cpus < s->least)
		s->least = (unsigned)cpus;
}

/* The first line of a file of s->dir. */
static bool read_line(struct search *s, const char *name, char *text, int size)
{
	FILE *f;
	bool ok;

	snprintf(s->file, sizeof s->file, "%s/%s", s->dir, name);
	if ((f = fopen(s->file, "re")) == NULL)
		return false;
	if ((ok = fgets(text, size, f) != NULL))
		text[strcspn(text, "\n")] = '\0';
	fclose(f);
	return ok;
}

static bool only_number(const char *text, uint64_t *out)
{
	const char *end = cc__number(text, out);

	return end != NULL && *end == '\0';
}

/* "max" and -1 stand for no quota, and are no numbers. */
static void look_v2(struct search *s)
{
	uint64_t quota, period;
	const char *end;
	char text[64];

	if (read_line(s, "cpu.max", text, sizeof text) &&
	    (end = cc__number(text, &quota)) != NULL && *end == ' ' &&
	    only_number(end + 1, &period))
		count_quota(s, quota, period);
}

static void look_v1(struct search *s)
{
	uint64_t quota, period;
	char text[64];

	if (read_line(s, "cpu.cfs_quota_us", text, sizeof text) && only_number(text, &quota) &&
	    read_line(s, "cpu.cfs_period_us", text, sizeof text) && only_number(text, &period))
		count_quota(s, quota, period);
}

static bool listed(const char *list, const char *name)
{
	const size_t n = strlen(name);

	while (strncmp(list, name, n) != 0 || (list[n] != ',' && list[n] != '\0')) {
		if ((list = strchr(list, ',')) == NULL)
			return false;
		list++;
	}
	return true;
}

static bool is_v2(const char *id, const char *controllers)
{
	return strcmp(id, "0") == 0 && *controllers == '\0';
}

static bool is_v1(const char *id, const char *controllers)
{
	(void)id;
	return listed(controllers, "cpu");
}

static const struct version {
	const char *type;	/* of the mount's file system */
	const char *option;	/* of the mount; NULL: any */
	bool (*ours)(const char *id, const char *controllers);
	void (*look)(struct search *s);
} versions[] = {
    {"cgroup2", NULL, is_v2, look_v2},
    {"cgroup", "cpu", is_v1, look_v1},
};

/* A line of /proc/self/cgroup, id:controllers:path.  True: it is the one. */
static bool own_group(struct search *s, const struct version *v, char *line)
{
	const char *id = strsep(&line, ":");
	const char *controllers = strsep(&line, ":");

	if (line == NULL || *line != '/' || !v->ours(id, controllers))
		return false;
	return (size_t)snprintf(s->own, sizeof s->own, "%s", line) < sizeof s->own;
}

/* What mountinfo writes as \ooo, in place. */
static void unescape(char *text)
{
	char *to = text;

	while (*text != '\0') {
		if (*text == '\\' && strspn(text + 1, "01234567") >= 3) {
			*to++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 |
			               (text[3] - '0'));
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

static bool climbs(const char *path)
{
	return strncmp(path, "/..", 3) == 0 && (path[3] == '/' || path[3] == '\0');
}

/* What our path has below `root`: where we are, seen from the mount.  A root
 * above our namespace ("/..") is an ancestor of ours, and all that it shows of
 * the way is itself.  NULL: we are not below. */
static const char *below(const char *own, const char *root)
{
	const size_t n = strcmp(root, "/") == 0 ? 0 : strlen(root);

	if (strncmp(own, root, n) == 0 && (own[n] == '/' || own[n] == '\0') && !climbs(own + n))
		return strcmp(own + n, "/") == 0 ? "" : own + n;
	while (climbs(root))
		root += 3;
	return *root == '\0' ? "" : NULL;
}

/* Every group from `point` down to `way` below it. */
static void look_along(struct search *s, const struct version *v, const char *point,
                       const char *way)
{
	const size_t top = strlen(s->root) + strlen(point);

	if ((size_t)snprintf(s->dir, sizeof s->dir, "%s%s%s", s->root, point, way) >= sizeof s->dir)
		return;
	v->look(s);
	while (strlen(s->dir) > top) {
		*strrchr(s->dir, '/') = '\0';
		v->look(s);
	}
}

/* A line of /proc/self/mountinfo:
 *	id parent device ROOT POINT options ... - TYPE source OPTIONS
 * False: go on, there may be other mounts. */
static bool mounted(struct search *s, const struct version *v, char *line)
{
	char *root, *point, *field;
	const char *type, *way;

	for (int i = 0; i < 3; i++)
		(void)strsep(&line, " ");
	root = strsep(&line, " ");
	point = strsep(&line, " ");
	do
		field = strsep(&line, " ");
	while (field != NULL && strcmp(field, "-") != 0);
	type = strsep(&line, " ");
	(void)strsep(&line, " ");
	if (line == NULL || strcmp(type, v->type) != 0 ||
	    (v->option != NULL && !listed(line, v->option)))
		return false;
	unescape(root);
	unescape(point);
	if ((way = below(s->own, root)) != NULL)
		look_along(s, v, point, way);
	return false;
}

/* The next line that fits, without its end.  Those of cgroup mounts do. */
static bool next_line(struct search *s, FILE *f)
{
	bool whole = true;

	while (fgets(s->line, sizeof s->line, f) != NULL) {
		const size_t n = strcspn(s->line, "\n");
		const bool ends = s->line[n] == '\n' || feof(f);

		s->line[n] = '\0';
		if (whole && ends)
			return true;
		whole = ends;	/* what follows is the rest of this one */
	}
	return false;
}

/* True if `visit` said so of a line of the file. */
static bool each_line(struct search *s, const struct version *v, const char *path,
                      bool (*visit)(struct search *s, const struct version *v, char *line))
{
	bool found = false;
	FILE *f;

	snprintf(s->file, sizeof s->file, "%s%s", s->root, path);
	if ((f = fopen(s->file, "re")) == NULL)
		return false;
	while (!found && next_line(s, f))
		found = visit(s, v, s->line);
	fclose(f);
	return found;
}

unsigned cc__cpus_quota(const char *root)
{
	struct search *s = malloc(sizeof *s);	/* too large for a fiber's stack */
	unsigned least;

	if (s == NULL)
		return 0;
	s->root = root;
	s->least = UINT_MAX;
	for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
		if (each_line(s, &versions[i], "/proc/self/cgroup", own_group))
			each_line(s, &versions[i], "/proc/self/mountinfo", mounted);
	least = s->least;
	free(s);
	return least < UINT_MAX ? least : 0;
}

unsigned cc__cpus_usable(void)
{
	const unsigned allowed = cc__cpus_allowed(), quota = cc__cpus_quota("");

	return quota != 0 && quota < allowed ? quota : allowed;
}
