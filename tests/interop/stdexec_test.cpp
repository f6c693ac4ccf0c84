// stdexec_test.cpp - completions and futures as senders, streams as schedulers.
#include <weir/interop/stdexec.hpp>

#include <weir/capture.hpp>
#include <weir/completion.hpp>
#include <weir/device.hpp>
#include <weir/fill.hpp>
#include <weir/future.hpp>
#include <weir/graph.hpp>
#include <weir/host_function.hpp>
#include <weir/launch.hpp>
#include <weir/pinned_buffer.hpp>
#include <weir/program.hpp>
#include <weir/stream.hpp>

#include <stdexec/execution.hpp>

#include <chrono>
#include <concepts>
#include <exception>
#include <future>
#include <list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "driver/failing.hpp"
#include "support/child.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::failing_table;
using stdexec::schedule;
using stdexec::sync_wait;
using stdexec::then;
using test::gate;
using test::result_of;

using completion_sender = decltype(as_sender(completion{}));
using int_sender = decltype(as_sender(std::declval<future<int>>()));
using schedule_sender = decltype(schedule(std::declval<stream_scheduler>()));

static_assert(stdexec::sender<completion_sender> && stdexec::sender_in<completion_sender, stdexec::env<>>);
static_assert(stdexec::sender<int_sender> && stdexec::sender_in<int_sender, stdexec::env<>>);
static_assert(stdexec::sender<schedule_sender> && stdexec::sender_in<schedule_sender, stdexec::env<>>);
static_assert(std::copy_constructible<completion_sender> && !std::copy_constructible<int_sender>);
static_assert(stdexec::scheduler<stream_scheduler>);
static_assert(std::is_trivially_copyable_v<stream_scheduler>);
static_assert(
    std::same_as<stdexec::completion_signatures_of_t<int_sender, stdexec::env<>>,
                 stdexec::completion_signatures<stdexec::set_value_t(int), stdexec::set_error_t(std::exception_ptr),
                                                stdexec::set_stopped_t()>>);

// How a receiver was completed.
struct seen {
  std::promise<char> how;  // 'v', 'e' or 's'
  std::exception_ptr failure;
  std::thread::id where;

  void end(char with) {
    where = std::this_thread::get_id();
    how.set_value(with);
  }
};

template <class Token>
struct token_env {
  [[nodiscard]] Token query(stdexec::get_stop_token_t) const noexcept { return token; }
  Token token;
};

template <class Token = stdexec::never_stop_token>
struct probe {
  using receiver_concept = stdexec::receiver_tag;
  void set_value() && noexcept { to->end('v'); }
  void set_error(std::exception_ptr failure) && noexcept {
    to->failure = std::move(failure);
    to->end('e');
  }
  void set_stopped() && noexcept { to->end('s'); }
  [[nodiscard]] token_env<Token> get_env() const noexcept { return {token}; }
  seen* to;
  Token token{};
};
using stoppable_probe = probe<stdexec::inplace_stop_token>;

static_assert(stdexec::receiver<probe<>> && stdexec::receiver<stoppable_probe>);

// Operations stay where they are made.
template <class Sender, class Receiver>
struct held_operation {
  held_operation(Sender from, Receiver to) : operation{stdexec::connect(std::move(from), std::move(to))} {}
  decltype(stdexec::connect(std::declval<Sender>(), std::declval<Receiver>())) operation;
};

// Once as it comes, and once with a table over the driver's, where points are events that are asked.
class Senders : public ::testing::TestWithParam<bool> {
 protected:
  Senders() {
    if (GetParam()) calls.emplace();
  }

  device gpu;
  std::optional<failing_table> calls;
  stream s{gpu};
};

INSTANTIATE_TEST_SUITE_P(Ways, Senders, ::testing::Values(false, true),
                         [](const auto& way) { return way.param ? "Asked" : "AsItComes"; });

