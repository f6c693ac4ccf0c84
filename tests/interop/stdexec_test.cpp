// SPDX-License-Identifier: Apache-2.0
// stdexec_test.cpp - completions and futures as senders, streams as schedulers.
#include <weir/interop/stdexec.hpp>

#include <weir/capture/capture.hpp>
#include <weir/completion/completion.hpp>
#include <weir/completion/future.hpp>
#include <weir/graph/graph.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <stdexec/execution.hpp>

#include <chrono>
#include <concepts>
#include <exception>
#include <future>
#include <list>
#include <memory>
#include <optional>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "receivers.hpp"
#include "support/completion_modes.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using stdexec::schedule;
using stdexec::sync_wait;
using stdexec::then;
using test::completion_sender;
using test::gate;
using test::held_operation;
using test::probe;
using test::result_of;
using test::seen;
using test::stoppable_probe;

using int_sender = decltype(as_sender(std::declval<future<int>>()));
using schedule_sender = decltype(schedule(std::declval<stream_scheduler>()));

static_assert(stdexec::sender<completion_sender> &&
              stdexec::sender_in<completion_sender, stdexec::env<>>);
static_assert(stdexec::sender<int_sender> && stdexec::sender_in<int_sender, stdexec::env<>>);
static_assert(stdexec::sender<schedule_sender> &&
              stdexec::sender_in<schedule_sender, stdexec::env<>>);
static_assert(std::copy_constructible<completion_sender> && !std::copy_constructible<int_sender>);
static_assert(stdexec::receiver<probe<>> && stdexec::receiver<stoppable_probe>);
static_assert(stdexec::scheduler<stream_scheduler>);
static_assert(std::is_trivially_copyable_v<stream_scheduler>);
static_assert(std::same_as<stdexec::completion_signatures_of_t<int_sender, stdexec::env<>>,
                           stdexec::completion_signatures<stdexec::set_value_t(int),
                                                          stdexec::set_error_t(std::exception_ptr),
                                                          stdexec::set_stopped_t()>>);

class Senders : public test::completion_modes {};
INSTANTIATE_TEST_SUITE_P(Ways, Senders, ::testing::Values(false, true), test::name_of_mode);

TEST_P(Senders, ASenderCompletesAfterTheWork) {
  pinned_buffer<int> x{1};
  x.data()[0] = 0;
  gate held{s};
  fill(s, x, 3);
  seen end;
  auto operation = stdexec::connect(
      as_sender(s.completion()) | then([&] { EXPECT_EQ(x.data()[0], 3); }), probe<>{&end});
  stdexec::start(operation);
  std::future<char> how = end.how.get_future();
  EXPECT_EQ(how.wait_for(std::chrono::seconds{0}), std::future_status::timeout);
  held.open();
  EXPECT_EQ(how.get(), 'v');
  EXPECT_NE(end.where, std::this_thread::get_id());
}

TEST_P(Senders, ASenderOfCompletedWorkCompletesInStart) {
  for (const completion& c : {completion{}, s.completion()}) {
    c.wait();
    seen end;
    auto operation = stdexec::connect(as_sender(c), probe<>{&end});
    stdexec::start(operation);
    EXPECT_EQ(end.how.get_future().get(), 'v');
    EXPECT_EQ(end.where, std::this_thread::get_id());
  }
}

TEST_P(Senders, ASenderCanBeConnectedSeveralTimes) {
  gate held{s};
  const auto sender = as_sender(s.completion());
  seen first;
  seen second;
  auto one = stdexec::connect(sender, probe<>{&first});
  auto two = stdexec::connect(sender, probe<>{&second});
  stdexec::start(one);
  stdexec::start(two);
  held.open();
  EXPECT_EQ(first.how.get_future().get(), 'v');
  EXPECT_EQ(second.how.get_future().get(), 'v');
}

TEST_P(Senders, ManySendersCanBePendingAtOnce) {
  constexpr int many = 1000;
  std::vector<stream> all;
  std::vector<std::unique_ptr<gate>> held;
  std::list<held_operation<completion_sender, probe<>>> operations;
  std::list<seen> ends;
  for (int i = 0; i < 4; ++i) {
    all.emplace_back(gpu);
    held.push_back(std::make_unique<gate>(all.back()));
  }
  for (int i = 0; i < many; ++i) {
    operations.emplace_back(as_sender(all[i % 4].completion()), probe<>{&ends.emplace_back()});
    stdexec::start(operations.back().operation);
  }
  for (const auto& one : held) one->open();
  for (seen& end : ends) EXPECT_EQ(end.how.get_future().get(), 'v');
}

