/* symbols.h - names of code addresses, and the calls that a fiber is in. */
#ifndef CCC_PS_SYMBOLS_H
#define CCC_PS_SYMBOLS_H

#include "layout.h"

struct symbols;

/* Whether this program was built with libdw.  Without it an address has no name, and a parked fiber
 * shows one address. */
bool symbols_there(void);

/* `core` and `program` are file names, or NULL.  NULL: out of memory. */
struct symbols *symbols_open(struct memory *m, const char *core, const char *program);
void symbols_close(struct symbols *s);

/* The function at an address and its place, as "work (app.c:12)"; with `call`, of the call that
 * returns there.  Lives as long as s. */
const char *symbols_name(struct symbols *s, uint64_t address, bool call);

/* The return addresses on a stack that a switch has left at sp, innermost first; how many. */
unsigned symbols_unwind(struct symbols *s, const struct layout *l, uint64_t sp, uint64_t *pc,
                        unsigned most);

/* symbols.c: names that have been made, by address. */
struct name_table;
struct name_table *names_new(void);
void names_free(struct name_table *t);
/* Where the name of an address is kept: NULL in it at first.  NULL: out of memory. */
char **names_place(struct name_table *t, uint64_t address);
/* What is said of an address that has no name: its file and the offset in it. */
void symbols_plain(const struct memory *m, uint64_t address, char *text, size_t size);
/* Reads the registers that a switch has left at sp.  False: they cannot be read. */
bool symbols_start(struct memory *m, const struct layout *l, uint64_t sp,
                   uint64_t value[LAYOUT_REGISTERS], uint64_t *pc);

#endif