TEST_P(Senders, CompleteAfterTheWork) {
  pinned_buffer<int> x{1};
  x.data()[0] = 0;
  gate held{s};
  fill(s, x, 3);
  seen end;
  auto operation =
      stdexec::connect(as_sender(s.completion()) | then([&] { EXPECT_EQ(x.data()[0], 3); }), probe<>{&end});
  stdexec::start(operation);
  std::future<char> how = end.how.get_future();
  EXPECT_EQ(how.wait_for(std::chrono::seconds{0}), std::future_status::timeout);
  held.open();
  EXPECT_EQ(how.get(), 'v');
  EXPECT_NE(end.where, std::this_thread::get_id());
}

TEST_P(Senders, CompleteInStartIfTheWorkIsDone) {
  for (const completion& c : {completion{}, s.completion()}) {
    c.wait();
    seen end;
    auto operation = stdexec::connect(as_sender(c), probe<>{&end});
    stdexec::start(operation);
    EXPECT_EQ(end.how.get_future().get(), 'v');
    EXPECT_EQ(end.where, std::this_thread::get_id());
  }
}

TEST_P(Senders, MayBeConnectedAnyNumberOfTimes) {
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

TEST_P(Senders, ManyAtOnce) {
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

// The receiver owns what it was connected to.
TEST_P(Senders, AnOperationMayEndInItsCompletion) {
  struct owner {
    using receiver_concept = stdexec::receiver_tag;
    void set_value() && noexcept {
      std::promise<void>& told = *done;
      destroy(self);
      told.set_value();
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
  auto* const made = ::new (memory) held_one{as_sender(s.completion()), owner{memory,
                                                                              [](void* p) {
                                                                                static_cast<held_one*>(p)->~held_one();
                                                                                ::operator delete(p);
                                                                              },
                                                                              &done}};
  stdexec::start(made->operation);
  held.open();
  done.get_future().get();
}

TEST_P(Senders, GiveTheValueOfAFuture) {
  auto [five] = *sync_wait(as_sender(s.enqueue_async([] { return std::make_unique<int>(5); })));
  EXPECT_EQ(*five, 5);
  auto [six] = *sync_wait(as_sender(s.enqueue_async([](stream_ref t) {
                            pinned_buffer<int> x{1};
                            fill(t, x, 6);
                            return x;
                          })) |
                          then([](const pinned_buffer<int>& x) { return x.data()[0]; }));
  EXPECT_EQ(six, 6);
}

// What is done needs no wait, which a host function may not begin.
TEST_P(Senders, GiveTheValueOfAFutureInHostFunctions) {
  future<int> f = s.enqueue_async([] { return 5; });
  s.sync();
  std::optional<std::tuple<int>> value;
  launch_host(s, [&] { value = sync_wait(as_sender(std::move(f))); });
  s.sync();
  EXPECT_EQ(value, std::tuple{5});
}

TEST_P(Senders, GiveWhatAHostFunctionHasThrown) {
  gate held{s};
  launch_host(s, [] { throw std::runtime_error{"thrown in a host function"}; });
  const completion c = s.completion();
  held.open();
  EXPECT_THROW(sync_wait(as_sender(c)), std::runtime_error);
}

TEST_P(Senders, AStreamIsAScheduler) {
  pinned_buffer<int> x{1};
  const stream_scheduler on{s};
  auto [three] = *sync_wait(schedule(on) | then([] { return 3; }));
  EXPECT_EQ(three, 3);

  // What counts is what the stream has when the operation starts.
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

TEST_P(Senders, ASchedulerAlwaysGoesOnElsewhere) {
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
  EXPECT_EQ(stdexec::get_completion_scheduler<stdexec::set_value_t>(stdexec::get_env(schedule(stream_scheduler{s}))),
            stream_scheduler{s});
}

TEST_P(Senders, ACapturingStreamIsAnError) {
  begin_capture(s);
  EXPECT_EQ(result_of([&] { sync_wait(schedule(stream_scheduler{s})); }), errc::stream_capture_unsupported);
  EXPECT_EQ(end_capture(s).nodes().size(), 0U);
}

TEST_P(Senders, AreStopped) {
  gate held{s};
  const completion c = s.completion();
  stdexec::inplace_stop_source source;
  seen first;
  seen second;
  seen third;
  auto one = stdexec::connect(as_sender(c), stoppable_probe{&first, source.get_token()});
  auto two = stdexec::connect(schedule(stream_scheduler{s}), stoppable_probe{&second, source.get_token()});
  auto three = stdexec::connect(as_sender(c), stoppable_probe{&third, source.get_token()});
  stdexec::start(one);
  stdexec::start(two);
  source.request_stop();
  EXPECT_EQ(first.how.get_future().get(), 's');
  EXPECT_EQ(second.how.get_future().get(), 's');
  stdexec::start(three);  // too late to begin
  EXPECT_EQ(third.how.get_future().get(), 's');
  EXPECT_EQ(c.status(), errc::not_ready);
  held.open();
  c.wait();
}

TEST_P(Senders, AreNotStoppedAfterwards) {
  stdexec::inplace_stop_source source;
  for (const bool scheduled : {false, true}) {
    gate held{s};
    seen end;
    auto of_completion = stdexec::connect(as_sender(s.completion()), stoppable_probe{&end, source.get_token()});
    auto of_stream = stdexec::connect(schedule(stream_scheduler{s}), stoppable_probe{&end, source.get_token()});
    scheduled ? stdexec::start(of_stream) : stdexec::start(of_completion);
    held.open();
    EXPECT_EQ(end.how.get_future().get(), 'v');
  }
  source.request_stop();
}

// Every receiver is completed once, whoever comes first.
TEST_P(Senders, StopsRaceWithTheEndOfTheWork) {
  constexpr int rounds = 300;
  for (int i = 0; i < rounds; ++i) {
    stdexec::inplace_stop_source source;
    gate held{s};
    seen first;
    seen second;
    auto one = stdexec::connect(as_sender(s.completion()), stoppable_probe{&first, source.get_token()});
    auto two = stdexec::connect(schedule(stream_scheduler{s}), stoppable_probe{&second, source.get_token()});
    std::jthread stops{[&] {
      if (i % 3 == 0) held.open();
      source.request_stop();
    }};
    if (i % 3 == 1) held.open();
    stdexec::start(one);
    stdexec::start(two);
    held.open();
    for (seen* end : {&first, &second}) EXPECT_NE(end->how.get_future().get(), 'e');
  }
}

// A fault fails every sender with the device's code.
bool all_senders_fail(bool asked) {
  const device gpu;
  const kernel store = program{R"(extern "C" __global__ void store(int* x) { *x = 1; })"}.compile(gpu).kernel("store");
  std::optional<failing_table> calls;
  if (asked) calls.emplace();
  stream s{gpu};
  gate held{s};
  launch(s, grid(1, 1), store, static_cast<int*>(nullptr));
  std::list<held_operation<completion_sender, probe<>>> operations;
  std::list<seen> ends;
  for (int i = 0; i < 100; ++i) {
    operations.emplace_back(as_sender(s.completion()), probe<>{&ends.emplace_back()});
    stdexec::start(operations.back().operation);
  }
  held.open();
  for (seen& end : ends) {
    if (!WEIR_HOLDS(end.how.get_future().get() == 'e')) return false;
    if (!WEIR_HOLDS(result_of([&] { std::rethrow_exception(end.failure); }) == errc::illegal_address)) return false;
  }
  return WEIR_HOLDS(result_of([&] { sync_wait(schedule(stream_scheduler{s})); }) == errc::illegal_address);
}

TEST(SendersEnd, AFaultFailsAll) {
  test::in_a_fresh_process([] { return all_senders_fail(false); });
}

TEST(SendersEnd, AFaultFailsAllThatAreAsked) {
  test::in_a_fresh_process([] { return all_senders_fail(true); });
}

}  // namespace
}  // namespace weir
