/* fd_one_test.c - fd_test.c and fd_many_test.c on a runtime with one worker. */
#define HOST_WORKERS 1
#include "fd_test.c"
#include "fd_many_test.c"
