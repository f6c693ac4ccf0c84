// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/deferred_operation.hpp - runs an operation, such as an unmap, once running
// work is complete.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "embedded/engine/operation.hpp"
#include "embedded/engine/timeline.hpp"

namespace weir::embedded::model {

class context;

// Runs an operation once the given points are reached, but not before this object is destroyed. A
// point is a position in a timeline, the engine's queue of a stream's operations. If the operation
// unmaps pages, the owner removes its records of the addresses before it destroys the object,
// because other mappings may get the addresses afterwards.
class deferred_operation {
 public:
  // `cleanup` must be an unconditional operation: one that also runs after a device failure. Throws
  // std::bad_alloc; the operation then never runs.
  deferred_operation(std::span<const engine::point> points, const engine::operation& cleanup);

 private:
  struct drained_timeline {
    engine::timeline& line = engine::timeline::acquire();

    drained_timeline() = default;
    drained_timeline(const drained_timeline&) = delete;
    drained_timeline& operator=(const drained_timeline&) = delete;
    ~drained_timeline() { line.release_when_drained(); }
  };

  drained_timeline timeline_;
  engine::timeline::submission submission_{timeline_.line};
};

// Returns the end of the submitted work of each stream whose work is not complete. Skips the
// streams of the context `awaited`, for whose work the caller has waited; null to skip none. Throws
// std::bad_alloc.
[[nodiscard]] std::vector<engine::point> pending_points(const context* awaited = nullptr);

// Returns true if work of any stream is pending.
[[nodiscard]] bool is_work_pending() noexcept;

// Runs `cleanup`, as in deferred_operation, once the points are reached; at once if there is none.
// Never blocks. If memory runs out, the operation never runs. May be called from any thread.
void run_after(std::span<const engine::point> points, const engine::operation& cleanup) noexcept;

// Like run_after(), for all work that is pending now.
void run_when_idle(const engine::operation& cleanup) noexcept;

}  // namespace weir::embedded::model
