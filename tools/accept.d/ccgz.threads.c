/* ccgz.threads THREADS DIRECTORY: the sums that `ccsum -r` prints, by plain threads and with the same
 * hash code, for comparison.
 *
 * Each thread takes the next file of the list.  The main thread prints in the order of the list
 * and waits for a file that is not done. */
#include <fcntl.h>
#include <fts.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/evp.h>

struct file {
	char *name;
	unsigned char digest[EVP_MAX_MD_SIZE];
	bool done;	/* mutex */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static struct file *files;
static size_t count, next;	/* next: mutex */

static void hash(struct file *f)
{
	unsigned char data[32 << 10];
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	const int fd = open(f->name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	EVP_DigestInit_ex(context, EVP_sha256(), NULL);
	while ((n = read(fd, data, sizeof data)) > 0)
		EVP_DigestUpdate(context, data, (size_t)n);
	EVP_DigestFinal_ex(context, f->digest, NULL);
	EVP_MD_CTX_free(context);
	close(fd);
	if (n < 0) {
		perror(f->name);
		exit(1);
	}
}

static void *work(void *unused)
{
	pthread_mutex_lock(&mutex);
	while (next < count) {
		struct file *f = &files[next++];

		pthread_mutex_unlock(&mutex);
		hash(f);
		pthread_mutex_lock(&mutex);
		f->done = true;
		pthread_cond_signal(&done);
	}
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void print(struct file *f)
{
	pthread_mutex_lock(&mutex);
	while (!f->done)
		pthread_cond_wait(&done, &mutex);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < 32; i++)
		printf("%02x", f->digest[i]);
	printf("  %s\n", f->name);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

int main(int argc, char **argv)
{
	FTS *tree = argc == 3 ? fts_open(argv + 2, FTS_PHYSICAL | FTS_NOCHDIR, by_name) : NULL;
	const FTSENT *f;
	pthread_t thread;

	while (tree != NULL && (f = fts_read(tree)) != NULL)
		if (f->fts_info == FTS_F) {
			files = realloc(files, (count + 1) * sizeof *files);
			files[count++] = (struct file){.name = strdup(f->fts_path)};
		}
	for (int i = tree != NULL ? atoi(argv[1]) : 0; i > 0; i--)
		if (pthread_create(&thread, NULL, work, NULL) != 0)
			return 1;
	for (size_t i = 0; tree != NULL && i < count; i++)
		print(&files[i]);
	return tree == NULL || fflush(stdout) != 0;
}
