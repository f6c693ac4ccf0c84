// SPDX-License-Identifier: Apache-2.0
// asio_future_test.cpp - values of futures with Asio's completion tokens.
#include <weir/interop/asio.hpp>

#include <weir/completion/future.hpp>
#include <weir/core/sync_guard.hpp>
#include <weir/device/device.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>
#include <chrono>
#include <exception>
#include <future>
#include <optional>
#include <stdexcept>
#include <utility>

#include <gtest/gtest.h>

#include "support/completion_modes.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::gate;
using namespace std::chrono_literals;

class AsioFuture : public test::completion_modes {
 protected:
  asio::io_context io;
};
INSTANTIATE_TEST_SUITE_P(Ways, AsioFuture, ::testing::Values(false, true), test::name_of_mode);

TEST_P(AsioFuture, AFutureReturnsItsValue) {
  gate held{s};
  std::future<int> answer = async_wait(s.enqueue([] { return 5; }), asio::use_future);
  int called_with = 0;
  async_wait(io, s.enqueue([] { return 6; }),
             [&](std::exception_ptr, int value) { called_with = value; });
  held.open();
  io.run();
  EXPECT_EQ(answer.get(), 5);
  EXPECT_EQ(called_with, 6);
}

TEST_P(AsioFuture, AFutureCanReturnABuffer) {
  const auto work = [&]() -> asio::awaitable<int> {
    auto f = s.enqueue([](stream_ref t) {
      pinned_buffer<int> x{1};
      fill(t, x, 7);
      return x;
    });
    auto first = co_await async_wait(std::move(f),
                                     asio::use_awaitable);  // optional: no buffer is without memory
    f = s.enqueue([x = std::move(*first)](stream_ref t) mutable {
      fill(t, x, x.data()[0] + 1);
      return std::move(x);
    });
    co_await async_wait(f, asio::use_awaitable);
    co_return std::move(f).get().data()[0];
  };
  std::future<int> answer = asio::co_spawn(io, work(), asio::use_future);
  io.run();
  EXPECT_EQ(answer.get(), 8);
}

TEST_P(AsioFuture, AFutureRethrowsAHostFunctionException) {
  launch_host(s, [] { throw std::runtime_error{"thrown in a host function"}; });
  std::future<int> answer = async_wait(s.enqueue([] { return 5; }), asio::use_future);
  EXPECT_THROW(answer.get(), std::runtime_error);
}

// The handler's thread may be forbidden to wait. A completed future needs no wait.
TEST_P(AsioFuture, ACompletedFutureReturnsItsValueWhereWaitsAreForbidden) {
  future<int> f = s.enqueue([] { return 5; });
  s.sync();
  const sync_guard not_here{sync_rule::forbidden};
  int value = 0;
  async_wait(io, std::move(f), [&](std::exception_ptr failure, int x) {
    EXPECT_EQ(failure, nullptr);
    value = x;
  });
  io.run();
  EXPECT_EQ(value, 5);
}

// A value type without assignment.
struct fixed {
  const int value = 0;
};

TEST_P(AsioFuture, AFutureCanReturnATypeThatIsNotAssignable) {
  EXPECT_EQ(async_wait(s.enqueue([] { return fixed{5}; }), asio::use_future).get().value, 5);
}

// A value type whose default constructor throws.
struct by_hand {
  explicit by_hand(int of) : value{of} {}
  by_hand() : value{0} { throw std::runtime_error{"of nothing"}; }
  int value;
};

TEST_P(AsioFuture, ATypeWithoutADefaultConstructorIsPassedAsAnOptional) {
  EXPECT_EQ(async_wait(s.enqueue([] { return by_hand{5}; }), asio::use_future).get()->value, 5);
  gate held{s};
  asio::cancellation_signal cancel;
  int called = 0;
  async_wait(io, s.enqueue([] { return by_hand{5}; }),
             asio::bind_cancellation_slot(
                 cancel.slot(), [&](std::exception_ptr failure, std::optional<by_hand> none) {
                   called += failure != nullptr && !none.has_value() ? 1 : 0;
                 }));
  cancel.emit(asio::cancellation_type::total);
  io.run();
  EXPECT_EQ(called, 1);
  held.open();
}

TEST_P(AsioFuture, AFutureWithoutAValueThrowsFromTheAsyncWaitCall) {
  future<int> moved_from = s.enqueue([] { return 5; });
  static_cast<void>(std::move(moved_from).get());
  const auto failure =
      test::failure_of([&] { async_wait(std::move(moved_from), asio::use_future); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::closed);
  EXPECT_STREQ(failure->call(), "weir::async_wait");
  errc caught = errc::success;
  const auto awaits = [&]() -> asio::awaitable<void> {
    try {
      static_cast<void>(co_await async_wait(std::move(moved_from), asio::use_awaitable));
    } catch (const error& e) {
      caught = e.result();
    }
  };
  asio::co_spawn(io, awaits, asio::detached);
  io.run();
  EXPECT_EQ(caught, errc::closed);
}

}  // namespace
}  // namespace weir
