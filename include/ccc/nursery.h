/* nursery.h - tasks that cannot outlive the block that started them.
 *
 *      int err = 0;
 *
 *      cc_nursery_scope(n, &err) {
 *              cc_nursery_spawn(n, NULL, produce, numbers);
 *              while (cc_chan_recv(numbers, &v, sizeof v) == 0)
 *                      sum += v;
 *      }                       // every child has ended; err is the first child's error
 *
 * Failure.  When a child returns an error, the nursery is cancelled (policy CC_NURSERY_FAIL_FAST).
 *
 * Cancellation.  In a cancelled nursery every wait ends with ECANCELED: the waits of the children,
 * the waits of the owner inside the block, and those of nurseries opened inside this one.  A call
 * that need not wait still succeeds.  Cancellation closes no channel and loses no element: an
 * element that was received stays received.
 *
 * Nesting.  Nurseries nest.  Cancelling one cancels every nursery that its owner or its children
 * opened inside it.
 *
 * In a child of fork (runtime.h) every call that returns an error returns ENOTSUP. */
#ifndef CCC_NURSERY_H
#define CCC_NURSERY_H

#include <ccc/arena.h>
#include <ccc/chan.h>
#include <ccc/task.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A nursery.  The owner (the fiber or thread that calls cc_nursery_init) provides the memory.
 * The fields are private. */
typedef struct CCNursery {
	uint64_t opaque[32];
} CCNursery;

/* What the end of one child does to the others. */
typedef enum CCNurseryPolicy {
	CC_NURSERY_FAIL_FAST,		/* the first error cancels the nursery */
	CC_NURSERY_SUPERVISE,		/* children do not affect each other */
	CC_NURSERY_FIRST_SUCCESS,	/* the first 0 cancels the nursery and becomes its result */
} CCNurseryPolicy;

/* Options.  A zeroed struct is the default. */
typedef struct CCNurseryOptions {
	/* Runtime that runs the children.  NULL: cc_runtime_current(). */
	CCRuntime *runtime;
	CCNurseryPolicy policy;
	/* Migration of children whose own options do not say. */
	CCMigration migration;
	/* Minimum stack size of the children in bytes, guard included (see CCConfig.stack_size);
	 * at most 1 GB.  0, or a size below the runtime's: the runtime's size.  The size is
	 * rounded up to the runtime's size times a power of two.  Such stacks count towards
	 * CCConfig.stacks_max and are reused as other stacks are; each child has its own.  The
	 * size applies to the children only, not to tasks or nurseries that they create. */
	size_t stack_size;
	/* Not 0: cancellation does not wake a child that already waits.  The child sees the
	 * cancellation at its next call that has to wait. */
	int lazy;
	/* Absolute time of cc_now() at which the nursery is cancelled; waits then end with
	 * ETIMEDOUT.  0: no deadline.  If enclosing nurseries have deadlines too, the earliest
	 * one counts. */
	cc_time deadline;
	/* Not 0: cancellation and deadlines of enclosing nurseries do not reach inside.  The
	 * nursery's own deadline does; waits then end with ECANCELED. */
	int shield;
} CCNurseryOptions;

