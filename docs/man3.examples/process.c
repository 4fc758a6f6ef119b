/* Child processes: <ccc/process.h>. */
#define _GNU_SOURCE
#include <assert.h>
#include <signal.h>
#include <sys/wait.h>

#include <ccc/ccc.h>

static void run_a_program(void)
{
	const CCProcessOptions quiet = {.out = CC_PROCESS_NULL};
	CCProcess *p;
	int status;

	assert(cc_process_spawn(&p, &quiet, (char *[]){"sh", "-c", "echo hello; exit 3", NULL}) == 0);
	assert(cc_process_id(p) > 0);
	assert(cc_process_wait(p, CC_FOREVER, &status) == 0);
	assert(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	assert(cc_process_free(p) == 0);
}

/* A process that takes too long is ended. */
static void end_a_program(void)
{
	CCProcess *p;
	int status;

	assert(cc_process_spawn(&p, NULL, (char *[]){"sleep", "1000", NULL}) == 0);
	assert(cc_process_wait(p, cc_after(10 * CC_MSEC), &status) == ETIMEDOUT);
	assert(cc_process_kill(p, SIGKILL) == 0);
	assert(cc_process_wait(p, CC_FOREVER, &status) == 0);
	assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert(cc_process_free(p) == 0);
}

int main(void)
{
	run_a_program();
	end_a_program();
	return 0;
}
