/* options.c - see options.h.  Short and long names are those of gzip and pigz; the help text
 * lists all of them. */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ccc/ccc.h>

#include "codec.h"
#include "engine.h"
#include "report.h"

enum { PROCESSES_MAX = 256, SUFFIX_MAX = 30 };
enum { BLOCK_MIN = 32 << 10, BLOCK_MAX = 64 << 20 };	/* bytes; a dictionary is 32 KB */
enum { OPTION_CODEC = 256, OPTION_FAST_CODEC, OPTION_ENGINE };

static const char short_options[] = "0123456789b:cdfhiklnNp:qrS:tvV";
static const struct option long_options[] = {
    {"fast", no_argument, NULL, '1'},
    {"best", no_argument, NULL, '9'},
    {"blocksize", required_argument, NULL, 'b'},
    {"stdout", no_argument, NULL, 'c'},
    {"to-stdout", no_argument, NULL, 'c'},
    {"decompress", no_argument, NULL, 'd'},
    {"uncompress", no_argument, NULL, 'd'},
    {"force", no_argument, NULL, 'f'},
    {"help", no_argument, NULL, 'h'},
    {"independent", no_argument, NULL, 'i'},
    {"keep", no_argument, NULL, 'k'},
    {"list", no_argument, NULL, 'l'},
    {"no-name", no_argument, NULL, 'n'},
    {"name", no_argument, NULL, 'N'},
    {"processes", required_argument, NULL, 'p'},
    {"quiet", no_argument, NULL, 'q'},
    {"silent", no_argument, NULL, 'q'},
    {"recursive", no_argument, NULL, 'r'},
    {"suffix", required_argument, NULL, 'S'},
    {"test", no_argument, NULL, 't'},
    {"verbose", no_argument, NULL, 'v'},
    {"version", no_argument, NULL, 'V'},
    {"codec", required_argument, NULL, OPTION_CODEC},
    {"fast-codec", no_argument, NULL, OPTION_FAST_CODEC},
    {"engine", required_argument, NULL, OPTION_ENGINE},
    {NULL, 0, NULL, 0},
};

static const char help[] =
    "Usage: ccgz [OPTION]... [FILE]...\n"
    "Compresses each FILE to FILE.gz with all processors and removes FILE; -d does the reverse.\n"
    "Without FILE, or where FILE is -, reads standard input and writes standard output.\n"
    "\n"
    "  -0 to -9             compression level: 0 stores, 1 is fastest, 9 smallest; default 6\n"
    "      --fast, --best   the same as -1 and -9\n"
    "  -b, --blocksize=KB   work on blocks of so many KB (or 1m, 4m); default 128\n"
    "  -c, --stdout         write to standard output, keep the files (also --to-stdout)\n"
    "      --codec=NAME     what compresses a block: %s\n"
    "  -d, --decompress     decompress (also --uncompress)\n"
    "      --engine=NAME    what runs the blocks, for comparisons: fiber (default), thread, direct\n"
    "  -f, --force          overwrite files, follow links, write compressed data to a terminal;\n"
    "                       with -dc, copy input that is not compressed as it is\n"
    "      --fast-codec     the same as --codec=libdeflate: faster, output in many members\n"
    "  -h, --help           print this text\n"
    "  -i, --independent    blocks do not refer to earlier ones: larger, but the blocks after a\n"
    "                       damaged one can be recovered\n"
    "  -k, --keep           keep the input files\n"
    "  -l, --list           list sizes and names of compressed files, which are read to the end\n"
    "  -n, --no-name        do not save, or restore, the original name and time\n"
    "  -N, --name           save, or with -d restore, the original name and time\n"
    "  -p, --processes=N    work on N blocks at the same time; default: the processors, here %u\n"
    "  -q, --quiet          print no warnings (also --silent)\n"
    "  -r, --recursive      treat all files below each FILE that is a directory\n"
    "  -S, --suffix=SUF     compressed files end with SUF instead of .gz\n"
    "  -t, --test           check compressed files, write nothing\n"
    "  -v, --verbose        print name and ratio of each file\n"
    "  -V, --version        print the version\n"
    "\n"
    "Exit status: 0 if all is well, 1 after an error, 2 after a warning.\n";

static void fail(const char *option, const char *value, const char *wanted)
{
	fprintf(stderr, "ccgz: %s: '%s': want %s; try ccgz --help\n", option, value, wanted);
	exit(STATUS_ERROR);
}

