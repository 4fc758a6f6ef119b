/* parallel.c - fork and join for callers that are not inside a branch, several branches, ranges.
 *
 * A caller that is no fiber runs the whole call as a task of its runtime and waits for it
 * (cc_block_on): its branches run concurrently then, as those of a fiber do, and a caller that is
 * cancelled cancels them. */
#include <errno.h>
#include <string.h>

#include "os/fork.h"
#include "sched/branch_task.h"	/* before the public header: its CC_PAR_STORE */
#include "sched/sched.h"

#include <ccc/parallel.h>

/* ---- where a call runs ---- */

struct par_call {
	cc_par_main *main;
	void *captures;
};

static int run_par_call(void *arg)
{
	struct par_call *c = arg;

	return cc_par_call(c->main, c->captures);
}

/* In a fiber of its own, with an array of its own and a stack as large as that of the fiber of
 * `full`; NULL: an ordinary one. */
static int call_elsewhere(const struct cc__branches *full, cc_par_main *main, void *captures)
{
	struct par_call c = {main, captures};
	CCNurseryOptions o = {0};

	if (full != NULL && full->order != 0)
		o.stack_size = full->sched->stacks.shelf[full->order].size;
	if (o.stack_size > CC__STACK_MAX)
		o.stack_size = CC__STACK_MAX;
	return cc_block_on(run_par_call, &c, &o);
}

int cc_par_call(cc_par_main *main, void *captures)
{
	struct cc__branches *p;
	bool nested;
	int result;

	if (cc__forked())
		return ENOTSUP;
	if ((p = cc__branches_begin(&nested)) == NULL)
		return cc__sched_here() == NULL ? call_elsewhere(NULL, main, captures) : ENOMEM;
	if (nested && cc__peek(&p->par.tail) == p->par.end)
		return call_elsewhere(p, main, captures);
	result = main(captures, &p->par);
	if (!nested)
		cc__branches_end(p);
	return result;
}

/* ---- two and more ---- */

struct par_pair {
	struct par_call first, second;
};

static int run_pair(void *captures, CCPar *par)
{
	struct par_pair *p = captures;

	return cc_par_run2(par, p->first.main, p->first.captures, p->second.main,
	                   p->second.captures);
}

int cc_par_call2(cc_par_main *first, void *first_captures, cc_par_main *second,
                 void *second_captures)
{
	struct par_pair p = {{first, first_captures}, {second, second_captures}};

	return first != NULL && second != NULL ? cc_par_call(run_pair, &p) : EINVAL;
}

/* Branches of one call, or half of them. */
struct par_some {
	const CCParBranch *branches;
	size_t count;
};

static int run_some(void *captures, CCPar *par)
{
	const struct par_some *s = captures;
	struct par_some left = {s->branches, s->count / 2};
	struct par_some right = {s->branches + left.count, s->count - left.count};

	if (s->count == 1)
		return s->branches->main(s->branches->captures, par);
	return cc_par_run2(par, run_some, &left, run_some, &right);
}

int cc_par_all(const CCParBranch *branches, size_t count)
{
	struct par_some all = {branches, count};

	for (size_t i = 0; i < count; i++)
		if (branches[i].main == NULL)
			return EINVAL;
	return count > 0 ? cc_par_call(run_some, &all) : 0;
}

/* ---- ranges ---- */

/* Pieces for each worker, where the caller leaves their size to the library. */
enum { PIECES = 16 };

struct par_range {
	size_t from, to, grain;
	cc_range_main *body;
	void *captures;
};

static int run_range(void *captures, CCPar *par)
{
	const struct par_range *r = captures;
	struct par_range left = *r, right = *r;

	if (r->to - r->from <= r->grain)
		return r->body(r->captures, r->from, r->to);
	left.to = right.from = r->from + (r->to - r->from) / 2;
	return cc_par_run2(par, run_range, &left, run_range, &right);
}

static size_t grain_for(size_t count)
{
	const CCRuntime *rt = cc_runtime_current();
	const struct cc__sched *s = (const struct cc__sched *)(const void *)rt;
	const size_t pieces = PIECES * (s != NULL ? s->config.workers : 1);

	return count / pieces + 1;
}

int cc_par_range(size_t from, size_t to, size_t grain, cc_range_main *body, void *captures)
{
	struct par_range all = {from, to, grain, body, captures};

	if (body == NULL)
		return EINVAL;
	if (from >= to)
		return 0;
	if (grain == 0)
		all.grain = grain_for(to - from);
	return cc_par_call(run_range, &all);
}

/* ---- a value of a range ---- */

struct par_fold {
	size_t from, to, grain;
	cc_fold_main *fold;
	cc_fold_join *join;
	void *captures;
	void *into;
	const void *identity;
	size_t size;
};

static int run_fold(void *captures, CCPar *par)
{
	const struct par_fold *f = captures;
	struct par_fold left = *f, right = *f;
	_Alignas(16) unsigned char value[CC_FOLD_MAX];
	int err;

	if (f->to - f->from <= f->grain)
		return f->fold(f->captures, f->from, f->to, f->into);
	memcpy(value, f->identity, f->size);
	left.to = right.from = f->from + (f->to - f->from) / 2;
	right.into = value;
	err = cc_par_run2(par, run_fold, &left, run_fold, &right);
	return err != 0 ? err : f->join(f->captures, f->into, value);
}

int cc_par_fold(size_t from, size_t to, size_t grain, cc_fold_main *fold, cc_fold_join *join,
                void *captures, void *into, size_t size)
{
	struct par_fold all = {from, to, grain, fold, join, captures, into, NULL, size};
	_Alignas(16) unsigned char identity[CC_FOLD_MAX];

	if (fold == NULL || join == NULL || into == NULL || size > CC_FOLD_MAX)
		return EINVAL;
	if (from >= to)
		return 0;
	memcpy(identity, into, size);
	all.identity = identity;
	if (grain == 0)
		all.grain = grain_for(to - from);
	return cc_par_call(run_fold, &all);
}
