/* A number where the channel carries structs.
 * expect-gcc: type mismatch in conditional expression
 * expect-clang: incompatible operand types ('int' and 'typeof (*(points).cc_sends)' (aka 'struct point')) */
#include <ccc/ccc.h>

struct point {
	int x, y;
};

cc_chan_type(Points, struct point);

void misuse(Points points, int number);

void misuse(Points points, int number)
{
#ifdef RIGHT
	cc_ignore(cc_send(points, (struct point){number, number}));
#else
	cc_send(points, number);
#endif
}
