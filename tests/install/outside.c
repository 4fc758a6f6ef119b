/* outside.c - a program that knows only the installed tree. */
#include <ccc/ccc.h>

#include <stdio.h>

int main(void)
{
	printf("headers %06x, library %06x\n", (unsigned)CC_VERSION, (unsigned)cc_version());
	return cc_version() == CC_VERSION ? 0 : 1;
}