/* Opens a nursery.  The caller becomes its owner and must join it (cc_nursery_join), inner
 * nurseries before outer ones.  `options` may be NULL.
 *
 * A task or thread that ends with an open nursery aborts the program; so does main if it returns
 * while a nursery on its stack is open.  exit() may be called inside a nursery: the process ends
 * without waiting for the children.  For a nursery in static or allocated memory the library
 * cannot tell a return from main from exit(), so such a process just ends, too.
 *
 * Returns 0, or
 *   EINVAL      `nursery` is NULL, the policy or migration is unknown, or stack_size is above
 *               1 GB
 *   ENOMEM      no memory, or not enough for one stack of that size
 *   ENOTSUP     in a child of fork (runtime.h)
 *   (other)     the default runtime could not be started
 * After an error the nursery is not open.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_nursery_init(CCNursery *nursery, const CCNurseryOptions *options);

/* Starts `main(arg)` as a child.  The child returns 0 or an error number.
 *
 * After success, `main` will be called even if the nursery is cancelled before the child starts,
 * so a child may own what `arg` points to.
 *
 * The result may be ignored, because the nursery records it: a child that could not be started
 * counts as a child that ended with that error.  The error follows the nursery's policy, and
 * cc_nursery_join returns it.  ECANCELED counts as a child that was ended early, so it never
 * replaces another error.  Only EINVAL is lost, if the nursery is not open, or if it is sealed
 * and the caller is not its owner.
 *
 * Returns 0, or
 *   EINVAL      the nursery is not open, `main` is NULL, the options are invalid or have a start
 *               time, or the nursery is sealed and the caller is not inside it
 *   ECANCELED   the nursery has been cancelled
 *   EAGAIN      other tasks already wait for stacks that the system does not grant
 *   ENOMEM      no memory, or not enough for one stack of the size in the options
 *   ENOTSUP     in a child of fork (runtime.h)
 * After an error `arg` still belongs to the caller.
 *
 * Any thread.  Never parks. */
CC_API int cc_nursery_spawn(CCNursery *nursery, const CCTaskOptions *options, cc_task_main *main,
                            void *arg);

/* Starts `main(arg)` as a child, as cc_nursery_spawn does, and stores its handle in *out.  The
 * handle is for cc_task_join, cc_select and cc_match.
 *
 * The child's end follows the nursery's policy whether or not it is joined, and cc_nursery_join
 * returns its error as well.  Any fiber or thread may join the handle.  A handle need not be
 * joined: cc_nursery_join consumes the remaining handles, and cc_task_join returns EINVAL for them
 * afterwards.  cc_task_detach consumes the handle and has no other effect: the child remains a
 * child of its nursery.  cc_task_recall returns EALREADY.
 *
 * Returns 0, or
 *   EINVAL      `out` is NULL
 *   ENOMEM      no memory for the handle
 *   (other)     the errors of cc_nursery_spawn
 * After an error *out is zeroed, `arg` still belongs to the caller, and the nursery has recorded
 * the error as after cc_nursery_spawn.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_nursery_spawn_task(CCNursery *nursery, CCTask *out,
                                               const CCTaskOptions *options, cc_task_main *main,
                                               void *arg);

/* Starts a daemon child: as cc_nursery_spawn, except that cc_nursery_join does not wait for the
 * daemon to finish by itself.  Once all other children have ended, join cancels the daemons and
 * waits for them to return.
 *
 * Returns as cc_nursery_spawn does.
 *
 * Any thread.  Never parks. */
CC_API int cc_nursery_spawn_daemon(CCNursery *nursery, const CCTaskOptions *options,
                                   cc_task_main *main, void *arg);

/* Starts a child with a copy of the `size` bytes at `captures`.  `main` receives the address of
 * the copy, which is aligned to CC_CAPTURES_ALIGN and lives until the child ends.  Copies of up to
 * CC_CAPTURES_SMALL bytes are stored in a frame of the pool, larger ones in the nursery's arena;
 * both are released when the child ends, so a long-lived nursery does not grow.
 *
 * Returns 0, or
 *   EINVAL      `captures` is NULL
 *   (other)     the errors of cc_nursery_spawn
 * After an error nothing was copied.
 *
 * Any thread.  Never parks. */
CC_API int cc_nursery_spawn_copy(CCNursery *nursery, const CCTaskOptions *options,
                                 cc_task_main *main, const void *captures, size_t size);

/* Starts a daemon child, as cc_nursery_spawn_daemon does, with a copy of the `size` bytes at
 * `captures`, as cc_nursery_spawn_copy does.
 *
 * Returns as cc_nursery_spawn_copy does.
 *
 * Any thread.  Never parks. */
