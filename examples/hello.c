/* hello.c - two tasks, and a block that ends when they have. */
#include <stdio.h>

#include <ccc/ccc.h>

static cc_task_fn(greet, const char *whom; int *greeted;)
{
	printf("hello, %s\n", self->whom);
	++*self->greeted;
	return 0;
}

int main(void)
{
	int greeted = 0, err = 0;

	cc_nursery_scope(n, &err)
		cc_spawn(n, greet, .whom = "world", .greeted = &greeted);
	cc_nursery_scope(n, &err)
		cc_spawn(n, greet, .whom = "fibers", .greeted = &greeted);
	printf("%d greeted\n", greeted);
	return err;
}
