/* driver.h - what drives a fuzz target.  Included by its one file, which says FUZZ_NAME and
 * defines LLVMFuzzerTestOneInput.
 *
 * Built with -fsanitize=fuzzer (FUZZ_LIBFUZZER) it is driven by that; tools/fuzz does so.
 * Without, it has a main of its own:
 *	NAME FILE|DIRECTORY...	those strings
 *	NAME --random SECONDS [SEED]	random ones; one that fails is left in NAME.found */
#ifndef FUZZ_DRIVER_H
#define FUZZ_DRIVER_H

#include <ccc/ccc.h>

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static bool fuzz_verbose;	/* tell more (FUZZ_VERBOSE) */

#ifndef FUZZ_LIBFUZZER
enum { SIZE_MOST = 4096 };

static unsigned run_file(const char *path)
{
	uint8_t bytes[SIZE_MOST];
	FILE *f = fopen(path, "rb");
	size_t size;

	if (f == NULL) {
		perror(path);
		exit(2);
	}
	size = fread(bytes, 1, sizeof bytes, f);
	fclose(f);
	printf("%s\n", path);
	fflush(stdout);
	LLVMFuzzerTestOneInput(bytes, size);
	return 1;
}

/* A file, or all in a directory; how many. */
static unsigned run_path(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *entry;
	unsigned n = 0;

	if (d == NULL)
		return run_file(path);
	while ((entry = readdir(d)) != NULL)
		if (entry->d_name[0] != '.') {
			char whole[4096];

			snprintf(whole, sizeof whole, "%s/%s", path, entry->d_name);
			n += run_file(whole);
		}
	closedir(d);
	return n;
}

static void leave_found(const uint8_t *bytes, size_t size)
{
	FILE *f = fopen(FUZZ_NAME ".found", "wb");

	if (f != NULL) {
		fwrite(bytes, 1, size, f);
		fclose(f);
	}
}

static uint64_t scramble(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* Each is left in the file while it runs: what hangs or dies is there. */
static unsigned run_random(unsigned seconds, uint64_t seed)
{
	const cc_time end = cc_after(seconds * CC_SEC);
	unsigned n = 0;

	for (; cc_now() < end; n++) {
		uint8_t bytes[256];
		const size_t size = scramble(&seed) % sizeof bytes;

		for (size_t i = 0; i < size; i++)
			bytes[i] = (uint8_t)(scramble(&seed) >> 32);
		leave_found(bytes, size);
		LLVMFuzzerTestOneInput(bytes, size);
	}
	unlink(FUZZ_NAME ".found");
	return n;
}

int main(int count, char **arg)
{
	unsigned n = 0;

	fuzz_verbose = getenv("FUZZ_VERBOSE") != NULL;
	if (count >= 3 && strcmp(arg[1], "--random") == 0) {
		const uint64_t seed = count > 3 ? strtoull(arg[3], NULL, 0) : (uint64_t)cc_now();

		printf("seed %llu\n", (unsigned long long)seed);
		fflush(stdout);
		n = run_random((unsigned)atoi(arg[2]), seed);
	} else {
		for (int i = 1; i < count; i++)
			n += run_path(arg[i]);
	}
	printf("%u passed, 0 failed\n", n);
	return n > 0 ? 0 : 2;
}
#endif

#endif
