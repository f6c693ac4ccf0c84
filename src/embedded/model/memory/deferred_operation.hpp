// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/deferred_operation.hpp - runs an operation, such as an unmap, once running
// work is complete.
#pragma once

#include <cstddef>
#include <span>

#include "embedded/engine/operation.hpp"
#include "embedded/engine/timeline.hpp"

namespace weir::embedded::model {

// An operation that unmaps whole pages.
struct unmap_operation {
  void* address;
  std::size_t bytes;

  void run() const noexcept;
};

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

// Unmaps whole pages once all work submitted to any stream so far is complete; immediately if it
// already is. Never blocks. The pages stay accessible until they are unmapped, and no other mapping
// gets their addresses. If memory for the operation runs out, the pages stay mapped. May be called
// from any thread.
void unmap_when_idle(void* address, std::size_t bytes) noexcept;

// Like unmap_when_idle(), but runs `cleanup`, as in deferred_operation. If memory runs out, the
// operation never runs.
void run_when_idle(const engine::operation& cleanup) noexcept;

}  // namespace weir::embedded::model
