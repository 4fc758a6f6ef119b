/* log.h - CCConfig.debug: events that are printed as they happen. */
#ifndef CC__MONITOR_LOG_H
#define CC__MONITOR_LOG_H

/* Print what these flags of CCDebugFlag name too, from now on, in the whole
 * process. */
void cc__debug_log(unsigned flags);

/* From now on events are seen here, by hold.h and by chan/watch.h. */
void cc__debug_see(void);

#endif
