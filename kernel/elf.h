/* elf.h - as much of a program's file as is needed to load it. */
#ifndef KERNEL_ELF_H
#define KERNEL_ELF_H

#include <stdint.h>

enum { ELF_LOAD = 1, ELF_RUN = 1, ELF_WRITE = 2 };
#define ELF_MAGIC UINT32_C(0x464c457f)

struct elf_header {
	uint32_t magic;
	uint8_t about[12];
	uint16_t kind, machine;
	uint32_t version;
	uint64_t entry, segments, sections;
	uint32_t flags;
	uint16_t header_size, segment_size, segment_count;
};

struct elf_segment {
	uint32_t kind, flags;
	uint64_t offset, address, physical, file_size, memory_size, alignment;
};

#endif
