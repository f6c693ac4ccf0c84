// SPDX-License-Identifier: Apache-2.0
// graphs/thread_pool.hpp - the host threads of a sequence: one acts at a time, or all concurrently.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace weir::graphs {

inline constexpr unsigned thread_count = 3;

class thread_pool {
 public:
  using task = std::function<void()>;

  // Each thread runs `initial_task` first.
  explicit thread_pool(const task& initial_task) {
    for (worker& s : workers_) s.thread = std::thread{[this, &s] { run_worker(s); }};
    for (unsigned i = 0; i < thread_count; ++i) run(i, initial_task);
  }
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;
  ~thread_pool() {
    for (worker& s : workers_) set_state(s, state::stopping);
    for (worker& s : workers_) s.thread.join();
  }

  // Starts a task on an idle thread. The task must not throw, and must exist until it has ended.
  void start(unsigned thread, const task& what) {
    {
      const std::lock_guard lock{mutex_};
      ++running_;
    }
    workers_[thread].what = &what;
    set_state(workers_[thread], state::has_task);
  }
  // wait() returns once all started tasks have ended. wait_for() returns after a timeout at the
  // latest, and whether they have.
  void wait() {
    std::unique_lock lock{mutex_};
    finished_.wait(lock, [this] { return running_ == 0; });
  }
  [[nodiscard]] bool wait_for(std::chrono::milliseconds time) {
    std::unique_lock lock{mutex_};
    return finished_.wait_for(lock, time, [this] { return running_ == 0; });
  }
  void run(unsigned thread, const task& what) {
    start(thread, what);
    wait();
  }

 private:
  enum class state : int { idle, has_task, stopping };
  struct worker {
    std::atomic<state> now{state::idle};
    const task* what = nullptr;
    std::thread thread;
  };

  static void set_state(worker& s, state next) {
    s.now.store(next, std::memory_order_release);
    s.now.notify_all();
  }
  void run_worker(worker& own) {
    for (;;) {
      own.now.wait(state::idle, std::memory_order_acquire);
      if (own.now.load(std::memory_order_acquire) == state::stopping) return;
      (*own.what)();
      own.now.store(state::idle, std::memory_order_release);
      {
        const std::lock_guard lock{mutex_};
        --running_;
      }
      finished_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable finished_;
  unsigned running_ = 0;
  std::array<worker, thread_count> workers_;
};

}  // namespace weir::graphs
