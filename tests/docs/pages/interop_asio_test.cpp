// SPDX-License-Identifier: Apache-2.0
// interop_asio_test.cpp - the code that docs/guide/interop.md shows about Asio.
#include <gtest/gtest.h>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>
#include <chrono>
#include <exception>
#include <future>
#include <weir/interop/asio.hpp>
#include <weir/weir.hpp>

#include "support/gate.hpp"

namespace {

using namespace std::chrono_literals;

// [interop-asio]
asio::awaitable<int> answer(weir::stream_ref s, weir::pinned_buffer<int>& x) {
  weir::fill(s, x, 42);
  co_await weir::async_wait(s.completion(),
                            asio::use_awaitable);  // throws the error of the work
  co_return x.data()[0];
}
// [/interop-asio]

TEST(InteropPage, AsioAwaitsACompletion) {
  const weir::stream s{weir::device{}};
  weir::pinned_buffer<int> x{1};
  asio::io_context io;
  std::future<int> given = asio::co_spawn(io, answer(s, x), asio::use_future);
  bool failed = true;
  // [interop-asio-tokens]
  std::future<void> end = weir::async_wait(s.completion(), asio::use_future);
  weir::async_wait(io, s.completion(),
                   [&](std::exception_ptr failure) { failed = failure != nullptr; });
  // [/interop-asio-tokens]
  io.run();
  end.get();
  EXPECT_EQ(given.get(), 42);
  EXPECT_FALSE(failed);
}

asio::awaitable<bool> done_in_time(weir::stream_ref s, asio::io_context& io) {
  // [interop-asio-deadline]
  using namespace asio::experimental::awaitable_operators;
  asio::steady_timer limit{io, 1ms};
  auto first = co_await (weir::async_wait(s.completion(), asio::use_awaitable) ||
                         limit.async_wait(asio::use_awaitable));
  bool in_time = first.index() == 0;  // if false, the work continues and can be awaited again
  // [/interop-asio-deadline]
  co_return in_time;
}

TEST(InteropPage, AsioAwaitsADeadline) {
  const weir::stream s{weir::device{}};
  asio::io_context io;
  weir::test::gate held{s};
  std::future<bool> in_time = asio::co_spawn(io, done_in_time(s, io), asio::use_future);
  io.run();
  EXPECT_FALSE(in_time.get());
}

}  // namespace
