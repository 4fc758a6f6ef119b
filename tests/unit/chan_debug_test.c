/* chan_debug_test.c - what the debug switches show.  The environment is read once, so each
 * run is a process of its own, and this one makes no channel.
 * mutate: src/chan */
#include "environment.h"
#include "test.h"

#include <errno.h>

#include "chan/chan.h"
#include "points.h"

static struct test_death death;

/* A channel's life, with one variable set. */
static void live(void *variable)
{
	const CCChanOptions o = {.name = "numbers"};
	CCChan *c = NULL, *again;
	CCCase select[3];
	int v = 3;
	size_t n;

	clear_variables();
	if (variable != NULL)
		setenv(variable, "1", 1);
	CHECK_EQ(cc_chan_create(&c, sizeof v, 8, &o), 0);
	CHECK_EQ(c->by_ring == sizeof v, variable == NULL);
	CHECK_EQ(cc_chan_timed_recv(c, &v, sizeof v, 3 * CC_MSEC), ETIMEDOUT);
	CHECK_EQ(cc_chan_send(c, &v, sizeof v), 0);
	CHECK_EQ(cc_chan_send_many(c, &v, sizeof v, 1, CC_NOW, &n), 0);
	CHECK_EQ(cc_chan_recv(c, &v, sizeof v), 0);
	CHECK_EQ(cc_chan_close_error(c, ENOSPC), 0);
	select[0] = cc_case_recv(c, &v, sizeof v);
	select[1] = cc_case_timeout(cc_after(CC_SEC));
	select[2] = cc_case_recv((CCChan *)(uintptr_t)64, &v, sizeof v);	/* not asked for */
	CHECK_EQ(cc_select_in_order(select, 2, CC_NOW, NULL), 0);
	CHECK_EQ(cc_chan_recv(c, &v, sizeof v), ENOSPC);
	CHECK_EQ(cc_chan_free(c), 0);
	/* The next one in the same place has done nothing. */
	again = cc_chan_new(sizeof v, 8);
	CHECK(again == c);
	CHECK_EQ(cc_chan_free(again), 0);
	CHECK_EQ(cc_chan_free(cc_chan_new(sizeof v, 1)), 0);
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

	CHECK_EQ(lines_with(text, "libccc: chan: 0x"), 7);
	CHECK_EQ(lines_with(text, " numbers: made for 8 of 4 bytes, with a ring, by task 0\n"), 1);
	CHECK_EQ(lines_with(text, " numbers: closed with 0 for senders, 28 for receivers"), 1);
	CHECK_EQ(lines_with(text, " numbers: freed, by"), 1);
	CHECK_EQ(lines_with(text, ": made for 8 of 4 bytes, with a ring, by task 0\n"), 2);
	CHECK_EQ(lines_with(text, ": made for 1 of 4 bytes, locked, by task 0\n"), 1);
}

TEST(verbose_shows_every_operation)	/* covers: CHN-49/u */
{
	const char *text = shown("CC_CHAN_DEBUG_VERBOSE");

	CHECK_EQ(lines_with(text, "\n"), 6);
	CHECK_EQ(lines_with(text, ": send: 0,"), 2);
	CHECK_EQ(lines_with(text, ": receive: 0,"), 2);
	CHECK_EQ(lines_with(text, ": receive: 28,"), 1);
	CHECK_EQ(lines_with(text, ": receive: 110,"), 1);
}

TEST(timing_shows_how_long_they_took)	/* covers: CHN-49/u */
{
	static const char receives[] = ": 4 receives of ";
	const char *text = shown("CC_CHANNEL_TIMING"), *mean;

	CHECK_EQ(lines_with(text, "\n"), 2);
	CHECK_EQ(lines_with(text, ": 2 sends of "), 1);
	REQUIRE((mean = strstr(text, receives)) != NULL);
	/* One of them took 3 ms. */
	CHECK(strtol(mean + strlen(receives), NULL, 10) >= 3 * CC_MSEC / 4);
}

/* ---- freed by its receiver ---- */

static CCChan *made(const char *name)
{
	const CCChanOptions o = {.name = name};
	CCChan *c = NULL;

	CHECK_EQ(cc_chan_create(&c, sizeof(int), 8, &o), 0);
	return c;
}

static void *send_in_thread(void *c)
{
	const int v = 1;

	CHECK_EQ(cc_chan_send(c, &v, sizeof v), 0);
	return NULL;
}

static void *select_in_thread(void *c)
{
	const int v = 1;
	const CCCase one = cc_case_send(c, &v, sizeof v);

	CHECK_EQ(cc_select(&one, 1, CC_FOREVER, NULL), 0);
	return NULL;
}

/* The sender has yet to note what it did when another channel is made. */
static void live_on(void *by_select)
{
	CCChan *first, *second;
	struct point *p;
	pthread_t sender;
	int v = 0;

	setenv("CC_CHANNEL_TIMING", "1", 1);
	first = made("first");
	p = point_hold("chan.before_note", first);
	pthread_create(&sender, NULL, by_select != NULL ? select_in_thread : send_in_thread, first);
	point_until_held(p);
	CHECK_EQ(cc_chan_recv(first, &v, sizeof v), 0);
	CHECK_EQ(cc_chan_free(first), 0);
	second = made("second");
	point_release(p);
	pthread_join(sender, NULL);
	CHECK_EQ(cc_chan_free(second), 0);
}

TEST(nothing_is_noted_about_the_next_channel)	/* covers: CHN-49/u */
{
	NEED_POINTS();
	for (int by_select = 0; by_select < 2; by_select++) {
		CHECK_EQ(test_dies(live_on, by_select ? &death : NULL, &death), 0);
		CHECK_EQ(death.status, 0);
		CHECK_EQ(lines_with(death.text, "second"), 0);
		CHECK_EQ(lines_with(death.text, " first: 1 sends of "), 1);
		CHECK_EQ(lines_with(death.text, " first: 1 receives of "), 1);
	}
}
