/* summary.h - where the time went. */
#ifndef CCC_TRACE_SUMMARY_H
#define CCC_TRACE_SUMMARY_H

#include "trace.h"

/* Prints to standard output. */
void summary_print(struct trace *t);

#endif
