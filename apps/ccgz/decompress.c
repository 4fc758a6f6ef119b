/* decompress.c - see decompress.h. */
#include "decompress.h"

#include <ccc/ccc.h>

#include "gzip.h"

int decompress_file(const struct options *o, struct input *in, struct output *out,
                    struct unpacked *unpacked)
{
	bool more = true;

	*unpacked = (struct unpacked){0};
	cc_try(input_peek(in));
	if (gzip_member_size(in->ahead, in->ahead_end) != 0)
		cc_try(decompress_members(o, in, out, unpacked, &more));
	return more ? decompress_stream(o, in, out, unpacked) : 0;
}
