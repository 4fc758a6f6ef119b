/* quick_sort.c - fork and join: both halves at once, where a worker is idle; else a call.  And a
 * sum over a range. */
#include <stdio.h>

#include <ccc/ccc.h>

/* Moves what is smaller than the middle element to the front. */
static size_t partition(int *v, size_t n)
{
	const int pivot = v[(n - 1) / 2];
	size_t i = 0, j = n - 1;

	for (;; i++, j--) {
		while (v[i] < pivot)
			i++;
		while (v[j] > pivot)
			j--;
		if (i >= j)
			return j + 1;
		v[i] ^= v[j], v[j] ^= v[i], v[i] ^= v[j];
	}
}

static cc_par_fn(sort, int *v; size_t n;)
{
	if (self->n < 2)
		return 0;
	const size_t m = partition(self->v, self->n);

	return cc_par2((sort, .v = self->v, .n = m), (sort, .v = self->v + m, .n = self->n - m));
}

static cc_fold_fn(sum, long, const int *v;)
{
	for (size_t i = from; i < to; i++)
		*into += self->v[i];
	return 0;
}

static cc_join_fn(sum)
{
	*into += *other;
	return 0;
}

int main(void)
{
	enum { N = 100000 };
	static int v[N];
	long total = 0;

	for (int i = 0; i < N; i++)
		v[i] = (int)((unsigned)i * 48271u % 100003u);
	if (cc_par2((sort, .v = v, .n = N / 2), (sort, .v = v + N / 2, .n = N / 2)) != 0 ||
	    cc_par_reduce(0, N, 1000, &total, sum, .v = v) != 0)
		return 1;
	printf("halves begin with %d and %d, sum %ld\n", v[0], v[N / 2], total);
	return 0;
}
