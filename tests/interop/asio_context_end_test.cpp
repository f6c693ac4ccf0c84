// SPDX-License-Identifier: Apache-2.0
// asio_context_end_test.cpp - Asio waits whose execution context is destroyed before the work ends.
#include <weir/interop/asio.hpp>

#include <weir/completion/completion.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/fill.hpp>

#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/use_awaitable.hpp>
#include <atomic>
#include <exception>
#include <future>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "support/completion_modes.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::gate;

class AsioContextEnd : public test::completion_modes {};
INSTANTIATE_TEST_SUITE_P(Ways, AsioContextEnd, ::testing::Values(false, true), test::name_of_mode);

// A handler is destroyed with its context and never called, like the handlers of Asio's own
// operations.
TEST_P(AsioContextEnd, DestroyingAContextDestroysItsHandlers) {
  const auto kept = std::make_shared<int>(0);
  gate held{s};
  const completion c = s.completion();
  bool called = false;
  {
    asio::io_context io;
    asio::cancellation_signal signal;
    async_wait(io, c, [&, kept](std::exception_ptr) { called = true; });
    async_wait(io, c, asio::bind_cancellation_slot(signal.slot(), [&, kept](std::exception_ptr) {
                 called = true;
               }));
    asio::co_spawn(
        io,
        [](completion awaited, std::shared_ptr<int>) -> asio::awaitable<void> {
          co_await async_wait(awaited, asio::use_awaitable);
        }(c, kept),
        asio::detached);
    io.poll();
    EXPECT_GT(kept.use_count(), 1);
  }
  EXPECT_EQ(kept.use_count(), 1);
  held.open();
  c.wait();
  EXPECT_FALSE(called);
}

TEST_P(AsioContextEnd, AContextCanBeDestroyedAtAnyTime) {
  constexpr int rounds = 200;
  constexpr int waits = 8;
  std::atomic<int> alive{0};
  struct one {
    explicit one(std::atomic<int>& n) : count{&n} { ++n; }
    one(one&& other) noexcept : count{std::exchange(other.count, nullptr)} {}
    one(const one&) = delete;
    one& operator=(const one&) = delete;
    ~one() {
      if (count != nullptr) --*count;
    }
    std::atomic<int>* count;
  };
  for (int i = 0; i < rounds; ++i) {
    auto io = std::make_unique<asio::io_context>();
    auto held = std::make_unique<gate>(s);
    buffer<int> x{s, 1};
    for (int k = 0; k < waits; ++k) {
      fill(s, x, k);
      async_wait(*io, s.completion(), [n = one{alive}](std::exception_ptr) {});
    }
    held->open();
    if (i % 2 == 0) io->poll();
    io.reset();
    EXPECT_EQ(alive, 0);
  }
  s.sync();
}

// The reactor thread has found that all three waits are done, and is blocked in a handler that has
// no context.
TEST_P(AsioContextEnd, AContextCanBeDestroyedBeforeItsHandlerIsCalled) {
  auto io = std::make_unique<asio::io_context>();
  const auto kept = std::make_shared<int>(0);
  std::promise<void> entered;
  std::promise<void> go_on;
  std::promise<void> both;
  std::atomic<int> calls_in_place{0};
  const auto hold_up = [&](std::exception_ptr) {
    if (calls_in_place++ == 1) return both.set_value();
    entered.set_value();
    go_on.get_future().wait();
  };
  gate held{s};
  const completion c = s.completion();
  async_wait(c, hold_up);
  async_wait(*io, c, [kept](std::exception_ptr) {});
  async_wait(c, hold_up);
  held.open();
  entered.get_future().wait();
  io.reset();
  EXPECT_EQ(kept.use_count(), 1);
  go_on.set_value();
  both.get_future().wait();
}

}  // namespace
}  // namespace weir
