/* dial.c - connect by text.
 *
 * Several addresses are tried as RFC 8305 says ("happy eyeballs"): IPv6 and IPv4 take turns, and an
 * address that has neither connected nor failed after 250 ms goes on beside the next one.  The
 * first connection wins.
 *
 * A full queue of a Unix listener makes no descriptor ready when it has room again, so a single
 * address is also tried again after a span that doubles. */
#include <ccc/fd.h>
#include <ccc/select.h>
#include <ccc/stream.h>

#include <errno.h>
#include <sys/socket.h>

#include "io/address.h"
#include "io/names.h"
#include "io/net.h"
#include "io/use.h"
#include "os/net.h"

#define HEAD_START (250 * CC_MSEC)

/* ---- one address ---- */

static int connect_to(int fd, const struct cc__address *a, cc_time deadline)
{
	cc_time span = 0;
	uint32_t generation;
	int err;

	do {
		generation = cc__use_generation(fd);
		if ((err = cc__net_connect(fd, a)) == EINPROGRESS)
			err = cc__use_wait(fd, CC_FD_WRITE, deadline, generation);
		else if (err == 0)
			return 0;
		else if (err == EAGAIN && deadline != CC_NOW)
			err = cc__net_back_off(fd, ETIMEDOUT, &span, deadline, generation);
	} while (err == 0);
	return err;
}

static int open_towards(int *fd, const struct cc__address *a, const CCNetOptions *o)
{
	const int family = a->any.sa_family;
	const int type = o->datagram != 0 ? SOCK_DGRAM : SOCK_STREAM;
	int err;

	if ((err = cc__net_make(fd, family, type)) != 0)
		return err;
	if ((err = cc__net_set_options(*fd, family, type, o, false)) != 0)
		cc_fd_close(*fd);
	return err;
}

static int dial_one(int *out, const struct cc__address *a, const CCNetOptions *o, cc_time deadline)
{
	int fd, err;

	if ((err = open_towards(&fd, a, o)) != 0)
		return err;
	if ((err = connect_to(fd, a, deadline)) == 0)
		*out = fd;
	else
		cc_fd_close(fd);
	return err;
}

/* ---- several addresses ---- */

struct race {
	const CCNetOptions *options;
	const struct cc__address *at[CC__ADDRESSES];	/* in the order in which they are tried */
	unsigned count, next;				/* of `at`; the next to be tried */
	unsigned running;				/* that have neither connected nor failed */
	struct runner {
		int fd;
		const struct cc__address *to;
	} runner[CC__ADDRESSES];
	cc_time next_start;
	int error;	/* of the last one that failed */
};

/* The families take turns, each in its own order, and the first one begins. */
static void set_order(struct race *r, const struct cc__addresses *list)
{
	const int family = list->at[0].any.sa_family;
	unsigned own = 0, other = 0;

	while (r->count < list->count) {
		while (own < list->count && list->at[own].any.sa_family != family)
			own++;
		if (own < list->count)
			r->at[r->count++] = &list->at[own++];
		while (other < list->count && list->at[other].any.sa_family == family)
			other++;
		if (other < list->count)
			r->at[r->count++] = &list->at[other++];
	}
}

static void end_runner(struct race *r, unsigned i)
{
	cc_fd_close(r->runner[i].fd);
	r->runner[i] = r->runner[--r->running];
}

/* Asks the system how runner i is.  True: it has connected. */
static bool has_connected(struct race *r, unsigned i)
{
	const int err = cc__net_connect(r->runner[i].fd, r->runner[i].to);

	if (err == 0)
		return true;
	if (err == EINPROGRESS)
		return false;
	r->error = err;
	r->next_start = CC_NOW;	/* the next one need not wait */
	end_runner(r, i);
	return false;
}

/* True: it has connected, as the last runner. */
static bool start_next(struct race *r)
{
	struct runner *new = &r->runner[r->running];
	int err;

	new->to = r->at[r->next++];
	if ((err = open_towards(&new->fd, new->to, r->options)) != 0) {
		r->error = err;
		return false;
	}
	r->running++;
	r->next_start = cc_after(HEAD_START);
	return has_connected(r, r->running - 1);
}

/* Waits until a runner may have connected, or the next address is due.  *which: the runner, or
 * `running`. */
static int wait_for_runner(const struct race *r, cc_time deadline, size_t *which)
{
	CCCase cases[CC__ADDRESSES + 1];
	int err;

	for (unsigned i = 0; i < r->running; i++)
		cases[i] = cc_case_fd(r->runner[i].fd, CC_FD_WRITE, NULL);
	cases[r->running] =
	    r->next < r->count ? cc_case_timeout(r->next_start) : cc_case_never();
	err = cc_select(cases, r->running + 1, deadline, which);
	return *which <= r->running ? 0 : err;
}

/* 0: runner *winner has connected. */
static int run_race(struct race *r, cc_time deadline, unsigned *winner)
{
	size_t which;
	int err;

	for (;;) {
		*winner = r->running;
		if (r->next < r->count && (r->running == 0 || cc_now() >= r->next_start)) {
			if (start_next(r))
				return 0;
			continue;
		}
		if (r->running == 0)
			return r->error;
		if ((err = wait_for_runner(r, deadline, &which)) != 0)
			return err;
		*winner = (unsigned)which;
		if (which < r->running && has_connected(r, *winner))
			return 0;
	}
}

static int dial_first(int *fd, const struct cc__addresses *list, const CCNetOptions *o,
                      cc_time deadline)
{
	struct race r = {.options = o};
	unsigned winner;
	int err;

	set_order(&r, list);
	if ((err = run_race(&r, deadline, &winner)) == 0) {
		*fd = r.runner[winner].fd;
		r.runner[winner] = r.runner[--r.running];
	}
	while (r.running > 0)
		end_runner(&r, r.running - 1);
	return err;
}

/* ---- the calls ---- */

static int addresses_of(const char *address, struct cc__addresses *list, cc_time deadline)
{
	const int err = cc__address_parse(address, list);

	return err != 0 || list->count > 0 ? err : cc__names_look_up(list, deadline);
}

int cc_net_dial(int *fd, const char *address, const CCNetOptions *options, cc_time deadline)
{
	const CCNetOptions *o = options != NULL ? options : &cc__net_no_options;
	struct cc__addresses list;
	int err;

	if (fd == NULL || address == NULL)
		return EINVAL;
	if ((err = addresses_of(address, &list, deadline)) != 0)
		return err;
	return list.count == 1 ? dial_one(fd, &list.at[0], o, deadline)
	                       : dial_first(fd, &list, o, deadline);
}

int cc_stream_dial(CCStream **stream, const char *address, const CCNetOptions *options,
                   cc_time deadline)
{
	int fd, err;

	if (stream == NULL)
		return EINVAL;
	if ((err = cc_net_dial(&fd, address, options, deadline)) != 0)
		return err;
	if ((err = cc_stream_open(stream, fd)) != 0)
		cc_fd_close(fd);
	return err;
}

int cc_net_address(CCNetAddress *address, const char *text, cc_time deadline)
{
	struct cc__addresses list;
	int err;

	if (address == NULL || text == NULL)
		return EINVAL;
	if ((err = addresses_of(text, &list, deadline)) == 0)
		cc__address_give(&list.at[0], address);
	return err;
}
