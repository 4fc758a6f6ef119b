/* ccgz - a parallel gzip.
 *
 *      options.c       the command line
 *      main.c          what is done with each file, and in which order
 *      names.c         names of compressed files
 *      input.c         the file that is read
 *      output.c        the file that is written: all of it, or nothing
 *      compress.c      compression as three steps for each block: read, work, write
 *      decompress*.c   decompression, of many members at once or of one
 *      engine*.c       what runs these steps at the same time; engine_fiber.c is the default
 *      codec*.c        the libraries that compress a block
 *      gzip.c          headers and trailers
 *      report.c        messages and the exit status
 *      progress.c      the progress bar
 *
 * Files are treated one after the other; the blocks of a file, at the same time. */
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "compress.h"
#include "decompress.h"
#include "engine.h"
#include "gzip.h"
#include "progress.h"
#include "report.h"
#include "names.h"

static struct options options;

/* ---- lists ---- */

static struct {
	unsigned files;
	uint64_t in, out;
} totals;

/* How much smaller `packed` is than `plain`, in percent. */
static double ratio(uint64_t packed, uint64_t plain)
{
	return plain == 0 ? 0 : 100.0 * ((double)plain - (double)packed) / (double)plain;
}

static void list_line(uint64_t in, uint64_t out, const char *name)
{
	printf("%19llu %19llu %5.1f%% %s\n", (unsigned long long)in, (unsigned long long)out,
	       ratio(in, out), name);
}

static void list_file(const struct input *in, const struct unpacked *u)
{
	char *name = name_decompressed(in->name, options.suffix);
	char when[32];

	if (totals.files++ == 0 && !options.quiet)
		printf("%s%19s %19s  ratio uncompressed_name\n",
		       options.verbose ? "method  crc     date  time  " : "", "compressed",
		       "uncompressed");
	totals.in += u->in;
	totals.out += u->out;
	if (options.verbose &&
	    strftime(when, sizeof when, "%b %e %H:%M", localtime(&in->stat.st_mtime)) != 0)
		printf("defla %08x %s ", u->crc, when);
	list_line(u->in, u->out, name != NULL ? name : in->name);
	free(name);
}

/* ---- one file ---- */

/* Prints what -v wants to know.  `to` is NULL if no file was made. */
static void tell(const struct input *in, const char *to, uint64_t packed, uint64_t plain)
{
	if (!options.verbose || options.action == ACTION_LIST)
		return;
	if (options.action == ACTION_TEST)
		fprintf(stderr, "%s:\t OK\n", in->name);
	else if (to == NULL)
		fprintf(stderr, "%s:\t%5.1f%%\n", in->name, ratio(packed, plain));
	else
		fprintf(stderr, "%s:\t%5.1f%% -- %s %s\n", in->name, ratio(packed, plain),
		        options.keep ? "created" : "replaced with", to);
}

/* Compresses or decompresses an open input to an open output, which is completed. */
static int convert(struct input *in, struct output *out, const char *to, uint32_t time)
{
	struct unpacked unpacked;
	uint64_t length = 0;
	int err;

	progress_begin(in->name, S_ISREG(in->stat.st_mode) ? (uint64_t)in->stat.st_size : 0);
	if (options.action == ACTION_COMPRESS)
		err = compress_file(&options, in, out, &length);
	else
		err = decompress_file(&options, in, out, &unpacked);
	progress_end();
	if (err == 0)
		err = output_commit(out, &in->stat, time, options.force);
	if (err != 0) {
		output_discard(out);
		return err;
	}
	if (options.action == ACTION_LIST)
		list_file(in, &unpacked);
	if (options.action == ACTION_COMPRESS)
		tell(in, to, out->written, length);
	else
		tell(in, to, unpacked.in, unpacked.out);
	return 0;
}

/* As convert, and whatever failed has been reported. */
static int convert_and_report(struct input *in, struct output *out, const char *to, uint32_t time)
{
	const unsigned before = report_errors();
	const int err = convert(in, out, to, time);

	if (err != 0 && report_errors() == before)
		report_error(in->name, "%s", strerror(err));
	return err;
}

/* Copies an input that is not compressed as it is, for -dcf. */
static int copy(struct input *in, struct output *out)
{
	static unsigned char data[128 << 10];
	size_t length;

	do {
		cc_try(input_read(in, data, sizeof data, &length));
		cc_try(output_write(out, data, length));
	} while (length != 0);
	return 0;
}

/* Reads the header of an input that is to be decompressed.  False: it cannot be, or was copied. */
static bool take_header(struct input *in, struct output *to_stdout, struct gzip_header *header)
{
	struct source source;

	if (input_peek(in) != 0)
		return false;
	if (!gzip_magic(in->ahead, in->ahead_end)) {
		if (options.action == ACTION_DECOMPRESS && options.force && to_stdout != NULL)
			cc_ignore(copy(in, to_stdout));
		else if (in->ahead_end == 0)
			report_error(in->name, "unexpected end of file");
		else
			report_error(in->name, "%s", gzip_no_magic);
		return false;
	}
	source = (struct source){.at = in->ahead, .end = in->ahead + in->ahead_end};
	if (gzip_get_header(&source, header) != NULL)
		*header = (struct gzip_header){0}; /* decompression will say what is wrong */
	return true;
}

/* Converts an input to standard output, or to nothing for -t and -l. */
static void filter(struct input *in)
{
	const bool writes = options.action == ACTION_COMPRESS ||
	                    options.action == ACTION_DECOMPRESS;
	struct gzip_header header;
	struct output out;

	if (writes)
		output_open_stdout(&out);
	else
		output_open_none(&out);
	if (options.action == ACTION_COMPRESS || take_header(in, writes ? &out : NULL, &header))
		cc_ignore(convert_and_report(in, &out, NULL, 0));
}

