// driver/call_rounds.hpp - do threads of the program call the driver, and how often?
#pragma once

#include <atomic>
#include <cstdint>

namespace weir::detail {

// Whoever wants to know begins a round, and sees at its end whether anybody has called. Of each thread the first call of a
// round says so; all others are a look at a line that nobody writes meanwhile, and where nobody wants to know there are no rounds.
// Where several want to know, of other devices, the calls of each count for the others.
struct call_rounds {
  alignas(64) std::atomic<std::uint64_t> round{0};
  // As a rule the last in which somebody has: a thread that is late may still say so of an earlier one.
  alignas(64) std::atomic<std::uint64_t> called_in{0};
};
inline constinit call_rounds rounds_of_calls;
inline constinit thread_local std::uint64_t round_seen [[gnu::tls_model("initial-exec")]] = 0;

// Of each call that is made for the program; a nanosecond.
[[gnu::always_inline]] inline void note_call() noexcept {
  const std::uint64_t round = rounds_of_calls.round.load(std::memory_order_relaxed);
  if (round == round_seen) [[likely]] {
    return;
  }
  round_seen = round;
  rounds_of_calls.called_in.store(round, std::memory_order_relaxed);
}

// Begins another round, in which the calling thread itself does not count, and gives its number.
[[nodiscard]] inline std::uint64_t begin_round_of_calls() noexcept {
  round_seen = rounds_of_calls.round.fetch_add(1, std::memory_order_relaxed) + 1;
  return round_seen;
}

// Has anybody else called since that round began?
[[nodiscard]] inline bool called_since(std::uint64_t round) noexcept {
  return rounds_of_calls.called_in.load(std::memory_order_relaxed) >= round;
}

}  // namespace weir::detail
