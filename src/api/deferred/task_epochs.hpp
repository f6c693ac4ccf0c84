// api/deferred/task_epochs.hpp - chores as weir's own thread does them, and what it tells those who
// wait for them.
#pragma once

#include "api/core/call_restrictions.hpp"
#include "api/deferred/task_queue.hpp"

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

// In rounds: each runs all chores once that were left before it began, the oldest first, and what
// they leave right after them. Whoever waits for what there is ends an epoch, and is told when all
// chores of that have been run, or are done.
class task_epochs {
 public:
  using epoch = unsigned long long;

  // One round.
  struct round {
    epoch end = 0;  // it runs what was left in earlier epochs
    epoch reached = 0;
    epoch oldest_busy = std::numeric_limits<epoch>::max();
    std::size_t busy = 0;
    std::size_t captured = 0;
    bool must_repeat = false;
  };

  // From any thread but weir's. Was there none?
  bool defer(deferred_task& task) noexcept {
    unfinished_.fetch_add(1, std::memory_order_relaxed);
    task.epoch = epoch_.load(std::memory_order_acquire) & epoch_mask;
    return queue_.push(task);
  }

  // On weir's thread, by a chore: it belongs to that one.
  void defer_from_task(deferred_task& task) noexcept {
    unfinished_.fetch_add(1, std::memory_order_relaxed);
    task.epoch = running_epoch_ & epoch_mask;
    nested_list_.append(task);
  }

  [[nodiscard]] std::size_t unfinished() const noexcept {
    return unfinished_.load(std::memory_order_acquire);
  }

  [[nodiscard]] bool is_stopped() const noexcept {
    return is_stopped_.load(std::memory_order_relaxed);
  }

  // What the thread does, counted, twice; odd while that waits for nothing but the driver.
  [[nodiscard]] std::uint64_t step() const noexcept { return step_; }
  // Has it been in one call of the driver's since then?
  [[nodiscard]] bool is_blocked_in_call(std::uint64_t since) const noexcept {
    return since % 2 == 1 && step_ == since;
  }
  // Does it end objects of the program's?
  [[nodiscard]] bool is_in_user_code() const noexcept { return in_user_code_; }

  // From the end of the process: what was left up to then ends no objects of the program's any
  // more.
  void suspend_user_tasks(epoch last_epoch) noexcept { suspended_through_ = last_epoch; }
  // The same if the thread is at that step still. If not, what was left up to then has to be run
  // once more.
  [[nodiscard]] bool suspend_user_tasks_at(std::uint64_t step, epoch last_epoch) noexcept {
    const epoch before = suspended_through_.exchange(last_epoch);
    if (step_ == step) return true;
    suspended_through_ = before;
    return false;
  }

  // On weir's thread. any_capture_ended() tells whether a capture that chores wait for has ended
  // unheard; the round is then one in vain, and another one has to begin at once.
  template <class AnyCaptureEnded>
  [[nodiscard]] round run(const AnyCaptureEnded& any_capture_ended) noexcept {
    round current;
    current.end = epoch_.load(std::memory_order_acquire);
    run_all(std::exchange(retry_list_, {}).first, current, any_capture_ended);
    run_all(queue_.take_all(), current, any_capture_ended);
    check_for_ended_captures(current, any_capture_ended);
    return current;
  }

  // Makes calls of the driver on weir's thread.
  template <class Calls>
  bool run_driver_calls(const Calls& calls) noexcept {
    ++step_;
    const bool answer = calls();
    ++step_;
    return answer;
  }

  // The rest with the lock held.
  [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }
  [[nodiscard]] std::condition_variable& progress() noexcept { return progress_; }

  // All that has been left so far is of the epoch that this gives. A round has to begin.
  epoch end_epoch() noexcept { return epoch_.fetch_add(1, std::memory_order_release); }
  // All that was left up to then has been run in a round that began later; or is done, unless it
  // waits for a capture.
  [[nodiscard]] bool has_run(epoch last_epoch) const noexcept { return run_through_ >= last_epoch; }
  [[nodiscard]] bool has_finished(epoch last_epoch) const noexcept {
    return done_through_ >= last_epoch;
  }