/* ---- files by name ---- */

/* Whether `path` may be written: it does not exist, or may be overwritten. */
static bool may_write(const char *path)
{
	char answer[8] = "";

	if (options.force || access(path, F_OK) != 0)
		return true;
	if (isatty(STDIN_FILENO)) {
		fprintf(stderr, "ccgz: %s already exists; do you wish to overwrite (y or n)? ",
		        path);
		if (fgets(answer, sizeof answer, stdin) != NULL &&
		    (*answer == 'y' || *answer == 'Y'))
			return unlink(path) == 0;
	}
	report_warning(path, "already exists -- not overwritten");
	return false;
}

/* The name of the output, from malloc; NULL, and reported: there is none. */
static char *output_name(const char *path, const struct gzip_header *header)
{
	char *name;

	if (options.action == ACTION_COMPRESS)
		name = name_compressed(path, options.suffix);
	else if (options.name && header->name[0] != '\0')
		name = name_beside(path, header->name);
	else
		name = name_decompressed(path, options.suffix);
	if (name == NULL)
		report_errno(path, ENOMEM);
	return name;
}

/* Whether the suffix of a file is as it should be; reports if not. */
static bool suffix_fits(const char *path)
{
	const bool compressed = name_is_compressed(path, options.suffix);

	if (options.action == ACTION_DECOMPRESS) {
		if (!compressed && (options.verbose || !options.recursive))
			report_warning(path, "unknown suffix -- ignored");
		return compressed;
	}
	if (compressed && !options.force) {
		if (options.verbose || !options.recursive)
			report_warning(path,
			               "already has a suffix of compressed files -- unchanged");
		return false;
	}
	return true;
}

/* Whether a file that would be replaced can be; reports if not. */
static bool may_replace(const struct input *in)
{
	if (!S_ISREG(in->stat.st_mode))
		report_warning(in->name, "is not a directory or a regular file -- ignored");
	else if (in->stat.st_nlink > 1 && !options.force && !options.keep)
		report_warning(in->name, "has %lu other link%s -- unchanged",
		               (unsigned long)in->stat.st_nlink - 1,
		               in->stat.st_nlink > 2 ? "s" : "");
	else
		return true;
	return false;
}

/* Converts an input to a file beside it and removes the input. */
static void replace(struct input *in)
{
	struct gzip_header header = {0};
	struct output out;
	char *to;

	if (!suffix_fits(in->name) || !may_replace(in))
		return;
	if (options.action == ACTION_DECOMPRESS && !take_header(in, NULL, &header))
		return;
	if ((to = output_name(in->name, &header)) == NULL)
		return;
	if (may_write(to) && output_open(&out, to) == 0 &&
	    convert_and_report(in, &out, to, options.name ? header.time : 0) == 0 &&
	    !options.keep && unlink(in->name) != 0)
		report_errno(in->name, errno);
	free(to);
}

static void treat_file(const char *path)
{
	const bool in_place = !options.to_stdout && (options.action == ACTION_COMPRESS ||
	                                             options.action == ACTION_DECOMPRESS);
	struct input in;
	int err = input_open(&in, path, options.force || !in_place);
	char *with_suffix = NULL;

	/* `ccgz -d x` finds x.gz, as gzip does. */
	if (err == ENOENT && options.action != ACTION_COMPRESS &&
	    (with_suffix = name_compressed(path, options.suffix)) != NULL &&
	    input_open(&in, with_suffix, options.force || !in_place) == 0)
		err = 0;
	if (err != 0)
		report_errno(path, err);
	else if (S_ISDIR(in.stat.st_mode))
		report_warning(path, "is a directory -- ignored");
	else if (in_place)
		replace(&in);
	else
		filter(&in);
	input_close(&in);
	free(with_suffix);
}

static void treat_tree(const char *path)
{
	char *const roots[] = {(char *)path, NULL};
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW, NULL);
	const FTSENT *entry;

	if (tree == NULL) {
		report_errno(path, errno);
		return;
	}
	while ((entry = fts_read(tree)) != NULL)
		if (entry->fts_info == FTS_F)
			treat_file(entry->fts_path);
		else if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR)
			report_errno(entry->fts_path, entry->fts_errno);
	fts_close(tree);
}

static void treat_stdin(void)
{
	struct input in;
	int err = input_open_stdin(&in);

	if (err != 0)
		report_errno(in.name, err);
	else if (options.action != ACTION_COMPRESS && isatty(STDIN_FILENO) && !options.force)
		report_error(in.name, "is a terminal; -f reads compressed data from it");
	else
		filter(&in);
}

static void treat(const char *name)
{
	struct stat about;

	if (strcmp(name, "-") == 0)
		treat_stdin();
	else if (options.recursive && stat(name, &about) == 0 && S_ISDIR(about.st_mode))
		treat_tree(name);
	else
		treat_file(name);
}

int main(int argc, char **argv)
{
	int first;

	options_read(&options, argc, argv, &first);
	if (options.action == ACTION_COMPRESS && (options.to_stdout || first == argc) &&
	    isatty(STDOUT_FILENO) && !options.force) {
		report_error("stdout", "is a terminal; -f writes compressed data to it");
		return STATUS_ERROR;
	}
	output_init();
	if (first == argc)
		treat_stdin();
	for (int i = first; i < argc; i++)
		treat(argv[i]);
	if (options.action == ACTION_LIST && totals.files > 1)
		list_line(totals.in, totals.out, "(totals)");
	if (fflush(stdout) != 0)
		report_errno("stdout", errno);
	engine_end();
	return (int)report_status();
}
