// SPDX-License-Identifier: Apache-2.0
// completion_threads_test.cpp - several threads await, wait, drop, cancel and destroy concurrently:
// each await is resumed exactly once.
//
// WEIR_TEST_AWAITS sets the number of awaits. The test also runs under ThreadSanitizer.
#include <weir/completion/completion.hpp>
#include <weir/completion/future.hpp>
#include <weir/completion/reactor.hpp>
#include <weir/completion/stop.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/task.hpp>
#include <weir/completion/when.hpp>
#include <weir/device/device.hpp>
#include <weir/event/event.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/fill.hpp>
#include <weir/stream/stream.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "api/completion/completion_access.hpp"
#include "reactor/reactor.hpp"
#include "support/detached.hpp"
#include "support/fault_table.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::fault_table;
using test::detached;
using test::gate;
using namespace std::chrono_literals;

constexpr std::size_t threads = 8;

std::size_t awaits_wanted() {
  const char* const wanted = std::getenv("WEIR_TEST_AWAITS");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 40'000;
}

// Counts which awaits were resumed, and how often.
class tally {
 public:
  explicit tally(std::size_t awaits) : times_(awaits) {}

  // Starts the next await; empty if all have been started.
  [[nodiscard]] std::optional<std::size_t> start() {
    const std::size_t mine = started_++;
    return mine < times_.size() ? std::optional{mine} : std::nullopt;
  }
  void record_resumption(std::size_t which) {
    ++times_[which];
    ++resumed_;
  }
  [[nodiscard]] std::size_t pending() const {
    const std::size_t resumed = resumed_;
    return std::min<std::size_t>(started_, times_.size()) - resumed;
  }
  [[nodiscard]] std::size_t wrong_count() const {
    std::size_t wrong = 0;
    for (const auto& times : times_) wrong += times == 1 ? 0 : 1;
    return wrong;
  }

 private:
  std::vector<std::atomic<unsigned char>> times_;
  std::atomic<std::size_t> started_{0};
  std::atomic<std::size_t> resumed_{0};
};

// An executor: any thread that calls it runs the queued continuations.
class run_queue {
 public:
  void add(continuation what) {
    const std::lock_guard hold{lock_};
    waiting_.push_back(what);
  }
  void run_one() {
    std::optional<continuation> next;
    {
      const std::lock_guard hold{lock_};
      if (waiting_.empty()) return;
      next = waiting_.front();
      waiting_.pop_front();
    }
    (*next)();
  }

 private:
  std::mutex lock_;
  std::deque<continuation> waiting_;
};

// Stop sources of waits that any thread may stop.
class stop_sources {
 public:
  void put(std::stop_source source) {
    const std::lock_guard hold{lock_};
    sources_.push_back(std::move(source));
  }
  void stop_one() {
    std::stop_source source{std::nostopstate};
    {
      const std::lock_guard hold{lock_};
      if (sources_.empty()) return;
      source = std::move(sources_.back());
      sources_.pop_back();
    }
    source.request_stop();
  }

 private:
  std::mutex lock_;
  std::vector<std::stop_source> sources_;
};

struct stream_and_buffer {
  explicit stream_and_buffer(device gpu) : s{gpu} {}
  stream s;
  buffer<int> x{s, 1};
};

struct shared {
  int devices = device::count();
  tally awaits{awaits_wanted()};
  run_queue queue;
  stop_sources stops;
  std::vector<std::unique_ptr<stream_and_buffer>> lines;
};

detached await(completion c, tally& results, std::size_t me) {
  static_cast<void>(co_await c.outcome());
  results.record_resumption(me);
}

// Awaits twice; the second await may make this coroutine the last owner of the stream.
detached await_twice(std::shared_ptr<stream_and_buffer> owner, tally& results, std::size_t me) {
  co_await owner->s.completion();
  co_await owner->s.completion();
  owner.reset();
  results.record_resumption(me);
}

template <class Executor>
detached await_on(completion c, Executor to, tally& results, std::size_t me) {
  co_await c.resume_on(to);
  results.record_resumption(me);
}

template <class Wait>
detached await_with_timeout(Wait wait, std::chrono::nanoseconds timeout, tally& results,
                            std::size_t me) {
  static_cast<void>(co_await wait.within(timeout));
  results.record_resumption(me);
}

detached await_or_stop(completion c, std::stop_token token, std::chrono::nanoseconds timeout,
                       tally& results, std::size_t me) {
  static_cast<void>(co_await stop_when(c, std::move(token), timeout));
  results.record_resumption(me);
}

detached await_value(future<buffer<int>> value, tally& results, std::size_t me) {
  const buffer<int> value_of_future = co_await std::move(value);
  results.record_resumption(me);
}

task<void> as_task(completion c, completion d) {
  co_await c;
  co_await d;
}

// Cancels a waiter that may be completed at the same time.
void cancel_or_complete(const completion& c, tally& results, std::size_t me) {
  struct cancellable_waiter : detail::completion_waiter {
    std::atomic<bool> resumed{false};
  } waiter;
  waiter.on_complete = [](detail::completion_waiter& self, errc) noexcept {
    static_cast<cancellable_waiter&>(self).resumed = true;
  };
  detail::completion_queue& queue = *detail::completion_access::queue(c);
  if (detail::add_waiter(queue, detail::completion_access::ticket(c), waiter) &&
      !detail::cancel_wait(queue, waiter)) {
    while (!waiter.resumed) std::this_thread::yield();
  }
  results.record_resumption(me);
}

