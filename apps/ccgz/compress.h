/* compress.h - compresses an input to an output. */
#ifndef CCGZ_COMPRESS_H
#define CCGZ_COMPRESS_H

#include <stdint.h>

#include "input.h"
#include "options.h"
#include "output.h"

/* Returns 0 and the length of the input in *length, or an error that has been reported. */
int compress_file(const struct options *options, struct input *input, struct output *output,
                  uint64_t *length);

#endif
