// engine/wake_up.hpp - how many threads of a group look for work, and waking one more only where it is needed.
#pragma once

#include <atomic>
#include <cstdint>

#include "embedded/engine/futex.hpp"

namespace weir::embedded::engine {

// A thread is searching (awake, looks at the list soon), busy, or asleep. As long as one searches, an addition to the list wakes nobody:
// a burst of work costs one wake-up.
//
// Whoever adds to the list calls added() afterwards. Whoever stops searching looks at the list once more afterwards, and if
// there is something calls added() like one who has put it there. So nothing is left to sleepers, and no lock is needed.
//
// Thread safety: all members, from any thread.
class wake_up {
 public:
  // What the one who added to the list has to do.
  enum class action : std::uint8_t {
    none,   // somebody looks for it
    wake,   // one that sleeps
    start,  // one more
    busy,   // nothing: there are as many as there may be, and all have other work
  };

  // Something was added.
  [[nodiscard]] action added(unsigned most_threads) noexcept {
    std::uint64_t now = counts_.load();
    for (;;) {
      if (searching(now) != 0) return action::none;
      if (asleep(now) != 0) {
        if (counts_.compare_exchange_weak(now, now - one_asleep + one_searching)) return action::wake;
      } else if (started(now) < most_threads) {
        if (counts_.compare_exchange_weak(now, now + one_started + one_searching)) return action::start;
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
  [[nodiscard]] bool all_are_busy() const noexcept {
    const std::uint64_t now = counts_.load();
    return searching(now) == 0 && asleep(now) == 0;
  }

  // A number that is another one whenever a thread has found something.
  [[nodiscard]] std::uint64_t finds() const noexcept { return counts_.load() >> (3 * bits); }

  // The calling thread has found something, has finished with it, gives up.
  void found() noexcept { counts_.fetch_add(one_found - one_searching); }
  void finished() noexcept { counts_.fetch_add(one_searching); }
  void gives_up() noexcept { counts_.fetch_add(one_asleep - one_searching); }

  // Instead of finished(): it ends. And one that was to be started could not be.
  void ends() noexcept { counts_.fetch_sub(one_started); }
  void not_started() noexcept { counts_.fetch_sub(one_started + one_searching); }

  // After gives_up(): sleeps until woken, and is searching again.
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
  static constexpr std::uint64_t one_found = std::uint64_t{1} << (3 * bits);  // the rest, for which it may overflow
  static constexpr std::uint64_t mask = one_asleep - 1;
  static std::uint64_t searching(std::uint64_t counts) noexcept { return counts & mask; }
  static std::uint64_t asleep(std::uint64_t counts) noexcept { return counts >> bits & mask; }
  static std::uint64_t started(std::uint64_t counts) noexcept { return counts >> (2 * bits) & mask; }

  alignas(64) std::atomic<std::uint64_t> counts_{0};
  alignas(64) std::atomic<std::uint32_t> permits_{0};
};

}  // namespace weir::embedded::engine
