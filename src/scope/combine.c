/* combine.c - nurseries that a call opens, fills and joins.
 *
 * What ends a call early is the nursery's policy; only a race, whose first end counts whatever
 * it is, cancels by itself.  The jobs lie in the caller's memory, who waits for them. */
#include <ccc/combine.h>

#include <errno.h>

#include "scope/nursery.h"

/* Who wins, if anybody. */
enum prize { FOR_NOBODY, FOR_SUCCESS, FOR_THE_END };

struct call {
	CCNursery nursery;
	CCJob *jobs;		/* constant */
	enum prize prize;	/* constant */
	cc__a64 winner;		/* its index and one; 0: nobody yet */
};

/* A job has come to its end, or never begins. */
static void settle(struct call *c, CCJob *j, int result)
{
	uint64_t nobody = 0;

	j->result = result;
	if (c->prize == FOR_NOBODY || (c->prize == FOR_SUCCESS && result != 0))
		return;
	/* Relaxed: the join orders it before the look in outcome. */
	if (cc__cas(&c->winner, &nobody, (uint64_t)(j - c->jobs) + 1, CC__RELAXED, CC__RELAXED) &&
	    c->prize == FOR_THE_END)
		cc_nursery_cancel(&c->nursery, 0);
}

static int run(void *arg)
{
	CCJob *j = arg;
	const int result = j->main(j->arg);

	settle(j->opaque, j, result);
	return result;
}

static void start(struct call *c, CCJob *j)
{
	int err;

	j->opaque = c;
	j->ran = 1;
	if ((err = cc_nursery_spawn(&c->nursery, NULL, run, j)) != 0) {
		j->ran = 0;
		settle(c, j, err);
	}
}

static bool jobs_good(const CCJob *jobs, size_t count)
{
	bool good = jobs != NULL || count == 0;

	for (size_t i = 0; good && i < count; i++)
		good = jobs[i].main != NULL;
	return good;
}

/* What the nursery says, and who won: his index, or count. */
static int run_all(struct call *c, size_t count, const CCNurseryOptions *options,
                   CCNurseryPolicy policy, size_t *winner)
{
	CCNurseryOptions o = options != NULL ? *options : (CCNurseryOptions){0};
	uint64_t won;
	int err;

	*winner = count;
	if (!jobs_good(c->jobs, count) || o.policy != CC_NURSERY_FAIL_FAST)
		return EINVAL;
	o.policy = policy;
	if ((err = cc_nursery_init(&c->nursery, &o)) != 0)
		return err;
	for (size_t i = 0; i < count; i++)
		start(c, &c->jobs[i]);
	err = cc_nursery_join(&c->nursery);
	won = cc__load(&c->winner, CC__RELAXED);	/* Relaxed: after the join */
	if (won != 0)
		*winner = (size_t)won - 1;
	return err;
}

int cc_block_all(CCJob *jobs, size_t count, const CCNurseryOptions *options)
{
	struct call c = {.jobs = jobs};
	size_t nobody;

	return run_all(&c, count, options, CC_NURSERY_FAIL_FAST, &nobody);
}

int cc_block_on(cc_task_main *main, void *arg, const CCNurseryOptions *options)
{
	CCJob job = {.main = main, .arg = arg};

	return cc_block_all(&job, 1, options);
}

int cc_block_any(CCJob *jobs, size_t count, const CCNurseryOptions *options, size_t *winner)
{
	struct call c = {.jobs = jobs, .prize = FOR_SUCCESS};
	size_t ignored;
	const int err = run_all(&c, count, options, CC_NURSERY_FIRST_SUCCESS,
	                        winner != NULL ? winner : &ignored);

	return count == 0 ? EINVAL : err;
}

int cc_block_race(CCJob *jobs, size_t count, const CCNurseryOptions *options, size_t *winner)
{
	struct call c = {.jobs = jobs, .prize = FOR_THE_END};
	size_t first;
	int err = run_all(&c, count, options, CC_NURSERY_SUPERVISE, &first);

	if (winner != NULL)
		*winner = first;
	if (count == 0)
		return EINVAL;
	/* A job that was refused because a deadline had passed has ECANCELED, as cc_nursery_spawn
	 * says it; the nursery knows that it was a deadline. */
	return first < count && jobs[first].ran ? jobs[first].result : err;
}
