/* debug.h - a hang explains itself: what every fiber and thread waits for.
 *
 * When nothing in the process can ever run again, the library says so by itself and aborts: see
 * docs/debugging.md. */
#ifndef CCC_DEBUG_H
#define CCC_DEBUG_H

#include <ccc/fiber.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The form of a dump. */
typedef enum CCDumpFormat {
	CC_DUMP_TEXT,
	CC_DUMP_JSON,	/* one object a line */
} CCDumpFormat;

/* Writes to `fd` what every fiber of the process and every thread inside of the library does: id,
 * name, state, what it waits for, since when and until when.  Fibers that are alike are
 * written once, with their number.  The others run on meanwhile.  Allocates no memory.
 *
 * Returns 0, or
 *   EINVAL      the format is unknown
 *   EBADF       `fd` cannot be written to
 *   ENOTSUP     in a child of fork (runtime.h)
 *
 * Any thread.  Never parks. */
CC_API int cc_dump_as(int fd, CCDumpFormat format);

/* Writes a dump to `fd` as text, as cc_dump_as(fd, CC_DUMP_TEXT) does.
 *
 * Returns 0, or
 *   EBADF       `fd` cannot be written to
 *   ENOTSUP     in a child of fork (runtime.h)
 *
 * Any thread.  Never parks. */
CC_API int cc_dump(int fd);

/* Declares that something the library does not know of may end a wait, for example a debugger or a
 * device that writes to memory of the process.  No deadlock is reported until cc_external_end has
 * been called as often.
 *
 * Any thread.  Never parks. */
CC_API void cc_external_begin(void);

/* Ends what one call of cc_external_begin declared.
 *
 * Any thread.  Never parks. */
CC_API void cc_external_end(void);

#ifdef __cplusplus
}
#endif
#endif
