/* Loops on all processors: a range in pieces, and a sum. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include <ccc/ccc.h>

enum { COUNT = 1000000 };

static cc_range_fn(fill, double *v;)
{
	for (size_t i = from; i < to; i++)
		self->v[i] = sqrt((double)i);
	return 0;
}

static cc_fold_fn(sum_squares, double, const double *v;)
{
	for (size_t i = from; i < to; i++)
		*into += self->v[i] * self->v[i];
	return 0;
}

static cc_join_fn(sum_squares)
{
	*into += *other;
	return 0;
}

int main(void)
{
	double *v = malloc(COUNT * sizeof *v), sum = 0;

	assert(v != NULL);
	assert(cc_par_for(0, COUNT, 0, fill, .v = v) == 0);	/* 0: pieces of a good size */
	assert(cc_par_reduce(0, COUNT, 0, &sum, sum_squares, .v = v) == 0);
	assert(fabs(sum - (COUNT - 1.0) * COUNT / 2) < 1);
	free(v);
	return 0;
}