CC_API int cc_nursery_spawn_daemon_copy(CCNursery *nursery, const CCTaskOptions *options,
                                        cc_task_main *main, const void *captures, size_t size);

/* Starts a child and stores its handle in *out, as cc_nursery_spawn_task does, with a copy of the
 * `size` bytes at `captures`, as cc_nursery_spawn_copy does.
 *
 * Returns 0, or
 *   EINVAL      `out` or `captures` is NULL
 *   (other)     the errors of cc_nursery_spawn_task
 * After an error *out is zeroed and nothing was copied.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_nursery_spawn_task_copy(CCNursery *nursery, CCTask *out,
                                                    const CCTaskOptions *options,
                                                    cc_task_main *main, const void *captures,
                                                    size_t size);

/* Alignment of a copy of captures, and the largest copy in bytes that needs no arena. */
#define CC_CAPTURES_ALIGN 16
#define CC_CAPTURES_SMALL 64

/* Returns the nursery's arena, whose memory lives until the nursery has been joined.  The first
 * call creates the arena with the allocator of the children's runtime.
 *
 * Returns NULL if there is no memory, the nursery is not open, or in a child of fork.
 *
 * Any thread that is inside the nursery or otherwise knows that it is open.  Never parks. */
CC_API CC_MUST_CHECK CCArena *cc_nursery_arena(CCNursery *nursery);

/* Closes `chan` automatically once the nursery is sealed and its last child has ended (daemons
 * do not count).  Do not free `chan` before that.
 *
 * Only a sealed nursery closes its channels, and only the owner can seal it.  So the owner would
 * wait for ever if it received from `chan` before sealing, while the channel is empty and no child
 * or daemon is left, or if the last of them ends during the wait.  That receive returns EDEADLK
 * instead, and changes nothing else.  Seal the nursery and receive again.  The check applies to
 * receives without a deadline of their own and outside of inner nurseries.  If tasks outside the
 * nursery also send to `chan`, seal before the first receive.
 *
 * Returns 0, or
 *   EINVAL      the nursery is not open, or `chan` is NULL
 *   ENOMEM      no memory
 *   ENOTSUP     in a child of fork (runtime.h)
 * After an error the nursery will not close `chan`.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_nursery_autoclose(CCNursery *nursery, CCChan *chan);

/* Seals the nursery: from now on only tasks inside it may spawn into it.  Sealing twice is not
 * an error.  A block that receives from a channel of cc_nursery_autoclose seals first.
 *
 * Returns 0, or
 *   EINVAL      the nursery is not open
 *   EPERM       the caller is not the owner
 *   ENOTSUP     in a child of fork (runtime.h)
 *
 * Owner only.  Never parks. */
CC_API int cc_nursery_seal(CCNursery *nursery);

/* Sets, moves or removes the nursery's deadline, which is then as if it had been given in
 * CCNurseryOptions: at the time `when` of cc_now() the nursery is cancelled.  A time that has
 * passed, and CC_NOW, cancel it at once; CC_FOREVER removes the deadline.  Deadlines of
 * enclosing nurseries are not affected.
 *
 * A server gives each request of a connection its own time:
 *
 *      while (read_request(c) == 0 && cc_nursery_deadline(n, cc_after(30 * CC_SEC)) == 0)
 *              answer(c);
 *
 * Returns 0, or
 *   ECANCELED   the nursery is cancelled, or its former deadline has passed
 *   EINVAL      the nursery is not open
 *   EPERM       the caller is not the owner
 *   ENOMEM      no memory for the timer
 *   ENOTSUP     in a child of fork (runtime.h)
 * After an error the former deadline still holds.
 *
 * Owner only.  Never parks. */
CC_API CC_MUST_CHECK int cc_nursery_deadline(CCNursery *nursery, cc_time when);

