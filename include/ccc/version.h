/* version.h - the version of these headers.  cc_version() (base.h) returns that of the library. */
#ifndef CCC_VERSION_H
#define CCC_VERSION_H

#define CC_VERSION_MAJOR 0
#define CC_VERSION_MINOR 1
#define CC_VERSION_PATCH 0

/* The version as one number, 0x00MMmmpp: major, minor and patch have one byte each.  Versions can
 * be compared with <. */
#define CC_VERSION (CC_VERSION_MAJOR << 16 | CC_VERSION_MINOR << 8 | CC_VERSION_PATCH)

#endif
