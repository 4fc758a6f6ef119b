/* describe.c - cc_description (ccc/describe.h): what a tool outside of the process must know to read
 * fibers, waits, nurseries, workers and channels.
 *
 * DESCRIBE-1  Constant data.  Nothing reads it while the program runs, and nothing is written for it.
 * DESCRIBE-2  Every offset is made by offsetof, so it is that of this build, whatever its options.
 * DESCRIBE-3  A tool may read while the process runs.  The fields of a wait count if the word of its
 *             sleeper is the same before and after they were read (WAITS-1). */
#include <ccc/describe.h>
#include <ccc/version.h>

#include "base/slab.h"
#include "chan/buffered.h"
#include "monitor/quiet.h"
#include "os/context_layout.h"
#include "park/engine.h"
#include "sched/branch.h"
#include "sched/worker.h"
#include "scope/nursery.h"
#include "task/local.h"

#define ADDRESS(text, variable) \
	{.name = text, .kind = CC_DESCRIBED_ADDRESS, .size = sizeof(variable), .address = &(variable)}
#define SIZE(text, type) \
	{.name = text, .kind = CC_DESCRIBED_SIZE, .size = sizeof(type), .value = sizeof(type)}
#define FIELD(text, type, field) \
	{.name = text, .kind = CC_DESCRIBED_FIELD, .size = sizeof(((type *)0)->field), \
	 .value = offsetof(type, field)}
#define NUMBER(text, number) \
	{.name = text, .kind = CC_DESCRIBED_NUMBER, .value = (uint64_t)(number)}

