// engine/worker_parking.hpp - how many threads of a group look for work, and waking one more only
// where it is needed.
#pragma once

#include <atomic>
#include <cstdint>

#include "embedded/engine/futex.hpp"

namespace weir::embedded::engine {

// A thread is searching (awake, looks at the list soon), busy, or asleep. As long as one searches,
// an addition to the list wakes nobody: a burst of work costs one wake-up.
//
// Whoever adds to the list calls on_added() afterwards. Whoever stops searching looks at the list
// once more afterwards, and if there is something calls on_added() like one who has put it there.
// So nothing is left to sleepers, and no lock is needed.
//
// Thread safety: all members, from any thread.
class worker_parking {
 public:
  // What the one who added to the list has to do.
  enum class action : std::uint8_t {
    none,   // somebody looks for it
    wake,   // one that sleeps
    start,  // one more
    busy,   // nothing: there are as many as there may be, and all have other work
  };

  // Something was added.
  [[nodiscard]] action on_added(unsigned max_threads) noexcept {
    std::uint64_t current = counts_.load();
    for (;;) {
      if (searching(current) != 0) return action::none;
      if (asleep(current) != 0) {
        if (counts_.compare_exchange_weak(current, current - one_asleep + one_searching))
          return action::wake;
      } else if (started(current) < max_threads) {
        if (counts_.compare_exchange_weak(current, current + one_started + one_searching))
          return action::start;
      } else {
        return action::busy;
      }
    }
  }
  void wake() noexcept {
    permits_.fetch_add(1, std::memory_order_release);
    futex_wake(permits_, 1);
  }

  // Does nobody search, or sleep?
  [[nodiscard]] bool all_busy() const noexcept {
    const std::uint64_t current = counts_.load();
    return searching(current) == 0 && asleep(current) == 0;
  }

  // A number that is another one whenever a thread has found something.
  [[nodiscard]] std::uint64_t found_count() const noexcept { return counts_.load() >> (3 * bits); }

  // The calling thread has found something, has finished with it, gives up.
  void on_found() noexcept { counts_.fetch_add(one_found - one_searching); }
  void on_finished() noexcept { counts_.fetch_add(one_searching); }
  void prepare_sleep() noexcept { counts_.fetch_add(one_asleep - one_searching); }

  // Instead of on_finished(): it ends. And one that was to be started could not be.
  void on_exit() noexcept { counts_.fetch_sub(one_started); }
  void on_start_failed() noexcept { counts_.fetch_sub(one_started + one_searching); }

  // After prepare_sleep(): sleeps until woken, and is searching again.
  void sleep() noexcept {
    for (;;) {
      std::uint32_t permits = permits_.load(std::memory_order_acquire);
      while (permits != 0) {
        if (permits_.compare_exchange_weak(permits, permits - 1, std::memory_order_acq_rel)) return;
      }
      futex_wait(permits_, 0);
    }
  }

 private:
  static constexpr int bits = 12;
  static constexpr std::uint64_t one_searching = 1;
  static constexpr std::uint64_t one_asleep = std::uint64_t{1} << bits;
  static constexpr std::uint64_t one_started = std::uint64_t{1} << (2 * bits);
  static constexpr std::uint64_t one_found = std::uint64_t{1}
                                             << (3 * bits);  // the rest, for which it may overflow
  static constexpr std::uint64_t mask = one_asleep - 1;
  static std::uint64_t searching(std::uint64_t counts) noexcept { return counts & mask; }
  static std::uint64_t asleep(std::uint64_t counts) noexcept { return counts >> bits & mask; }
  static std::uint64_t started(std::uint64_t counts) noexcept {
    return counts >> (2 * bits) & mask;
  }

  alignas(64) std::atomic<std::uint64_t> counts_{0};
  alignas(64) std::atomic<std::uint32_t> permits_{0};
};

}  // namespace weir::embedded::engine
