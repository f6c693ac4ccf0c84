// SPDX-License-Identifier: Apache-2.0
// support/recorded_outcome.hpp - records how a wait has ended.
#pragma once

#include <weir/completion/completion.hpp>
#include <weir/core/errc.hpp>

#include <atomic>

#include "support/detached.hpp"

namespace weir::test {

struct recorded_outcome {
  std::atomic<int> deliveries{0};
  errc outcome = errc::not_ready;

  void record(errc how) {
    outcome = how;
    ++deliveries;
  }
};

inline detached await(completion c, recorded_outcome& to) { to.record(co_await c.outcome()); }

}  // namespace weir::test
