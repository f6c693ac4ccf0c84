// model/deferred_unmap.hpp - giving addresses back that work under way may still touch.
#pragma once

#include <cstddef>
#include <span>

#include "embedded/engine/operation.hpp"
#include "embedded/engine/timeline.hpp"

namespace weir::embedded::model {

// Whole pages that are unmapped once some points are reached: not before its end, so that what is
// known of them can be forgotten first. Others may get the addresses then.
class deferred_unmap {
 public:
  // Throws std::bad_alloc, and then the pages stay as they are.
  deferred_unmap(std::span<const engine::point> after, void* at, std::size_t bytes);

 private:
  struct drained_timeline {
    engine::timeline& line = engine::timeline::acquire();

    drained_timeline() = default;
    drained_timeline(const drained_timeline&) = delete;
    drained_timeline& operator=(const drained_timeline&) = delete;
    ~drained_timeline() { line.release_when_drained(); }
  };

  drained_timeline own_;
  engine::timeline::submission to_{own_.line};
};

// Unmaps whole pages once everything is complete that any stream has been given so far: at once
// where that is so already, otherwise later, without a wait. Until then nobody else gets the
// addresses, and they can be touched as they are. Thread safety: from any thread.
void unmap_when_idle(void* at, std::size_t bytes) noexcept;

// The same for an operation of the kind that ends something, and runs after a failure, too. Without
// memory to note it down it never runs.
void run_when_idle(const engine::operation& last) noexcept;

}  // namespace weir::embedded::model
