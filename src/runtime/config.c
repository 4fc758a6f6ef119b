/* config.c - defaults, environment, limits: the only place that reads either. */
#include <ccc/runtime.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "os/pages.h"
#include "runtime/config.h"

#ifndef CC_FIBER_STACK_SIZE
#define CC_FIBER_STACK_SIZE (256 * 1024)
#endif

enum { STACK_MIN = 16 * 1024, STACK_MAX = 1 << 30, STACK_CACHE_MAX = 1 << 20 };

static void *default_alloc(void *context, size_t size)
{
	(void)context;
	return calloc(1, size);
}

static void default_free(void *context, void *p, size_t size)
{
	(void)context, (void)size;
	free(p);
}

/* A number of bytes with an optional K, M or G.  False: not one. */
static bool parse_size(const char *text, size_t *out)
{
	char *end;
	unsigned long long n;
	unsigned shift = 0;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (*end == 'K' || *end == 'k')
		shift = 10;
	else if (*end == 'M' || *end == 'm')
		shift = 20;
	else if (*end == 'G' || *end == 'g')
		shift = 30;
	if (shift != 0)
		end++;
	if (errno != 0 || *end != '\0' || n > SIZE_MAX >> shift)
		return false;
	*out = (size_t)n << shift;
	return true;
}

static int stack_size_from(const char *text, size_t *out)
{
	if (parse_size(text, out) && *out >= STACK_MIN && *out <= STACK_MAX)
		return 0;
	cc__say("libccc: CC_STACK_SIZE='", text,
	        "' is not a stack size: 16K to 1G is, for example 262144 or 256K\n");
	return EINVAL;
}

int cc_config_init(CCConfig *config)
{
	const char *text;

	if (config == NULL)
		return EINVAL;
	*config = (CCConfig){
	    .workers = 1,
	    .stack_size = CC_FIBER_STACK_SIZE,
	    .stack_cache = 64,
	    .stack_idle = 10 * CC_SEC,
	    .shutdown_timeout = 30 * CC_SEC,
	    .allocator = {.alloc = default_alloc, .free = default_free},
	};
	text = getenv("CC_V3_SPEC_ASSERT");
	config->spec_assert = text != NULL && *text != '\0' && strcmp(text, "0") != 0;
	if ((text = getenv("CC_STACK_SIZE")) != NULL)
		return stack_size_from(text, &config->stack_size);
	return 0;
}

static const char *fault_of(const CCConfig *c)
{
	if (c->workers != 1)
		return "workers must be 1";
	if (c->stack_size < STACK_MIN || c->stack_size > STACK_MAX)
		return "stack_size must be 16 KB to 1 GB";
	if (c->guard != CC_GUARD_AUTO && c->guard != CC_GUARD_LIGHT && c->guard != CC_GUARD_SPLIT)
		return "guard is none of CCGuard";
	if (c->stack_cache > STACK_CACHE_MAX)
		return "stack_cache is too large";
	if (c->stack_idle <= 0)
		return "stack_idle must be more than 0";
	if (c->shutdown_timeout < 0)
		return "shutdown_timeout must not be negative";
	if (c->allocator.alloc == NULL || c->allocator.free == NULL)
		return "allocator needs alloc and free (cc_config_init sets them)";
	if ((c->stacks.acquire == NULL) != (c->stacks.release == NULL))
		return "stacks needs both acquire and release, or neither";
	return NULL;
}

int cc__config_check(CCConfig *config)
{
	const size_t page = cc__page_size();
	const char *fault = fault_of(config);
	char line[128];

	if (fault == NULL) {
		config->stack_size = (config->stack_size + page - 1) / page * page;
		return 0;
	}
	snprintf(line, sizeof line, "libccc: cc_runtime_new: %s", fault);
	if (config->log != NULL)
		config->log(config->log_context, line);
	else
		cc__say(line, "\n");
	return EINVAL;
}
