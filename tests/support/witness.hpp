// support/witness.hpp - sees how often a closure is run and destroyed, and where.
#pragma once

#include <weir/stream/host_function.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

namespace weir::test {

// What a closure has gone through. The closure may outlive it: what a graph held is destroyed on a thread of weir's, in
// that thread's own time.
struct fate {
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

// Waits for the destruction of a closure that a graph owns: the driver may see to that in its own time.
[[nodiscard]] inline bool is_destroyed_once(const fate& f) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{60};
  while (f.destructions == 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  return f.destructions == 1;
}

// A part of a closure that tells its fate. Move-only: only the last place that holds it counts.
class witness {
 public:
  explicit witness(const fate& of) noexcept : fate_{of.shared} {}
  witness(witness&& other) noexcept = default;
  witness& operator=(witness&&) = delete;
  ~witness() {
    if (fate_ == nullptr) return;
    if (in_host_function()) ++fate_->destructions_in_host_functions;
    fate_->destroyed_by = std::this_thread::get_id();
    ++fate_->destructions;  // last: who sees this sees the rest
  }
  void ran() const noexcept { ++fate_->runs; }

 private:
  std::shared_ptr<fate::counts> fate_;
};

// Something to run that tells its fate.
[[nodiscard]] inline auto telling(const fate& f) {
  return [w = witness{f}] { w.ran(); };
}

}  // namespace weir::test
