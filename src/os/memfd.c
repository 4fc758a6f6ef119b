/* memfd.c - memfd_create, seals, and descriptors in messages. */
#include "os/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Not in every C library (Linux 3.17). */
#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#define F_GET_SEALS 1034
#define F_SEAL_SEAL 1
#define F_SEAL_SHRINK 2
#define F_SEAL_GROW 4
#endif

/* (Linux 6.3.) */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

enum { SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW };

static int result(int failed)
{
	return failed < 0 ? errno : 0;
}

/* ---- make and judge ---- */

static int size_and_seal(int fd, size_t size)
{
	const off_t bytes = (off_t)size;

	if (bytes < 0 || (size_t)bytes != size)
		return EINVAL;
	if (ftruncate(fd, bytes) < 0)
		return errno;
	return result(fcntl(fd, F_ADD_SEALS, SEALS));
}

/* Not to be executed, where the kernel knows of that: some insist on it. */
static int create(void)
{
	const int fd = memfd_create("ccc", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	return fd < 0 && errno == EINVAL ? memfd_create("ccc", MFD_CLOEXEC | MFD_ALLOW_SEALING)
	                                 : fd;
}

int cc__memfd_new(size_t size, int *fd)
{
	int err;

	if ((*fd = create()) < 0)
		return errno == ENOSYS ? ENOTSUP : errno;
	if ((err = size_and_seal(*fd, size)) != 0)
		close(*fd);
	return err;
}

/* Numbers of files come again; this one tells the files apart.  In a handle of such memory
 * it stands first.  0: the system does not tell. */
static uint64_t generation_of(int fd)
{
	_Alignas(struct file_handle) char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	struct file_handle *h = (struct file_handle *)(void *)room;
	uint32_t generation;
	int mount;

	memset(room, 0, sizeof room);
	h->handle_bytes = MAX_HANDLE_SZ;
	if (name_to_handle_at(fd, "", h, &mount, AT_EMPTY_PATH) < 0 ||
	    h->handle_bytes < sizeof generation)
		return 0;
	memcpy(&generation, room + sizeof *h, sizeof generation);
	return generation;
}

int cc__memfd_judge(int fd, size_t *size, CCMemoryIdentity *identity)
{
	const int seals = fcntl(fd, F_GET_SEALS);
	struct stat s;

	if (seals < 0)
		return errno == EBADF ? EBADF : EINVAL;
	if ((seals & SEALS) != SEALS)
		return EPERM;
	/* Sealed before: the size stays what it is. */
	if (fstat(fd, &s) < 0)
		return errno;
	if (s.st_size <= 0)
		return EINVAL;
	*size = (size_t)s.st_size;
	*identity = (CCMemoryIdentity){
	    .device = s.st_dev, .inode = s.st_ino, .generation = generation_of(fd)};
	return 0;
}

int cc__memfd_copy(int fd, int *copy)
{
	return result(*copy = fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

void cc__memfd_close(int fd)
{
	close(fd);
}

/* ---- map ---- */

int cc__memfd_map(int fd, size_t size, void **at)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return errno;
	*at = p;
	return 0;
}

void cc__memfd_unmap(void *at, size_t size)
{
	munmap(at, size);
}

/* ---- pass on ---- */

/* One byte, and one descriptor; room for a few more, which a stranger may send. */
struct message {
	char byte;
	struct iovec text;
	struct msghdr head;
	_Alignas(struct cmsghdr) char extra[CMSG_SPACE(16 * sizeof(int))];
};

static void prepare(struct message *m, socklen_t extra)
{
	memset(m, 0, sizeof *m);
	m->byte = 'M';
	m->text = (struct iovec){&m->byte, 1};
	m->head.msg_iov = &m->text;
	m->head.msg_iovlen = 1;
	m->head.msg_control = m->extra;
	m->head.msg_controllen = extra;
}

int cc__memfd_send(int socket, int fd)
{
	struct message m;
	struct cmsghdr *c;
	ssize_t n;

	prepare(&m, CMSG_SPACE(sizeof fd));
	c = CMSG_FIRSTHDR(&m.head);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	do
		n = sendmsg(socket, &m.head, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return result((int)n);
}

/* As CMSG_NXTHDR, which not every C library has without a warning. */
static const struct cmsghdr *next_part(const struct msghdr *head, const struct cmsghdr *c)
{
	const char *end = (const char *)head->msg_control + head->msg_controllen;
	const char *next = (const char *)c + CMSG_ALIGN(c->cmsg_len);

	return c->cmsg_len >= sizeof *c && next < end && (size_t)(end - next) >= sizeof *c
	           ? (const struct cmsghdr *)(const void *)next
	           : NULL;
}

/* The first descriptor of a message that has no other; -1: it is not like that, and
 * nothing of it is left open. */
static int only_one(const struct msghdr *head)
{
	int fd, found = -1, count = 0;

	for (const struct cmsghdr *c = CMSG_FIRSTHDR(head); c != NULL; c = next_part(head, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; at + sizeof fd <= c->cmsg_len - CMSG_LEN(0); at += sizeof fd) {
			memcpy(&fd, CMSG_DATA(c) + at, sizeof fd);
			if (count++ == 0)
				found = fd;
			else
				close(fd);
		}
	}
	if (found >= 0 && (count > 1 || (head->msg_flags & MSG_CTRUNC) != 0)) {
		close(found);
		found = -1;
	}
	return found;
}

int cc__memfd_receive(int socket, int *fd)
{
	struct message m;
	ssize_t n;

	prepare(&m, sizeof m.extra);
	do
		n = recvmsg(socket, &m.head, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno;
	if ((*fd = only_one(&m.head)) >= 0)
		return 0;
	return n == 0 ? EPIPE : EPROTO;
}
