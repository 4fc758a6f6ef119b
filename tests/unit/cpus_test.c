/* cpus_test.c - CPUs by affinity and by quota, the latter from trees that a test
 * builds.
 * link-wrap: sched_getaffinity */
#include "environment.h"
#include "test.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/number.h"
#include "os/cpus.h"

/* ---- a tree of its own ---- */

enum { ENTRIES = 64 };
static char root[64];
static char entries[ENTRIES][PATH_MAX];	/* in the order they were made */
static unsigned made;

static void made_one(const char *path)
{
	if (CHECK(made < ENTRIES))
		snprintf(entries[made++], PATH_MAX, "%s", path);
}

static void make_folders(char *path)
{
	for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		if (mkdir(path, 0700) == 0)
			made_one(path);
		*p = '/';
	}
}

static void put(const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof path, "%s%s", root, name);
	make_folders(path);
	if (!CHECK((f = fopen(path, "w")) != NULL))
		return;
	fputs(text, f);
	fclose(f);
	made_one(path);
}

static void tree_begin(void)
{
	strcpy(root, "/tmp/cpus_test.XXXXXX");
	CHECK(mkdtemp(root) != NULL);
}

static void tree_end(void)
{
	while (made > 0)
		remove(entries[--made]);
	CHECK_EQ(rmdir(root), 0);
}

/* The quota of the tree, which goes. */
static unsigned quota(void)
{
	const unsigned n = cc__cpus_quota(root);

	tree_end();
	return n;
}

#define MOUNT_PROC "22 28 0:21 / /proc rw,nosuid - proc proc rw\n"
#define MOUNT_V2 \
	"30 24 0:26 / /sys/fs/cgroup rw shared:4 master:1 - cgroup2 cgroup2 rw,nsdelegate\n"
#define MOUNT_V1 \
	"33 32 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n" \
	"34 32 0:31 / /sys/fs/cgroup/cpuset rw shared:10 - cgroup cgroup rw,cpuset\n"

static void tree_v2(const char *own)
{
	char line[256];

	tree_begin();
	snprintf(line, sizeof line, "0::%s\n", own);
	put("/proc/self/cgroup", line);
	put("/proc/self/mountinfo", MOUNT_PROC MOUNT_V2);
}

static void tree_v1(const char *own)
{
	char lines[256];

	tree_begin();
	snprintf(lines, sizeof lines, "5:cpuset:/elsewhere\n4:cpu,cpuacct:%s\n1:name=systemd:/\n",
	         own);
	put("/proc/self/cgroup", lines);
	put("/proc/self/mountinfo", MOUNT_PROC MOUNT_V1);
}

/* ---- numbers ---- */

TEST(number_is_digits_that_fit)
{
	static const char *const bad[] = {
	    "", "x", "-1", "+1", " 1", "18446744073709551616", "99999999999999999999999"};
	uint64_t n = 17;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		CHECK(cc__number(bad[i], &n) == NULL);
	CHECK_EQ(n, 17);
	CHECK_STR(cc__number("0", &n), "");
	CHECK_EQ(n, 0);
	CHECK_STR(cc__number("0042 x", &n), " x");
	CHECK_EQ(n, 42);
	CHECK_STR(cc__number("18446744073709551615", &n), "");
	CHECK(n == UINT64_MAX);
}

/* ---- version 2 ---- */

TEST(quota_v2_is_rounded_up)
{
	static const struct {
		const char *text;
		unsigned cpus;
	} max[] = {
	    {"max 100000\n", 0},    {"10000 100000\n", 1},  {"100000 100000\n", 1},
	    {"100001 100000\n", 2}, {"250000 100000\n", 3}, {"1 1000000\n", 1},
	    {"400000 100000", 4},   {"50000 10000\n", 5},   {"18446744073709551615 1\n", 0},
	};

	for (size_t i = 0; i < sizeof max / sizeof *max; i++) {
		tree_v2("/user.slice");
		put("/sys/fs/cgroup/user.slice/cpu.max", max[i].text);
		if (!CHECK_EQ(quota(), max[i].cpus))
			printf("\tcpu.max: %s\n", max[i].text);
	}
}

