// exceptions_test.cpp - what a fiber handles and throws goes with it when it waits.  CC_WORKERS
// says on how many workers.  Prints what failed.
//
// covers: RES-71/u
#include <ccc/ccc.hpp>

#include <atomic>
#include <cstdio>
#include <exception>
#include <memory>
#include <thread>

static std::atomic<int> failed{0};

#define CHECK(x) \
	do { \
		if (!(x)) { \
			std::printf("FAIL %s:%d: %s\n", __FILE__, __LINE__, #x); \
			failed++; \
		} \
	} while (0)

static std::atomic<long> alive{0};

struct trouble {
	long id;
	explicit trouble(long i) : id(i) { alive++; }
	trouble(const trouble &o) : id(o.id) { alive++; }
	~trouble()
	{
		id = -1;
		alive--;
	}
};

// Yields, and now and then waits for time, so that the fiber goes to another worker.
static void wait(long i)
{
	if (i % 8 == 0)
		(void)cc_sleep_until(cc_after(20 * CC_USEC));
	else
		cc_yield();
}

static long current_id()
{
	try {
		if (std::current_exception())
			std::rethrow_exception(std::current_exception());
	} catch (const trouble &t) {
		return t.id;
	}
	return 0;
}

// Nothing is thrown or handled, whatever other fibers of the worker do.
static void check_nothing()
{
	CHECK(std::uncaught_exceptions() == 0);
	CHECK(!std::current_exception());
}

template <class F> static void many(F f)
{
	cc::nursery n;

	for (long i = 1; i <= 50; i++)
		CHECK(n.spawn([=] {
			for (long k = 0; k < 20; k++) {
				f(i * 100 + k);
				check_nothing();
			}
		}) == 0);
	CHECK(n.join() == 0);
	CHECK(alive == 0);
}

static void wait_in_catch(long id)
{
	try {
		throw trouble(id);
	} catch (const trouble &t) {
		for (int i = 0; i < 3; i++) {
			wait(id + i);
			CHECK(t.id == id);
			CHECK(current_id() == id);
			CHECK(std::uncaught_exceptions() == 0);
		}
	}
}

static void rethrow_after_wait(long id)
{
	bool caught = false;

	try {
		try {
			throw trouble(id);
		} catch (...) {
			wait(id);
			throw;
		}
	} catch (const trouble &t) {
		caught = t.id == id;
	}
	CHECK(caught);
}

static void catch_in_catch(long id)
{
	try {
		throw trouble(id);
	} catch (const trouble &outer) {
		wait(id);
		try {
			throw trouble(-id);
		} catch (const trouble &inner) {
			wait(id + 1);
			CHECK(inner.id == -id && current_id() == -id);
		}
		wait(id + 2);
		CHECK(outer.id == id && current_id() == id);
	}
}

struct waits_when_it_goes {
	long id;
	~waits_when_it_goes()
	{
		CHECK(std::uncaught_exceptions() == 1);
		wait(id);
		CHECK(std::uncaught_exceptions() == 1);
		catch_in_catch(id);	// and throws something of its own
		CHECK(std::uncaught_exceptions() == 1);
	}
};

static void wait_while_unwinding(long id)
{
	bool caught = false;

	try {
		waits_when_it_goes w{id};

		throw trouble(id);
	} catch (const trouble &t) {
		caught = t.id == id;
	}
	CHECK(caught);
}

// Others that neither throw nor handle run between them.
static void only_looks(long id)
{
	check_nothing();
	wait(id);
}

static void everything(long id)
{
	switch (id / 100 % 5) {
	case 0:
		wait_in_catch(id);
		break;
	case 1:
		rethrow_after_wait(id);
		break;
	case 2:
		catch_in_catch(id);
		break;
	case 3:
		wait_while_unwinding(id);
		break;
	default:
		only_looks(id);
	}
}

static int child(void *)
{
	check_nothing();
	wait_in_catch(7);
	check_nothing();
	return 0;
}

// A task that is joined may run on the stack of the joiner.
static void join_in_catch(long id)
{
	try {
		throw trouble(id);
	} catch (const trouble &t) {
		CCTask task;

		CHECK(cc_task_spawn(nullptr, &task, nullptr, child, nullptr) == 0);
		CHECK(cc_task_join(task, CC_FOREVER, nullptr) == 0);
		CHECK(t.id == id && current_id() == id);
	}
}

static void nursery_in_catch(long id)
{
	try {
		throw trouble(id);
	} catch (const trouble &t) {
		cc::nursery n;

		for (int i = 0; i < 4; i++)
			CHECK(n.spawn([] { child(nullptr); }) == 0);
		CHECK(n.join() == 0);
		CHECK(t.id == id && current_id() == id);
	}
}

static void nursery_joins_while_unwinding(long id)
{
	bool caught = false;

	try {
		cc::nursery n;

		for (int i = 0; i < 4; i++)
			CHECK(n.spawn([] { child(nullptr); }) == 0);
		throw trouble(id);
	} catch (const trouble &t) {
		caught = t.id == id;
	}
	CHECK(caught);
}

static void blocking_in_catch(long id)
{
	try {
		throw trouble(id);
	} catch (const trouble &t) {
		int result = -1;

		CHECK(cc_blocking(child, nullptr, &result) == 0 && result == 0);
		CHECK(t.id == id && current_id() == id);
	}
}

// One fiber's exception, thrown again by another.
static void handed_over()
{
	std::exception_ptr handed;
	cc::channel<int> ready;
	cc::nursery n;

	CHECK(n.spawn([&] {
		try {
			throw trouble(5);
		} catch (...) {
			handed = std::current_exception();
			CHECK(ready.send(1) == 0);
			cc_yield();
			CHECK(current_id() == 5);
		}
	}) == 0);
	CHECK(n.spawn([&] {
		int v;

		CHECK(ready.recv(v) == 0);
		try {
			std::rethrow_exception(handed);
		} catch (const trouble &t) {
			cc_yield();
			CHECK(t.id == 5);
		}
	}) == 0);
	CHECK(n.join() == 0);
	handed = nullptr;
	CHECK(alive == 0);
}

// A thread that waits keeps its own.
static void threads()
{
	cc::channel<int> c;
	std::thread thread([&c] {
		try {
			throw trouble(9);
		} catch (const trouble &t) {
			int v = 0;

			CHECK(c.recv(v) == 0 && v == 3);
			CHECK(t.id == 9 && current_id() == 9);
		}
	});

	try {
		throw trouble(8);
	} catch (const trouble &t) {
		CHECK(c.send(3) == 0);
		CHECK(t.id == 8 && current_id() == 8);
	}
	thread.join();
	CHECK(alive == 0);
}

int main()
{
	many(wait_in_catch);
	many(rethrow_after_wait);
	many(catch_in_catch);
	many(wait_while_unwinding);
	many(everything);
	many(join_in_catch);
	many(nursery_in_catch);
	many(nursery_joins_while_unwinding);
	many([](long id) {
		if (id % 100 == 0)
			blocking_in_catch(id);
	});
	handed_over();
	threads();
	CHECK(cc_shutdown() == 0);
	std::printf("%d failed\n", static_cast<int>(failed));
	return failed != 0;
}
