/* Captures that want a larger alignment than there is.
 * expect-gcc: the captures of draw want more than CC_CAPTURES_ALIGN: capture a pointer to what does
 * expect-clang: the captures of draw want more than CC_CAPTURES_ALIGN: capture a pointer to what does */
#include <ccc/ccc.h>

#ifdef RIGHT
cc_task_fn(draw, _Alignas(16) char pixels[64];)
#else
cc_task_fn(draw, _Alignas(64) char pixels[64];)
#endif
{
	return self->pixels[0];
}