TEST(quota_v2_of_an_ancestor_counts)
{
	tree_v2("/a/b/c");
	put("/sys/fs/cgroup/a/cpu.max", "200000 100000\n");
	put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
	put("/sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n");
	CHECK_EQ(quota(), 2);

	tree_v2("/a/b/c"); /* the nearer one, and of other periods */
	put("/sys/fs/cgroup/a/cpu.max", "80000 10000\n");
	put("/sys/fs/cgroup/a/b/c/cpu.max", "300000 100000\n");
	put("/sys/fs/cgroup/a/b/d/cpu.max", "100000 100000\n"); /* a neighbour's */
	CHECK_EQ(quota(), 3);

	tree_v2("/a"); /* the mount's own, as in a namespace */
	put("/sys/fs/cgroup/cpu.max", "500000 100000\n");
	put("/sys/fs/cgroup/a/cpu.max", "600000 100000\n");
	put("/cpu.max", "100000 100000\n"); /* above the mount */
	put("/sys/cpu.max", "100000 100000\n");
	CHECK_EQ(quota(), 5);
}

TEST(quota_v2_in_a_container)
{
	tree_v2("/"); /* a cgroup namespace */
	put("/sys/fs/cgroup/cpu.max", "150000 100000\n");
	CHECK_EQ(quota(), 2);

	tree_begin();	/* none, but the mount shows a part of the tree */
	put("/proc/self/cgroup", "0::/docker/1234/init\n");
	put("/proc/self/mountinfo",
	    "30 24 0:26 /docker/1234 /sys/fs/cgroup ro - cgroup2 cgroup rw\n"
	    "31 24 0:26 /docker/12 /other ro - cgroup2 cgroup rw\n");
	put("/sys/fs/cgroup/cpu.max", "600000 100000\n");
	put("/sys/fs/cgroup/init/cpu.max", "400000 100000\n");
	put("/other/cpu.max", "100000 100000\n");
	CHECK_EQ(quota(), 4);

	tree_begin();	/* the host's mount, seen from inside a namespace */
	put("/proc/self/cgroup", "0::/\n");
	put("/proc/self/mountinfo", "30 24 0:26 /../.. /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
	put("/sys/fs/cgroup/cpu.max", "700000 100000\n");
	CHECK_EQ(quota(), 7);

	tree_v2("/../outside"); /* moved out of its namespace: the mount is not above */
	put("/sys/fs/cgroup/cpu.max", "100000 100000\n");
	CHECK_EQ(quota(), 0);

	tree_v2("/..odd"); /* no way up, only a name */
	put("/sys/fs/cgroup/..odd/cpu.max", "300000 100000\n");
	CHECK_EQ(quota(), 3);
}

TEST(quota_with_blanks_and_colons_in_the_path)
{
	tree_begin();
	put("/proc/self/cgroup", "0::/my group/a:b\n");
	put("/proc/self/mountinfo",
	    "30 24 0:26 /my\\040group /mnt/c\\134g\\040x rw - cgroup2 none rw\n");
	put("/mnt/c\\g x/a:b/cpu.max", "200000 100000\n");
	CHECK_EQ(quota(), 2);
}

/* A group that was removed under us, and whose name the kernel marks. */
TEST(quota_of_the_parents_of_a_group_that_is_gone)
{
	tree_v2("/a/b (deleted)");
	put("/sys/fs/cgroup/a/cpu.max", "300000 100000\n");
	CHECK_EQ(quota(), 3);
}

/* ---- version 1 and both ---- */

TEST(quota_v1_is_that_of_the_cpu_controller)
{
	tree_v1("/a/b");
	put("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "250000\n");
	put("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
	put("/sys/fs/cgroup/cpuset/a/b/cpu.cfs_quota_us", "100000\n");
	put("/sys/fs/cgroup/cpuset/a/b/cpu.cfs_period_us", "100000\n");
	CHECK_EQ(quota(), 3);

	tree_v1("/a/b"); /* none of its own: its parent's */
	put("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n");
	put("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
	put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "10000\n");
	put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
	CHECK_EQ(quota(), 1);

	tree_v1("/");
	put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
	put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
	CHECK_EQ(quota(), 0);

	tree_v1("/a"); /* half a quota */
	put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "100000\n");
	CHECK_EQ(quota(), 0);
}

TEST(quota_v1_in_a_container)
{
	tree_begin();
	put("/proc/self/cgroup", "3:cpu:/docker/1234\n");
	put("/proc/self/mountinfo",
	    "33 32 0:30 /docker/1234 /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n");
	put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "350000\n");
	put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
	CHECK_EQ(quota(), 4);
}

static void tree_hybrid(void)
{
	tree_begin();
	put("/proc/self/cgroup", "4:cpu,cpuacct:/one\n1:name=systemd:/x\n0::/two\n");
	put("/proc/self/mountinfo",
	    MOUNT_V1 "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
	put("/sys/fs/cgroup/cpu,cpuacct/one/cpu.cfs_period_us", "100000\n");
}

TEST(quota_hybrid_is_the_smaller)
{
	tree_hybrid();	/* the usual: the controller belongs to version 1 */
	put("/sys/fs/cgroup/cpu,cpuacct/one/cpu.cfs_quota_us", "300000\n");
	put("/sys/fs/cgroup/unified/two/cgroup.procs", "1\n");
	CHECK_EQ(quota(), 3);

	tree_hybrid();
	put("/sys/fs/cgroup/cpu,cpuacct/one/cpu.cfs_quota_us", "300000\n");
	put("/sys/fs/cgroup/unified/two/cpu.max", "200000 100000\n");
	CHECK_EQ(quota(), 2);

	tree_hybrid();
	put("/sys/fs/cgroup/cpu,cpuacct/one/cpu.cfs_quota_us", "-1\n");
	put("/sys/fs/cgroup/unified/two/cpu.max", "200000 100000\n");
	CHECK_EQ(quota(), 2);
}

/* ---- what cannot be understood limits nothing ---- */

TEST(quota_malformed_limits_nothing)
{
	static const char *const max[] = {"",
	                                  "\n",
	                                  "100000\n",
	                                  "100000 \n",
	                                  "100000  100000\n",
	                                  " 100000 100000\n",
	                                  "100000 100000 x\n",
	                                  "100000 100000x\n",
	                                  "100000,100000\n",
	                                  "-1 100000\n",
	                                  "0 100000\n",
	                                  "100000 0\n",
	                                  "100000 max\n",
	                                  "99999999999999999999 100000\n",
	                                  "0x10 16\n",
	                                  "nothing of the kind\n"};

	for (size_t i = 0; i < sizeof max / sizeof *max; i++) {
		tree_v2("/a");
		put("/sys/fs/cgroup/a/cpu.max", max[i]);
		if (!CHECK_EQ(quota(), 0))
			printf("\tcpu.max: %s\n", max[i]);
		tree_v2("/a"); /* nor does it hide the parent's */
		put("/sys/fs/cgroup/a/cpu.max", max[i]);
		put("/sys/fs/cgroup/cpu.max", "200000 100000\n");
		CHECK_EQ(quota(), 2);
	}
}

TEST(quota_malformed_tables_limit_nothing)
{
	static const char *const groups[] = {"",    "\n",     ":::\n",       "0\n",    "0:\n",
	                                     "0::", "0::a\n", "0:cpu2:/a\n", "::/a\n", "nonsense"};
	static const char *const mounts[] = {
	    "",
	    "\n",
	    "30\n",
	    "30 24 0:26 / /sys/fs/cgroup rw\n",
	    "30 24 0:26 / /sys/fs/cgroup rw - cgroup2\n",
	    "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 none\n",
	    "30 24 0:26 / /sys/fs/cgroup rw cgroup2 none rw\n",
	    "30 24 0:26 / /sys/fs/cgroup rw - tmpfs none rw\n",
	    "30 24 0:26 / /sys/fs/cgroup\\04 rw - cgroup2 none rw\n",
	};

	for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
		tree_begin();
		put("/proc/self/cgroup", groups[i]);
		put("/proc/self/mountinfo", MOUNT_V2 MOUNT_V1);
		put("/sys/fs/cgroup/cpu.max", "100000 100000\n");
		CHECK_EQ(quota(), 0);
	}
	for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
		tree_begin();
		put("/proc/self/cgroup", "0::/a\n");
		put("/proc/self/mountinfo", mounts[i]);
		put("/sys/fs/cgroup/cpu.max", "100000 100000\n");
		CHECK_EQ(quota(), 0);
	}
}

