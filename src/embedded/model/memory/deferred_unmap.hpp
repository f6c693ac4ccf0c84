// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/deferred_unmap.hpp - frees addresses once running work can no longer touch
// them.
#pragma once

#include <cstddef>
#include <span>

#include "embedded/engine/operation.hpp"
#include "embedded/engine/timeline.hpp"

namespace weir::embedded::model {

// Unmaps whole pages once the given points are reached, but not before its destructor. The owner
// can thus first remove its records, because other mappings may then get the addresses.
class deferred_unmap {
 public:
  // Throws std::bad_alloc; the pages then stay mapped.
  deferred_unmap(std::span<const engine::point> points, void* address, std::size_t bytes);

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

// Unmaps whole pages once all work submitted to any stream so far is complete. Does so immediately
// if it is complete already; never blocks. Until then the pages stay accessible and no other
// mapping gets the addresses. May be called from any thread.
void unmap_when_idle(void* address, std::size_t bytes) noexcept;

// Like unmap_when_idle(), for an operation that also runs after a device failure. If memory runs
// out, the operation never runs.
void run_when_idle(const engine::operation& cleanup) noexcept;

}  // namespace weir::embedded::model
