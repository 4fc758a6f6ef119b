/* log.h - CCConfig.debug: events that are printed as they happen. */
#ifndef CC__DEBUG_LOG_H
#define CC__DEBUG_LOG_H

/* Print what these flags of CCDebugFlag name too, from now on, in the whole
 * process. */
void cc__debug_log(unsigned flags);

/* From now on events are seen here, and by hold.h. */
void cc__debug_see(void);

/* A task by its number, a thread by its address; NULL: somebody. */
struct cc__debug_name {
	char text[48];
};
struct cc__debug_name cc__debug_name(const void *who);

#endif
