// engine/timeline_pool.cpp - the lives of timelines: taken from the pool, and given back when they
// are drained.
#include <cstddef>
#include <mutex>
#include <vector>

#include "embedded/engine/spin_lock.hpp"
#include "embedded/engine/timeline.hpp"

namespace weir::embedded::engine {

namespace {

// Timelines without a stream.
struct timeline_pool {
  spin_lock lock;
  std::vector<timeline*> free;
  std::size_t all = 0;
};

timeline_pool& pool() {
  static auto* const pool = new timeline_pool;
  return *pool;
}

}  // namespace

timeline& timeline::acquire() {
  timeline_pool& p = pool();
  {
    const std::lock_guard lock{p.lock};
    if (!p.free.empty()) {
      timeline* line = p.free.back();
      p.free.pop_back();
      line->submitting_.reset_bias();
      return *line;
    }
    p.free.reserve(++p.all);  // giving one back cannot fail
  }
  return *new timeline;
}

void timeline::release_when_drained() {
  release_when_drained_.store(true);
  recycle_if_drained();
}

void timeline::recycle_if_drained() noexcept {
  // Sequentially consistent, against release_when_drained() and disown(), each of which looks at
  // what the other writes.
  const auto nothing_left = [&] { return completed_.load() >= submitted_.load(); };
  while (nothing_left() && release_when_drained_.exchange(false)) {
    if (nothing_left()) {
      timeline_pool& p = pool();
      const std::lock_guard lock{p.lock};
      p.free.push_back(this);
      return;
    }
    // Between the two another thread gave it back, and the wish is that of its next life, which
    // still has work.
    release_when_drained_.store(true);
  }
}

}  // namespace weir::embedded::engine