/* Cancels the nursery: every wait inside it ends with ECANCELED.  If `reason` is not 0 and no
 * child has failed before, it becomes the error that cc_nursery_join returns.  The first error or
 * reason stays: later ones do not replace it.
 *
 * Returns 0, or
 *   EINVAL      the nursery is not open, or `reason` is negative
 *   ENOTSUP     in a child of fork (runtime.h)
 *
 * Any thread that is inside the nursery or otherwise knows that it is open.  Never parks. */
CC_API int cc_nursery_cancel(CCNursery *nursery, int reason);

/* Waits until every child has ended, then closes the nursery.  Seals it first.  Cancellation
 * does not interrupt this wait: it makes the children end, and join waits for them.
 *
 * Returns 0, or
 *   (error)     the first error that a child, or a spawn into the nursery, returned
 *   ECANCELED   no child failed, but cancellation ended at least one child early or kept it from
 *               starting
 *   ETIMEDOUT   no child failed, but a deadline ended at least one child early or kept it from
 *               starting
 *   EINVAL      the nursery is not open
 *   EPERM       the caller is not the owner
 *   EBUSY       a nursery opened inside this one is still open
 *   ENOTSUP     in a child of fork (runtime.h)
 * A nursery that was cancelled after every child had finished its work returns 0.  With
 * CC_NURSERY_FIRST_SUCCESS join returns 0 if any child returned 0.  After EPERM and EBUSY the
 * nursery is still open.
 *
 * Owner only.  May park.  Not a cancellation point. */
CC_API CC_MUST_CHECK int cc_nursery_join(CCNursery *nursery);

/* Aborts the program if the nursery is open.  Call it before the memory of a nursery is released.
 *
 * Calls on a nursery that was joined return EINVAL as long as its memory exists; after that their
 * behaviour is undefined, because the memory belongs to the caller.
 *
 * Any thread.  Never parks. */
CC_API void cc_nursery_fini(CCNursery *nursery);

/* Returns why the caller is cancelled.
 *
 * Returns 0 if it is not cancelled, or
 *   (error)     the error of the child that failed, or the reason given to cc_nursery_cancel
 *   ETIMEDOUT   the deadline of a nursery passed
 *   ECANCELED   any other cause
 *
 * Any thread.  Never parks. */
CC_API int cc_cancel_reason(void);

#ifndef __cplusplus
/* cc_nursery_scope(name, error) opens a nursery for the block that follows and joins it when
 * control leaves the block: at its end, or by break, continue, return or goto, but not by longjmp.
 * In the block `name` is a CCNursery *.
 *
 * If `error` is not NULL, *error receives the result of cc_nursery_join; if the nursery cannot be
 * opened, the block is skipped and *error receives the error of cc_nursery_init.  The _with form
 * takes a const CCNurseryOptions *.  Each argument is evaluated once. */
#define cc_nursery_scope(name, error) cc_nursery_scope_with(name, error, NULL)
#define cc_nursery_scope_with(name, error, options) CC_NURSERY_SCOPE(name, error, options)

/* cc_shield_scope(until) runs the block that follows as clean-up that cancellation does not
 * interrupt.  Cancellations and deadlines outside of the block, earlier or later ones, do not end
 * its waits.  At the time `until` they end with ECANCELED.
 *
 *      cc_shield_scope(cc_after(CC_SEC))
 *              cc_chan_send(log, &last_words, sizeof last_words); */
#define cc_shield_scope(until) \
	cc_nursery_scope_with(CC_SHIELD_NAME(__LINE__), 0, \
	                      &((CCNurseryOptions){.deadline = (until), .shield = 1}))
#define CC_SHIELD_NAME(line) CC_SHIELD_NAME_OF(line)
#define CC_SHIELD_NAME_OF(line) cc_shield_##line

/* A loop that runs once: name##_unopened is NULL after the first round.  `name` may itself be a
 * macro. */
