/* ccsum - SHA-256 sums of many files at the same time, as sha256sum prints and checks them.
 *
 *      add_all -> hash, many at once -> ordered channel -> print, main thread
 *
 * One fiber finds the files and starts a child for each.  The ordered channel, whose capacity
 * limits how many there are, carries the children in the order in which they were started to the
 * main thread, which joins each of them before it prints the sum. */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <openssl/evp.h>
#include <ccc/ccc.h>

enum { HEX = 64 };	/* digits of a sum */

struct file {
	int error;		/* why there is no sum, or 0 */
	char sum[HEX + 3];	/* with room for two blanks */
	char expected[HEX + 1];	/* the sum in the list, with -c */
	char name[];
};

struct item {
	CCTask task;	/* hashes the file */
	struct file *file;
};
cc_chan_type(Items, struct item);

static bool given[256];	/* the options of the command line, by their letters */
static Items items;
static unsigned long added, malformed;		/* add_all, while it runs */
static unsigned long mismatched, unreadable;	/* the main thread */

static int hash_descriptor(int fd, char *sum)
{
	unsigned char data[32 << 10], digest[EVP_MAX_MD_SIZE];
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	ssize_t n;
	int err = context != NULL && EVP_DigestInit_ex(context, EVP_sha256(), NULL) ? 0 : ENOMEM;

	while (err == 0 && (n = read(fd, data, sizeof data)) != 0)
		if (n > 0)
			EVP_DigestUpdate(context, data, (size_t)n);
		else if (errno != EINTR)
			err = errno;
	if (err == 0)
		EVP_DigestFinal_ex(context, digest, NULL);
	for (int i = 0; err == 0 && i < HEX / 2; i++)
		sprintf(sum + 2 * i, "%02x", digest[i]);
	EVP_MD_CTX_free(context);
	return err;
}

/* A file that cannot be read is no error of the task, so the other files are hashed. */
static cc_task_fn(hash, struct file *file;)
{
	struct file *f = self->file;
	const bool standard = strcmp(f->name, "-") == 0;
	const int fd = standard ? STDIN_FILENO : open(f->name, O_RDONLY | O_CLOEXEC);

	if (f->error == 0)
		f->error = fd < 0 ? errno : hash_descriptor(fd, f->sum);
	if (fd >= 0 && !standard)
		close(fd);
	return 0;
}

/* Starts a child for a file, or for the `error` that the search for files met there. */
static int add(const char *name, const char *expected, int error)
{
	struct item item = {.file = calloc(1, sizeof *item.file + strlen(name) + 1)};

	if (item.file == NULL)
		return ENOMEM;
	item.file->error = error;
	strcpy(item.file->expected, expected);
	strcpy(item.file->name, name);
	added++;
	return cc_spawn_send(items.tx, &item, hash, .file = item.file);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Adds the regular files below a directory, or `path` itself if it is one. */
static int add_tree(char *path)
{
	FTS *tree = fts_open((char *[]){path, NULL}, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR,
	                     by_name);
	const FTSENT *f;
	int err = 0;

	if (tree == NULL)
		return add(path, "", errno);
	while (err == 0 && (f = fts_read(tree)) != NULL)
		if (f->fts_info == FTS_F || f->fts_info == FTS_DNR || f->fts_info == FTS_ERR ||
		    f->fts_info == FTS_NS)
			err = add(f->fts_path, "", f->fts_info == FTS_F ? 0 : f->fts_errno);
	fts_close(tree);
	return err;
}

/* Undoes the escapes of print_name.  Returns false if there are others. */
static bool unescape(char *name)
{
	char *to = name;

	for (; *name != '\0'; name++, to++)
		if ((*to = *name) == '\\') {
			const char *known = strchr("\\\\n\nr\r", *++name);

			if (*name == '\0' || known == NULL)
				return false;
			*to = known[1];
		}
	*to = '\0';
	return true;
}

/* Adds the file of a line "SUM  NAME" or "SUM *NAME". */
static int add_line(char *line)
{
	char *start = line + strspn(line, " \t");
	const bool escaped = *start == '\\';
	char *sum = start + escaped, *name = sum + HEX + 2;

	if (strspn(sum, "0123456789abcdefABCDEF") != HEX || sum[HEX] != ' ' ||
	    (sum[HEX + 1] != ' ' && sum[HEX + 1] != '*') || *name == '\0' ||
	    (escaped && !unescape(name))) {
		malformed++;
		return 0;
	}
	sum[HEX] = '\0';
	return add(name, sum, 0);
}

/* Adds the files of a list of sums. */
static int add_list(FILE *list)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t n;
	int err = 0;

	while (err == 0 && (n = getline(&line, &size, list)) > 0) {
		while (n > 0 && strchr("\r\n", line[n - 1]) != NULL)
			line[--n] = '\0';
		if (n > 0 && *line != '#')
			err = add_line(line);
	}
	free(line);
	return err == 0 && ferror(list) ? EIO : err;
}

/* Adds the files of a list, or else those of the command line, which a NULL ends. */
static cc_task_fn(add_all, FILE *list; char **names;)
{
	if (self->list != NULL)
		cc_try(add_list(self->list));
	else
		for (char **name = self->names; *name != NULL; name++)
			cc_try(given['r'] && strcmp(*name, "-") != 0 ? add_tree(*name)
			                                             : add(*name, "", 0));
	return cc_close(items);
}

