/* ccsum - SHA-256 checksums of many files at the same time, as sha256sum prints and checks them.
 *
 * The main thread makes the list of all files.  A fiber starts one child for each file, and an
 * ordered channel carries the children to the main thread, which prints in the order of the list.
 * A child takes a hasher from a pool; the pool has two for each worker, so that one worker can
 * begin with another file while a temporary worker waits for a slow read.
 *
 * list.c makes the list; threads.c does the same as this file on plain threads, for comparison. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/evp.h>

#include <ccc/ccc.h>

#include "ccsum.h"

static struct list list;
static struct {
	int recursive, check, quiet, status, warn, strict, ignore_missing, threads;
	unsigned processes;
} options;
/* Lists that could not be read; files; lines of lists.  Of the main thread. */
static unsigned long failures, unreadable, mismatched, matched, malformed;

/* ---- hashing ---- */

struct hasher {
	EVP_MD_CTX *context;
	unsigned char buffer[BUFFER];
};

static EVP_MD *sha256;	/* constant */

void hasher_free(struct hasher *h)
{
	if (h != NULL)
		EVP_MD_CTX_free(h->context);
	free(h);
}

struct hasher *hasher_new(void)
{
	struct hasher *h = malloc(sizeof *h);

	if (h != NULL)
		h->context = EVP_MD_CTX_new();
	return h;	/* without a context the initialization of a digest fails */
}

static int hash_descriptor(struct hasher *h, int fd, char *sum)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	ssize_t n;

	if (!EVP_DigestInit_ex(h->context, sha256, NULL))
		return ENOMEM;
	while ((n = read(fd, h->buffer, sizeof h->buffer)) != 0)
		if (n > 0)
			EVP_DigestUpdate(h->context, h->buffer, (size_t)n);
		else if (errno != EINTR)
			return errno;
	EVP_DigestFinal_ex(h->context, digest, NULL);
	for (int i = 0; i < HEX / 2; i++)
		sprintf(sum + 2 * i, "%02x", digest[i]);
	return 0;
}

void hash_entry(struct hasher *h, struct entry *e)
{
	const bool standard = strcmp(e->name, "-") == 0;
	int fd;

	if (e->error != 0)
		return;	/* it was met when the list was made */
	fd = standard ? STDIN_FILENO : open(e->name, O_RDONLY | O_CLOEXEC);
	e->error = fd < 0 ? errno : hash_descriptor(h, fd, e->sum);
	if (fd > STDIN_FILENO)
		close(fd);
}

/* ---- printing ---- */

/* Prints a name, as it is or with line breaks and backslashes escaped. */
static void print_name(const char *name, bool escaped)
{
	for (; *name != '\0'; name++)
		if (escaped && strchr("\\\n\r", *name) != NULL)
			printf("\\%c", *name == '\\' ? '\\' : *name == '\n' ? 'n' : 'r');
		else
			putchar(*name);
}

static void print_verdict(const struct entry *e, const char *verdict, bool wanted)
{
	const bool escaped = strpbrk(e->name, "\n\r") != NULL;

	if (options.status || !wanted)
		return;
	fputs(escaped ? "\\" : "", stdout);
	print_name(e->name, escaped);
	printf(": %s\n", verdict);
}

/* A name is escaped if it has a line break or a backslash, and a \ before the sum says so. */
static void print_sum(const struct entry *e)
{
	const bool escaped = strpbrk(e->name, "\\\n\r") != NULL;

	printf("%s%s  ", escaped ? "\\" : "", e->sum);
	print_name(e->name, escaped);
	putchar('\n');
}

void print_entry(const struct entry *e)
{
	if (e->error == ENOENT && options.ignore_missing && options.check)
		return;
	if (e->error != 0) {
		unreadable++;
		fprintf(stderr, "ccsum: %s: %s\n", e->name, strerror(e->error));
		if (options.check)
			print_verdict(e, "FAILED open or read", true);
	} else if (options.check) {
		const bool same = strcasecmp(e->sum, e->expected) == 0;

		*(same ? &matched : &mismatched) += 1;
		print_verdict(e, same ? "OK" : "FAILED", !same || !options.quiet);
	} else {
		print_sum(e);
	}
}

