// SPDX-License-Identifier: Apache-2.0
// support/completion_modes.hpp - runs tests with the driver's own completions and with polled
// events.
#pragma once

#include <weir/completion/completion.hpp>
#include <weir/core/errc.hpp>
#include <weir/device/device.hpp>
#include <weir/stream/stream.hpp>

#include <future>
#include <optional>

#include <gtest/gtest.h>

#include "support/detached.hpp"
#include "support/fault_table.hpp"

namespace weir::test {

// Runs each test twice: with the driver's completions, and with a table over the driver's in which
// points are events that are polled.
class completion_modes : public ::testing::TestWithParam<bool> {
 protected:
  completion_modes() {
    if (GetParam()) calls.emplace();
  }

  device gpu;
  std::optional<detail::fault_table> calls;
  stream s{gpu};
};

inline auto name_of_mode = [](const ::testing::TestParamInfo<bool>& mode) {
  return mode.param ? "Asked" : "AsItComes";
};

inline detached await(completion c, std::promise<errc>& outcome_promise) {
  const errc outcome = co_await c.outcome();
  outcome_promise.set_value(outcome);
}

}  // namespace weir::test
