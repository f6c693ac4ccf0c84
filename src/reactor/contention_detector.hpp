// reactor/contention_detector.hpp - do threads of the program call the driver all the time?
#pragma once

namespace weir::detail {

enum class contention : unsigned char { none, suspected, certain };

// Judges the rounds of driver/driver_activity.hpp. A thread that launches calls once in a few
// microseconds, one that queues the next work whenever it is told of an end does so for some
// microseconds after that, and then waits. So a round begins only when nobody has been told for a
// while, one in which somebody is told says nothing, and those in which somebody calls have to come
// in a row between two tellings. It takes some 10 us after one until there is a suspicion, and some
// 35 until it is sure.
//
// All times are nanoseconds. For one thread.
class contention_detector {
 public:
  [[nodiscard]] contention level() const noexcept {
    if (is_certain_) return contention::certain;
    return has_calls_ || consecutive_rounds_ > 0 ? contention::suspected : contention::none;
  }

  // Somebody was told at this time: what is called now may be for that.
  void record_notification(long long now) noexcept {
    if (now - last_counted_ > max_age) reset();
    start_round(now);
    is_round_open_ = false;
    if (!is_certain_) consecutive_rounds_ = 0;
  }

  // Somebody has called in the round that is open, or nobody yet; true if another round is to begin
  // now. The first call of each round costs its thread 0.1 us: one that goes on calling is left
  // alone for longer. That he has ceased is noticed after 70 us at most.
  [[nodiscard]] bool update(bool called, long long now) noexcept {
    if (now - last_counted_ > max_age) reset();
    if (is_round_open_ && called) has_calls_ = true;
    if (now < round_end_) return false;
    const long long late = now - round_end_;
    if (is_round_open_ && late <= max_round) {
      if (called && is_certain_ && late < max_round - min_round) return false;
      count_round(called);
      last_counted_ = now;
    }
    start_round(now);
    return true;
  }

 private:
  static constexpr long long min_round = 8'000;
  static constexpr long long max_round = 48'000;
  static constexpr long long max_age = 1'000'000;
  static constexpr int rounds_to_detect = 3;
  static constexpr int rounds_to_clear = 2;

  void start_round(long long now) noexcept {
    is_round_open_ = true;
    has_calls_ = false;
    round_end_ = now + min_round;
  }

  void count_round(bool called) noexcept {
    consecutive_rounds_ = called != is_certain_ ? consecutive_rounds_ + 1 : 0;
    if (consecutive_rounds_ < (called ? rounds_to_detect : rounds_to_clear)) return;
    is_certain_ = called;
    consecutive_rounds_ = 0;
  }

  // What was so when somebody last waited may be so no more.
  void reset() noexcept {
    is_certain_ = false;
    consecutive_rounds_ = 0;
  }

  bool is_round_open_ = false;
  bool has_calls_ = false;  // somebody has called in the round that is open
  bool is_certain_ = false;
  int consecutive_rounds_ = 0;  // rounds that say the opposite
  long long round_end_ = 0;
  long long last_counted_ = 0;
};

}  // namespace weir::detail