static const CCDescribed entries[] = {
    /* Where to begin. */
    ADDRESS("frames", cc__frame_slab),
    ADDRESS("threads", cc__thread_slab),
    ADDRESS("runtimes", cc__quiet_first),
    ADDRESS("coarse_now", cc__coarse_now),
    ADDRESS("capture_calls", cc__capture_calls),
    FIELD("capture_calls.in_frame", struct cc__capture_calls, in_frame),
    FIELD("capture_calls.in_piece", struct cc__capture_calls, in_piece),
    FIELD("capture_calls.in_memory", struct cc__capture_calls, in_memory),

    SIZE("slab", struct cc__slab),
    FIELD("slab.size", struct cc__slab, size),
    FIELD("slab.chunks", struct cc__slab, chunks),
    SIZE("chunk", struct cc__slab_chunk),
    FIELD("chunk.next", struct cc__slab_chunk, next),
    FIELD("chunk.carved", struct cc__slab_chunk, carved),
    NUMBER("chunk.first", CC__SLAB_HEAD),
    NUMBER("chunk.room", CC__SLAB_CHUNK),

    /* The state word of fibers and threads. */
    NUMBER("word.state_mask", 7),
    NUMBER("word.thread", CC__THREAD_BIT),
    NUMBER("word.owner_shift", CC__OWNER_SHIFT),
    NUMBER("word.owner_mask", CC__OWNER_MASK),
    NUMBER("word.ticket_mask", CC__TICKET_MASK),
    NUMBER("state.idle", CC__IDLE),
    NUMBER("state.assigned", CC__ASSIGNED),
    NUMBER("state.queued", CC__QUEUED),
    NUMBER("state.owned", CC__OWNED),
    NUMBER("state.parking", CC__PARKING),
    NUMBER("state.notified", CC__NOTIFIED),
    NUMBER("state.parked", CC__PARKED),
    NUMBER("state.done", CC__DONE),

    SIZE("fiber", struct cc__fiber),
    FIELD("fiber.word", struct cc__fiber, parker.word),
    FIELD("fiber.main", struct cc__fiber, run.main),
    FIELD("fiber.sp", struct cc__fiber, run.context.sp),
    FIELD("fiber.result", struct cc__fiber, run.result),
    FIELD("fiber.stack", struct cc__fiber, stack),
    FIELD("fiber.home", struct cc__fiber, home),
    FIELD("fiber.handle", struct cc__fiber, handle),
    FIELD("fiber.arg", struct cc__fiber, payload.arg),
    FIELD("fiber.later_deadline", struct cc__fiber, payload.later.timer.deadline),
    FIELD("fiber.child", struct cc__fiber, payload.child.what),
    FIELD("fiber.child_main", struct cc__fiber, payload.child.what.main),
    FIELD("fiber.child_arg", struct cc__fiber, payload.child.what.arg),
    FIELD("fiber.child_nursery", struct cc__fiber, payload.child.what.nursery),
    FIELD("fiber.place", struct cc__fiber, payload.child.what.place),
    {.name = "fiber.name", .kind = CC_DESCRIBED_FIELD, .size = CC__NAME_MAX,
     .value = offsetof(struct cc__fiber, payload) + CC__PAYLOAD - CC__NAME_MAX},
    FIELD("fiber.joiners", struct cc__fiber, done),
    NUMBER("home.mask", CC__HOME_BITS),
    NUMBER("home.named", CC__HOME_NAMED),
    NUMBER("handle.id_mask", CC__HANDLE_ID),
    NUMBER("handle.done", CC__HANDLE_DONE),
    NUMBER("handle.later", CC__HANDLE_LATER),
    NUMBER("child.daemon", 1),

    SIZE("stack", struct cc__stack),
    FIELD("stack.wait", struct cc__stack, own),
    FIELD("stack.place", struct cc__stack, place),
    FIELD("stack.alarm", struct cc__stack, alarm),
    FIELD("stack.member", struct cc__stack, member),
    NUMBER("stack.orders", CC__STACK_ORDERS),
    NUMBER("place.order_mask", CC__COLOUR_BYTES - 1),
    NUMBER("place.bottom_mask", ~(uint64_t)(CC__COLOURS * CC__COLOUR_BYTES - 1)),
    FIELD("shelf.size", struct cc__stack_shelf, size),
    FIELD("shelf.guard", struct cc__stack_shelf, guard_size),
    SIZE("shelf", struct cc__stack_shelf),

    /* What a fiber's stack and a thread's record say about a wait. */
    SIZE("wait", struct cc__own),
    FIELD("wait.next", struct cc__own, waiter.next),
    FIELD("wait.lock", struct cc__own, waiter.lock),
    FIELD("wait.parker", struct cc__own, waiter.who),
    FIELD("wait.ticket", struct cc__own, waiter.ticket),
    FIELD("wait.io", struct cc__own, waiter.io),
    FIELD("wait.for", struct cc__own, waiter.what),
    FIELD("wait.since", struct cc__own, since),
    NUMBER("wait.for_mask", (uint8_t)~CC__WAIT_FIRST),
    NUMBER("wait.since_shift", 20),
    NUMBER("for.word", CC__FOR_WORD),
    NUMBER("for.shared", CC__FOR_SHARED),
    NUMBER("for.mutex", CC__FOR_MUTEX),
    NUMBER("for.rwlock", CC__FOR_RWLOCK),
    NUMBER("for.cond", CC__FOR_COND),
    NUMBER("for.semaphore", CC__FOR_SEMAPHORE),
    NUMBER("for.once", CC__FOR_ONCE),
    NUMBER("for.barrier", CC__FOR_BARRIER),
    NUMBER("for.wait_group", CC__FOR_WAIT_GROUP),
    NUMBER("for.chan", CC__FOR_CHAN),
    NUMBER("for.select", CC__FOR_SELECT),
    NUMBER("for.token", CC__FOR_TOKEN),
    NUMBER("for.task", CC__FOR_TASK),
    NUMBER("for.nursery", CC__FOR_FLAG),
    NUMBER("for.sleep", CC__FOR_TIME),
    NUMBER("for.blocking", CC__FOR_CALL),
    NUMBER("for.fd", CC__FOR_FD),
    NUMBER("for.fd_here", CC__FOR_FD_HERE),
    NUMBER("for.job", CC__FOR_JOB),
    FIELD("sleeper.word", struct cc__sleeper, key.place),
    FIELD("timer.deadline", struct cc__timer, deadline),
    FIELD("timer.object", struct cc__timer, object),
    FIELD("timer.value", struct cc__timer, value),

    SIZE("thread", struct cc__thread),
    FIELD("thread.word", struct cc__thread, parker.word),
    FIELD("thread.wait", struct cc__thread, own),
    FIELD("thread.running", struct cc__thread, running),
    FIELD("thread.worker", struct cc__thread, worker),
    FIELD("thread.member", struct cc__thread, member),
    FIELD("thread.deadline", struct cc__thread, deadline),
    FIELD("thread.which", struct cc__thread, which),
    FIELD("thread.live", struct cc__thread, live),
    NUMBER("live.none", CC__THREAD_NONE),
    NUMBER("live.thread", CC__THREAD_LIVE),
    NUMBER("live.worker", CC__THREAD_WORKER),

    FIELD("member.scope", struct cc__member, scope),
    FIELD("member.outer", struct cc__member, outer),
    NUMBER("member.locals", 1),
    NUMBER("member.branches", CC__BRANCHES_MARK),
    FIELD("locals.member", struct cc__locals, member),
    FIELD("branches.member", struct cc__branches, member),

    SIZE("nursery", struct cc__nursery),
    FIELD("nursery.cancelled", struct cc__nursery, scope.flag),
    FIELD("nursery.shield", struct cc__nursery, scope.shield),
    FIELD("nursery.around", struct cc__nursery, scope.around),
    FIELD("nursery.owner", struct cc__nursery, inside.who),
    FIELD("nursery.runtime", struct cc__nursery, sched),
    FIELD("nursery.policy", struct cc__nursery, policy),
    FIELD("nursery.sealed", struct cc__nursery, sealed),
    FIELD("nursery.uncounted", struct cc__nursery, uncounted),
    FIELD("nursery.inside", struct cc__nursery, inside),
    FIELD("nursery.place", struct cc__nursery, place),
    FIELD("nursery.error", struct cc__nursery, error),
    FIELD("nursery.children", struct cc__nursery, children.word),
    FIELD("nursery.over", struct cc__nursery, children.over),
    FIELD("nursery.daemons", struct cc__nursery, daemons.word),
    NUMBER("tally.one", CC__TALLY_ONE),
    NUMBER("policy.fail_fast", CC_NURSERY_FAIL_FAST),
    NUMBER("policy.supervise", CC_NURSERY_SUPERVISE),
    NUMBER("policy.first_success", CC_NURSERY_FIRST_SUCCESS),

    SIZE("runtime", struct cc__sched),
    FIELD("runtime.next", struct cc__sched, next),
    FIELD("runtime.worker", struct cc__sched, worker),
    FIELD("runtime.workers", struct cc__sched, workers),
    FIELD("runtime.live", struct cc__sched, live),
    FIELD("runtime.stopping", struct cc__sched, stopping),
    FIELD("runtime.shelf", struct cc__sched, stacks.shelf),
    FIELD("runtime.stacks", struct cc__sched, stacks.made),
    FIELD("runtime.global_tail", struct cc__sched, global.tail),
    FIELD("runtime.global_head", struct cc__sched, global.head),
    FIELD("runtime.global_listed", struct cc__sched, global.listed),
    FIELD("runtime.woken", struct cc__sched, woken.length),
    FIELD("runtime.blocking_live", struct cc__sched, blocking.live),
    FIELD("runtime.blocking_waiting", struct cc__sched, blocking.waiting),

    SIZE("worker", struct cc__worker),
    FIELD("worker.id", struct cc__worker, id),
    FIELD("worker.thread", struct cc__worker, thread),
    FIELD("worker.clock", struct cc__worker, clock),
    FIELD("worker.picks", struct cc__worker, picks),
    FIELD("worker.spawned", struct cc__worker, spawned),
    FIELD("worker.finished", struct cc__worker, finished),
    FIELD("worker.life", struct cc__worker, life),
    FIELD("worker.urgent_head", struct cc__worker, queue.lane[CC__URGENT].head),
    FIELD("worker.urgent_tail", struct cc__worker, queue.lane[CC__URGENT].tail),
    FIELD("worker.ready_head", struct cc__worker, queue.lane[CC__READY].head),
    FIELD("worker.ready_tail", struct cc__worker, queue.lane[CC__READY].tail),
    FIELD("worker.fresh_head", struct cc__worker, queue.lane[CC__FRESH].head),
    FIELD("worker.fresh_tail", struct cc__worker, queue.lane[CC__FRESH].tail),
    FIELD("worker.offer", struct cc__worker, queue.offer),
    FIELD("worker.inbox", struct cc__worker, inbox.length),
    FIELD("worker.own", struct cc__worker, own.length),
    FIELD("worker.stuck", struct cc__worker, stuck),
    NUMBER("life.active", CC__LIFE_ACTIVE),
    NUMBER("life.search", CC__LIFE_SEARCH),
    NUMBER("life.sleep", CC__LIFE_SLEEP),
    NUMBER("life.draining", CC__LIFE_DRAINING),
    NUMBER("life.dead", CC__LIFE_DEAD),

    SIZE("chan", struct CCChan),
    FIELD("chan.by_ring", struct CCChan, by_ring),
    FIELD("chan.size", struct CCChan, size),
    FIELD("chan.lock", struct CCChan, lock),
    FIELD("chan.closed", struct CCChan, closed),
    FIELD("chan.count", struct CCChan, count),
    FIELD("chan.senders", struct CCChan, wait[CC__SEND].head),
    FIELD("chan.receivers", struct CCChan, wait[CC__RECV].head),
    FIELD("chan.capacity", struct CCChan, capacity),
    FIELD("chan.mode", struct CCChan, mode),
    FIELD("chan.name", struct CCChan, name),
    FIELD("chan.place", struct CCChan, place),
    FIELD("chan.ring_tail", struct cc__buffered_chan, ring.tail),
    FIELD("chan.ring_head", struct cc__buffered_chan, ring.head),
    FIELD("chan.ring_lap", struct cc__buffered_chan, ring.shape.lap),
    NUMBER("ring.shift", CC__RING_SHIFT),

    /* Where the CPU's switch leaves a context: registers by their DWARF numbers, from its sp. */
    CC__DESCRIBED_CONTEXT,
};

/* The library's version as text. */
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

const CCDescription cc_description = {
    .magic = "libccc",
    .version = CC_DESCRIPTION_VERSION,
    .entry_size = sizeof(CCDescribed),
    .count = sizeof entries / sizeof *entries,
    .entry = entries,
    .library = TEXT(CC_VERSION_MAJOR) "." TEXT(CC_VERSION_MINOR) "." TEXT(CC_VERSION_PATCH),
};

/* What the tools rely on. */
_Static_assert(sizeof(CCDescribed) == 64 && sizeof(CCDescription) == 48, "written to docs/description.md");

/* The name that the note uses: it is not looked up anywhere else. */
extern const CCDescription cc__described
    __attribute__((alias("cc_description"), visibility("hidden"), used));

/* An ELF note is loaded with the program, its program header leads to it, and strip keeps it. */
__asm__(".pushsection .note.libccc, \"a\", %note\n"
        "	.balign 4\n"
        "	.long 7, 8, 1\n"
        "	.asciz \"libccc\"\n"
        "	.balign 4\n"
        "	.quad cc__described - .\n"
        "	.popsection");
