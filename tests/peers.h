/* peers.h - a second process, of the same program, that does with shared memory what it
 * is told over a socket.
 *
 * It is started by fork and exec, so it has nothing of its parent but the socket, and runs
 * its role before main. */
#ifndef TEST_PEERS_H
#define TEST_PEERS_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "sleepers.h"

struct peer {
	pid_t pid;
	int socket;
};

/* A role: what the peer does, with its end of the socket; its exit status. */
typedef int peer_role(int socket);
static peer_role peer_obeys;

static const char peer_variable[] = "TEST_PEER";
enum { PEER_SOCKET = 3, PEER_ENVIRONMENT = 512 };

/* ---- what an obedient peer can be told ---- */

enum peer_op { PEER_RECEIVE, PEER_MAP, PEER_UNMAP, PEER_WAIT, PEER_WAIT_FIBER, PEER_WAKE,
               PEER_INFO, PEER_SEND };

struct peer_call {
	enum peer_op op;
	uint32_t mapping;	/* number of the mapping, as they were made */
	uint32_t offset, value;	/* of the word; what is expected, or how many to wake */
	cc_time within;		/* a wait; 0: for ever */
	size_t size;		/* of an object to receive */
};

struct peer_answer {
	int err;
	CCParkStatus status;
	uint32_t woken;
	CCMemoryInfo info;
	uint64_t address;	/* of a mapping */
};

enum { PEER_MAPPINGS = 8 };
struct peer_things {
	int socket;
	CCMemory *memory;
	CCParkSpace *space;
	void *at[PEER_MAPPINGS];
	uint32_t mappings;
	struct peer_call call;
	struct peer_answer answer;
};

static inline int peer_waits(void *arg)
{
	struct peer_things *t = arg;
	const struct peer_call *c = &t->call;
	const char *at = t->at[c->mapping];

	return cc_park_wait(t->space, (const uint32_t *)(const void *)(at + c->offset), c->value,
	                    c->within != 0 ? cc_now() + c->within : CC_FOREVER,
	                    &t->answer.status);
}

static inline int peer_waits_as_fiber(struct peer_things *t)
{
	CCTask task;
	int result = -1, err = cc_task_spawn(NULL, &task, NULL, peer_waits, t);

	return err != 0 || (err = cc_task_join(task, CC_FOREVER, &result)) != 0 ? err : result;
}

static inline int peer_wakes(struct peer_things *t)
{
	const char *at = t->at[t->call.mapping];

	return cc_park_wake(t->space, (const uint32_t *)(const void *)(at + t->call.offset),
	                    t->call.value, &t->answer.woken);
}

static inline int peer_receives(struct peer_things *t)
{
	struct pollfd p = {.fd = t->socket, .events = POLLIN};
	int err;

	poll(&p, 1, -1);
	if ((err = cc_memory_receive(&t->memory, t->socket, t->call.size)) != 0)
		return err;
	return cc_memory_park_space(t->memory, &t->space);
}

static inline int peer_maps(struct peer_things *t)
{
	const int err = cc_memory_map(t->memory, &t->at[t->mappings]);

	t->answer.address = (uintptr_t)t->at[t->mappings++];
	return err;
}

static inline int peer_does(struct peer_things *t)
{
	switch (t->call.op) {
	case PEER_RECEIVE:
		return peer_receives(t);
	case PEER_MAP:
		return peer_maps(t);
	case PEER_UNMAP:
		return cc_memory_unmap(t->memory, t->at[t->call.mapping]);
	case PEER_WAIT:
		return peer_waits(t);
	case PEER_WAIT_FIBER:
		return peer_waits_as_fiber(t);
	case PEER_WAKE:
		return peer_wakes(t);
	case PEER_INFO:
		return cc_memory_info(t->memory, &t->answer.info);
	case PEER_SEND:
		return cc_memory_send(t->memory, t->socket);
	}
	return -1;
}

static int peer_obeys(int socket)
{
	struct peer_things t = {.socket = socket};

	while (read(socket, &t.call, sizeof t.call) == sizeof t.call) {
		memset(&t.answer, 0, sizeof t.answer);
		t.answer.status = (CCParkStatus)77;
		t.answer.err = peer_does(&t);
		if (write(socket, &t.answer, sizeof t.answer) != sizeof t.answer)
			return 1;
	}
	return 0;
}

/* ---- start and end ---- */

/* Before fork: what the child has for its environment. */
static inline void peer_environment(char *role, size_t size, char *to[PEER_ENVIRONMENT],
                                    const char *name)
{
	unsigned n = 0;

	snprintf(role, size, "%s=%s", peer_variable, name);
	to[n++] = role;
	for (unsigned i = 0; environ[i] != NULL && n < PEER_ENVIRONMENT - 1; i++)
		to[n++] = environ[i];
	to[n] = NULL;
}

static inline void peer_become(int socket, char **environment)
{
	char *arguments[] = {(char *)"peer", NULL};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (socket == PEER_SOCKET)
		fcntl(socket, F_SETFD, 0);
	else
		dup2(socket, PEER_SOCKET);
	execve("/proc/self/exe", arguments, environment);
	_exit(127);
}

static inline struct peer peer_start(const char *role)
{
	struct peer p = {-1, -1};
	char name[64], *environment[PEER_ENVIRONMENT];
	int end[2];

	if (!CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, end), 0))
		return p;
	peer_environment(name, sizeof name, environment, role);
	if ((p.pid = fork()) == 0)
		peer_become(end[1], environment);
	CHECK(p.pid > 0);
	close(end[1]);
	p.socket = end[0];
	return p;
}

/* How it ended: its exit status, or the signal as a negative number. */
static inline int peer_wait_for(struct peer *p)
{
	int status = 0;

	close(p->socket);
	CHECK_EQ(waitpid(p->pid, &status, 0), p->pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static inline void peer_kill(struct peer *p)
{
	kill(p->pid, SIGKILL);
	CHECK_EQ(peer_wait_for(p), -SIGKILL);
}

/* ---- tell an obedient one ---- */

static inline void peer_tell(const struct peer *p, struct peer_call c)
{
	CHECK_EQ(write(p->socket, &c, sizeof c), sizeof c);
}

static inline struct peer_answer peer_hear(const struct peer *p)
{
	struct peer_answer a;

	memset(&a, 0, sizeof a);
	CHECK_EQ(read(p->socket, &a, sizeof a), sizeof a);
	return a;
}

static inline struct peer_answer peer_ask(const struct peer *p, struct peer_call c)
{
	peer_tell(p, c);
	return peer_hear(p);
}

/* ---- roles: before main ---- */

struct peer_play {
	const char *name;
	peer_role *role;
};

/* A program with roles of its own lists them, and "obeys", in this one; NULL ends it. */
extern const struct peer_play peer_plays[];

__attribute__((constructor)) static void peer_play(void)
{
	const char *name = getenv(peer_variable);

	for (const struct peer_play *p = peer_plays; name != NULL && p->name != NULL; p++)
		if (strcmp(p->name, name) == 0) {
			unsetenv(peer_variable);
			_exit(p->role(PEER_SOCKET));
		}
}

#endif