// The receiver owns its operation state.
TEST_P(Senders, AnOperationCanBeDestroyedInItsCompletion) {
  struct owner {
    using receiver_concept = stdexec::receiver_tag;
    void set_value() && noexcept {
      std::promise<void>& completed = *done;
      destroy(self);
      completed.set_value();
    }
    void set_error(const std::exception_ptr&) && noexcept { std::terminate(); }
    void set_stopped() && noexcept { std::terminate(); }
    void* self;
    void (*destroy)(void*);
    std::promise<void>* done;
  };
  using held_one = held_operation<completion_sender, owner>;
  gate held{s};
  std::promise<void> done;
  void* const memory = ::operator new(sizeof(held_one));
  auto* const made = ::new (memory)
      held_one{as_sender(s.completion()), owner{memory,
                                                [](void* p) {
                                                  static_cast<held_one*>(p)->~held_one();
                                                  ::operator delete(p);
                                                },
                                                &done}};
  stdexec::start(made->operation);
  held.open();
  done.get_future().get();
}

TEST_P(Senders, ASenderReturnsTheValueOfAFuture) {
  auto [five] = *sync_wait(as_sender(s.enqueue([] { return std::make_unique<int>(5); })));
  EXPECT_EQ(*five, 5);
  auto [six] = *sync_wait(as_sender(s.enqueue([](stream_ref t) {
                            pinned_buffer<int> x{1};
                            fill(t, x, 6);
                            return x;
                          })) |
                          then([](const pinned_buffer<int>& x) { return x.data()[0]; }));
  EXPECT_EQ(six, 6);
}

// A completed future needs no wait, which a host function may not begin.
TEST_P(Senders, ASenderReturnsTheValueOfACompletedFutureInAHostFunction) {
  future<int> f = s.enqueue([] { return 5; });
  s.sync();
  std::optional<std::tuple<int>> value;
  launch_host(s, [&] { value = sync_wait(as_sender(std::move(f))); });
  s.sync();
  EXPECT_EQ(value, std::tuple{5});
}

TEST_P(Senders, AStreamIsAScheduler) {
  pinned_buffer<int> x{1};
  const stream_scheduler on{s};
  auto [three] = *sync_wait(schedule(on) | then([] { return 3; }));
  EXPECT_EQ(three, 3);

  // The sender waits for the work that is queued when its operation starts.
  const auto later = schedule(on);
  gate held{s};
  seen end;
  auto operation = stdexec::connect(later, probe<>{&end});
  fill(s, x, 4);
  stdexec::start(operation);
  held.open();
  EXPECT_EQ(end.how.get_future().get(), 'v');
  EXPECT_EQ(x.data()[0], 4);
}

TEST_P(Senders, ASchedulerNeverCompletesInStart) {
  s.sync();
  seen end;
  auto operation = stdexec::connect(schedule(stream_scheduler{s}), probe<>{&end});
  stdexec::start(operation);
  EXPECT_EQ(end.how.get_future().get(), 'v');
  EXPECT_NE(end.where, std::this_thread::get_id());
}

TEST_P(Senders, SchedulersAreEqualIfTheirStreamsAre) {
  const stream t{gpu};
  EXPECT_EQ(stream_scheduler{s}, stream_scheduler{s});
  EXPECT_NE(stream_scheduler{s}, stream_scheduler{t});
  EXPECT_EQ(stdexec::get_completion_scheduler<stdexec::set_value_t>(
                stdexec::get_env(schedule(stream_scheduler{s}))),
            stream_scheduler{s});
}

TEST_P(Senders, SchedulingOnACapturingStreamIsAnError) {
  begin_capture(s);
  EXPECT_EQ(result_of([&] { sync_wait(schedule(stream_scheduler{s})); }),
            errc::stream_capture_unsupported);
  EXPECT_EQ(end_capture(s).nodes().size(), 0U);
}

}  // namespace
}  // namespace weir
