/* main.c - ccc-ps: what the fibers of a process do, from outside.
 *
 * It reads the memory of the process, or of a core, and runs nothing in it.  docs/ccc-ps.md. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "view.h"

enum { GOOD, UNREADABLE, USAGE, NO_LIBRARY, OTHER_VERSION, INCOMPLETE };

static const char usage[] =
    "usage: ccc-ps [OPTION...] PID\n"
    "       ccc-ps [OPTION...] --core FILE [PROGRAM]\n"
    "Prints what the fibers of a program that uses libccc do.  The program is not stopped, and nothing\n"
    "runs in it.  Fibers that do the same are one line.\n"
    "\n"
    "  -t, --tree        nurseries with their children, below their owners\n"
    "  -s, --stacks      the calls that each parked fiber is in\n"
    "  -w, --watch[=N]   again every N seconds (1), until interrupted\n"
    "  -c, --core        FILE is a core; PROGRAM, if the program has been moved since\n"
    "  -j, --json        one JSON object a line\n"
    "  -a, --all         a line for each fiber\n"
    "  -f, --full        stacks with the frames of the library\n"
    "      --color=WHEN  always, never, or auto (on a terminal, without NO_COLOR)\n"
    "  -h, --help        this\n"
    "\n"
    "Exit status: 0; 1 there is no such process or file, or it cannot be read; 2 wrong arguments;\n"
    "3 it is not a program with libccc; 4 its libccc has a description of another version;\n"
    "5 part of it could not be read, for example because the core is truncated.\n";

enum form { LIST, TREE, STACKS };

struct options {
	enum form form;
	bool core, json, all, full;
	int colour;		/* 1 always, 0 auto, -1 never */
	double watch;		/* seconds; 0: once */
	const char *file, *program;
	pid_t pid;
};

/* ---- arguments ---- */

static int wrong(const char *text, const char *argument)
{
	fprintf(stderr, "ccc-ps: %s%s%s\n%s", text, argument != NULL ? ": " : "",
	        argument != NULL ? argument : "", usage);
	return USAGE;
}

static int read_watch(struct options *o, const char *text)
{
	char *end;

	o->watch = text != NULL ? strtod(text, &end) : 1;
	if (text != NULL && (*end != '\0' || !(o->watch >= 0.01 && o->watch <= 86400)))
		return wrong("--watch needs seconds", text);
	return GOOD;
}

static int read_colour(struct options *o, const char *text)
{
	o->colour = strcmp(text, "always") == 0 ? 1 : strcmp(text, "never") == 0 ? -1 : 0;
	return o->colour == 0 && strcmp(text, "auto") != 0 ? wrong("--color is always, never or auto", text)
	                                                   : GOOD;
}

static int read_operands(struct options *o, int count, char **operand)
{
	char *end;
	long pid;

	if (o->core && (count < 1 || count > 2))
		return wrong("--core needs FILE, and may have PROGRAM", NULL);
	if (o->core && o->watch > 0)
		return wrong("a core does not change: --watch needs PID", NULL);
	if (o->core) {
		o->file = operand[0];
		o->program = count > 1 ? operand[1] : NULL;
		return GOOD;
	}
	if (count != 1)
		return wrong(count == 0 ? "which process?" : "one process at a time", NULL);
	errno = 0;
	pid = strtol(operand[0], &end, 10);
	if (*end != '\0' || end == operand[0] || errno != 0 || pid <= 0 || pid > 1 << 30)
		return wrong("not a process id", operand[0]);
	o->pid = (pid_t)pid;
	return GOOD;
}

/* GOOD, or a status; -1: help was asked for. */
static int read_options(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {
	    {"tree", no_argument, NULL, 't'},    {"stacks", no_argument, NULL, 's'},
	    {"watch", optional_argument, NULL, 'w'}, {"core", no_argument, NULL, 'c'},
	    {"json", no_argument, NULL, 'j'},    {"all", no_argument, NULL, 'a'},
	    {"full", no_argument, NULL, 'f'},    {"color", required_argument, NULL, 'C'},
	    {"help", no_argument, NULL, 'h'},    {NULL, 0, NULL, 0}};
	int c, status = GOOD;

	while (status == GOOD && (c = getopt_long(argc, argv, "tsw::cjafh", longs, NULL)) != -1)
		switch (c) {
		case 't': o->form = TREE; break;
		case 's': o->form = STACKS; break;
		case 'w': status = read_watch(o, optarg); break;
		case 'c': o->core = true; break;
		case 'j': o->json = true; break;
		case 'a': o->all = true; break;
		case 'f': o->full = true; break;
		case 'C': status = read_colour(o, optarg); break;
		case 'h': return -1;
		default: fputs(usage, stderr); return USAGE;
		}
	return status != GOOD ? status : read_operands(o, argc - optind, argv + optind);
}

/* ---- one look ---- */

