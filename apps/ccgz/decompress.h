/* decompress.h - decompresses an input to an output.
 *
 * Members that tell their size (gzip.h) are decompressed at the same time.  For all others one
 * fiber reads ahead, one decompresses, and the main thread checks the sums and writes. */
#ifndef CCGZ_DECOMPRESS_H
#define CCGZ_DECOMPRESS_H

#include <stdint.h>

#include "input.h"
#include "options.h"
#include "output.h"

/* What was decompressed. */
struct unpacked {
	uint64_t in, out;	/* bytes */
	uint32_t crc;		/* of the last member */
};

/* Decompresses all members of an input that begins with one.  Returns 0, or an error that has
 * been reported; what was decompressed before the error has been written. */
int decompress_file(const struct options *options, struct input *input, struct output *output,
                    struct unpacked *unpacked);

/* The two ways: members from here on, until one does not tell its size (*more) or the file
 * ends; and whatever follows, to the end of the file. */
int decompress_members(const struct options *options, struct input *input, struct output *output,
                       struct unpacked *unpacked, bool *more);
int decompress_stream(const struct options *options, struct input *input, struct output *output,
                      struct unpacked *unpacked);

#endif
