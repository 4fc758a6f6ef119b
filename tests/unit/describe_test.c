/* describe_test.c - the description of the process is whole, and leads to what is there. */
#include "tasks.h"
#include "test.h"

#include <ccc/ccc.h>

#include <elf.h>
#include <link.h>
#include <string.h>

#include "task/frame.h"

static const CCDescribed *entry_of(const char *name)
{
	for (uint64_t i = 0; i < cc_description.count; i++)
		if (strcmp(cc_description.entry[i].name, name) == 0)
			return &cc_description.entry[i];
	return NULL;
}

TEST(description_has_a_head_that_tools_check)
{
	CHECK_EQ(memcmp(cc_description.magic, "libccc\0", 8), 0);
	CHECK_EQ(cc_description.version, CC_DESCRIPTION_VERSION);
	CHECK_EQ(cc_description.entry_size, sizeof(CCDescribed));
	CHECK(cc_description.count > 100);
	CHECK(strchr(cc_description.library, '.') != NULL);
}

TEST(names_of_the_description_are_different_and_end)
{
	for (uint64_t i = 0; i < cc_description.count; i++) {
		const CCDescribed *e = &cc_description.entry[i];

		CHECK(memchr(e->name, '\0', sizeof e->name) != NULL);
		CHECK(entry_of(e->name) == e);
	}
}

/* A structure whose size is described has every field that is described of it. */
TEST(fields_of_the_description_lie_in_their_structures)
{
	unsigned checked = 0;

	for (uint64_t i = 0; i < cc_description.count; i++) {
		const CCDescribed *e = &cc_description.entry[i], *whole;
		char name[sizeof e->name];

		if (e->kind != CC_DESCRIBED_FIELD || strncmp(e->name, "chan.ring_", 10) == 0)
			continue;
		memcpy(name, e->name, sizeof name);
		name[strcspn(name, ".")] = '\0';
		if ((whole = entry_of(name)) == NULL || whole->kind != CC_DESCRIBED_SIZE)
			continue;
		CHECK(e->size > 0 && e->value + e->size <= whole->size);
		checked++;
	}
	CHECK(checked > 60);
}

/* ---- the note ---- */

static const void *in_notes(const char *at, const char *end)
{
	while (end - at >= (long)sizeof(ElfW(Nhdr))) {
		ElfW(Nhdr) n;
		const char *name = at + sizeof n, *text;
		int64_t distance;

		memcpy(&n, at, sizeof n);
		text = name + ((n.n_namesz + 3) & ~3u);
		if (n.n_namesz == 7 && n.n_type == 1 && memcmp(name, "libccc", 7) == 0) {
			CHECK_EQ(n.n_descsz, sizeof distance);
			memcpy(&distance, text, sizeof distance);
			return text + distance;
		}
		at = text + ((n.n_descsz + 3) & ~3u);
	}
	return NULL;
}

static int look_into(struct dl_phdr_info *info, size_t size, void *found)
{
	(void)size;
	for (int i = 0; i < info->dlpi_phnum && *(const void **)found == NULL; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const char *at = (const char *)(info->dlpi_addr + p->p_vaddr);

		if (p->p_type == PT_NOTE)
			*(const void **)found = in_notes(at, at + p->p_memsz);
	}
	return 0;
}

TEST(note_of_the_program_leads_to_the_description)
{
	const void *found = NULL;

	dl_iterate_phdr(look_into, &found);
	CHECK(found == (const void *)&cc_description);
}

/* ---- what it leads to ---- */

static uint64_t number(const void *object, const char *name)
{
	const CCDescribed *e = entry_of(name);
	const void *field = (const char *)object + e->value;

	/* Other threads may write what is read, as in the process that a tool reads. */
	if (e->size == sizeof(uint64_t))
		return __atomic_load_n((const uint64_t *)field, __ATOMIC_RELAXED);
	CHECK_EQ(e->size, sizeof(uint32_t));
	return __atomic_load_n((const uint32_t *)field, __ATOMIC_RELAXED);
}

/* The frame of a task, found as a tool finds it; NULL: none. */
static const char *frame_of(uint64_t id)
{
	const void *slab = entry_of("frames")->address;
	const uint64_t size = number(slab, "slab.size");
	const char *chunk = (const char *)(uintptr_t)number(slab, "slab.chunks");

	for (; chunk != NULL; chunk = (const char *)(uintptr_t)number(chunk, "chunk.next"))
		for (uint64_t i = 0; i < number(chunk, "chunk.carved"); i++) {
			const char *frame = chunk + entry_of("chunk.first")->value + i * size;

			if ((number(frame, "fiber.handle") & entry_of("handle.id_mask")->value) == id)
				return frame;
		}
	return NULL;
}

static int in_a_fiber(void *unused)
{
	const char *frame = frame_of(cc_fiber_id());
	const uint64_t stack = frame != NULL ? number(frame, "fiber.stack") : 0;

	(void)unused;
	CHECK(frame != NULL);
	CHECK_EQ(number(frame, "fiber.word") & entry_of("word.state_mask")->value,
	         entry_of("state.owned")->value);
	CHECK(number(frame, "fiber.home") & entry_of("home.named")->value);
	CHECK_EQ(strcmp(frame + entry_of("fiber.name")->value, "described"), 0);
	CHECK((number((const void *)(uintptr_t)stack, "stack.place") & entry_of("place.bottom_mask")->value) <
	      (uintptr_t)&unused);
	return 0;
}

TEST(fiber_is_found_by_the_description)
{
	const CCTaskOptions named = {.name = "described"};
	CCTask task;
	int result = 1;

	CHECK_EQ(cc_task_spawn(NULL, &task, &named, in_a_fiber, NULL), 0);
	CHECK_EQ(cc_task_join(task, CC_FOREVER, &result), 0);
	CHECK_EQ(result, 0);
}
