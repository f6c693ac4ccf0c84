// SPDX-License-Identifier: Apache-2.0
// asio_cancel_test.cpp - Asio waits that are cancelled before the work ends.
#include <weir/interop/asio.hpp>

#include <weir/completion/completion.hpp>
#include <weir/completion/future.hpp>
#include <weir/device/device.hpp>
#include <weir/stream/stream.hpp>

#include <array>
#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/error.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/experimental/deferred.hpp>
#include <asio/experimental/parallel_group.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/this_coro.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <future>
#include <memory>
#include <system_error>
#include <thread>

#include <gtest/gtest.h>

#include "support/completion_modes.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::gate;
using namespace std::chrono_literals;

class AsioCancel : public test::completion_modes {};
INSTANTIATE_TEST_SUITE_P(Ways, AsioCancel, ::testing::Values(false, true), test::name_of_mode);

bool was_cancelled(const std::exception_ptr& failure) {
  if (failure == nullptr) return false;
  try {
    std::rethrow_exception(failure);
  } catch (const std::system_error& e) {
    return e.code() == asio::error::operation_aborted;
  }
}

TEST_P(AsioCancel, CancellationEndsTheWaitAndNotTheWork) {
  using type = asio::cancellation_type;
  for (const type how : {type::terminal, type::partial, type::total, type::all}) {
    asio::io_context io;
    asio::cancellation_signal signal;
    std::exception_ptr failure_seen;
    bool inside = true;
    gate held{s};
    const completion c = s.completion();
    async_wait(io, c, asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr failure) {
                 failure_seen = failure;
                 EXPECT_FALSE(inside);
               }));
    signal.emit(type::none);
    EXPECT_EQ(io.poll(), 0U);
    signal.emit(how);
    signal.emit(how);  // has no effect, as the wait is being cancelled
    inside = false;
    io.run();
    EXPECT_TRUE(was_cancelled(failure_seen));
    EXPECT_EQ(c.status(), errc::not_ready);
    held.open();
    c.wait();
  }
}

TEST_P(AsioCancel, CancellationAfterTheEndHasNoEffect) {
  asio::io_context io;
  asio::cancellation_signal signal;
  gate held{s};
  const completion c = s.completion();
  int called = 0;
  async_wait(io, c, asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr failure) {
               ++called;
               EXPECT_EQ(failure, nullptr);
             }));
  held.open();
  io.run();
  signal.emit(asio::cancellation_type::all);  // for a wait that has ended
  io.restart();

  // Another wait uses the slot's memory now; the old signal must not affect it.
  gate again{s};
  asio::cancellation_signal other;
  async_wait(io, s.completion(),
             asio::bind_cancellation_slot(other.slot(), [&](std::exception_ptr failure) {
               ++called;
               EXPECT_EQ(failure, nullptr);
             }));
  signal.emit(asio::cancellation_type::all);
  again.open();
  io.run();
  EXPECT_EQ(called, 2);
}

TEST_P(AsioCancel, TheReactorThreadReportsACancellationWithoutAnExecutor) {
  asio::cancellation_signal signal;
  std::promise<std::thread::id> handler_thread;
  gate held{s};
  async_wait(s.completion(),
             asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr failure) {
               EXPECT_TRUE(was_cancelled(failure));
               handler_thread.set_value(std::this_thread::get_id());
             }));
  signal.emit(asio::cancellation_type::terminal);
  EXPECT_NE(handler_thread.get_future().get(), std::this_thread::get_id());
}

// The value of the future is kept until the work is done and then destroyed.
TEST_P(AsioCancel, CancellingAWaitDropsItsFuture) {
  asio::io_context io;
  asio::cancellation_signal signal;
  std::exception_ptr failure_seen;
  const auto value = std::make_shared<int>(0);
  gate held{s};
  async_wait(io, s.enqueue([&] { return value; }),
             asio::bind_cancellation_slot(
                 signal.slot(), [&](std::exception_ptr failure, std::shared_ptr<int> none) {
                   failure_seen = failure;
                   EXPECT_EQ(none, nullptr);
                 }));
  signal.emit(asio::cancellation_type::total);
  io.run();
  EXPECT_TRUE(was_cancelled(failure_seen));
  EXPECT_EQ(value.use_count(), 2);
  held.open();
  while (value.use_count() != 1) std::this_thread::yield();
}

