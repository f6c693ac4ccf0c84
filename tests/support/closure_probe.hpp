// SPDX-License-Identifier: Apache-2.0
// support/closure_probe.hpp - records how often a closure is run and destroyed, and on which
// thread.
#pragma once

#include <weir/stream/host_function.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

namespace weir::test {

// Counters of one closure. The closure may outlive this object: weir's reclaimer thread destroys
// what a graph owned, at any later time.
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

// Waits for the destruction of a closure that a graph owns; the driver may destroy it
// asynchronously.
[[nodiscard]] inline bool is_destroyed_once(const closure_stats& f) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{60};
  while (f.destructions == 0 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  return f.destructions == 1;
}

// A member of a closure that counts its runs and destructions. Move-only: only the final object
// counts.
class closure_probe {
 public:
  explicit closure_probe(const closure_stats& of) noexcept : stats_{of.shared} {}
  closure_probe(closure_probe&& other) noexcept = default;
  closure_probe& operator=(closure_probe&&) = delete;
  ~closure_probe() {
    if (stats_ == nullptr) return;
    if (in_host_function()) ++stats_->destructions_in_host_functions;
    stats_->destroyed_by = std::this_thread::get_id();
    ++stats_->destructions;  // last: a reader that sees this sees the rest
  }
  void record_run() const noexcept { ++stats_->runs; }

 private:
  std::shared_ptr<closure_stats::counts> stats_;
};

// Returns a callable that counts its runs and destructions.
[[nodiscard]] inline auto counting_closure(const closure_stats& f) {
  return [w = closure_probe{f}] { w.record_run(); };
}

}  // namespace weir::test
