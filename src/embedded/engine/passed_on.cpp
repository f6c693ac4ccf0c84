// engine/passed_on.cpp - what runs elsewhere.
#include "embedded/engine/passed_on.hpp"

#include "embedded/engine/futex.hpp"
#include "embedded/engine/spin_lock.hpp"
#include "embedded/engine/thread_watch.hpp"

namespace weir::embedded::engine {

using namespace std::chrono_literals;

void passed_on::expect(const timeline& line) noexcept {
  line_ = &line;
  stage_ = not_begun;
}

void passed_on::wait(elsewhere where, std::chrono::nanoseconds patience) noexcept {
  constexpr int most_spins = 200;  // some 10 us
  for (int spins = 0; spins < most_spins && stage_ != ended; ++spins) pause();
  // It may be looking at a word, and yield, which the kernel does not tell from work, and for which there is little time on a
  // busy machine.
  const auto longest = 10 * patience;
  const auto began = std::chrono::steady_clock::now();
  for (std::chrono::nanoseconds had{}, passed{}; had < patience && passed < longest;) {
    if (wait_for(patience / 4)) return;
    const bool is_next = running(where) == 0;  // asked first: a thread counts before it says that it has begun
    passed = std::chrono::steady_clock::now() - began;
    if (stage_ == not_begun) {
      had = is_next ? 0ns : passed;
    } else {
      had = thread_watch{thread_, run_before_}.time_had(passed);
    }
  }
}

// True if it has run.
bool passed_on::wait_for(std::chrono::nanoseconds limit) noexcept {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const std::uint32_t seen = stage_;
    if (seen == ended) return true;
    const auto left = end - std::chrono::steady_clock::now();
    if (left <= 0ns) return false;
    futex_wait_for(stage_, seen, left);
  }
}

void passed_on::begins(const timeline& line, elsewhere where) noexcept {
  ++running(where);
  if (line_ != &line) return;
  thread_ = this_thread_number();
  run_before_ = time_run(thread_);
  stage_ = begun;
}

void passed_on::has_run(const timeline& line, elsewhere where) noexcept {
  --running(where);
  if (line_ != &line) return;
  stage_ = ended;
  futex_wake(stage_, 1);
}

}  // namespace weir::embedded::engine
