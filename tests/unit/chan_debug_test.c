/* chan_debug_test.c - what the debug switches show.  The environment is read once, so each
 * run is a process of its own, and this one makes no channel. */
#include "environment.h"
#include "test.h"

#include <errno.h>

#include "chan/chan.h"

static struct test_death death;

/* A channel's life, with one variable set. */
static void live(void *variable)
{
	const CCChanOptions o = {.name = "numbers"};
	CCChan *c = NULL;
	CCCase select;
	int v = 3;
	size_t n;

	clear_variables();
	if (variable != NULL)
		setenv(variable, "1", 1);
	CHECK_EQ(cc_chan_create(&c, sizeof v, 8, &o), 0);
	CHECK_EQ(c->by_ring == sizeof v, variable == NULL);
	CHECK_EQ(cc_chan_send(c, &v, sizeof v), 0);
	CHECK_EQ(cc_chan_send_many(c, &v, sizeof v, 1, CC_NOW, &n), 0);
	CHECK_EQ(cc_chan_recv(c, &v, sizeof v), 0);
	CHECK_EQ(cc_chan_close_error(c, ENOSPC), 0);
	select = cc_case_recv(c, &v, sizeof v);
	CHECK_EQ(cc_select(&select, 1, CC_NOW, NULL), 0);
	CHECK_EQ(cc_chan_recv(c, &v, sizeof v), ENOSPC);
	CHECK_EQ(cc_chan_free(c), 0);
}

static const char *shown(const char *variable)
{
	char name[32];

	snprintf(name, sizeof name, "%s", variable != NULL ? variable : "");
	CHECK_EQ(test_dies(live, variable != NULL ? name : NULL, &death), 0);
	CHECK_EQ(death.status, 0);
	return death.text;
}

static unsigned lines_with(const char *text, const char *part)
{
	unsigned n = 0;

	for (; (text = strstr(text, part)) != NULL; text++)
		n++;
	return n;
}

TEST(without_a_switch_nothing_is_shown)	/* covers: CHN-49/u */
{
	CHECK_STR(shown(NULL), "");
}

TEST(debug_shows_the_life_of_a_channel)	/* covers: CHN-49/u */
{
	const char *text = shown("CC_CHAN_DEBUG");

	CHECK_EQ(lines_with(text, "libccc: chan: 0x"), 3);
	CHECK_EQ(lines_with(text, " numbers: made for 8 of 4 bytes, with a ring, by task 0\n"), 1);
	CHECK_EQ(lines_with(text, " numbers: closed with 0 for senders, 28 for receivers"), 1);
	CHECK_EQ(lines_with(text, " numbers: freed, by"), 1);
}

TEST(verbose_shows_every_operation)	/* covers: CHN-49/u */
{
	const char *text = shown("CC_CHAN_DEBUG_VERBOSE");

	CHECK_EQ(lines_with(text, "\n"), 5);
	CHECK_EQ(lines_with(text, ": send: 0,"), 2);
	CHECK_EQ(lines_with(text, ": receive: 0,"), 2);
	CHECK_EQ(lines_with(text, ": receive: 28,"), 1);
}

TEST(timing_shows_how_long_they_took)	/* covers: CHN-49/u */
{
	const char *text = shown("CC_CHANNEL_TIMING");

	CHECK_EQ(lines_with(text, "\n"), 2);
	CHECK_EQ(lines_with(text, ": 2 sends of "), 1);
	CHECK_EQ(lines_with(text, ": 3 receives of "), 1);
}
