// table_tbb.cpp - fork and join with oneTBB: `table_tbb CASE workers=N` prints one line of JSON,
// {"na":true} for a case that is not here.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_group.h>

static long cut;

static long fib(long n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static long fork_fib(long n)
{
	if (n < 2 || n <= cut)
		return fib(n);
	long a = 0, b = 0;
	tbb::task_group group;

	group.run([&] { a = fork_fib(n - 1); });
	b = fork_fib(n - 2);
	group.wait();
	return a + b;
}

static long forks(long n)
{
	return n < 2 || n <= cut ? 0 : 1 + forks(n - 1) + forks(n - 2);
}

int main(int argc, char **argv)
{
	using clock = std::chrono::steady_clock;
	long workers = 2, n = 0, ops = 1, right = 0;

	for (int i = 2; i < argc; i++)
		if (std::strncmp(argv[i], "workers=", 8) == 0)
			workers = std::atol(argv[i] + 8);
	if (argc < 2 || std::sscanf(argv[1], "par_fib_%ld_cut%ld", &n, &cut) != 2) {
		std::printf("{\"peer\":\"tbb\",\"case\":\"%s\",\"na\":true}\n", argc > 1 ? argv[1] : "");
		return 0;
	}
	tbb::global_control limit(tbb::global_control::max_allowed_parallelism, (size_t)workers);
	double best = 0;

	ops = forks(n);
	right = fib(n);
	for (int round = 0; round < 5; round++) {
		const auto begin = clock::now();
		if (fork_fib(n) != right)
			return 1;
		const double took = std::chrono::duration<double, std::nano>(clock::now() - begin).count();
		if (best == 0 || took < best)
			best = took;
	}
	std::printf("{\"peer\":\"tbb\",\"case\":\"%s\",\"ops\":%ld,\"ns_per_op\":%.2f,\"wall_s\":%.6f}\n", argv[1],
	            ops, best / (double)ops, best / 1e9);
	return 0;
}
