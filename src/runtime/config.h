/* config.h - what a configuration must satisfy, and how it is told. */
#ifndef CC__RUNTIME_CONFIG_H
#define CC__RUNTIME_CONFIG_H

#include <ccc/runtime.h>

#include "monitor/trace.h"

/* Rounds what may be rounded, resolves what is 0 for "by default"; EINVAL, and a
 * line in the log, on the rest. */
int cc__config_check(CCConfig *config);

/* What the environment says about the recorder.  EINVAL, and a line on standard error, if that
 * makes no sense. */
int cc__config_trace(struct cc__trace_settings *settings);

/* One line, without its end, that says what a checked configuration means; cut
 * off at `size`. */
void cc__config_describe(const CCConfig *config, char *line, size_t size);

#endif
