// support/closure_probe.hpp - sees how often a closure is run and destroyed, and where.
#pragma once

#include <weir/stream/host_function.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

namespace weir::test {

// What a closure has gone through. The closure may outlive it: what a graph held is destroyed on a
// thread of weir's, in that thread's own time.
struct closure_stats {
  struct counts {
    std::atomic<int> runs{0};
    std::atomic<int> destructions{0};
    std::atomic<int> destructions_in_host_functions{0};
    std::atomic<std::thread::id> destroyed_by{};
  };
  const std::shared_ptr<counts> shared = std::make_shared<counts>();
  std::atomic<int>& runs = shared->runs;
  std::atomic<int>& destructions = shared->destructions;
  std::atomic<int>& destructions_in_host_functions = shared->destructions_in_host_functions;
  std::atomic<std::thread::id>& destroyed_by = shared->destroyed_by;
};

// Waits for the destruction of a closure that a graph owns: the driver may see to that in its own
// time.
[[nodiscard]] inline bool is_destroyed_once(const closure_stats& f) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{60};
  while (f.destructions == 0 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  return f.destructions == 1;
}

// A part of a closure that tells its fate. Move-only: only the last place that holds it counts.
class closure_probe {
 public:
  explicit closure_probe(const closure_stats& of) noexcept : stats_{of.shared} {}
  closure_probe(closure_probe&& other) noexcept = default;
  closure_probe& operator=(closure_probe&&) = delete;
  ~closure_probe() {
    if (stats_ == nullptr) return;
    if (in_host_function()) ++stats_->destructions_in_host_functions;
    stats_->destroyed_by = std::this_thread::get_id();
    ++stats_->destructions;  // last: who sees this sees the rest
  }
  void record_run() const noexcept { ++stats_->runs; }

 private:
  std::shared_ptr<closure_stats::counts> stats_;
};

// Something to run that tells its fate.
[[nodiscard]] inline auto counting_closure(const closure_stats& f) {
  return [w = closure_probe{f}] { w.record_run(); };
}

}  // namespace weir::test
