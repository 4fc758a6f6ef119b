// wrappers_test.cpp - ccc.hpp as a user of C++ writes it.  Prints what failed.
#include <ccc/ccc.hpp>

#include <atomic>
#include <cstdio>
#include <memory>

static int failed;

#define CHECK(x) \
	do { \
		if (!(x)) { \
			std::printf("FAIL %s:%d: %s\n", __FILE__, __LINE__, #x); \
			failed++; \
		} \
	} while (0)

struct point {
	int x, y;
};

static void sums()
{
	cc::channel<int> numbers(16);
	cc::nursery n;
	long sum = 0;

	CHECK(n.spawn([out = numbers.tx()] {
		for (int i = 0; i < 1000; i++)
			if (int err = out.send(i))
				return err;
		return out.close();
	}) == 0);
	while (auto v = numbers.recv())
		sum += *v;
	CHECK(n.join() == 0 && n.join() == 0);
	CHECK(sum == 499500);
}

static void destructor_joins()
{
	std::atomic<int> ran{0};
	auto shared = std::make_shared<int>(7);

	{
		cc::nursery n;

		for (int i = 0; i < 100; i++)
			CHECK(n.spawn([&ran, shared] { ran += *shared == 7; }) == 0);
	}
	CHECK(ran == 100);
	CHECK(shared.use_count() == 1);		// every copy is gone
}

// The default runtime's are 256 KB.
static void large_stacks()
{
	CCNurseryOptions options = CCNurseryOptions();
	std::atomic<int> ran{0};

	options.stack_size = 2 << 20;
	cc::nursery n(options);
	CHECK(n.spawn([&ran] {
		volatile char large[1 << 20];

		for (size_t i = 0; i < sizeof large; i += 512)
			large[i] = 1;
		ran += large[512];
	}) == 0);
	CHECK(n.join() == 0);
	CHECK(ran == 1);
}

static void first_error_cancels()
{
	cc::channel<point> silent;
	cc::nursery n;
	point p{};

	CHECK(n.spawn([&silent] {
		point q;

		return silent.recv(q);
	}) == 0);
	CHECK(n.spawn([] { return EIO; }) == 0);
	CHECK(silent.recv(p) == ECANCELED);
	CHECK(n.join() == EIO);
}

static void cancel_and_refusal()
{
	auto shared = std::make_shared<int>(7);
	cc::nursery n;

	CHECK(n.cancel() == 0);
	CHECK(n.spawn([shared] { return *shared; }) == ECANCELED);
	CHECK(shared.use_count() == 1);
	CHECK(n.join() == ECANCELED);
}

static void selects()
{
	cc::channel<int> empty(1), full(1);
	const int seven = 7;
	int got = 0, err = -1;

	CHECK(full.send(3) == 0);
	CCCase cases[] = {empty.rx().on_recv(got), full.tx().on_send(seven)};
	CHECK(cc::select(cases, CC_NOW, &err) == 2 && err == EAGAIN);
	CHECK(empty.send(5) == 0);
	CHECK(cc::select(cases, CC_FOREVER, &err) == 0 && err == 0 && got == 5);
	CHECK(full.rx().try_recv(got) == 0 && got == 3);
	CHECK(cc::select(cases) == 1);
	CHECK(full.tx().try_send(1) == EAGAIN);
	CHECK(full.close(EBADF) == 0);
}

static void subscriptions()
{
	CCChanOptions news = CCChanOptions();

	news.kind = CC_CHAN_KIND_BROADCAST;
	news.mode = CC_CHAN_MODE_DROP_OLD;
	cc::channel<int> numbers(2, news), plain(2);
	cc::subscription<int> all(numbers);
	bool thrown = false;

	{
		cc::subscription<int> some(numbers);

		CHECK(numbers.send(1) == 0 && numbers.send(2) == 0 && numbers.send(3) == 0);
		CHECK(some.recv() == 2 && some.lost() == 1);
	}
	CHECK(all.recv() == 2 && all.recv() == 3);
	CHECK(numbers.close(EIO) == 0);
	CHECK(!all.recv());
	try {
		cc::subscription<int> none(plain);
	} catch (const std::system_error &e) {
		thrown = e.code() == std::errc::invalid_argument;
	}
	CHECK(thrown);
}

static void constructors_throw()
{
	bool thrown = false;

	try {
		cc::channel<int> impossible(CC_CHAN_CAPACITY_MAX + 1);
	} catch (const std::system_error &e) {
		thrown = e.code() == std::errc::invalid_argument;
	}
	CHECK(thrown);
}

int main()
{
	sums();
	destructor_joins();
	large_stacks();
	first_error_cancels();
	cancel_and_refusal();
	selects();
	subscriptions();
	constructors_throw();
	CHECK(cc_shutdown() == 0);
	std::printf("%d failed\n", failed);
	return failed != 0;
}
