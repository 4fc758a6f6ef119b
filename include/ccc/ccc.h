/* ccc.h - all of libccc. */
#ifndef CCC_CCC_H
#define CCC_CCC_H

#include <ccc/arena.h>
#include <ccc/base.h>
#include <ccc/blocking.h>
#include <ccc/branch.h>
#include <ccc/broadcast.h>
#include <ccc/cap.h>
#include <ccc/chan.h>
#include <ccc/combine.h>
#include <ccc/cxx.h>
#include <ccc/debug.h>
#include <ccc/describe.h>
#include <ccc/fd.h>
#include <ccc/fiber.h>
#include <ccc/io.h>
#include <ccc/local.h>
#include <ccc/net.h>
#include <ccc/nursery.h>
#include <ccc/parallel.h>
#include <ccc/park.h>
#include <ccc/process.h>
#include <ccc/runtime.h>
#include <ccc/select.h>
#include <ccc/serve.h>
#include <ccc/signal.h>
#include <ccc/stats.h>
#include <ccc/stream.h>
#include <ccc/sync.h>
#include <ccc/task.h>
#include <ccc/token.h>
#include <ccc/trace.h>
#include <ccc/typed.h>

#endif
