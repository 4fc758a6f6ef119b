/* TLS as the backend of a stream: OpenSSL on a descriptor that does not block. */
#include <assert.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <string.h>
#include <sys/socket.h>

#include <ccc/ccc.h>

struct tls {
	SSL *ssl;
	int fd;
	unsigned wants;	/* what the last call of OpenSSL waits for */
};

/* The error of a call of OpenSSL that returned `result`. */
static int tls_error(struct tls *t, int result)
{
	switch (SSL_get_error(t->ssl, result)) {
	case SSL_ERROR_WANT_READ: t->wants = CC_FD_READ; return EAGAIN;
	case SSL_ERROR_WANT_WRITE: t->wants = CC_FD_WRITE; return EAGAIN;
	case SSL_ERROR_ZERO_RETURN: return EPIPE;
	default: ERR_clear_error(); return EPROTO;
	}
}

static int tls_read(void *object, void *buffer, size_t size, size_t *count)
{
	struct tls *t = object;
	const int result = SSL_read_ex(t->ssl, buffer, size, count);

	return result == 1 ? 0 : tls_error(t, result);
}

static int tls_write(void *object, const void *buffer, size_t size, size_t *count)
{
	struct tls *t = object;
	const int result = SSL_write_ex(t->ssl, buffer, size, count);

	return result == 1 ? 0 : tls_error(t, result);
}

static int tls_wait(void *object, unsigned event, cc_time deadline)
{
	const struct tls *t = object;

	(void)event;	/* a read may have to write first, and the other way round */
	return cc_wait_fd(t->fd, t->wants, deadline);
}

static int tls_shutdown(void *object)
{
	SSL_shutdown(((struct tls *)object)->ssl);
	return 0;
}

static int tls_close(void *object)
{
	struct tls *t = object;

	SSL_free(t->ssl);
	return cc_fd_close(t->fd);
}

static const CCStreamBackend tls_backend = {tls_read, tls_write, tls_wait, tls_shutdown, tls_close};

/* One side of a connection; reads and writes shake hands by themselves. */
static int tls_open(CCStream **stream, struct tls *t, SSL_CTX *context, int fd, int server)
{
	*t = (struct tls){SSL_new(context), fd, CC_FD_READ};
	if (t->ssl == NULL || SSL_set_fd(t->ssl, fd) != 1)
		return ENOMEM;
	SSL_set_mode(t->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	if (server)
		SSL_set_accept_state(t->ssl);
	else
		SSL_set_connect_state(t->ssl);
	cc_try(cc_fd_nonblock(fd));
	return cc_stream_new(stream, &tls_backend, t);
}

/* A key and a certificate for this program alone. */
static SSL_CTX *server_context(void)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *certificate = X509_new();

	X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
	X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
	X509_set_pubkey(certificate, key);
	X509_sign(certificate, key, EVP_sha256());
	assert(SSL_CTX_use_certificate(context, certificate) == 1);
	assert(SSL_CTX_use_PrivateKey(context, key) == 1);
	X509_free(certificate);
	EVP_PKEY_free(key);
	return context;
}

static cc_task_fn(serve, SSL_CTX *context; int fd;)
{
	char line[64];
	struct tls tls;
	CCStream *s;

	cc_try(tls_open(&s, &tls, self->context, self->fd, 1));
	cc_try(cc_stream_read_line(s, line, sizeof line, NULL, cc_after(10 * CC_SEC)));
	cc_try(cc_stream_write(s, "hello, ", 7, NULL, cc_after(10 * CC_SEC)));
	cc_try(cc_stream_write(s, line, strlen(line), NULL, cc_after(10 * CC_SEC)));
	cc_try(cc_stream_write(s, "\n", 1, NULL, cc_after(10 * CC_SEC)));
	return cc_stream_close(s, cc_after(10 * CC_SEC));
}

static cc_task_fn(ask, SSL_CTX *context; int fd; char *answer;)
{
	struct tls tls;
	CCStream *s;

	cc_try(tls_open(&s, &tls, self->context, self->fd, 0));
	cc_try(cc_stream_write(s, "fiber\n", 6, NULL, cc_after(10 * CC_SEC)));
	cc_try(cc_stream_flush(s, cc_after(10 * CC_SEC)));
	cc_try(cc_stream_read_line(s, self->answer, 64, NULL, cc_after(10 * CC_SEC)));
	return cc_stream_close(s, cc_after(10 * CC_SEC));
}

int main(void)
{
	const CCNurseryOptions options = {.stack_size = 1 << 20};	/* for OpenSSL */
	SSL_CTX *server = server_context(), *client = SSL_CTX_new(TLS_client_method());
	char answer[64] = "";
	int fd[2], err = 0;

	assert(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
	cc_nursery_scope_with(n, &err, &options) {
		cc_spawn(n, serve, .context = server, .fd = fd[0]);
		cc_spawn(n, ask, .context = client, .fd = fd[1], .answer = answer);
	}
	assert(err == 0 && strcmp(answer, "hello, fiber") == 0);
	SSL_CTX_free(server);
	SSL_CTX_free(client);
	return 0;
}
