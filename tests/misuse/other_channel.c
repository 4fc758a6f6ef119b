/* A channel of another type.
 * expect-gcc: expected 'Numbers' but argument is of type 'Points'
 * expect-clang: passing 'Points' (aka 'union Points') to parameter of incompatible type 'Numbers' (aka 'union Numbers') */
#include <ccc/ccc.h>

cc_chan_type(Numbers, int);
struct point {
	int x, y;
};

cc_chan_type(Points, struct point);

void use(Numbers numbers);

void misuse(Numbers numbers, Points points);

void misuse(Numbers numbers, Points points)
{
#ifdef RIGHT
	use(numbers);
	(void)points;
#else
	use(points);
	(void)numbers;
#endif
}
