// SPDX-License-Identifier: Apache-2.0
// sequences/host_threads.hpp - several host threads, of which one acts at a time; their
// thread-local driver state differs.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <thread>

namespace weir::sequences {

// The number of threads that make a sequence's calls. Number 0 is the calling thread.
inline constexpr unsigned thread_count = 3;

class host_threads {
 public:
  host_threads();
  host_threads(const host_threads&) = delete;
  host_threads& operator=(const host_threads&) = delete;
  ~host_threads();

  // Runs `act` on a thread and returns once it has ended.
  void run(unsigned thread, const std::function<void()>& act);

 private:
  enum class state : int { idle, requested, stopping };
  struct worker {
    std::atomic<state> status{state::idle};
    const std::function<void()>* act = nullptr;
    std::thread thread;
  };
  static void worker_main(worker& self);

  std::array<worker, thread_count - 1> workers_;
};

}  // namespace weir::sequences
