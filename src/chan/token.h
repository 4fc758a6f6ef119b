/* token.h - a token as a case of a group. */
#ifndef CC__CHAN_TOKEN_H
#define CC__CHAN_TOKEN_H

#include <ccc/token.h>

#include "wait/wait.h"

/* The object is the CCToken.  Begins with w->lock NULL. */
extern const struct cc__waitable_ops cc__token_ops;

#endif
