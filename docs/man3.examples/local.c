/* Values of a task: <ccc/local.h>. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <ccc/ccc.h>

static CCLocal request;		/* the key */

static int handle(void *arg)
{
	assert(cc_local_get(request) == NULL);
	assert(cc_local_set(request, strdup(arg)) == 0);
	assert(cc_sleep_ms(1) == 0);		/* the fiber may go on in another thread */
	assert(strcmp(cc_local_get(request), arg) == 0);
	return 0;				/* the destructor, free, is called */
}

static void keep_a_value(void)
{
	char first[] = "first", second[] = "second";
	CCJob jobs[] = {{.main = handle, .arg = first}, {.main = handle, .arg = second}};

	assert(cc_local_new(&request, free) == 0);
	assert(cc_block_all(jobs, 2, NULL) == 0);
	assert(cc_local_delete(request) == 0);
}

int main(void)
{
	keep_a_value();
	return 0;
}
