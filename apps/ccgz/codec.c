/* codec.c - the table of codecs, decompression of whole streams, and checksums. */
#include "codec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>
#ifdef HAVE_LIBDEFLATE
#include <libdeflate.h>
#endif

static const struct codec *const codecs[] = {
    &codec_zlib,
#ifdef HAVE_LIBDEFLATE
    &codec_libdeflate,
#endif
#ifdef HAVE_ISAL
    &codec_isal,
#endif
};
enum { CODECS = sizeof codecs / sizeof codecs[0] };

const struct codec *codec_named(const char *name)
{
	for (size_t i = 0; i < CODECS; i++)
		if (strcmp(codecs[i]->name, name) == 0)
			return codecs[i];
	return NULL;
}

const char *codec_names(char *text, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < CODECS && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i == 0 ? "" : ", ",
		                         codecs[i]->name);
	return text;
}

#ifdef HAVE_LIBDEFLATE
void *decoder_new(void)
{
	return libdeflate_alloc_decompressor();
}

void decoder_free(void *decoder)
{
	libdeflate_free_decompressor(decoder);
}

size_t decode(void *decoder, const unsigned char *in, size_t in_length, unsigned char *out,
              size_t out_length)
{
	size_t used = 0;

	return libdeflate_deflate_decompress_ex(decoder, in, in_length, out, out_length, &used,
	                                        NULL) == LIBDEFLATE_SUCCESS
	           ? used
	           : 0;
}
#else
void *decoder_new(void)
{
	z_stream *z = calloc(1, sizeof *z);

	if (z != NULL && inflateInit2(z, -15) != Z_OK) {
		free(z);
		return NULL;
	}
	return z;
}

void decoder_free(void *decoder)
{
	inflateEnd(decoder);
	free(decoder);
}

size_t decode(void *decoder, const unsigned char *in, size_t in_length, unsigned char *out,
              size_t out_length)
{
	unsigned char none;	/* where the output of an empty stream does not go */
	z_stream *z = decoder;

	z->next_in = (unsigned char *)in;
	z->avail_in = (uInt)in_length;
	z->next_out = out_length != 0 ? out : &none;
	z->avail_out = (uInt)out_length;
	return inflateReset(z) == Z_OK && inflate(z, Z_FINISH) == Z_STREAM_END && z->avail_out == 0
	           ? in_length - z->avail_in
	           : 0;
}
#endif

uint32_t checksum(uint32_t crc, const void *data, size_t length)
{
#ifdef HAVE_LIBDEFLATE
	return libdeflate_crc32(crc, data, length);
#else
	return (uint32_t)crc32_z(crc, data, length);
#endif
}

uint32_t checksum_combine(uint32_t first, uint32_t second, size_t length)
{
	return (uint32_t)crc32_combine(first, second, (z_off_t)length);
}
