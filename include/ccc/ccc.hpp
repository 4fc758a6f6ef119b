// ccc.hpp - libccc for C++17: a nursery that joins when it goes, lambdas as tasks, channels of
// what can be copied as bytes, select.
//
//      cc::channel<int> numbers(16);
//      cc::nursery n;
//
//      n.spawn([out = numbers.tx()] {
//              for (int i = 0; i < 1000; i++)
//                      if (int err = out.send(i))
//                              return err;
//              return out.close();
//      });
//      while (auto v = numbers.recv())
//              sum += *v;
//      int err = n.join();
//
// Exceptions: calls return error numbers, as in C, and throw nothing but what their own
// arguments throw; constructors throw std::system_error.  An exception must not leave a
// task: it would have to cross a stack that is not C++'s, so it stops the program
// (std::terminate).  A task that can fail returns an error number.  A task may wait inside a
// `catch` block and in a destructor that an exception has called; std::current_exception and
// std::uncaught_exceptions are those of the task (ccc/cxx.h).
#ifndef CCC_CCC_HPP
#define CCC_CCC_HPP

#include <cerrno>
#include <new>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

#include <ccc/ccc.h>

namespace cc
{

inline void check(int error, const char *what)
{
	if (error != 0)
		throw std::system_error(error, std::generic_category(), what);
}

// ---- channels ----

// The sending end; copy it freely.  It does not own the channel, nor does the other end.
template <class T> class sender
{
public:
	explicit sender(CCChan *chan) noexcept : chan_(chan) {}

	[[nodiscard]] int send(const T &item, cc_time deadline = CC_FOREVER) const noexcept
	{
		return cc_chan_send_until(chan_, &item, sizeof item, deadline);
	}
	[[nodiscard]] int try_send(const T &item) const noexcept { return send(item, CC_NOW); }
	int close(int error = 0) const noexcept { return cc_chan_close_error(chan_, error); }
	// For cc::select; `item` must be there until then.
	CCCase on_send(const T &item) const noexcept
	{
		return cc_case_send(chan_, &item, sizeof item);
	}
	CCChan *get() const noexcept { return chan_; }

private:
	CCChan *chan_;
};

template <class T> class receiver
{
public:
	explicit receiver(CCChan *chan) noexcept : chan_(chan) {}

	[[nodiscard]] int recv(T &item, cc_time deadline = CC_FOREVER) const noexcept
	{
		return cc_chan_recv_until(chan_, &item, sizeof item, deadline);
	}
	// Nothing: whatever the error was.
	[[nodiscard]] std::optional<T> recv(cc_time deadline = CC_FOREVER) const noexcept
	{
		T item;

		return recv(item, deadline) == 0 ? std::optional<T>(item) : std::nullopt;
	}
	[[nodiscard]] int try_recv(T &item) const noexcept { return recv(item, CC_NOW); }
	int close(int error = 0) const noexcept { return cc_chan_close_recv(chan_, error); }
	CCCase on_recv(T &item) const noexcept { return cc_case_recv(chan_, &item, sizeof item); }
	CCChan *get() const noexcept { return chan_; }

private:
	CCChan *chan_;
};

// Owns the channel: nobody uses it any more when it goes.
template <class T> class channel
{
	static_assert(std::is_trivially_copyable<T>::value && std::is_default_constructible<T>::value,
	              "a channel copies bytes: send a pointer to what has a copy constructor");

public:
	explicit channel(size_t capacity = 0, const CCChanOptions &options = CCChanOptions())
	{
		check(cc_chan_create(&chan_, sizeof(T), capacity, &options), "cc::channel");
	}
	~channel() { cc_chan_free(chan_); }
	channel(const channel &) = delete;
	channel &operator=(const channel &) = delete;

	sender<T> tx() const noexcept { return sender<T>(chan_); }
	receiver<T> rx() const noexcept { return receiver<T>(chan_); }
	[[nodiscard]] int send(const T &item, cc_time deadline = CC_FOREVER) const noexcept
	{
		return tx().send(item, deadline);
	}
	[[nodiscard]] int recv(T &item, cc_time deadline = CC_FOREVER) const noexcept
	{
		return rx().recv(item, deadline);
	}
	[[nodiscard]] std::optional<T> recv(cc_time deadline = CC_FOREVER) const noexcept
	{
		return rx().recv(deadline);
	}
	int close(int error = 0) const noexcept { return tx().close(error); }
	CCChan *get() const noexcept { return chan_; }

private:
	CCChan *chan_ = nullptr;
};

// A subscription to a channel whose kind is CC_CHAN_KIND_BROADCAST or CC_CHAN_KIND_WATCH
// (ccc/broadcast.h).  Nobody uses it any more when it goes, which is before its channel does.
//
//      CCChanOptions news;
//      news.kind = CC_CHAN_KIND_BROADCAST;
//      cc::channel<int> numbers(16, news);
//      cc::subscription<int> mine(numbers);
template <class T> class subscription
{
public:
	explicit subscription(const channel<T> &chan)
	{
		check(cc_chan_subscribe(chan.get(), &rx_), "cc::subscription");
	}
	~subscription() { cc_chan_unsubscribe(rx_); }
	subscription(const subscription &) = delete;
	subscription &operator=(const subscription &) = delete;

	receiver<T> rx() const noexcept { return receiver<T>(rx_.chan); }
	[[nodiscard]] int recv(T &item, cc_time deadline = CC_FOREVER) const noexcept
	{
		return rx().recv(item, deadline);
	}
	[[nodiscard]] std::optional<T> recv(cc_time deadline = CC_FOREVER) const noexcept
	{
		return rx().recv(deadline);
	}
	uint64_t lost() const noexcept { return cc_chan_lost(rx_); }
	CCChan *get() const noexcept { return rx_.chan; }

private:
	CCChanRx rx_ = {nullptr};
};

// ---- select ----

// The place of the case that took place, or the number of cases; *error (may be null) is what
// cc_select returned.
template <size_t N>
size_t select(const CCCase (&cases)[N], cc_time deadline = CC_FOREVER, int *error = nullptr) noexcept
{
	size_t which = N;
	const int err = cc_select(cases, N, deadline, &which);

	if (error != nullptr)
		*error = err;
	return which;
}

// ---- nurseries ----

// Joins its children when it goes.  On the stack of the fiber or thread that opens it.
class nursery
{
public:
	explicit nursery(const CCNurseryOptions &options = CCNurseryOptions())
	{
		check(cc_nursery_init(&nursery_, &options), "cc::nursery");
	}
	~nursery()
	{
		if (!joined_)
			(void)join();
	}
	nursery(const nursery &) = delete;
	nursery &operator=(const nursery &) = delete;

