// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/deferred_unmap.cpp - unmapping in a timeline that waits for all streams.
#include "embedded/model/memory/deferred_unmap.hpp"

#include <sys/mman.h>

#include <exception>
#include <vector>

#include "embedded/model/core/process.hpp"
#include "embedded/model/stream/stream.hpp"

namespace weir::embedded::model {

namespace {

struct unmap_operation {
  void* address;
  std::size_t bytes;

  void run() const noexcept { munmap(address, bytes); }
};

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

deferred_unmap::deferred_unmap(std::span<const engine::point> points, void* address,
                               std::size_t bytes) {
  for (const engine::point until : points) submission_.add_wait(until);
  submission_.add(engine::make_unconditional_operation(unmap_operation{address, bytes}));
}

void unmap_when_idle(void* address, std::size_t bytes) noexcept {
  run_when_idle(engine::make_unconditional_operation(unmap_operation{address, bytes}));
}

void run_when_idle(const engine::operation& cleanup) noexcept {
  try {
    const std::vector<engine::point> points = pending_points();
    if (points.empty()) {
      engine::operation operation = cleanup;
      operation.body(operation);
      return;
    }
    engine::timeline& line = engine::timeline::acquire();
    {
      engine::timeline::submission pending_submission{line};
      for (const engine::point until : points) pending_submission.add_wait(until);
      pending_submission.add(cleanup);
    }
    line.release_when_drained();
  } catch (const std::exception&) {
    // There is no memory for the operation, so it never runs.
  }
}

}  // namespace weir::embedded::model
