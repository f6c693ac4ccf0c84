// reactor/call_watch.hpp - do threads of the program call the driver all the time?
#pragma once

namespace weir::detail {

enum class callers_seen : unsigned char { none, perhaps, surely };

// Judges the rounds of driver/call_rounds.hpp. A thread that launches calls once in a few microseconds, one that queues the next
// work whenever it is told of an end does so for some microseconds after that, and then waits. So a round begins only when
// nobody has been told for a while, one in which somebody is told says nothing, and those in which somebody calls have to come
// in a row between two tellings. It takes some 10 us after one until there is a suspicion, and some 35 until it is sure.
//
// All times are nanoseconds. For one thread.
class call_watch {
 public:
  [[nodiscard]] callers_seen seen() const noexcept {
    if (is_sure_) return callers_seen::surely;
    return is_called_ || in_a_row_ > 0 ? callers_seen::perhaps : callers_seen::none;
  }

  // Somebody was told at this time: what is called now may be for that.
  void told(long long now) noexcept {
    if (now - judged_ > longest_memory) forget();
    open(now);
    is_open_ = false;
    if (!is_sure_) in_a_row_ = 0;
  }

  // Somebody has called in the round that is open, or nobody yet; true if another round is to begin now. The first call of each
  // round costs its thread 0.1 us: one that goes on calling is left alone for longer. That he has ceased is noticed after 70 us
  // at most.
  [[nodiscard]] bool look(bool called, long long now) noexcept {
    if (now - judged_ > longest_memory) forget();
    if (is_open_ && called) is_called_ = true;
    if (now < due_) return false;
    const long long late = now - due_;
    if (is_open_ && late <= longest_round) {
      if (called && is_sure_ && late < longest_round - shortest_round) return false;
      vote(called);
      judged_ = now;
    }
    open(now);
    return true;
  }

 private:
  static constexpr long long shortest_round = 8'000;
  static constexpr long long longest_round = 48'000;
  static constexpr long long longest_memory = 1'000'000;
  static constexpr int enough_with = 3;
  static constexpr int enough_without = 2;

  void open(long long now) noexcept {
    is_open_ = true;
    is_called_ = false;
    due_ = now + shortest_round;
  }

  void vote(bool called) noexcept {
    in_a_row_ = called != is_sure_ ? in_a_row_ + 1 : 0;
    if (in_a_row_ < (called ? enough_with : enough_without)) return;
    is_sure_ = called;
    in_a_row_ = 0;
  }

  // What was so when somebody last waited may be so no more.
  void forget() noexcept {
    is_sure_ = false;
    in_a_row_ = 0;
  }

  bool is_open_ = false;
  bool is_called_ = false;  // somebody has called in the round that is open
  bool is_sure_ = false;
  int in_a_row_ = 0;  // rounds that say the opposite
  long long due_ = 0;
  long long judged_ = 0;
};

}  // namespace weir::detail