TEST(quota_of_a_path_too_long_limits_nothing)
{
	static char lines[3 * PATH_MAX];
	int n = snprintf(lines, sizeof lines, "0::");

	tree_begin();
	for (int i = 0; i < PATH_MAX; i++)
		n += snprintf(lines + n, sizeof lines - (size_t)n, "/a");
	put("/proc/self/cgroup", lines);
	put("/proc/self/mountinfo", MOUNT_V2);
	put("/sys/fs/cgroup/cpu.max", "100000 100000\n");
	CHECK_EQ(quota(), 0);

	tree_begin();	/* long, but it fits: not with what stands before it, though */
	lines[3 + PATH_MAX - 4] = '\0';
	put("/proc/self/cgroup", lines);
	put("/proc/self/mountinfo", MOUNT_V2);
	put("/sys/fs/cgroup/cpu.max", "100000 100000\n");
	CHECK_EQ(quota(), 0);
}

/* Lines of other file systems may be of any length, and do not hide the next. */
TEST(quota_behind_a_line_that_is_too_long)
{
	static char lines[8 * PATH_MAX];

	for (size_t length = 3 * PATH_MAX - 4; length < 6 * PATH_MAX + 4;
	     length += length % PATH_MAX == 3 ? PATH_MAX - 7 : 1) {
		memset(lines, 'x', length);
		snprintf(lines + length, sizeof lines - length, "\n%s", MOUNT_V2);
		tree_begin();
		put("/proc/self/cgroup", "0::/a\n");
		put("/proc/self/mountinfo", lines);
		put("/sys/fs/cgroup/cpu.max", "200000 100000\n");
		if (!CHECK_EQ(quota(), 2))
			printf("\tafter a line of %zu\n", length);
	}
	/* Nor is the end of such a line one of its own. */
	memset(lines, 'x', 3 * PATH_MAX - 1);
	strcpy(lines + 3 * PATH_MAX - 1, MOUNT_V2);
	tree_begin();
	put("/proc/self/cgroup", "0::/a\n");
	put("/proc/self/mountinfo", lines);
	put("/sys/fs/cgroup/cpu.max", "200000 100000\n");
	CHECK_EQ(quota(), 0);
}

