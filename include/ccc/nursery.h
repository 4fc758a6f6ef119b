/* nursery.h - tasks that end before the block that started them does.
 *
 *      int err = 0;
 *
 *      cc_nursery_scope(n, &err) {
 *              cc_nursery_spawn(n, NULL, produce, numbers);
 *              while (cc_chan_recv(numbers, &v, sizeof v) == 0)
 *                      sum += v;
 *      }                       // every child has ended; err is the first one's error
 *
 * When a child fails, the others are cancelled: whatever they wait for, now or later, ends
 * with ECANCELED, and so does what the block itself waits for.  A call that need not wait
 * succeeds all the same; what has been received, has been received.  Cancelling closes no
 * channel, and loses no element.  Nurseries nest, and what cancels one cancels all that
 * were opened inside of it, by its owner or by its children. */
#ifndef CCC_NURSERY_H
#define CCC_NURSERY_H

#include <ccc/arena.h>
#include <ccc/chan.h>
#include <ccc/task.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In its owner's memory, who is whoever opened it, fiber or thread; all of it is the
 * library's. */
typedef struct CCNursery {
	uint64_t opaque[32];
} CCNursery;

/* What a child's end means to the others. */
typedef enum CCNurseryPolicy {
	CC_NURSERY_FAIL_FAST,		/* the first error cancels all */
	CC_NURSERY_SUPERVISE,		/* nothing */
	CC_NURSERY_FIRST_SUCCESS,	/* the first 0 cancels all; errors do not matter then */
} CCNurseryPolicy;

/* All zero is the default. */
typedef struct CCNurseryOptions {
	CCRuntime *runtime;	/* of the children; NULL: cc_runtime_current() */
	CCNurseryPolicy policy;
	CCMigration migration;	/* of children that ask for none */
	/* The least that stacks of children have, guard included, as CCConfig says it; up to
	 * 1 GB.  0, or no more than their runtime's: that.  Larger ones are the next doubling
	 * of their runtime's, count like others (stacks_max) and are reused like them; each
	 * child has its own.  For children alone: what those spawn, and their nurseries, have
	 * what they say themselves. */
	size_t stack_size;
	/* Not 0: who sleeps is not woken by a cancellation, and meets it at his next call
	 * that has to wait. */
	int lazy;
	/* A time of cc_now, or 0: none.  Then everything inside is cancelled, and what
	 * waits gets ETIMEDOUT.  The nearest of all around counts. */
	cc_time deadline;
	/* Not 0: what cancels the nurseries around it does not reach inside, nor do their
	 * deadlines; its own deadline does, with ECANCELED. */
	int shield;
} CCNurseryOptions;

/* Open a nursery, whose owner is the caller.  `options` may be NULL.  EINVAL: no such policy
 * or migration, or stack_size is more than 1 GB; ENOMEM: no memory, or not for one stack of that
 * size; whatever kept the default runtime from starting.  Each must be joined, the inner before
 * the outer, by the fiber or thread that opened it.  A task or thread that ends with one open
 * stops the program, and so does main if it returns while a nursery on its stack is open.  exit()
 * may be called inside of a nursery: the process ends, and children are not waited for; whether
 * main has returned is not known of a nursery in static or allocated memory, so such a process
 * just ends, too.  Any thread; never parks. */
CC_API CC_MUST_CHECK int cc_nursery_init(CCNursery *nursery, const CCNurseryOptions *options);

/* Run main(arg) as a child.  Its result is 0 or an error.  EINVAL: not open, `options` has a
 * start or is wrong otherwise, or the nursery is sealed and the caller not inside of it.
 * ECANCELED: it has been cancelled.  EAGAIN, ENOMEM as for cc_task_spawn.  After an error
 * `arg` is still the caller's; after 0, main will be called, however soon it is cancelled.
 *
 * The result may be dropped, because a child that is not started counts as one that ended with
 * that error: it follows the nursery's policy, and cc_nursery_join returns it.  ECANCELED of a
 * cancelled nursery counts as a child that was cut short, so it never replaces an error.  Only
 * EINVAL is not kept where there is nothing to keep it in: the nursery is not open, or it is
 * sealed and the caller is not its owner.
 * Any thread; never parks. */
CC_API int cc_nursery_spawn(CCNursery *nursery, const CCTaskOptions *options, cc_task_main *main,
                            void *arg);

/* Runs main(arg) as a child, as cc_nursery_spawn does, and stores its handle in *out: for
 * cc_task_join, cc_select and cc_match.
 *
 * The child's end follows the nursery's policy whether or not it is joined, and cc_nursery_join
 * returns its error as well.  Any fiber or thread may join it.  Handles that are left when the
 * nursery has been joined are used up then: cc_task_join returns EINVAL for them, so a handle need
 * not be joined.  cc_task_detach gives the handle up and nothing else: the child stays its
 * nursery's.  cc_task_recall returns EALREADY.
 *
 * Returns 0, or the errors of cc_nursery_spawn; EINVAL also if `out` is NULL, and ENOMEM if there
 * is no memory for the handle.  After an error *out is all zero, and the nursery knows it as it
 * does after cc_nursery_spawn.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_nursery_spawn_task(CCNursery *nursery, CCTask *out,
                                               const CCTaskOptions *options, cc_task_main *main,
                                               void *arg);

/* As cc_nursery_spawn, but join does not wait for it to end by itself: when the others have, it is
 * cancelled. */
CC_API int cc_nursery_spawn_daemon(CCNursery *nursery, const CCTaskOptions *options,
                                   cc_task_main *main, void *arg);