/* ---- on fibers ---- */

cc_chan_type(Hashers, struct hasher *);
struct item {
	CCTask task;	/* that hashes the entry */
	struct entry *entry;
};
cc_chan_type(Items, struct item);

static int create_hasher(void *context, void *item)
{
	(void)context;
	return (*(struct hasher **)item = hasher_new()) != NULL ? 0 : ENOMEM;
}

static void destroy_hasher(void *context, void *item)
{
	(void)context;
	hasher_free(*(struct hasher **)item);
}

static cc_task_fn(hash_one, struct entry *entry; Hashers pool;)
{
	struct hasher *h;

	cc_try(cc_recv(self->pool, &h));
	hash_entry(h, self->entry);
	return cc_send(self->pool, h);
}

static cc_task_fn(start_all, ItemsTx out; Hashers pool;)
{
	for (size_t i = 0; i < list.count; i++) {
		struct item item = {.entry = &list.entries[i]};

		cc_try(cc_spawn_send(self->out, &item, hash_one, .entry = item.entry,
		                     .pool = self->pool));
	}
	return cc_close(self->out);
}

static int run_fibers(CCRuntime *runtime)
{
	const CCChanOptions owned = {
	    .kind = CC_CHAN_KIND_OWNED, .create = create_hasher, .destroy = destroy_hasher};
	const CCNurseryOptions nursery = {.runtime = runtime};
	Items items = cc_chan_make_ordered(Items, 64 * options.processes);
	Hashers pool = {0};
	int err = cc_chan_create(&pool.chan, sizeof(struct hasher *), 2 * options.processes,
	                         &owned);

	if (err == 0 && items.chan == NULL)
		err = ENOMEM;
	if (err == 0)
		cc_nursery_scope_with(n, &err, &nursery) {
			struct item item;

			cc_spawn(n, start_all, .out = items.tx, .pool = pool);
			while (cc_recv(items, &item) == 0 &&
			       cc_task_join(item.task, CC_FOREVER, NULL) == 0)
				print_entry(item.entry);
		}
	cc_free(items);
	cc_free(pool);
	return err;
}

static int run_on_fibers(void)
{
	CCConfig config;
	CCRuntime *runtime;
	int err;

	cc_try(cc_config_init(&config));
	config.workers = options.processes;
	cc_try(cc_runtime_new(&runtime, &config));
	err = run_fibers(runtime);
	cc_ignore(cc_runtime_free(runtime));
	return err;
}

/* ---- the command line ---- */

static const char help[] =
    "Usage: ccsum [OPTION]... [FILE]...\n"
    "Prints the SHA-256 checksum of each FILE, many files at the same time, as sha256sum does.\n"
    "Without FILE, or where FILE is -, reads standard input.\n"
    "\n"
    "  -c, --check           read sums from the FILEs and check the files that they name\n"
    "      --engine=NAME     what runs the files, for comparisons: fiber (default) or thread\n"
    "  -h, --help            print this text\n"
    "      --ignore-missing  with -c, do not report files that are not there\n"
    "  -p, --processes=N     work on N files at the same time; default: the processors, here %u\n"
    "      --quiet           with -c, do not print OK for each file\n"
    "  -r, --recursive       all files below each FILE that is a directory\n"
    "      --status          with -c, print nothing: the exit status tells\n"
    "      --strict          with -c, lines that are no sums are errors\n"
    "  -V, --version         print the version\n"
    "  -w, --warn            with -c, report each line that is no sum\n"
    "\n"
    "Exit status: 0, or 1 if a file could not be read or a sum is wrong.\n";

