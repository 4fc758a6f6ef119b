// table_boost.cpp - yields, joins and channels of Boost.Fiber, whose fibers stay on one thread here:
// `table_boost CASE workers=1` prints one line of JSON, {"na":true} for a case that is not here.
#include <chrono>
#include <cstdio>
#include <functional>
#include <vector>

#include <boost/fiber/all.hpp>

namespace fibers = boost::fibers;

static void yields(long tasks, long n)
{
	std::vector<fibers::fiber> all;

	for (long i = 0; i < tasks; i++)
		all.emplace_back([=] {
			for (long k = 0; k < n / tasks; k++)
				boost::this_fiber::yield();
		});
	for (auto &f : all)
		f.join();
}

static void spawn_and_join(long n)
{
	for (long i = 0; i < n; i++)
		fibers::fiber([] {}).join();
}

// The channel holds one element less than its capacity, a power of two.
static void one_to_one(long capacity, long n)
{
	size_t places = 2;

	while (places <= (size_t)capacity)
		places *= 2;
	fibers::buffered_channel<long> channel(places);
	long sum = 0, v = 0;
	fibers::fiber producer([&] {
		for (long i = 0; i < n; i++)
			channel.push(i);
		channel.close();
	});

	while (channel.pop(v) == fibers::channel_op_status::success)
		sum += v;
	producer.join();
	if (sum != n * (n - 1) / 2)
		std::abort();
}

static void locks(long n)
{
	std::vector<fibers::fiber> all;
	fibers::mutex mutex;
	long counter = 0;

	for (int i = 0; i < 64; i++)
		all.emplace_back([&] {
			for (long k = 0; k < n / 64; k++) {
				mutex.lock();
				counter++;
				mutex.unlock();
			}
		});
	for (auto &f : all)
		f.join();
	if (counter != n / 64 * 64)
		std::abort();
}

static std::function<void(long)> case_of(const std::string &name, bool one_worker)
{
	long a = 0;

	if (!one_worker)
		return nullptr;
	if (name == "yield_pair")
		return [](long n) { yields(2, n); };
	if (std::sscanf(name.c_str(), "yield_%ld", &a) == 1)
		return [a](long n) { yields(a, n); };
	if (name == "spawn_join_seq")
		return spawn_and_join;
	if (std::sscanf(name.c_str(), "spsc_cap%ld", &a) == 1)
		return [a](long n) { one_to_one(a, n); };
	if (name == "mutex_64")
		return locks;
	return nullptr;
}

int main(int argc, char **argv)
{
	using clock = std::chrono::steady_clock;
	const std::string name = argc > 1 ? argv[1] : "";
	const auto run = case_of(name, argc < 3 || std::string(argv[2]) == "workers=1");
	double took = 0;
	long n;

	if (!run) {
		std::printf("{\"peer\":\"boost\",\"case\":\"%s\",\"na\":true}\n", name.c_str());
		return 0;
	}
	for (n = 5000;; n *= 4) {
		const auto begin = clock::now();
		run(n);
		took = std::chrono::duration<double, std::nano>(clock::now() - begin).count();
		if (took > 2e8)
			break;
	}
	std::printf("{\"peer\":\"boost\",\"case\":\"%s\",\"ops\":%ld,\"ns_per_op\":%.2f,\"wall_s\":%.6f}\n",
	            name.c_str(), n, took / (double)n, took / 1e9);
	return 0;
}
