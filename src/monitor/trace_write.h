/* trace_write.h - the rings as a file for a trace viewer. */
#ifndef CC__MONITOR_TRACE_WRITE_H
#define CC__MONITOR_TRACE_WRITE_H

/* Writes what the rings hold to fd, as JSON.  Writers go on meanwhile.  Allocates nothing but
 * mapped pages and takes no lock, so a handler of a fault may call it.  Returns 0, ENOMEM or the
 * error of the write. */
int cc__trace_write(int fd);

#endif