enum { OPTION_ENGINE = 256 };
static const struct option long_options[] = {
    {"check", no_argument, NULL, 'c'},
    {"engine", required_argument, NULL, OPTION_ENGINE},
    {"help", no_argument, NULL, 'h'},
    {"ignore-missing", no_argument, &options.ignore_missing, 1},
    {"processes", required_argument, NULL, 'p'},
    {"quiet", no_argument, &options.quiet, 1},
    {"recursive", no_argument, NULL, 'r'},
    {"status", no_argument, &options.status, 1},
    {"strict", no_argument, &options.strict, 1},
    {"version", no_argument, NULL, 'V'},
    {"warn", no_argument, NULL, 'w'},
    {NULL, 0, NULL, 0},
};

static void fail(const char *text, const char *value)
{
	fprintf(stderr, "ccsum: %s%s; try ccsum --help\n", text, value);
	exit(1);
}

static void apply(int option, const char *value)
{
	switch (option) {
	case 0:	/* getopt has set the flag */
		break;
	case 'c':
		options.check = 1;
		break;
	case 'r':
		options.recursive = 1;
		break;
	case 'w':
		options.warn = 1;
		break;
	case 'p':
		options.processes = (unsigned)strtoul(value, NULL, 10);
		if (options.processes < 1 || options.processes > 256)
			fail("--processes wants 1 to 256, not ", value);
		break;
	case OPTION_ENGINE:
		options.threads = strcmp(value, "thread") == 0;
		if (!options.threads && strcmp(value, "fiber") != 0)
			fail("--engine wants fiber or thread, not ", value);
		break;
	case 'h':
		printf(help, options.processes);
		exit(fflush(stdout) != 0);
	case 'V':
		printf("ccsum %d.%d.%d\n", CC_VERSION_MAJOR, CC_VERSION_MINOR, CC_VERSION_PATCH);
		exit(fflush(stdout) != 0);
	default:
		fail("unknown option", "");
	}
}

static void take_file(char *name)
{
	int err;

	if (!options.check) {
		if (options.recursive && strcmp(name, "-") != 0)
			list_tree(&list, name);
		else
			list_file(&list, name);
	} else if ((err = list_sums(&list, name, options.warn != 0, &malformed)) != 0) {
		failures++;
		fprintf(stderr, "ccsum: %s: %s\n", name,
		        err == ENOMSG ? "no properly formatted checksum lines found"
		                      : strerror(err));
	}
}

/* The closing lines of -c, as sha256sum writes them. */
static void warn_of(unsigned long count, const char *one, const char *many)
{
	if (count != 0 && !options.status)
		fprintf(stderr, "ccsum: WARNING: %lu %s\n", count, count == 1 ? one : many);
}

int main(int argc, char **argv)
{
	CCConfig config;
	int option, err;

	if (cc_config_init(&config) != 0)
		return 1;
	options.processes = config.workers;
	while ((option = getopt_long(argc, argv, "chp:rVw", long_options, NULL)) != -1)
		apply(option, optarg);
	if (optind == argc)
		take_file((char[]){"-"});
	for (int i = optind; i < argc; i++)
		take_file(argv[i]);
	sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
	err = options.threads ? run_on_threads(&list, options.processes) : run_on_fibers();
	if (err == 0 && fflush(stdout) != 0)
		err = errno;
	if (err != 0)
		fprintf(stderr, "ccsum: %s\n", strerror(err));
	if (options.check) {
		warn_of(malformed, "line is improperly formatted",
		        "lines are improperly formatted");
		warn_of(unreadable, "listed file could not be read",
		        "listed files could not be read");
		warn_of(mismatched, "computed checksum did NOT match",
		        "computed checksums did NOT match");
		if (options.ignore_missing && matched + mismatched + failures == 0)
			fail("no file was verified", "");
	}
	list_free(&list);
	EVP_MD_free(sha256);
	return err != 0 || failures + unreadable + mismatched != 0 ||
	       (options.strict && malformed != 0);
}
