/* version.h - the version of these headers; cc_version() is that of the library. */
#ifndef CCC_VERSION_H
#define CCC_VERSION_H

#define CC_VERSION_MAJOR 0
#define CC_VERSION_MINOR 1
#define CC_VERSION_PATCH 0

/* 0x00MMmmpp, comparable with <. */
#define CC_VERSION (CC_VERSION_MAJOR << 16 | CC_VERSION_MINOR << 8 | CC_VERSION_PATCH)

#endif
