/* chan_select_marks.c - chan_select_now.c once more, where the select gives up reading positions at
 * once and raises the rings' marks under their locks instead (S6 in select.c).
 *
 * sources: base/lock.c wait/wait.c wait/thread.c chan/ring.c chan/buffered.c chan/chan.c
 *          chan/locked.c chan/select.c chan/token.c
 * defines: CC__SELECT_ROUNDS=0 */
#include "engine.h"

#define NOW(name, ...) SCENARIO(marks_##name, __VA_ARGS__)
#include "chan_select_now.c" /* covers: RES-69/m */
