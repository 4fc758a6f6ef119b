/* frame.c - a task whose one frame is larger than its stack, its guard, and all that lies
 * between them and the next mapping: it must die at its own guard. */
#include <ccc/ccc.h>

#include <stdio.h>

static int use_large_frame(void *arg)
{
	char frame[1 << 20];

	(void)arg;
	frame[0] = frame[sizeof frame - 1] = 1;
	__asm__ volatile("" : : "r"(frame) : "memory");	/* all of it is wanted */
	return frame[sizeof frame - 1];
}

int main(void)
{
	CCTask task;
	int err = cc_task_spawn(NULL, &task, &(CCTaskOptions){.name = "large"}, use_large_frame,
	                        NULL);

	if (err == 0)
		err = cc_task_join(task, CC_FOREVER, NULL);
	printf("it went on: %d\n", err);
	return 3;
}
