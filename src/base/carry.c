/* carry.c - finding the C++ runtimes of the process, and moving their state. */
#include "base/carry.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include <ccc/cxx.h>

#include "os/atomic.h"
#include "base/lock.h"
#include "os/fork.h"
#include "os/tools.h"

typedef void *globals_fn(void);

/* Weak: a program without C++ has no __cxa_get_globals, and a static one may have no
 * dynamic loader. */
#pragma weak dladdr
#pragma weak dlopen
#pragma weak dlsym
extern void *__cxa_get_globals(void) __attribute__((weak));

const struct cc__carry cc__carry_none = {0};
const struct cc__carry cc__carry_ask = {.thrown = 1};

/* The runtimes that are known.  Entries are added under the lock and never removed. */
static struct {
	struct cc__lock lock;
	CC__ATOMIC(globals_fn *) globals[CC__CARRY_RUNTIMES];
	cc__a32 count;
	struct cc__carry_check *checks;	/* of all workers; the lock */
} known;

static unsigned known_count(void)
{
	/* Acquire: the entries, from the release in add. */
	return cc__load(&known.count, CC__ACQUIRE);
}

/* The structure that runtime i keeps for the calling thread. */
static struct cc__carry *structure(unsigned i)
{
	/* Relaxed: ordered by known_count. */
	return cc__load(&known.globals[i], CC__RELAXED)();
}

/* ---- which runtimes there are ---- */

/* One of the first `count`.  The addresses of one function may differ between objects, so the
 * structures that the functions return are compared. */
static bool is_known(globals_fn *globals, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (structure(i) == globals())
			return true;
	return false;
}

/* The function must stay where it is, since workers will call it: the object that it is in
 * is never unloaded. */
static void pin(globals_fn *globals)
{
	Dl_info info;

	if (dladdr != NULL && dlopen != NULL && dladdr((void *)(uintptr_t)globals, &info) != 0 &&
	    info.dli_fname != NULL)
		dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* The runtime after the first n.  Under the lock. */
static int add(globals_fn *globals, unsigned n)
{
	if (n == CC__CARRY_RUNTIMES)
		return ENOSPC;
	cc__store(&known.globals[n], globals, CC__RELAXED);	/* Relaxed: the count orders */
	cc__store(&known.count, n + 1, CC__RELEASE);
	/* CARRY-3.  Release: the count, to the acquire in retarget. */
	for (struct cc__carry_check *k = known.checks; k != NULL; k = k->next)
		cc__store(&k->words, &cc__carry_ask, CC__RELEASE);
	return 0;
}

/* Among the objects that are loaded; NULL: there is none.  A plugin's libraries are not
 * in the global scope, so they are asked for by name. */
static globals_fn *find(void)
{
	static const char *const names[] = {"libstdc++.so.6", "libc++abi.so.1", "libc++.so.1"};
	void *found, *library;

	if (__cxa_get_globals != NULL)
		return __cxa_get_globals;
	if (dlsym == NULL || dlopen == NULL)
		return NULL;
	found = dlsym(RTLD_DEFAULT, "__cxa_get_globals");
	for (unsigned i = 0; found == NULL && i < sizeof names / sizeof *names; i++)
		if ((library = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD)) != NULL) {
			found = dlsym(library, "__cxa_get_globals");
			dlclose(library);
		}
	return (globals_fn *)(uintptr_t)found;
}

int cc_cxx_register(void *(*globals)(void))
{
	bool is_new, changed;
	int err = 0;

	/* A child of fork has no workers, and a thread of its parent may have held the lock. */
	if (cc__forked())
		return ENOTSUP;
	if (globals == NULL && (globals = find()) == NULL)
		return ENOENT;
	do {
		const unsigned count = known_count();

		/* Both before the lock, because they may take the loader's lock, which a
		 * constructor that calls this function holds. */
		is_new = !is_known(globals, count);
		if (is_new)
			pin(globals);
		/* For a known runtime, too: the thread that has added it may not have reached all
		 * checks yet (CARRY-3). */
		cc__lock(&known.lock, CC__RANK_POOL);
		changed = known_count() != count;
		if (is_new && !changed)
			err = add(globals, count);
		cc__unlock(&known.lock);
	} while (is_new && changed);
	return err;
}

void cc__carry_search(void)
{
	/* The loader's lock is taken only by a process that may have no C++ at all: a
	 * constructor may hold that lock and wait for us. */
	if (known_count() == 0)
		cc_cxx_register(NULL);
}

/* ---- moving the state ---- */

void cc__carry_check_init(struct cc__carry_check *k)
{
	cc__init(&k->words, &cc__carry_ask);
	cc__lock(&known.lock, CC__RANK_POOL);
	k->link = &known.checks;
	k->next = known.checks;
	if (k->next != NULL)
		k->next->link = &k->next;
	known.checks = k;
	cc__unlock(&known.lock);
}

void cc__carry_check_fini(struct cc__carry_check *k)
{
	cc__lock(&known.lock, CC__RANK_POOL);
	*k->link = k->next;
	if (k->next != NULL)
		k->next->link = k->link;
	cc__unlock(&known.lock);
}

/* What the next switch of this thread has to test, with that many runtimes. */
static const struct cc__carry *to_test(unsigned count)
{
	if (cc__tools != 0)
		return &cc__carry_ask;	/* TOOLS-1 */
	switch (count) {
	case 0:
		return &cc__carry_none;
	case 1:
		return structure(0);
	default:
		return &cc__carry_ask;
	}
}

bool cc__carry_any(void)
{
	if (cc__tools_order())
		return true;
	for (unsigned i = 0; i < known_count(); i++)
		if (cc__carry_set(structure(i)))
			return true;
	return false;
}

/* Points k, the check of the calling worker, to what has to be tested with `count` runtimes.
 *
 *	the worker (retarget)              the registering thread (add)
 *	count is n                         count = n + 1
 *	exchange words: structure          words = ask
 *	count again
 *
 * Either add stores after the exchange, and `ask` stays; or the exchange reads the `ask` of add,
 * and the second read of the count finds n + 1. */
static void retarget(struct cc__carry_check *k, unsigned count)
{
	const struct cc__carry *test = to_test(count);

	/* Relaxed: if add has replaced this value meanwhile, `ask` stays. */
	if (cc__load(&k->words, CC__RELAXED) == test)
		return;
	/* Acquire: the count, from the release in add, if this replaces what add has stored.
	 * Relaxed, below: ordered by that. */
	(void)cc__xchg(&k->words, test, CC__ACQUIRE);
	if (cc__load(&known.count, CC__RELAXED) != count)
		cc__store(&k->words, &cc__carry_ask, CC__RELAXED);	/* Relaxed: a constant */
}

void cc__carry_out(struct cc__carry_check *k, struct cc__carried *out)
{
	out->count = known_count();
	for (unsigned i = 0; i < out->count; i++) {
		struct cc__carry *c = structure(i);

		out->state[i] = *c;
		*c = (struct cc__carry){0};
	}
	retarget(k, out->count);
}

void cc__carry_in(const struct cc__carried *in)
{
	for (unsigned i = 0; i < in->count; i++)
		*structure(i) = in->state[i];
}