/* Prints a line with a name in it.  If the name has a character of `special`, a backslash begins
 * the line, and backslashes and line breaks in the name are escaped. */
static void print_name(const char *before, const char *name, const char *special, const char *after)
{
	const bool escaped = strpbrk(name, special) != NULL;

	printf("%s%s", escaped ? "\\" : "", before);
	for (; *name != '\0'; name++)
		if (escaped && strchr("\\\n\r", *name) != NULL)
			printf("\\%c", *name == '\\' ? '\\' : *name == '\n' ? 'n' : 'r');
		else
			putchar(*name);
	puts(after);
}

static void print(struct file *f)
{
	const bool match = strcasecmp(f->sum, f->expected) == 0;
	const char *verdict = match ? ": OK" : ": FAILED";

	if (f->error != 0) {
		unreadable++;
		fprintf(stderr, "ccsum: %s: %s\n", f->name, strerror(f->error));
		verdict = ": FAILED open or read";
	}
	mismatched += f->error == 0 && !match;
	if (!given['c'] && f->error == 0)
		print_name(strcat(f->sum, "  "), f->name, "\\\n\r", "");
	if (given['c'] && !given['s'] && !(given['q'] && match))
		print_name("", f->name, "\n\r", verdict);
}

/* Hashes and prints the files that add_all finds. */
static int run(CCRuntime *runtime, FILE *list, char **names)
{
	const CCNurseryOptions options = {.runtime = runtime};
	struct item item;
	int err = 0;

	added = malformed = mismatched = unreadable = 0;
	items = cc_chan_make_ordered(Items, 256);
	if (items.chan == NULL)
		return ENOMEM;
	cc_nursery_scope_with(n, &err, &options) {
		cc_spawn(n, add_all, .list = list, .names = names);
		while (cc_recv(items, &item) == 0 &&
		       cc_task_join(item.task, CC_FOREVER, NULL) == 0) {
			print(item.file);
			free(item.file);
		}
	}
	cc_free(items);
	return err == 0 && fflush(stdout) != 0 ? errno : err;
}

static void warn_of(unsigned long number, const char *one, const char *many)
{
	if (number != 0 && !given['s'])
		fprintf(stderr, "ccsum: WARNING: %lu %s\n", number, number == 1 ? one : many);
}

/* Checks the files of one list.  Returns whether all of them are as the list says. */
static bool check_list(CCRuntime *runtime, const char *path)
{
	FILE *list = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
	const int err = list == NULL ? errno : run(runtime, list, NULL);

	if (list != NULL && list != stdin)
		fclose(list);
	if (err != 0 || added == 0) {
		fprintf(stderr, "ccsum: %s: %s\n", list == stdin ? "standard input" : path,
		        err != 0 ? strerror(err) : "no properly formatted checksum lines found");
		return false;
	}
	warn_of(malformed, "line is improperly formatted", "lines are improperly formatted");
	warn_of(unreadable, "listed file could not be read", "listed files could not be read");
	warn_of(mismatched, "computed checksum did NOT match", "computed checksums did NOT match");
	return unreadable + mismatched == 0;
}

static const char help[] =
    "Usage: ccsum [OPTION]... [FILE]...\n"
    "Prints the SHA-256 sum of each FILE; - or no FILE is standard input.\n\n"
    "  -c, --check        read sums from the FILEs and check the files that they name\n"
    "  -h, --help         print this text\n"
    "  -p, --processes=N  work on N files at the same time, 1 to 256; default: all processors\n"
    "  -q, --quiet        with -c, do not print OK for each file\n"
    "  -r, --recursive    all files below each FILE that is a directory\n"
    "  -s, --status       with -c, print no verdicts: the exit status tells\n\n"
    "Exit status: 0, or 1 if a file could not be read or a sum is wrong.\n";

static const struct option long_options[] = {
    {"check", 0, NULL, 'c'},  {"help", 0, NULL, 'h'},      {"processes", 1, NULL, 'p'},
    {"quiet", 0, NULL, 'q'},  {"recursive", 0, NULL, 'r'}, {"status", 0, NULL, 's'},
    {NULL, 0, NULL, 0},
};

int main(int argc, char **argv)
{
	CCConfig config;
	CCRuntime *runtime;
	int option, failed = 0, err = cc_config_init(&config);
	char **names;

	while ((option = getopt_long(argc, argv, "chp:qrs", long_options, NULL)) != -1) {
		given[option] = true;
		if (option == 'p')
			config.workers = (unsigned)strtoul(optarg, NULL, 10);
	}
	if (given['h'] || given['?'] || config.workers < 1 || config.workers > 256) {
		fputs(help, given['h'] ? stdout : stderr);
		return !given['h'] || fflush(stdout) != 0;
	}
	names = optind < argc ? argv + optind : (char *[]){(char[]){"-"}, NULL};
	if (err == 0 && (err = cc_runtime_new(&runtime, &config)) == 0) {
		if (!given['c'])
			err = run(runtime, NULL, names);
		for (; given['c'] && *names != NULL; names++)
			failed |= !check_list(runtime, *names);
		cc_ignore(cc_runtime_free(runtime));
	}
	if (err != 0)
		fprintf(stderr, "ccsum: %s\n", strerror(err));
	return failed || err != 0 || unreadable != 0;
}
