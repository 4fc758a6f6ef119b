/* hello.c - two tasks, and a block that ends when both have ended. */
#include <stdio.h>

#include <ccc/ccc.h>

enum { SIZE = 32 };

static cc_task_fn(greet, const char *whom; char *greeting;)
{
	snprintf(self->greeting, SIZE, "hello, %s", self->whom);
	return 0;
}

int main(void)
{
	char first[SIZE], second[SIZE];
	int err = 0;

	cc_nursery_scope(n, &err) {
		cc_spawn(n, greet, .whom = "world", .greeting = first);
		cc_spawn(n, greet, .whom = "fibers", .greeting = second);
	}
	if (err == 0)
		printf("%s\n%s\n", first, second);
	return err;
}
