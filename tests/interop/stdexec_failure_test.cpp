// SPDX-License-Identifier: Apache-2.0
// stdexec_failure_test.cpp - senders of work that fails.
#include <weir/interop/stdexec.hpp>

#include <weir/completion/completion.hpp>
#include <weir/device/device.hpp>
#include <weir/kernel/launch.hpp>
#include <weir/kernel/program.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <stdexec/execution.hpp>

#include <exception>
#include <list>
#include <optional>
#include <stdexcept>

#include <gtest/gtest.h>

#include "receivers.hpp"
#include "support/completion_modes.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/fresh_process.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::fault_table;
using stdexec::schedule;
using stdexec::sync_wait;
using test::completion_sender;
using test::gate;
using test::held_operation;
using test::probe;
using test::result_of;
using test::seen;

class SendersFailure : public test::completion_modes {};
INSTANTIATE_TEST_SUITE_P(Ways, SendersFailure, ::testing::Values(false, true), test::name_of_mode);

TEST_P(SendersFailure, ASenderRethrowsAHostFunctionException) {
  gate held{s};
  launch_host(s, [] { throw std::runtime_error{"thrown in a host function"}; });
  const completion c = s.completion();
  held.open();
  EXPECT_THROW(sync_wait(as_sender(c)), std::runtime_error);
}

// A fault makes every sender fail with the device's code.
bool all_senders_fail(bool polled) {
  const device gpu;
  const kernel store =
      program{R"(extern "C" __global__ void store(int* x) { *x = 1; })"}.compile(gpu).kernel(
          "store");
  std::optional<fault_table> calls;
  if (polled) calls.emplace();
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
    if (!WEIR_HOLDS(result_of([&] { std::rethrow_exception(end.failure); }) ==
                    errc::illegal_address))
      return false;
  }
  return WEIR_HOLDS(result_of([&] { sync_wait(schedule(stream_scheduler{s})); }) ==
                    errc::illegal_address);
}

TEST(SendersEnd, AFaultFailsAllPendingSenders) {
  test::in_a_fresh_process([] { return all_senders_fail(false); });
}

TEST(SendersEnd, AFaultFailsAllSendersOfPolledCompletions) {
  test::in_a_fresh_process([] { return all_senders_fail(true); });
}

}  // namespace
}  // namespace weir
