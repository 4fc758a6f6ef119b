/* names.h - names of compressed files, and what their suffixes mean. */
#ifndef CCGZ_NAMES_H
#define CCGZ_NAMES_H

#include <stdbool.h>

/* Whether `path` ends with `suffix` or one of the known suffixes, in upper or lower case. */
bool name_is_compressed(const char *path, const char *suffix);

/* path + suffix, from malloc; NULL: no memory. */
char *name_compressed(const char *path, const char *suffix);

/* path without its suffix, from malloc: .tgz and .taz become .tar.  NULL: it has no suffix that
 * is known, or there is no memory. */
char *name_decompressed(const char *path, const char *suffix);

/* `name` in the directory of `path`, from malloc; directories in `name` do not count. */
char *name_beside(const char *path, const char *name);

#endif
