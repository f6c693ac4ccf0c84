// SPDX-License-Identifier: Apache-2.0
// asio_failure_test.cpp - Asio waits for work that fails.
#include <weir/interop/asio.hpp>

#include <weir/completion/completion.hpp>
#include <weir/core/error.hpp>
#include <weir/device/device.hpp>
#include <weir/kernel/launch.hpp>
#include <weir/kernel/program.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>
#include <future>
#include <optional>
#include <stdexcept>

#include <gtest/gtest.h>

#include "support/completion_modes.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/fresh_process.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::fault_table;
using test::gate;
using test::result_of;

class AsioFailure : public test::completion_modes {};
INSTANTIATE_TEST_SUITE_P(Ways, AsioFailure, ::testing::Values(false, true), test::name_of_mode);

TEST_P(AsioFailure, AFutureRethrowsAHostFunctionException) {
  gate held{s};
  launch_host(s, [] { throw std::runtime_error{"thrown in a host function"}; });
  std::future<void> end = async_wait(s.completion(), asio::use_future);
  held.open();
  EXPECT_THROW(end.get(), std::runtime_error);
}

// A fault makes every wait fail with the device's code, as a weir exception.
bool all_waits_fail(bool polled) {
  const device gpu;
  const kernel store =
      program{R"(extern "C" __global__ void store(int* x) { *x = 1; })"}.compile(gpu).kernel(
          "store");
  std::optional<fault_table> calls;
  if (polled) calls.emplace();
  stream s{gpu};
  asio::io_context io;
  gate held{s};
  launch(s, grid(1, 1), store, static_cast<int*>(nullptr));
  int failed = 0;
  for (int i = 0; i < 100; ++i) {
    asio::co_spawn(
        io,
        [&, c = s.completion()]() -> asio::awaitable<void> {
          try {
            co_await async_wait(c, asio::use_awaitable);
          } catch (const error& e) {
            if (e.result() == errc::illegal_address && e.where().line() != 0) ++failed;
          }
        },
        asio::detached);
  }
  std::future<void> end = async_wait(s.completion(), asio::use_future);
  io.poll();
  held.open();
  io.run();
  return WEIR_HOLDS(failed == 100) &&
         WEIR_HOLDS(result_of([&] { end.get(); }) == errc::illegal_address);
}

TEST(AsioEnd, AFaultFailsAllPendingWaits) {
  test::in_a_fresh_process([] { return all_waits_fail(false); });
}

TEST(AsioEnd, AFaultFailsAllWaitsForPolledCompletions) {
  test::in_a_fresh_process([] { return all_waits_fail(true); });
}

}  // namespace
}  // namespace weir