static void make_title(const struct options *o, const struct memory *m, char *title, size_t size)
{
	char path[64], name[64] = "process";
	FILE *f;

	if (o->core) {
		const char *slash = strrchr(o->file, '/');

		snprintf(title, size, "core %s", slash != NULL ? slash + 1 : o->file);
		return;
	}
	snprintf(path, sizeof path, "/proc/%d/comm", (int)m->pid);
	if ((f = fopen(path, "r")) != NULL) {
		if (fgets(name, sizeof name, f) == NULL)
			name[0] = '\0';
		fclose(f);
	}
	name[strcspn(name, "\n")] = '\0';
	snprintf(title, size, "%s (%d)", name, (int)m->pid);
}

static bool has_colour(const struct options *o)
{
	const char *no = getenv("NO_COLOR");

	return o->colour > 0 || (o->colour == 0 && isatty(STDOUT_FILENO) && (no == NULL || *no == '\0'));
}

static int terminal_columns(void)
{
	struct winsize w;

	return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 ? w.ws_col : 0;
}

static int print(const struct options *o, struct memory *m, const struct layout *l,
                 struct symbols *symbols)
{
	struct snapshot s;
	char title[300];
	struct view v = {.s = &s, .m = m, .l = l, .symbols = symbols, .title = title,
	                 .colour = has_colour(o), .all = o->all, .full = o->full,
	                 .stacks = o->form == STACKS, .columns = terminal_columns(), .out = stdout};
	int status = GOOD;

	if (!snapshot_take(&s, m, l)) {
		fputs("ccc-ps: out of memory\n", stderr);
		snapshot_free(&s);
		return UNREADABLE;
	}
	make_title(o, m, title, sizeof title);
	(o->json ? view_json : o->form == TREE ? view_tree : o->form == STACKS ? view_stacks : view_list)(&v);
	fflush(stdout);
	if (s.incomplete) {
		fprintf(stderr, "ccc-ps: %s\n",
		        memory_truncated(m) ? "the core is truncated: what it does not have is missing above"
		                            : "part of the memory could not be read: fibers may be missing above");
		status = INCOMPLETE;
	}
	snapshot_free(&s);
	memory_forget(m);
	return status;
}

static int status_of(enum layout_answer answer)
{
	return answer == LAYOUT_VERSION ? OTHER_VERSION : answer == LAYOUT_BROKEN ? UNREADABLE : NO_LIBRARY;
}

/* Every copy of the library that the process has. */
static int look(const struct options *o, struct memory *m, struct symbols *symbols)
{
	enum layout_answer answer;
	struct layout *l = malloc(sizeof *l);
	char why[400];
	size_t from = 0;
	int status = NO_LIBRARY;

	if (l == NULL)
		return UNREADABLE;
	while ((answer = layout_find(l, m, &from, why, sizeof why)) != LAYOUT_NONE)
		if (answer == LAYOUT_GOOD) {
			status = print(o, m, l, symbols);
		} else {
			fprintf(stderr, "ccc-ps: %s\n", why);
			status = status_of(answer);
		}
	if (status == NO_LIBRARY && answer == LAYOUT_NONE && memory_truncated(m)) {
		fputs("ccc-ps: the core is truncated: what is left of it does not lead to libccc\n", stderr);
		status = INCOMPLETE;
	} else if (status == NO_LIBRARY && answer == LAYOUT_NONE) {
		fputs("ccc-ps: no libccc, or one without a description, in ", stderr);
		if (o->core)
			fprintf(stderr, "the core %s\n", o->file);
		else
			fprintf(stderr, "process %d\n", (int)o->pid);
	}
	free(l);
	return status;
}

static int once(const struct options *o)
{
	struct memory m;
	struct symbols *symbols;
	char why[600];
	const char *text = o->core ? memory_of_core(&m, o->file, o->program, why, sizeof why)
	                           : memory_of_process(&m, o->pid, why, sizeof why);
	int status = UNREADABLE;

	if (text != NULL)
		fprintf(stderr, "ccc-ps: %s\n", text);
	else if ((symbols = symbols_open(&m, o->file, o->program)) == NULL)
		fputs("ccc-ps: out of memory\n", stderr);
	else {
		status = look(o, &m, symbols);
		symbols_close(symbols);
	}
	memory_free(&m);
	return status;
}

static int watch(const struct options *o)
{
	int status;

	for (;;) {
		if (isatty(STDOUT_FILENO))
			fputs("\033[H\033[2J", stdout);
		status = once(o);
		if (status != GOOD && status != INCOMPLETE)
			return status;
		if (!isatty(STDOUT_FILENO))
			fputc('\n', stdout);
		fflush(stdout);
		usleep((useconds_t)(o->watch * 1e6));
	}
}

int main(int argc, char **argv)
{
	struct options o = {.form = LIST};
	const int status = read_options(&o, argc, argv);

	if (status == -1) {
		fputs(usage, stdout);
		return GOOD;
	}
	if (status != GOOD)
		return status;
	return o.watch > 0 ? watch(&o) : once(&o);
}
