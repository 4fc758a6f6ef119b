/* tls_stream.c - TLS on a stream: a backend of the program's own, with OpenSSL.  Code for a protocol
 * then reads and writes a CCStream and knows nothing of TLS.
 *
 * A server and a client talk over a socket pair; the certificate is made here and is not checked.
 * A real client sets SSL_CTX_set_default_verify_paths, SSL_VERIFY_PEER and SSL_set1_host. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <ccc/ccc.h>

/* ---- the backend ---- */

/* A reader and a writer may be two fibers; a session takes one call at a time. */
struct tls {
	SSL *ssl;
	int fd;
	CCMutex lock;
	unsigned wants[3];	/* by CC_FD_READ and CC_FD_WRITE: what that operation waits for */
};

/* Under the lock: what the session says about an operation that has failed. */
static int result_of(struct tls *t, unsigned operation, int done)
{
	switch (SSL_get_error(t->ssl, done)) {
	case SSL_ERROR_WANT_READ: t->wants[operation] = CC_FD_READ; return EAGAIN;
	case SSL_ERROR_WANT_WRITE: t->wants[operation] = CC_FD_WRITE; return EAGAIN;
	case SSL_ERROR_ZERO_RETURN: return EPIPE;
	default: return EPROTO;
	}
}

static int tls_read(void *object, void *buffer, size_t size, size_t *count)
{
	struct tls *t = object;
	int done, err = 0;

	cc_mutex_lock_anyway(&t->lock);
	ERR_clear_error();
	if ((done = SSL_read_ex(t->ssl, buffer, size, count)) != 1)
		err = result_of(t, CC_FD_READ, done);
	cc_mutex_unlock(&t->lock);
	return err;
}

static int tls_write(void *object, const void *buffer, size_t size, size_t *count)
{
	struct tls *t = object;
	int done, err = 0;

	cc_mutex_lock_anyway(&t->lock);
	ERR_clear_error();
	if ((done = SSL_write_ex(t->ssl, buffer, size, count)) != 1)
		err = result_of(t, CC_FD_WRITE, done);
	cc_mutex_unlock(&t->lock);
	return err;
}

/* A read may have to wait until it can write, in a handshake for example. */
static int tls_wait(void *object, unsigned event, cc_time deadline)
{
	const struct tls *t = object;

	return cc_wait_fd(t->fd, t->wants[event], deadline);
}

static int tls_shutdown(void *object)
{
	struct tls *t = object;

	cc_mutex_lock_anyway(&t->lock);
	SSL_shutdown(t->ssl);
	cc_mutex_unlock(&t->lock);
	return cc_fd_shutdown(t->fd, CC_FD_WRITE);
}

static int tls_close(void *object)
{
	struct tls *t = object;
	const int err = cc_fd_close(t->fd);

	SSL_free(t->ssl);
	free(t);
	return err;
}

static const CCStreamBackend tls_backend = {tls_read, tls_write, tls_wait, tls_shutdown, tls_close};

/* The handshake happens in the first read or write.  After an error `fd` is the caller's. */
static int tls_open(CCStream **stream, SSL_CTX *context, int fd, int is_server)
{
	struct tls *t = calloc(1, sizeof *t);
	int err = ENOMEM;

	if (t != NULL && (t->ssl = SSL_new(context)) != NULL && (err = cc_fd_nonblock(fd)) == 0) {
		t->fd = fd;
		SSL_set_fd(t->ssl, fd);
		SSL_set_mode(t->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE |
		                         SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
		if (is_server)
			SSL_set_accept_state(t->ssl);
		else
			SSL_set_connect_state(t->ssl);
		if ((err = cc_stream_new(stream, &tls_backend, t)) == 0)
			return 0;
	}
	SSL_free(t != NULL ? t->ssl : NULL);
	free(t);
	return err;
}

/* ---- both ends ---- */

static int serve_line(CCStream *s, cc_time deadline)
{
	char line[100];

	cc_try(cc_stream_read_line(s, line, sizeof line, NULL, deadline));
	cc_try(cc_stream_print(s, deadline, "you said: %s\n", line));
	return cc_stream_shutdown(s, deadline);
}

static int ask_line(CCStream *s, cc_time deadline)
{
	char line[100];

	cc_try(cc_stream_print(s, deadline, "hello\n"));
	cc_try(cc_stream_flush(s, deadline));
	cc_try(cc_stream_read_line(s, line, sizeof line, NULL, deadline));
	puts(line);
	return 0;
}

static cc_task_fn(talk, SSL_CTX *context; int fd; int is_server;)
{
	const cc_time deadline = cc_after(20 * CC_SEC);
	CCStream *s;
	int err;

	if ((err = tls_open(&s, self->context, self->fd, self->is_server)) != 0) {
		cc_fd_close(self->fd);
		return err;
	}
	err = self->is_server ? serve_line(s, deadline) : ask_line(s, deadline);
	cc_stream_close(s, deadline);
	return err;
}

/* A key, and a certificate that says so itself. */
static int make_certificate(SSL_CTX *context)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = X509_new();
	int ok = key != NULL && x != NULL && ASN1_INTEGER_set(X509_get_serialNumber(x), 1) &&
	         X509_gmtime_adj(X509_getm_notBefore(x), 0) != NULL &&
	         X509_gmtime_adj(X509_getm_notAfter(x), 3600) != NULL && X509_set_pubkey(x, key) &&
	         X509_sign(x, key, EVP_sha256()) != 0 && SSL_CTX_use_certificate(context, x) == 1 &&
	         SSL_CTX_use_PrivateKey(context, key) == 1;

	X509_free(x);
	EVP_PKEY_free(key);
	return ok ? 0 : EPROTO;
}

int main(void)
{
	SSL_CTX *server = SSL_CTX_new(TLS_server_method()), *client = SSL_CTX_new(TLS_client_method());
	int end[2], err = 0;

	cc_try(make_certificate(server));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end) != 0)
		return 1;
	cc_nursery_scope(n, &err) {
		cc_spawn(n, talk, .context = server, .fd = end[0], .is_server = 1);
		cc_spawn(n, talk, .context = client, .fd = end[1], .is_server = 0);
	}
	SSL_CTX_free(server);
	SSL_CTX_free(client);
	return err;
}
