/* config.h - what a configuration must satisfy. */
#ifndef CC__RUNTIME_CONFIG_H
#define CC__RUNTIME_CONFIG_H

#include <ccc/runtime.h>

/* Rounds what may be rounded; EINVAL, and a line in the log, on the rest. */
int cc__config_check(CCConfig *config);

#endif