TEST(quota_without_files_limits_nothing)
{
	tree_begin();
	CHECK_EQ(quota(), 0);
	tree_begin();
	put("/proc/self/cgroup", "0::/a\n");
	CHECK_EQ(quota(), 0);
	tree_begin();
	put("/proc/self/mountinfo", MOUNT_V2);
	put("/sys/fs/cgroup/cpu.max", "100000 100000\n");
	CHECK_EQ(quota(), 0);
	tree_v2("/a");
	CHECK_EQ(quota(), 0);
	CHECK_EQ(cc__cpus_quota("/tmp/cpus_test.is-not-there"), 0);
}

/* ---- affinity ---- */

/* A kernel whose masks have so many bits refuses smaller ones. */
static size_t kernel_bits;
static unsigned cpus_there;	/* by the mask; 0: as it is here */
static int fails_with;

int __real_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *mask);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *mask);

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *mask)
{
	if (fails_with != 0 || size * 8 < kernel_bits) {
		errno = fails_with != 0 ? fails_with : EINVAL;
		return -1;
	}
	if (cpus_there == 0)
		return __real_sched_getaffinity(pid, size, mask);
	for (unsigned i = 0; i < cpus_there; i++)
		CPU_SET_S(kernel_bits - 1 - i, size, mask);
	return 0;
}

TEST(affinity_mask_may_be_larger_than_usual)
{
	for (kernel_bits = 1024; kernel_bits <= 65536; kernel_bits *= 2) {
		cpus_there = 1000;
		CHECK_EQ(cc__cpus_allowed(), 1000);
		cpus_there = 3;
		CHECK_EQ(cc__cpus_allowed(), 3);
	}
	kernel_bits = cpus_there = 0;
}

TEST(affinity_that_cannot_be_read_is_one_cpu)
{
	fails_with = EPERM;
	CHECK_EQ(cc__cpus_allowed(), 1);
	fails_with = EINVAL;	/* however large the mask: it ends */
	CHECK_EQ(cc__cpus_allowed(), 1);
	CHECK_EQ(cc__cpus_usable(), 1);
	fails_with = 0;
}

static void on_one_cpu(void *arg)
{
	(void)arg;
	if (!stay_on_one_cpu())
		_exit(1);
	_exit(cc__cpus_allowed() == 1 && cc__cpus_usable() == 1 ? 0 : 3);
}

TEST(affinity_of_one_cpu_is_one)
{
	static struct test_death d;

	REQUIRE_EQ(test_dies(on_one_cpu, NULL, &d), 0);
	CHECK_EQ(d.status, 0);
}

TEST(usable_is_the_smaller_of_affinity_and_quota)
{
	const unsigned allowed = cc__cpus_allowed(), quota_here = cc__cpus_quota("");
	cpu_set_t mask;

	REQUIRE_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
	CHECK_EQ(allowed, CPU_COUNT(&mask));
	CHECK(cc__cpus_usable() >= 1);
	CHECK(cc__cpus_usable() == allowed || cc__cpus_usable() == quota_here);
	CHECK(cc__cpus_usable() <= allowed);
	CHECK(quota_here == 0 || cc__cpus_usable() <= quota_here);
}
