// support/completion_modes.hpp - completions as they come, and as points that are asked.
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

// Once as it comes, and once with a table over the driver's, where points are events that are
// asked.
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