/* The number in `text`, in units of `unit` unless a letter k or m follows it; 0 if there is none or it
 * is not from `least` to `most`. */
static size_t number(const char *text, size_t unit, size_t least, size_t most)
{
	char *end;
	const unsigned long value = strtoul(text, &end, 10);

	if (end == text || *text == '-' || value > most)
		return 0;
	if (unit != 1 && *end != '\0') {
		unit = strchr("mM", *end) != NULL   ? 1 << 20
		       : strchr("kK", *end) != NULL ? 1 << 10
		                                    : 0;
		end++;
	}
	return *end == '\0' && value * unit >= least && value * unit <= most ? value * unit : 0;
}

static void print_help(unsigned processors)
{
	char codecs[64];

	printf(help, codec_names(codecs, sizeof codecs), processors);
	exit(fflush(stdout) == 0 ? STATUS_OK : STATUS_ERROR);
}

static void print_version(void)
{
	char codecs[64];

	printf("ccgz %d.%d.%d (codecs: %s)\n", CC_VERSION_MAJOR, CC_VERSION_MINOR, CC_VERSION_PATCH,
	       codec_names(codecs, sizeof codecs));
	exit(fflush(stdout) == 0 ? STATUS_OK : STATUS_ERROR);
}

static void set_codec(struct options *o, const char *option, const char *name)
{
	char codecs[64];

	if ((o->codec = codec_named(name)) == NULL)
		fail(option, name, codec_names(codecs, sizeof codecs));
}

/* Options with a value, and those that print and exit. */
static void apply_value(struct options *o, int option, const char *value)
{
	switch (option) {
	case 'b':
		if ((o->block_size = number(value, 1 << 10, BLOCK_MIN, BLOCK_MAX)) == 0)
			fail("--blocksize", value, "32 to 65536 (KB)");
		break;
	case 'p':
		if ((o->processes = (unsigned)number(value, 1, 1, PROCESSES_MAX)) == 0)
			fail("--processes", value, "1 to 256");
		break;
	case 'S':
		if (*value == '\0' || strchr(value, '/') != NULL || strlen(value) > SUFFIX_MAX)
			fail("--suffix", value, "1 to 30 characters other than /");
		o->suffix = value;
		break;
	case OPTION_CODEC:
		set_codec(o, "--codec", value);
		break;
	case OPTION_FAST_CODEC:
		set_codec(o, "--fast-codec", "libdeflate");
		break;
	case OPTION_ENGINE:
		if ((o->engine = engine_named(value)) == NULL)
			fail("--engine", value, "fiber, thread or direct");
		break;
	case 'h':
		print_help(o->processes);
		break;
	case 'V':
		print_version();
		break;
	default:
		fputs("try ccgz --help\n", stderr);
		exit(STATUS_ERROR);
	}
}

static void apply(struct options *o, int option, const char *value)
{
	switch (option) {
	case 'c':
		o->to_stdout = true;
		break;
	case 'd':
		o->action = ACTION_DECOMPRESS;
		break;
	case 'f':
		o->force = true;
		break;
	case 'i':
		o->independent = true;
		break;
	case 'k':
		o->keep = true;
		break;
	case 'l':
		o->action = ACTION_LIST;
		break;
	case 'n':
	case 'N':
		o->name = option == 'N';
		break;
	case 'q':
		o->quiet = true;
		break;
	case 'r':
		o->recursive = true;
		break;
	case 't':
		o->action = ACTION_TEST;
		break;
	case 'v':
		o->verbose = true;
		break;
	default:
		if (option >= '0' && option <= '9')
			o->level = option - '0';
		else
			apply_value(o, option, value);
	}
}

void options_read(struct options *o, int argc, char **argv, int *first)
{
	CCConfig config;
	int option;

	if (cc_config_init(&config) != 0)
		exit(STATUS_ERROR);	/* it has said which variable is wrong */
	*o = (struct options){.level = 6,
	                      .processes = config.workers,
	                      .name = -1,
	                      .suffix = ".gz",
	                      .codec = codec_named("zlib"),
	                      .engine = engine_named("fiber")};
	while ((option = getopt_long(argc, argv, short_options, long_options, NULL)) != -1)
		apply(o, option, optarg);
	/* By default compression saves name and time, and decompression does not restore them. */
	if (o->name == -1)
		o->name = o->action == ACTION_COMPRESS;
	if (o->block_size == 0)
		o->block_size = o->codec->block_size;
	if (o->quiet)
		report_quiet();
	*first = optind;
}
