// reactor/expected_end.hpp - until when work that somebody waits for need not be asked about.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>

namespace weir::detail {

// A stream whose last waits have all taken long is asked seldom until shortly before the shortest of them would be over: for
// threads that launch past weir, whom nobody sees, and who lose by questions (question_pace.hpp). It takes 128 waits to expect
// that, and as many more after one that ended sooner. So fewer than one in a hundred is noticed late, by 16 us at most.
//
// What is learnt is for how long nothing was done for certain; not from waits of which the thread missed the begin or the end, as
// something else had the processor, unless it may have been sooner than expected. All times are nanoseconds. Not thread-safe.
class expected_end {
 public:
  // The longest time between two looks of a thread that misses nothing.
  static constexpr long long blink = 3'000;

  // Somebody waits for another point, and that was seen at once, or not.
  void begin(long long now, bool seen) noexcept {
    begun_ = pending_ = now;
    not_before_ = 0;
    is_seen_ = seen;
  }

  void note_pending(long long now) noexcept {
    pending_ = now;
    if (is_seen_) not_before_ = std::min(begun_ + shortest_ - shortest_ / 16, now + longest_rest);
  }

  void note_end(long long now) noexcept {
    if (!is_seen_) return;
    const bool has_rested = not_before_ > pending_;
    const bool is_in_time = now - std::max(pending_, not_before_) <= blink;
    if (has_rested && is_in_time) {
      forget();
    } else if (has_rested || is_in_time) {
      learn(pending_ - begun_);
    }
  }

  // When to ask next; in the past if there is no reason to wait.
  [[nodiscard]] long long not_before() const noexcept { return not_before_; }

 private:
  static constexpr long long longest_rest = 16'000;
  static constexpr int block = 128;
  static constexpr long long longest = std::numeric_limits<long long>::max();

  void forget() noexcept {
    shortest_ = shortest_before_ = 0;
    shortest_in_this_ = longest;
    waits_in_this_ = 0;
  }

  // The shortest of the last one to two blocks of waits.
  void learn(long long waited) noexcept {
    shortest_in_this_ = std::min(shortest_in_this_, waited);
    if (++waits_in_this_ == block) {
      shortest_before_ = std::exchange(shortest_in_this_, longest);
      waits_in_this_ = 0;
    }
    shortest_ = std::min(shortest_before_, shortest_in_this_);
  }

  long long begun_ = 0;
  long long pending_ = 0;
  long long not_before_ = 0;
  long long shortest_ = 0;
  long long shortest_before_ = 0;
  long long shortest_in_this_ = longest;
  int waits_in_this_ = 0;
  bool is_seen_ = false;
};

}  // namespace weir::detail