	// Run a copy of `task`, which returns an error number or nothing.  The copy is gone
	// before join returns.  If it is refused, the error; nothing has been run.  The result
	// may be dropped, because join returns that error too (see cc_nursery_spawn).
	template <class Task> int spawn(Task &&task, const CCTaskOptions *options = nullptr)
	{
		using Copy = std::decay_t<Task>;
		Copy *copy = new (std::nothrow) Copy(std::forward<Task>(task));

		if (copy == nullptr) {
			cc_nursery_spawn(&nursery_, nullptr, no_memory, nullptr);
			return ENOMEM;
		}
		const int err = cc_nursery_spawn(&nursery_, options, run<Copy>, copy);
		if (err != 0)
			delete copy;
		return err;
	}
	int cancel(int reason = 0) noexcept { return cc_nursery_cancel(&nursery_, reason); }
	int seal() noexcept { return cc_nursery_seal(&nursery_); }
	[[nodiscard]] int deadline(cc_time when) noexcept { return cc_nursery_deadline(&nursery_, when); }
	template <class T> [[nodiscard]] int autoclose(const channel<T> &chan) noexcept
	{
		return cc_nursery_autoclose(&nursery_, chan.get());
	}
	// The first error of a child, as by cc_nursery_join; the second time, the same.
	[[nodiscard]] int join() noexcept
	{
		if (!joined_)
			result_ = cc_nursery_join(&nursery_);
		joined_ = true;
		return result_;
	}
	CCNursery *get() noexcept { return &nursery_; }

private:
	// A child in place of one that could not be copied.
	static int no_memory(void *) noexcept { return ENOMEM; }

	template <class Task> static int run(void *arg) noexcept
	{
		Task *task = static_cast<Task *>(arg);
		int result = 0;

		if constexpr (std::is_void<decltype((*task)())>::value)
			(*task)();
		else
			result = (*task)();
		delete task;
		return result;
	}

	CCNursery nursery_;
	bool joined_ = false;
	int result_ = 0;
};

} // namespace cc

#endif
