// SPDX-License-Identifier: Apache-2.0
// api/deferred/task_epochs.hpp - how the reclaimer thread runs deferred tasks, and the progress
// that it publishes.
#pragma once

#include "api/core/call_restrictions.hpp"

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

// A linked list of tasks in order.
struct task_list {
  deferred_task* first = nullptr;
  deferred_task* last = nullptr;

  void append(deferred_task& task) noexcept {
    task.next = nullptr;
    (last != nullptr ? last->next : first) = &task;
    last = &task;
  }
};

// A lock-free queue that any thread may push to.
class task_queue {
 public:
  // Returns true if the queue was empty.
  bool push(deferred_task& task) noexcept {
    deferred_task* head = head_.load(std::memory_order_relaxed);
    do {
      task.next = head;
    } while (!head_.compare_exchange_weak(head, &task, std::memory_order_release,
                                          std::memory_order_relaxed));
    return head == nullptr;
  }

  [[nodiscard]] bool empty() const noexcept {
    return head_.load(std::memory_order_relaxed) == nullptr;
  }

  // Removes and returns all tasks, the oldest first.
  [[nodiscard]] deferred_task* take_all() noexcept {
    deferred_task* reversed = nullptr;
    for (deferred_task* current = head_.exchange(nullptr, std::memory_order_acquire);
         current != nullptr;) {
      deferred_task* const next = current->next;
      current->next = reversed;
      reversed = current;
      current = next;
    }
    return reversed;
  }

 private:
  std::atomic<deferred_task*> head_{nullptr};
};

// Runs tasks in rounds. A round runs each task once that was deferred before the round began,
// oldest first, followed directly by the tasks that it defers. A thread that waits for the tasks
// deferred so far ends an epoch. It is notified when all tasks of that epoch have been run, or are
// done.
class task_epochs {
 public:
  using epoch = unsigned long long;

  // The progress of one round.
  struct round {
    epoch end = 0;  // the round runs the tasks of earlier epochs
    epoch reached = 0;
    epoch oldest_busy = std::numeric_limits<epoch>::max();
    std::size_t busy = 0;
    std::size_t captured = 0;
    bool must_repeat = false;
  };

  // Called from any thread but the reclaimer thread. Returns true if the queue was empty.
  bool defer(deferred_task& task) noexcept {
    unfinished_.fetch_add(1, std::memory_order_relaxed);
    task.epoch = epoch_.load(std::memory_order_acquire) & epoch_mask;
    return queue_.push(task);
  }

  // Called by a task on the reclaimer thread. The new task belongs to the epoch of that task.
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

  // Counts the starts and ends of driver calls. Odd while the thread is in a driver call.
  [[nodiscard]] std::uint64_t step() const noexcept { return step_; }
  // Returns true if the thread has been in one driver call since `since` was read.
  [[nodiscard]] bool is_blocked_in_call(std::uint64_t since) const noexcept {
    return since % 2 == 1 && step_ == since;
  }
  // Returns true while the thread runs a destructor of the program.
  [[nodiscard]] bool is_in_user_code() const noexcept { return in_user_code_; }

  // Called at exit. Tasks up to that epoch no longer run destructors of the program.
  void suspend_user_tasks(epoch last_epoch) noexcept { suspended_through_ = last_epoch; }
  // Like suspend_user_tasks(), if the thread is still at that step. Otherwise returns false, and
  // the tasks up to that epoch must be run once more.
  [[nodiscard]] bool suspend_user_tasks_at(std::uint64_t step, epoch last_epoch) noexcept {
    const epoch previous = suspended_through_.exchange(last_epoch);
    if (step_ == step) return true;
    suspended_through_ = previous;
    return false;
  }

  // Runs one round on the reclaimer thread. any_capture_ended() returns true if a capture that
  // tasks wait for has ended without notice. The round must then be repeated immediately.
  template <class AnyCaptureEnded>
  [[nodiscard]] round run(const AnyCaptureEnded& any_capture_ended) noexcept {
    round current;
    current.end = epoch_.load(std::memory_order_acquire);
    run_all(std::exchange(retry_list_, {}).first, current, any_capture_ended);
    run_all(queue_.take_all(), current, any_capture_ended);
    check_for_ended_captures(current, any_capture_ended);
    return current;
  }

  // Makes driver calls on the reclaimer thread, counted as a step.
  template <class Calls>
  bool run_driver_calls(const Calls& calls) noexcept {
    ++step_;
    const bool answer = calls();
    ++step_;
    return answer;
  }

  // The functions below require the lock, apart from mutex() and progress().
  [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }
  [[nodiscard]] std::condition_variable& progress() noexcept { return progress_; }

  // Ends the current epoch and returns it. All tasks deferred so far belong to it or to earlier
  // ones. A round must begin.
  epoch end_epoch() noexcept { return epoch_.fetch_add(1, std::memory_order_release); }
  // has_run(): all tasks up to that epoch were run in a round that began later. has_finished():
  // they are done, except those that wait for a capture.
  [[nodiscard]] bool has_run(epoch last_epoch) const noexcept { return run_through_ >= last_epoch; }
  [[nodiscard]] bool has_finished(epoch last_epoch) const noexcept {
    return done_through_ >= last_epoch;
  }

  void finish_round(const round& current) noexcept { publish_progress(current.end - 1, current); }
  // Ends all rounds and releases all waiters.
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
      list = task.next;  // running the task frees it
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
      return task_result::capture_active;  // exit does not wait for these
    }
    inside_user_destructor = true;
    const task_result result = task.run(task);
    inside_user_destructor = false;
    in_user_code_ = false;
    return result;
  }

  // Publishes that this round has run all tasks up to that epoch.
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

  // Used by the reclaimer thread only.
  task_list retry_list_;   // tasks that could not be done yet
  task_list nested_list_;  // tasks that the running task has deferred
  epoch running_epoch_ = 0;

  std::mutex mutex_;  // never held while a task runs
  std::condition_variable progress_;
  epoch run_through_ = 0;
  epoch done_through_ = 0;
};

}  // namespace weir::detail