#define CC_NURSERY_SCOPE(name, error, options) \
	for (CCNursery name[1] __attribute__((cleanup(cc_nursery_scope_end))) = {{{0}}}, \
	                       *name##_unopened = name; \
	     name##_unopened != 0 && cc_nursery_scope_at(name, error, options, CC_PLACE(name)); \
	     name##_unopened = 0)

/* Opens the nursery of cc_nursery_scope.  Not to be called directly.
 *
 * Returns 1 if the block is to run, or 0.
 *
 * Any thread.  Never parks. */
CC_API int cc_nursery_scope_begin(CCNursery *nursery, int *error, const CCNurseryOptions *options);

/* Opens the nursery of cc_nursery_scope, at the place `place`, which is a CC_PLACE.  Not to be called
 * directly.
 *
 * Returns 1 if the block is to run, or 0.
 *
 * Any thread.  Never parks. */
CC_API int cc_nursery_scope_at(CCNursery *nursery, int *error, const CCNurseryOptions *options,
                               const char *place);

/* Joins the nursery of cc_nursery_scope.  Not to be called directly.
 *
 * Owner only.  May park.  Not a cancellation point. */
CC_API void cc_nursery_scope_end(CCNursery (*nursery)[1]);
#endif

/* Starts a child as cc_nursery_spawn does, for cc_spawn.  `place` is CC_PLACE of the task.
 *
 * Returns as cc_nursery_spawn does.
 *
 * Any thread.  Never parks. */
CC_API int cc_spawn_at(CCNursery *nursery, const CCTaskOptions *options, cc_task_main *main, void *arg,
                       const char *place);

/* Starts a child as cc_nursery_spawn_copy does, for cc_spawn.  `place` is CC_PLACE of the task.
 *
 * Returns as cc_nursery_spawn_copy does.
 *
 * Any thread.  Never parks. */
CC_API int cc_spawn_copy_at(CCNursery *nursery, const CCTaskOptions *options, cc_task_main *main,
                            const void *captures, size_t size, const char *place);

/* Starts a daemon child as cc_nursery_spawn_daemon does, for cc_spawn_daemon.  `place` is CC_PLACE
 * of the task.
 *
 * Returns as cc_nursery_spawn_daemon does.
 *
 * Any thread.  Never parks. */
CC_API int cc_spawn_daemon_at(CCNursery *nursery, const CCTaskOptions *options, cc_task_main *main,
                              void *arg, const char *place);

/* Starts a daemon child as cc_nursery_spawn_daemon_copy does, for cc_spawn_daemon.  `place` is
 * CC_PLACE of the task.
 *
 * Returns as cc_nursery_spawn_daemon_copy does.
 *
 * Any thread.  Never parks. */
CC_API int cc_spawn_daemon_copy_at(CCNursery *nursery, const CCTaskOptions *options,
                                   cc_task_main *main, const void *captures, size_t size,
                                   const char *place);

/* Starts a child with a handle as cc_nursery_spawn_task_copy does, for cc_spawn_task.  If `captures`
 * is NULL the task gets NULL.  `place` is CC_PLACE of the task.
 *
 * Returns as cc_nursery_spawn_task_copy does.
 *
 * Any thread.  Never parks. */
CC_API CC_MUST_CHECK int cc_spawn_task_at(CCNursery *nursery, CCTask *out,
                                          const CCTaskOptions *options, cc_task_main *main,
                                          const void *captures, size_t size, const char *place);

/* Starts a task and sends its handle as cc_chan_spawn_copy does, for cc_spawn_send.  If `captures` is
 * NULL the task gets NULL.  `place` is CC_PLACE of the task.
 *
 * Returns as cc_chan_spawn_copy does.
 *
 * Any thread.  May park.  Cancellation point. */
CC_API CC_MUST_CHECK int cc_spawn_send_at(CCChan *chan, void *item, size_t size, cc_task_main *main,
                                          const void *captures, size_t captures_size,
                                          cc_time deadline, const char *place);

#ifdef __cplusplus
}
#endif
#endif
