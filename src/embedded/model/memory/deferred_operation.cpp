// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/deferred_operation.cpp - operations in a timeline that waits for streams.
#include "embedded/model/memory/deferred_operation.hpp"

#include <sys/mman.h>

#include <exception>
#include <vector>

#include "embedded/model/core/process.hpp"
#include "embedded/model/stream/stream.hpp"

namespace weir::embedded::model {

namespace {

// Returns the end of the submitted work of each stream whose work is not complete.
std::vector<engine::point> pending_points() {
  std::vector<engine::point> points;
  this_process().contexts.for_each([&](context& c) {
    c.for_each_stream([&](stream& s) {
      if (!s.timeline().drained()) points.push_back(s.timeline().submitted_point());
    });
  });
  return points;
}

}  // namespace

void unmap_operation::run() const noexcept { munmap(address, bytes); }

deferred_operation::deferred_operation(std::span<const engine::point> points,
                                       const engine::operation& cleanup) {
  for (const engine::point until : points) submission_.add_wait(until);
  submission_.add(cleanup);
}

void unmap_when_idle(void* address, std::size_t bytes) noexcept {
  run_when_idle(engine::make_unconditional_operation(unmap_operation{address, bytes}));
}

void run_when_idle(const engine::operation& cleanup) noexcept {
  try {
    const std::vector<engine::point> points = pending_points();
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

}  // namespace weir::embedded::model
