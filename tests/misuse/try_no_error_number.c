/* cc_try of something that is no error number.
 * expect-gcc: cc_try_wants_an_int_error_number
 * expect-clang: cc_try_wants_an_int_error_number */
#include <ccc/ccc.h>

int misuse(CCChan **out);

int misuse(CCChan **out)
{
#ifdef RIGHT
	cc_try(cc_chan_create(out, 4, 1, NULL));
#else
	cc_try(*out = cc_chan_new(4, 1));
#endif
	return 0;
}
