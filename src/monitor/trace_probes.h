/* trace_probes.h - static probes (USDT) where events are recorded, for perf, bpftrace, SystemTap
 * and gdb: `ccc:spawn`, `ccc:run`, `ccc:yield`, `ccc:park`, `ccc:wake`, `ccc:end`, `ccc:steal`,
 * `ccc:sleep`, `ccc:awake`.
 *
 * A probe is an instruction that does nothing and a note in the file.  All of them share one
 * semaphore, the high half of cc__watching: a tracer that arms a probe counts it up, and from
 * then on events are watched.  So a probe that is not armed costs nothing. */
#ifndef CC__MONITOR_TRACE_PROBES_H
#define CC__MONITOR_TRACE_PROBES_H

#ifdef CC__SDT
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
#ifdef __clang__
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"	/* sdt.h's */
#endif
#define CC__PROBE(name, a, b, c) STAP_PROBE3(ccc, name, a, b, c)
/* Other names of that half (os/trace.c). */
#define CC__PROBE_SEMAPHORE(name) \
	extern unsigned short ccc_##name##_semaphore __attribute__((visibility("hidden")))
CC__PROBE_SEMAPHORE(spawn);
CC__PROBE_SEMAPHORE(run);
CC__PROBE_SEMAPHORE(yield);
CC__PROBE_SEMAPHORE(park);
CC__PROBE_SEMAPHORE(wake);
CC__PROBE_SEMAPHORE(end);
CC__PROBE_SEMAPHORE(steal);
CC__PROBE_SEMAPHORE(sleep);
CC__PROBE_SEMAPHORE(awake);
#else
#define CC__PROBE(name, a, b, c) ((void)(a), (void)(b), (void)(c))
#endif

#endif