TEST_P(AsioCancel, ACoroutineCanBeCancelled) {
  asio::io_context io;
  asio::cancellation_signal signal;
  gate held{s};
  std::exception_ptr failure_seen;
  bool through = false;
  const auto work = [&]() -> asio::awaitable<void> {
    co_await async_wait(s.completion(), asio::use_awaitable);
    through = true;
  };
  asio::co_spawn(io, work(),
                 asio::bind_cancellation_slot(
                     signal.slot(), [&](std::exception_ptr failure) { failure_seen = failure; }));
  io.poll();
  signal.emit(asio::cancellation_type::terminal);
  io.run();
  EXPECT_TRUE(was_cancelled(failure_seen));
  EXPECT_FALSE(through);
}

// A deadline in Asio's usual form.
TEST_P(AsioCancel, ATimerThatExpiresFirstCancelsTheWait) {
  using namespace asio::experimental::awaitable_operators;
  asio::io_context io;
  gate held{s};
  const auto work = [&]() -> asio::awaitable<std::size_t> {
    asio::steady_timer timer{io, 1ms};
    const auto first = co_await (async_wait(s.completion(), asio::use_awaitable) ||
                                 timer.async_wait(asio::use_awaitable));
    co_return first.index();
  };
  std::future<std::size_t> first = asio::co_spawn(io, work(), asio::use_future);
  io.run();
  EXPECT_EQ(first.get(), 1U);
}

TEST_P(AsioCancel, ACompletionThatEndsFirstCancelsTheTimer) {
  using namespace asio::experimental::awaitable_operators;
  asio::io_context io;
  gate held{s};
  const auto work = [&]() -> asio::awaitable<std::size_t> {
    asio::steady_timer timer{io, 1h};
    const auto first = co_await (async_wait(s.completion(), asio::use_awaitable) ||
                                 timer.async_wait(asio::use_awaitable));
    co_return first.index();
  };
  std::future<std::size_t> first = asio::co_spawn(io, work(), asio::use_future);
  io.poll();
  held.open();
  io.run();
  EXPECT_EQ(first.get(), 0U);
}

TEST_P(AsioCancel, AParallelGroupCancelsItsRemainingWait) {
  using namespace asio::experimental;
  asio::io_context io;
  stream t{gpu};
  gate held{s};
  gate also{t};
  const completion c = s.completion();
  const completion d = t.completion();
  std::array<std::size_t, 2> order{};
  std::exception_ptr first = std::make_exception_ptr(0);
  std::exception_ptr second;
  make_parallel_group(async_wait(io, c, deferred), async_wait(io, d, deferred))
      .async_wait(wait_for_one(),
                  asio::bind_executor(io, [&](std::array<std::size_t, 2> in,
                                              std::exception_ptr of_c, std::exception_ptr of_d) {
                    order = in;
                    first = of_c;
                    second = of_d;
                  }));
  held.open();
  io.run();
  EXPECT_EQ(order[0], 0U);
  EXPECT_EQ(first, nullptr);
  EXPECT_TRUE(was_cancelled(second));
}

// If the cancellation and the end of the work coincide, each handler is still called once.
TEST_P(AsioCancel, CancellationMayRaceWithTheEndOfTheWork) {
  asio::thread_pool pool{2};
  constexpr int rounds = 200;
  std::atomic<int> called{0};
  for (int i = 0; i < rounds; ++i) {
    const auto strand = asio::make_strand(pool);
    auto signal = std::make_shared<asio::cancellation_signal>();
    gate held{s};
    const completion c = s.completion();
    asio::post(strand, [&, c, signal, strand] {
      async_wait(c,
                 asio::bind_executor(
                     strand, asio::bind_cancellation_slot(
                                 signal->slot(), [&, signal](std::exception_ptr) { ++called; })));
      asio::post(strand, [signal] { signal->emit(asio::cancellation_type::terminal); });
    });
    held.open();
  }
  pool.join();
  EXPECT_EQ(called, rounds);
}

}  // namespace
}  // namespace weir
