// support/gate_watch.hpp - opens gates that nobody opens, so that a test which would never end fails instead.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace weir::test {

class gate_watch {
 public:
  static constexpr std::size_t places = 4096;
  // Shorter than the time that a test has (WEIR_TEST_LIMIT), and longer than any holds its gates, under sanitizers, too.
  static constexpr std::chrono::seconds longest{100};

  // Never destroyed: its thread looks at it for as long as the process lives.
  static gate_watch& instance() {
    static auto* const the_one = new gate_watch;
    return *the_one;
  }

  void closed(std::size_t place, std::uint32_t& word) noexcept {
    gates_[place].opened_itself = false;
    gates_[place].word = &word;
    gates_[place].since = clock::now().time_since_epoch().count();
  }
  void opened(std::size_t place) noexcept { gates_[place].since = open; }
  [[nodiscard]] bool opened_itself(std::size_t place) const noexcept { return gates_[place].opened_itself; }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr clock::rep open = 0;

  struct one_gate {
    std::atomic<clock::rep> since{open};
    std::atomic<std::uint32_t*> word{nullptr};
    std::atomic<bool> opened_itself{false};
  };

  gate_watch() {
    std::thread{[this] { look(); }}.detach();
  }

  [[noreturn]] void look() noexcept {
    for (;;) {
      std::this_thread::sleep_for(std::chrono::seconds{1});
      const clock::rep begin = (clock::now() - longest).time_since_epoch().count();
      for (one_gate& one : gates_) {
        clock::rep since = one.since;
        if (since == open || since > begin || !one.since.compare_exchange_strong(since, open)) continue;
        one.opened_itself = true;
        std::atomic_ref{*one.word.load()}.store(1);
      }
    }
  }

  std::array<one_gate, places> gates_{};
};

}  // namespace weir::test