/* As cc_nursery_spawn and cc_nursery_spawn_daemon, with a copy of `size` bytes at `captures` that is the child's until it ends,
 * aligned to CC_CAPTURES_ALIGN: main gets its address.  Up to CC_CAPTURES_SMALL bytes lie in a
 * frame from the pool, more in the nursery's arena, and both are given back when the child
 * ends: a nursery that lives on does not grow by them.  EINVAL: no captures. */
CC_API int cc_nursery_spawn_copy(CCNursery *nursery, const CCTaskOptions *options,
                                 cc_task_main *main, const void *captures, size_t size);
CC_API int cc_nursery_spawn_daemon_copy(CCNursery *nursery, const CCTaskOptions *options,
                                        cc_task_main *main, const void *captures, size_t size);

/* As cc_nursery_spawn_task, with such a copy.  Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_nursery_spawn_task_copy(CCNursery *nursery, CCTask *out,
                                                    const CCTaskOptions *options,
                                                    cc_task_main *main, const void *captures,
                                                    size_t size);

#define CC_CAPTURES_ALIGN 16
#define CC_CAPTURES_SMALL 64

/* Memory that is there until the nursery has been joined; its allocator is that of the
 * children's runtime.  Made at the first call.  NULL: no memory, or not open.  Any thread
 * inside of the nursery, or that knows it to be open otherwise; never parks. */
CC_API CC_MUST_CHECK CCArena *cc_nursery_arena(CCNursery *nursery);

/* Close `chan` when the nursery is sealed and its last child (daemons aside) has ended.  It
 * must not be freed before.  EINVAL: not open, no chan; ENOMEM.  Any thread.
 *
 * Until it is sealed only its owner can make that happen.  So if the owner receives from
 * `chan`, without a deadline of the call and not inside of another nursery, and there is
 * nothing to receive, and no child or daemon is left, or the last one ends while he waits, he
 * gets EDEADLK: he forgot to seal.  Nothing else has changed; he may seal and receive again.
 * (Who lets others than those inside send to such a channel seals before he receives.) */
CC_API CC_MUST_CHECK int cc_nursery_autoclose(CCNursery *nursery, CCChan *chan);

/* No more children, but by those who are inside.  A body that waits for a channel that is
 * closed by autoclose seals first (else EDEADLK, see there).  0, the second time too; EINVAL: not open; EPERM: the
 * caller is not its owner.  Never parks. */
CC_API int cc_nursery_seal(CCNursery *nursery);

/* Cancel everybody inside.  `reason` is an error that join returns then, if no child came
 * before, or 0: none.  What came first stays.  EINVAL: not open.  Any thread inside of the
 * nursery, or that knows it to be open otherwise; never parks. */
CC_API int cc_nursery_cancel(CCNursery *nursery, int reason);

/* Seal it, wait for the end of every child, and close it.  Cancellation does not end this
 * wait; it ends the children.  Returns the first error of a child, or of a spawn; if there was
 * none but some were cut short or not started, ECANCELED, or ETIMEDOUT if a deadline did it;
 * else 0, though it has been cancelled.  With FIRST_SUCCESS: 0 if any child succeeded.
 * EINVAL: not open; EPERM: the caller is not its owner; EBUSY: an inner one is still open.
 * May park. */
CC_API CC_MUST_CHECK int cc_nursery_join(CCNursery *nursery);

/* The memory is about to go: stops the program if the nursery is open.  Calls on a nursery that
 * was joined return EINVAL as long as its memory is there; after that the behaviour is
 * undefined, for the memory is the caller's. */
CC_API void cc_nursery_fini(CCNursery *nursery);

/* Why the caller is cancelled: 0 if it is not; the error of the child or the reason that
 * was given; ETIMEDOUT: a deadline; else ECANCELED.  Any thread; never parks. */
CC_API int cc_cancel_reason(void);

#ifndef __cplusplus
/* A nursery for the block that follows, joined wherever that is left: at its end, by break,
 * continue, return or goto, though not by longjmp.  `name` is a CCNursery *; what
 * cc_nursery_join returns, or cc_nursery_init if that fails and the block is skipped, goes
 * to *error unless that is NULL.  The arguments are evaluated once. */
#define cc_nursery_scope(name, error) cc_nursery_scope_with(name, error, NULL)
#define cc_nursery_scope_with(name, error, options) CC_NURSERY_SCOPE(name, error, options)

/* Clean-up that is seen through: what the block waits for does not end because of what
 * happened outside, before or meanwhile, but at `until` at the latest, with ECANCELED.
 *
 *      cc_shield_scope(cc_after(CC_SEC))
 *              cc_chan_send(log, &last_words, sizeof last_words); */
#define cc_shield_scope(until) \
	cc_nursery_scope_with(CC_SHIELD_NAME(__LINE__), 0, \
	                      &((CCNurseryOptions){.deadline = (until), .shield = 1}))
#define CC_SHIELD_NAME(line) CC_SHIELD_NAME_OF(line)
#define CC_SHIELD_NAME_OF(line) cc_shield_##line

/* A loop of one turn; name##_unopened is NULL after it.  (`name` may itself be a macro.) */
#define CC_NURSERY_SCOPE(name, error, options) \
	for (CCNursery name[1] __attribute__((cleanup(cc_nursery_scope_end))) = {{{0}}}, \
	                       *name##_unopened = name; \
	     name##_unopened != 0 && cc_nursery_scope_begin(name, error, options); \
	     name##_unopened = 0)

/* What the macros call. */
CC_API int cc_nursery_scope_begin(CCNursery *nursery, int *error, const CCNurseryOptions *options);
CC_API void cc_nursery_scope_end(CCNursery (*nursery)[1]);
#endif

#ifdef __cplusplus
}
#endif
#endif
