// support/completion_ways.hpp - completions as they come, and as points that are asked.
#pragma once

#include <weir/completion/completion.hpp>
#include <weir/device/device.hpp>
#include <weir/core/errc.hpp>
#include <weir/stream/stream.hpp>

#include <future>
#include <optional>

#include <gtest/gtest.h>

#include "support/fault_table.hpp"
#include "support/detached.hpp"

namespace weir::test {

// Once as it comes, and once with a table over the driver's, where points are events that are asked.
class completion_ways : public ::testing::TestWithParam<bool> {
 protected:
  completion_ways() {
    if (GetParam()) calls.emplace();
  }

  device gpu;
  std::optional<detail::failing_table> calls;
  stream s{gpu};
};

inline auto name_of_way = [](const ::testing::TestParamInfo<bool>& way) { return way.param ? "Asked" : "AsItComes"; };

inline detached await(completion c, std::promise<errc>& answer) {
  const errc outcome = co_await c.outcome();
  answer.set_value(outcome);
}

}  // namespace weir::test