// One thread's random sequence of operations.
class worker {
 public:
  worker(shared& all, unsigned seed) : all_{all}, random_{seed} {}

  void run() {
    while (const auto me = all_.awaits.start()) {
      if (random_below(100) == 0) renew_stream();
      stream_and_buffer& here =
          random_below(3) == 0 ? *all_.lines[random_below(all_.lines.size())] : *own_;
      const stream& s = here.s;
      if (random_below(2) == 0) fill(s, here.x, static_cast<int>(*me));
      do_something(s, *me);
      do_something_else(s);
      // A stream's queue is limited, so the gate is opened now and then.
      if (random_below(20) == 0 || ++steps_ % 100 == 0) held_.reset();
      while (all_.awaits.pending() > 2'000) make_progress();
    }
    held_.reset();
    own_->s.sync();
  }

 private:
  std::size_t random_below(std::size_t below) { return random_() % below; }
  device random_device() {
    return device{static_cast<int>(random_below(static_cast<std::size_t>(all_.devices)))};
  }
  std::chrono::nanoseconds random_timeout() {
    return random_below(2) == 0 ? 1h : std::chrono::microseconds{random_below(50)};
  }

  // Replaces the stream while awaits on it are pending.
  void renew_stream() {
    own_ = std::make_shared<stream_and_buffer>(random_device());
    held_.reset();
    if (random_below(3) == 0) held_.emplace(own_->s);
  }

  void make_progress() {
    held_.reset();
    all_.queue.run_one();
    all_.stops.stop_one();
    std::this_thread::yield();
  }

  void do_something(const stream& s, std::size_t me) {
    tally& results = all_.awaits;
    const auto on_queue = [&queue = all_.queue](continuation what) { queue.add(what); };
    const auto on_nothing = [](continuation) { throw std::runtime_error{"full"}; };
    switch (random_below(13)) {
      case 0: await(s.completion(), results, me); break;
      case 1: await_twice(own_, results, me); break;
      case 2: await_on(s.completion(), on_queue, results, me); break;
      case 3: await_on(s.completion(), on_nothing, results, me); break;
      case 4: s.completion().then([&results, me] { results.record_resumption(me); }); break;
      case 5:
        s.completion().then(on_queue, [&results, me](errc) { results.record_resumption(me); });
        break;
      case 6: cancel_or_complete(s.completion(), results, me); break;
      case 7: await_with_timeout(s.completion(), random_timeout(), results, me); break;
      case 8:
        await_with_timeout(when_any(own_->s.completion(), s.completion()), random_timeout(),
                           results, me);
        break;
      case 9:
        await_with_timeout(when_all(own_->s.completion(), s.completion()), random_timeout(),
                           results, me);
        break;
      case 10: await_value(s.enqueue([&] { return buffer<int>{s, 1}; }), results, me); break;
      case 11: {
        const event e = s.record();
        await(e.completion(), results, me);
        break;
      }
      default: {
        std::stop_source source;
        await_or_stop(s.completion(), source.get_token(), random_timeout(), results, me);
        if (random_below(2) == 0) {
          all_.stops.put(std::move(source));
        } else {
          source.request_stop();
        }
      }
    }
  }

  void do_something_else(const stream& s) {
    const completion c = s.completion();
    switch (random_below(10)) {
      case 0: static_cast<void>(c.done()); break;
      case 1: static_cast<void>(c.status()); break;
      case 2: static_cast<void>(c.wait_for(std::chrono::microseconds{random_below(20)})); break;
      case 3: static_cast<void>(poll_completions(random_device())); break;
      case 4: static_cast<void>(s.record().completion()); break;
      case 5: static_cast<void>(s.enqueue([&] { return buffer<int>{s, 1}; })); break;
      case 6:
        if (!held_) c.wait();
        break;
      case 7:
        if (!held_) sync_wait(as_task(c, own_->s.completion()));
        break;
      case 8: all_.stops.stop_one(); break;
      default: all_.queue.run_one(); break;
    }
  }

  shared& all_;
  std::mt19937 random_;
  std::shared_ptr<stream_and_buffer> own_ = std::make_shared<stream_and_buffer>(random_device());
  std::optional<gate> held_;
  unsigned steps_ = 0;
};

// Runs with the engine's notifications, and with polled completions.
class CompletionThreads : public ::testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Ways, CompletionThreads, ::testing::Values(false, true),
                         [](const auto& tested) { return tested.param ? "Asked" : "AsItComes"; });

TEST_P(CompletionThreads, EachAwaitIsResumedExactlyOnce) {
  std::optional<fault_table> calls;
  if (GetParam()) calls.emplace();
  shared all;
  for (int i = 0; i < 4; ++i)
    all.lines.push_back(std::make_unique<stream_and_buffer>(device{i % all.devices}));
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < threads; ++i) {
    workers.emplace_back([&all, i] { worker{all, i}.run(); });
  }
  workers.clear();
  while (all.awaits.pending() != 0) {
    all.queue.run_one();
    std::this_thread::yield();
  }
  EXPECT_EQ(all.awaits.wrong_count(), 0U);
  for (int i = 0; i < all.devices; ++i) {
    while (!detail::reactor::for_device(i).is_idle()) std::this_thread::yield();
  }
}

}  // namespace
}  // namespace weir
