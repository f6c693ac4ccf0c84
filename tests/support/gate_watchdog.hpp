// SPDX-License-Identifier: Apache-2.0
// support/gate_watchdog.hpp - opens forgotten gates, so that a test that would hang fails instead.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace weir::test {

class gate_watchdog {
 public:
  static constexpr std::size_t capacity = 4096;
  // Shorter than a test's time limit (WEIR_TEST_LIMIT), and longer than any test keeps a gate
  // closed, also under sanitizers.
  static constexpr std::chrono::seconds max_closed_time{100};

  // Never destroyed: its thread uses it until the process ends.
  static gate_watchdog& instance() {
    static auto* const instance = new gate_watchdog;
    return *instance;
  }

  void on_close(std::size_t index, std::uint32_t& word) noexcept {
    gates_[index].timed_out = false;
    gates_[index].word = &word;
    gates_[index].closed_at = clock::now().time_since_epoch().count();
  }
  void on_open(std::size_t index) noexcept { gates_[index].closed_at = open; }
  [[nodiscard]] bool timed_out(std::size_t index) const noexcept { return gates_[index].timed_out; }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr clock::rep open = 0;

  struct entry {
    std::atomic<clock::rep> closed_at{open};
    std::atomic<std::uint32_t*> word{nullptr};
    std::atomic<bool> timed_out{false};
  };

  gate_watchdog() {
    std::thread{[this] { run(); }}.detach();
  }

  [[noreturn]] void run() noexcept {
    for (;;) {
      std::this_thread::sleep_for(std::chrono::seconds{1});
      const clock::rep begin = (clock::now() - max_closed_time).time_since_epoch().count();
      for (entry& one : gates_) {
        clock::rep closed_at = one.closed_at;
        if (closed_at == open || closed_at > begin ||
            !one.closed_at.compare_exchange_strong(closed_at, open))
          continue;
        one.timed_out = true;
        std::atomic_ref{*one.word.load()}.store(1);
      }
    }
  }

  std::array<entry, capacity> gates_{};
};

}  // namespace weir::test
