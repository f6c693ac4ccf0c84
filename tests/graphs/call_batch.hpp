// SPDX-License-Identifier: Apache-2.0
// graphs/call_batch.hpp - makes calls on several threads concurrently, and opens the gate if they
// wait for blocked streams.
#pragma once

#include "graphs/driver_under_test.hpp"
#include "graphs/model.hpp"

#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace weir::graphs {

// Calls in order for each thread; the threads run concurrently.
class call_batch {
 public:
  struct pending_call {
    std::string what;
    expected_result expected;
    std::function<CUresult()> make;
    CUresult result = CUDA_SUCCESS;
    bool waited = false;  // returned only after the gate was opened for it
  };
  using call_list = std::vector<pending_call>;

  void add(unsigned thread, pending_call call) { all_[thread].push_back(std::move(call)); }
  [[nodiscard]] const std::array<call_list, thread_count>& all() const noexcept { return all_; }

  // Makes all calls and returns once they have returned. If streams are blocked and no call returns
  // within the wait limit, it opens the gate: a driver whose queues are full waits for pending
  // work.
  void make(driver_under_test& target);

 private:
  void release_waiting_calls(driver_under_test& target);
  [[nodiscard]] std::size_t returned() const noexcept;

  std::array<call_list, thread_count> all_;
  std::array<std::atomic<std::size_t>, thread_count> returned_{};
};

inline void call_batch::make(driver_under_test& target) {
  std::array<thread_pool::task, thread_count> tasks;
  for (unsigned i = 0; i < thread_count; ++i) {
    tasks[i] = [&calls_of_thread = all_[i], &count = returned_[i]] {
      for (pending_call& call : calls_of_thread) {
        call.result = call.make();
        count.fetch_add(1, std::memory_order_release);
      }
    };
    if (!all_[i].empty()) target.threads().start(i, tasks[i]);
  }
  // Only this thread blocks and opens. Once nothing is blocked, nothing will be until all calls
  // have returned.
  std::size_t before = 0;
  while (target.holds() && !target.threads().wait_for(target.limit().time)) {
    const std::size_t now = returned();
    if (now == before) release_waiting_calls(target);
    before = now;
  }
  target.threads().wait();
}

// Marks the current call of each thread: it is not known which of them waits for the gate, and
// which for another call.
inline void call_batch::release_waiting_calls(driver_under_test& target) {
  for (unsigned i = 0; i < thread_count; ++i) {
    const std::size_t next = returned_[i].load(std::memory_order_acquire);
    if (next < all_[i].size()) all_[i][next].waited = true;
  }
  target.open();
}

inline std::size_t call_batch::returned() const noexcept {
  std::size_t sum = 0;
  for (const auto& count : returned_) sum += count.load(std::memory_order_acquire);
  return sum;
}

}  // namespace weir::graphs
