/* progress.c - see progress.h. */
#include "progress.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include <ccc/ccc.h>

enum { BAR = 30 };

static const char *name;
static uint64_t total, done;
static cc_time started, next;	/* when the file began; when to draw again */
static atomic_bool shown;	/* a line is on the terminal */

void progress_begin(const char *of, uint64_t expected)
{
	name = of;
	total = expected;
	done = 0;
	started = cc_now();
	next = isatty(STDERR_FILENO) ? started + CC_SEC : CC_FOREVER;
}

static void draw(cc_time now)
{
	const double rate = (double)done / ((double)(now - started) / CC_SEC) / 1e6;
	const int filled = total == 0 ? 0 : done >= total ? BAR : (int)(done * BAR / total);

	fprintf(stderr, "\r%.40s: ", name);
	if (total != 0)
		fprintf(stderr, "[%-*.*s] %3d %% ", BAR, filled, "##############################",
		        done >= total ? 100 : (int)(done * 100 / total));
	fprintf(stderr, "%.1f MB, %.1f MB/s\033[K", (double)done / 1e6, rate);
	atomic_store(&shown, true);
}

void progress_add(size_t bytes)
{
	cc_time now;

	done += bytes;
	if (next == CC_FOREVER || (now = cc_now()) < next)
		return;
	draw(now);
	next = now + 200 * CC_MSEC;
}

void progress_hide(void)
{
	if (atomic_exchange(&shown, false))
		fputs("\r\033[K", stderr);
}

void progress_end(void)
{
	progress_hide();
	next = CC_FOREVER;
}
