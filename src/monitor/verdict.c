/* verdict.c - a deadlock is told, and ends the process. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/assert.h"
#include "monitor/dump.h"
#include "monitor/quiet.h"

/* What usually is the mistake, by what is waited for. */
static const struct remedy {
	unsigned kinds;
	const char *text;
} remedies[] = {
    {1u << CC_WAIT_RECV, "a receiver waits until the channel is closed: close it (cc_close, cc_chan_close, "
                         "cc_nursery_autoclose) when the last sender is done"},
    {1u << CC_WAIT_SEND, "a sender waits until another fiber receives: start the receiver first, or give "
                         "the channel a capacity"},
    {1u << CC_WAIT_MUTEX | 1u << CC_WAIT_RWLOCK,
     "lock several mutexes in the same order everywhere, and none twice; CC_DEBUG_HOLD=200 names the holders"},
    {1u << CC_WAIT_COND, "change the condition under its mutex, then call cc_cond_signal"},
    {1u << CC_WAIT_SEMAPHORE, "every cc_semaphore_wait needs a cc_semaphore_post"},
    {1u << CC_WAIT_TASK | 1u << CC_WAIT_NURSERY,
     "a joined task must not wait for the fiber that joins it"},
};

/* Others wait for those that wait for these. */
static unsigned causes(unsigned kinds)
{
	const unsigned joins = 1u << CC_WAIT_TASK | 1u << CC_WAIT_NURSERY;

	return (kinds & ~joins) != 0 ? kinds & ~joins : kinds;
}

static void say_remedies(unsigned kinds)
{
	for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++)
		if (remedies[i].kinds & kinds)
			cc__say("libccc: deadlock: ", remedies[i].text, "\n");
}

static void say_count(const struct cc__dumped *all)
{
	char line[160];

	snprintf(line, sizeof line,
	         "libccc: deadlock: %u fiber%s and %u thread%s wait, and nothing in the process can run "
	         "again:\n",
	         all->fibers, all->fibers == 1 ? "" : "s", all->threads, all->threads == 1 ? "" : "s");
	cc__say(line);
}

void cc__deadlock(uint64_t signature)
{
	static cc__a64 told = {UINT64_MAX};
	const unsigned settings = cc__deadlock_settings();
	struct cc__dumped all = {0};

	/* Relaxed: one of those who find it out tells it. */
	if (cc__xchg(&told, signature, CC__RELAXED) == signature)
		return;
	cc__dump(-1, CC_DUMP_TEXT, &all);
	say_count(&all);
	cc__dump(STDERR_FILENO, CC_DUMP_TEXT, NULL);
	say_remedies(causes(all.kinds));
	if (settings & (CC__DEADLOCK_RUNTIME | CC__DEADLOCK_INBOXES))
		cc__quiet_print_inboxes();
	if (!(settings & CC__DEADLOCK_ABORTS)) {
		cc__say("libccc: deadlock: goes on, because CC_DEADLOCK_ABORT is 0\n");
		return;
	}
	cc__say("libccc: deadlock: aborts; CC_DEADLOCK_ABORT=0 goes on, docs/debugging.md explains\n");
	abort();
}
