// model/deferred_unmap.cpp - unmapping is the last operation of a timeline that waits for all
// streams.
#include "embedded/model/memory/deferred_unmap.hpp"

#include <sys/mman.h>

#include <exception>
#include <vector>

#include "embedded/model/core/process.hpp"
#include "embedded/model/stream/stream.hpp"

namespace weir::embedded::model {

namespace {

struct unmap_operation {
  void* at;
  std::size_t bytes;

  void run() const noexcept { munmap(at, bytes); }
};

std::vector<engine::point> pending_points() {
  std::vector<engine::point> points;
  this_process().contexts.for_each([&](context& c) {
    c.for_each_stream([&](stream& s) {
      if (!s.line().drained()) points.push_back(s.line().submitted_point());
    });
  });
  return points;
}

}  // namespace

deferred_unmap::deferred_unmap(std::span<const engine::point> after, void* at, std::size_t bytes) {
  for (const engine::point until : after) to_.add_wait(until);
  to_.add(engine::make_operation(unmap_operation{at, bytes}, engine::operation_kind::work, true));
}

void unmap_when_idle(void* at, std::size_t bytes) noexcept {
  run_when_idle(
      engine::make_operation(unmap_operation{at, bytes}, engine::operation_kind::work, true));
}

void run_when_idle(const engine::operation& last) noexcept {
  try {
    const std::vector<engine::point> before = pending_points();
    if (before.empty()) {
      engine::operation now = last;
      now.body(now);
      return;
    }
    engine::timeline& line = engine::timeline::acquire();
    {
      engine::timeline::submission to{line};
      for (const engine::point until : before) to.add_wait(until);
      to.add(last);
    }
    line.release_when_drained();
  } catch (const std::exception&) {
    // Without memory to note it down, the addresses stay taken.
  }
}

}  // namespace weir::embedded::model