  void finish_round(const round& current) noexcept { publish_progress(current.end - 1, current); }
  // There are no more rounds: nobody waits for any, nor will.
  void stop() noexcept {
    is_stopped_ = true;
    run_through_ = std::numeric_limits<epoch>::max();
    done_through_ = run_through_;
    progress_.notify_all();
  }
  [[nodiscard]] bool needs_another_round(const round& last) const noexcept {
    return !queue_.empty() || epoch_.load(std::memory_order_relaxed) != last.end;
  }

 private:
  static constexpr epoch epoch_mask = ~epoch{0} >> 1U;

  template <class AnyCaptureEnded>
  void run_all(deferred_task* list, round& current,
               const AnyCaptureEnded& any_capture_ended) noexcept {
    while (list != nullptr) {
      deferred_task& task = *list;
      list = task.next;  // running it frees it
      if (task.epoch > current.reached) {
        check_for_ended_captures(current, any_capture_ended);
        current.reached = task.epoch;
        const std::lock_guard hold{mutex_};
        if (!current.must_repeat)
          publish_progress(std::min(current.reached, current.end) - 1, current);
      }
      run_one(task, current);
      while (nested_list_.first != nullptr) {
        for (deferred_task* nested = std::exchange(nested_list_, {}).first; nested != nullptr;) {
          deferred_task* const next = nested->next;
          run_one(*nested, current);
          nested = next;
        }
      }
    }
  }

  template <class AnyCaptureEnded>
  void check_for_ended_captures(round& current, const AnyCaptureEnded& any_capture_ended) noexcept {
    if (current.captured != 0 && !current.must_repeat)
      current.must_repeat = run_driver_calls(any_capture_ended);
  }

  void run_one(deferred_task& task, round& current) noexcept {
    running_epoch_ = task.epoch;
    const task_result result = task.runs_user_code ? run_user_task(task) : run_driver_task(task);
    if (result == task_result::done) {
      unfinished_.fetch_sub(1, std::memory_order_release);
      return;
    }
    if (result == task_result::busy) {
      ++current.busy;
      current.oldest_busy = std::min(current.oldest_busy, running_epoch_);
    } else {
      ++current.captured;
    }
    retry_list_.append(task);
  }

  [[nodiscard]] task_result run_driver_task(deferred_task& task) noexcept {
    ++step_;
    const task_result result = task.run(task);
    ++step_;
    return result;
  }

  [[nodiscard]] task_result run_user_task(deferred_task& task) noexcept {
    in_user_code_ = true;
    if (task.epoch <= suspended_through_) {
      in_user_code_ = false;
      return task_result::capture_active;  // nobody waits for it
    }
    inside_user_destructor = true;
    const task_result result = task.run(task);
    inside_user_destructor = false;
    in_user_code_ = false;
    return result;
  }

  // This round has run all up to that epoch.
  void publish_progress(epoch through, const round& current) noexcept {
    run_through_ = std::max(run_through_, through);
    done_through_ = std::max(done_through_, std::min(through, current.oldest_busy - 1));
    progress_.notify_all();
  }

  task_queue queue_;
  std::atomic<std::size_t> unfinished_{0};
  std::atomic<epoch> epoch_{1};
  std::atomic<std::uint64_t> step_{0};
  std::atomic<bool> in_user_code_{false};
  std::atomic<epoch> suspended_through_{0};
  std::atomic<bool> is_stopped_{false};

  // The thread's own.
  task_list retry_list_;   // what could not be done yet
  task_list nested_list_;  // what the chore that runs has left
  epoch running_epoch_ = 0;

  std::mutex mutex_;  // never held while a chore runs
  std::condition_variable progress_;
  epoch run_through_ = 0;
  epoch done_through_ = 0;
};

}  // namespace weir::detail
