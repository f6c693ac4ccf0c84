// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/deferred_operation.cpp - operations in a timeline that waits for streams.
#include "embedded/model/memory/deferred_operation.hpp"

#include <exception>
#include <vector>

#include "embedded/model/core/process.hpp"
#include "embedded/model/stream/stream.hpp"

namespace weir::embedded::model {

std::vector<engine::point> pending_points(const context* awaited) {
  std::vector<engine::point> points;
  this_process().contexts.for_each([&](context& c) {
    if (awaited != nullptr && &c.base() == awaited) return;
    c.for_each_stream([&](stream& s) {
      if (!s.timeline().drained()) points.push_back(s.timeline().submitted_point());
    });
  });
  return points;
}

bool is_work_pending() noexcept {
  bool pending = false;
  this_process().contexts.for_each([&](context& c) {
    c.for_each_stream([&](const stream& s) { pending = pending || !s.timeline().drained(); });
  });
  return pending;
}

deferred_operation::deferred_operation(std::span<const engine::point> points,
                                       const engine::operation& cleanup) {
  for (const engine::point until : points) submission_.add_wait(until);
  submission_.add(cleanup);
}

void run_after(std::span<const engine::point> points, const engine::operation& cleanup) noexcept {
  try {
    if (points.empty()) {
      engine::operation copy = cleanup;  // running an operation may change it
      copy.body(copy);
    } else {
      const deferred_operation deferred{points, cleanup};  // its destructor submits the operation
    }
  } catch (const std::exception&) {
    // There is no memory or no thread for the operation, so it never runs.
  }
}

void run_when_idle(const engine::operation& cleanup) noexcept {
  try {
    run_after(pending_points(), cleanup);
  } catch (const std::exception&) {
    // There is no memory for the points, so the operation never runs.
  }
}

}  // namespace weir::embedded::model
