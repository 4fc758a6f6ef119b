/* settings.h - what the environment says about channels: defined in runtime/config.c,
 * which alone reads it. */
#ifndef CC__CHAN_SETTINGS_H
#define CC__CHAN_SETTINGS_H

enum cc__chan_setting {
	CC__CHAN_LOCKED = 1 << 0,	/* no lock-free path; CC_CHAN_NO_LOCKFREE */
	CC__CHAN_LOG = 1 << 1,		/* a line for each operation; CC_CHAN_DEBUG */
	CC__CHAN_VERBOSE = 1 << 2,	/* lines for waits and wakes; CC_CHAN_DEBUG_VERBOSE */
	CC__CHAN_TIMING = 1 << 3,	/* how long operations take; CC_CHANNEL_TIMING */
	CC__CHAN_ORDER = 1 << 4,	/* ThreadSanitizer is told; no variable, cc__tools_order */
	CC__CHAN_PROBED = 1 << 5,	/* operations are counted; no variable, chan/progress.h */
};

/* Of cc__chan_setting; the same from the first call on.  Any thread. */
unsigned cc__chan_settings(void);

#endif
