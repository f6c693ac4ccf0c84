// model/late_unmap.cpp - unmapping is the last operation of a timeline that waits for all streams.
#include "embedded/model/memory/late_unmap.hpp"

#include <sys/mman.h>

#include <exception>
#include <vector>

#include "embedded/model/core/process.hpp"
#include "embedded/model/stream/stream.hpp"

namespace weir::embedded::model {

namespace {

struct unmapping {
  void* at;
  std::size_t bytes;

  void run() const noexcept { munmap(at, bytes); }
};

std::vector<engine::point> points_under_way() {
  std::vector<engine::point> points;
  this_process().contexts.for_each([&](context& c) {
    c.for_each_stream([&](stream& s) {
      if (!s.line().drained()) points.push_back(s.line().submitted_point());
    });
  });
  return points;
}

}  // namespace

late_unmapping::late_unmapping(std::span<const engine::point> after, void* at, std::size_t bytes) {
  for (const engine::point until : after) to_.add_wait(until);
  to_.add(engine::make_operation(unmapping{at, bytes}, engine::operation_kind::work, true));
}

void unmap_after_work(void* at, std::size_t bytes) noexcept {
  run_after_work(engine::make_operation(unmapping{at, bytes}, engine::operation_kind::work, true));
}

void run_after_work(const engine::operation& last) noexcept {
  try {
    const std::vector<engine::point> before = points_under_way();
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
