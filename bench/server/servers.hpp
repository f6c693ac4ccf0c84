// SPDX-License-Identifier: Apache-2.0
// server/servers.hpp - servers that answer one request for each slot concurrently.
#pragma once

#include "harness/timing.hpp"
#include "server/requests.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace bench {

// The record of one server's run. Each client waits for its answer, then sends the next request, so
// one request for each slot is always in flight.
class server_run {
 public:
  server_run(std::size_t slots, clock::duration length)
      : times_(slots), left_{slots}, end_{begun_ + length} {}

  [[nodiscard]] bool is_running() const { return clock::now() < end_; }
  void record_answer(std::size_t slot, clock::time_point began) {
    times_[slot].push_back(std::chrono::duration<double, std::micro>{clock::now() - began}.count());
  }
  // Called once for each slot; notifies the thread that waits for all of them.
  void finish_slot() {
    if (left_.fetch_sub(1) != 1) return;
    ended_ = clock::now();
    is_finished_.store(true);
    is_finished_.notify_one();
  }
  void wait() const { is_finished_.wait(false); }

  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>{ended_ - begun_}.count();
  }
  [[nodiscard]] const std::vector<std::vector<double>>& times() const { return times_; }

 private:
  std::vector<std::vector<double>> times_;
  std::atomic<std::size_t> left_;
  std::atomic<bool> is_finished_{false};
  clock::time_point begun_ = clock::now();
  clock::time_point end_;
  clock::time_point ended_;
};

enum class server {
  coroutines,           // resumed by the reactor thread, which does all host work
  coroutines_on_4,      // by four threads to which they are passed
  coroutines_in_8,      // by eight threads in sync_wait(), each with its own coroutines
  coroutines_gathered,  // by four threads in sync_wait(), each of which queues its own requests
                        // together
  threads,              // one for each slot, asleep until its event is complete
  spinning_threads,
  host_functions,  // one thread is woken and does all host work
  host_functions_on_4,
  host_functions_gathered,  // four threads that queue together, too
  queued_only,  // eight threads that queue requests without waiting: the upper limit of driver and
                // device
};
[[nodiscard]] std::string text_of(server which);

// Serves until the run ends.
void run(server which, requests& all, server_run& to);

}  // namespace bench
