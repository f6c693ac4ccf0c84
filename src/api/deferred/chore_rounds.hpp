// api/deferred/chore_rounds.hpp - chores as weir's own thread does them, and what it tells those who wait for them.
#pragma once

#include "api/deferred/chore_queue.hpp"
#include "api/core/guard.hpp"

#include <weir/core/deferred.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <utility>

namespace weir::detail {

// In rounds: each runs all chores once that were left before it began, the oldest first, and what they leave right after
// them. Whoever waits for what there is ends an epoch, and is told when all chores of that have been run, or are done.
class chore_rounds {
 public:
  using epoch = unsigned long long;

  // One round.
  struct round {
    epoch end = 0;  // it runs what was left in earlier epochs
    epoch reached = 0;
    epoch oldest_busy = std::numeric_limits<epoch>::max();
    std::size_t busy = 0;
    std::size_t captured = 0;
    bool in_vain = false;
  };

  // From any thread but weir's. Was there none?
  bool leave(chore& what) noexcept {
    unfinished_.fetch_add(1, std::memory_order_relaxed);
    what.epoch = epoch_.load(std::memory_order_acquire) & all_epochs;
    return queue_.push(what);
  }

  // On weir's thread, by a chore: it belongs to that one.
  void leave_within(chore& what) noexcept {
    unfinished_.fetch_add(1, std::memory_order_relaxed);
    what.epoch = running_ & all_epochs;
    own_.append(what);
  }

  [[nodiscard]] std::size_t unfinished() const noexcept { return unfinished_.load(std::memory_order_acquire); }

  [[nodiscard]] bool has_ended() const noexcept { return has_ended_.load(std::memory_order_relaxed); }

  // What the thread does, counted, twice; odd while that waits for nothing but the driver.
  [[nodiscard]] std::uint64_t step() const noexcept { return step_; }
  // Has it been in one call of the driver's since then?
  [[nodiscard]] bool is_at_call(std::uint64_t since) const noexcept { return since % 2 == 1 && step_ == since; }
  // Does it end objects of the program's?
  [[nodiscard]] bool is_in_program() const noexcept { return in_program_; }

  // From the end of the process: what was left up to then ends no objects of the program's any more.
  void hold_program(epoch up_to) noexcept { held_through_ = up_to; }
  // The same if the thread is at that step still. If not, what was left up to then has to be run once more.
  [[nodiscard]] bool hold_program_at(std::uint64_t step, epoch up_to) noexcept {
    const epoch before = held_through_.exchange(up_to);
    if (step_ == step) return true;
    held_through_ = before;
    return false;
  }

  // On weir's thread. found_ended() tells whether a capture that chores wait for has ended unheard; the round is then one in
  // vain, and another one has to begin at once.
  template <class FoundEnded>
  [[nodiscard]] round run(const FoundEnded& found_ended) noexcept {
    round now;
    now.end = epoch_.load(std::memory_order_acquire);
    run_all(std::exchange(later_, {}).first, now, found_ended);
    run_all(queue_.take_all(), now, found_ended);
    look_for_ended(now, found_ended);
    return now;
  }

  // Makes calls of the driver on weir's thread.
  template <class Calls>
  bool make(const Calls& calls) noexcept {
    ++step_;
    const bool answer = calls();
    ++step_;
    return answer;
  }

  // The rest with the lock held.
  [[nodiscard]] std::mutex& lock() noexcept { return mutex_; }
  [[nodiscard]] std::condition_variable& told() noexcept { return told_; }

  // All that has been left so far is of the epoch that this gives. A round has to begin.
  epoch end_epoch() noexcept { return epoch_.fetch_add(1, std::memory_order_release); }
  // All that was left up to then has been run in a round that began later; or is done, unless it waits for a capture.
  [[nodiscard]] bool has_run(epoch up_to) const noexcept { return run_through_ >= up_to; }
  [[nodiscard]] bool has_done(epoch up_to) const noexcept { return done_through_ >= up_to; }

  void end(const round& now) noexcept { tell(now.end - 1, now); }
  // There are no more rounds: nobody waits for any, nor will.
  void end_all() noexcept {
    has_ended_ = true;
    run_through_ = std::numeric_limits<epoch>::max();
    done_through_ = run_through_;
    told_.notify_all();
  }
  [[nodiscard]] bool wants_another(const round& last) const noexcept {
    return !queue_.empty() || epoch_.load(std::memory_order_relaxed) != last.end;
  }

 private:
  static constexpr epoch all_epochs = ~epoch{0} >> 1U;

  template <class FoundEnded>
  void run_all(chore* list, round& now, const FoundEnded& found_ended) noexcept {
    while (list != nullptr) {
      chore& what = *list;
      list = what.next;  // running it frees it
      if (what.epoch > now.reached) {
        look_for_ended(now, found_ended);
        now.reached = what.epoch;
        const std::lock_guard hold{mutex_};
        if (!now.in_vain) tell(std::min(now.reached, now.end) - 1, now);
      }
      run_one(what, now);
      while (own_.first != nullptr) {
        for (chore* part = std::exchange(own_, {}).first; part != nullptr;) {
          chore* const next = part->next;
          run_one(*part, now);
          part = next;
        }
      }
    }
  }

  template <class FoundEnded>
  void look_for_ended(round& now, const FoundEnded& found_ended) noexcept {
    if (now.captured != 0 && !now.in_vain) now.in_vain = make(found_ended);
  }

  void run_one(chore& what, round& now) noexcept {
    running_ = what.epoch;
    const chore_result result = what.of_program ? run_program_chore(what) : run_own_chore(what);
    if (result == chore_result::done) {
      unfinished_.fetch_sub(1, std::memory_order_release);
      return;
    }
    if (result == chore_result::busy) {
      ++now.busy;
      now.oldest_busy = std::min(now.oldest_busy, running_);
    } else {
      ++now.captured;
    }
    later_.append(what);
  }

  [[nodiscard]] chore_result run_own_chore(chore& what) noexcept {
    ++step_;
    const chore_result result = what.run(what);
    ++step_;
    return result;
  }

  [[nodiscard]] chore_result run_program_chore(chore& what) noexcept {
    in_program_ = true;
    if (what.epoch <= held_through_) {
      in_program_ = false;
      return chore_result::capture_open;  // nobody waits for it
    }
    inside_program_chore = true;
    const chore_result result = what.run(what);
    inside_program_chore = false;
    in_program_ = false;
    return result;
  }

  // This round has run all up to that epoch.
  void tell(epoch through, const round& now) noexcept {
    run_through_ = std::max(run_through_, through);
    done_through_ = std::max(done_through_, std::min(through, now.oldest_busy - 1));
    told_.notify_all();
  }

  chore_queue queue_;
  std::atomic<std::size_t> unfinished_{0};
  std::atomic<epoch> epoch_{1};
  std::atomic<std::uint64_t> step_{0};
  std::atomic<bool> in_program_{false};
  std::atomic<epoch> held_through_{0};
  std::atomic<bool> has_ended_{false};

  // The thread's own.
  chore_list later_;  // what could not be done yet
  chore_list own_;    // what the chore that runs has left
  epoch running_ = 0;

  std::mutex mutex_;  // never held while a chore runs
  std::condition_variable told_;
  epoch run_through_ = 0;
  epoch done_through_ = 0;
};

}  // namespace weir::detail
