/* describe.h - how a tool outside of the process finds fibers, nurseries and workers in it.
 *
 * For authors of tools; programs need nothing of this.  docs/description.md says what each name
 * means and in which order a tool reads. */
#ifndef CCC_DESCRIBE_H
#define CCC_DESCRIBE_H

#include <ccc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the description.  Within one version names may be added, and no name changes its
 * meaning. */
#define CC_DESCRIPTION_VERSION 1

/* What the value of an entry is. */
typedef enum CCDescribedKind {
	CC_DESCRIBED_ADDRESS,	/* the address of a variable */
	CC_DESCRIBED_SIZE,	/* the size of a structure in bytes, also in `size` */
	CC_DESCRIBED_FIELD,	/* the offset of a field in its structure, whose name is before the dot */
	CC_DESCRIBED_NUMBER,	/* a number that fields are compared with, or a mask */
} CCDescribedKind;

/* One entry. */
typedef struct CCDescribed {
	char name[44];
	uint32_t kind;	/* CCDescribedKind */
	uint64_t size;	/* in bytes, of the variable, structure or field; 0 for a number */
	union {
		uint64_t value;
		const void *address;
	};
} CCDescribed;

/* The description. */
typedef struct CCDescription {
	char magic[8];		/* "libccc" and two zeros */
	uint32_t version;	/* CC_DESCRIPTION_VERSION */
	uint32_t entry_size;	/* in bytes, of an entry */
	uint64_t count;		/* number of entries */
	const CCDescribed *entry;
	char library[16];	/* the library's version as text */
} CCDescription;

/* The description of this process.  Constant.
 *
 * A file that contains the library also has an ELF note of the owner "libccc" and type 1, which
 * strip keeps.  Its 8 bytes are the distance from themselves to cc_description. */
CC_API extern const CCDescription cc_description;

#ifdef __cplusplus
}
#endif

#endif
