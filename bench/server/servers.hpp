// server/servers.hpp - servers that answer as many requests at a time as there are places for them.
#pragma once

#include "harness/timing.hpp"
#include "server/requests.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace bench {

// What one server did. Those who asked wait for their answer, and then ask again: so as many
// requests are under way as there are places, all the time.
class server_run {
 public:
  server_run(std::size_t slots, clock::duration length)
      : times_(slots), left_{slots}, end_{begun_ + length} {}

  [[nodiscard]] bool is_running() const { return clock::now() < end_; }
  void record_answer(std::size_t slot, clock::time_point began) {
    times_[slot].push_back(std::chrono::duration<double, std::micro>{clock::now() - began}.count());
  }
  // Called once a place; what waits for all of them is told.
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
  coroutines,           // resumed by the reactor's thread, which does all the work of the host
  coroutines_on_4,      // by four threads that are given them
  coroutines_in_8,      // by eight threads in sync_wait(), each with coroutines of its own
  coroutines_gathered,  // by four threads in sync_wait(), each of which queues what its own ask for
                        // together
  threads,              // one for each place, asleep until its event is reached
  spinning_threads,
  host_functions,  // one thread is woken and does all the work of the host
  host_functions_on_4,
  host_functions_gathered,  // four threads that queue together, too
  queued_only,  // eight threads that queue requests and wait for none: what the driver and the
                // device can be given at all
};
[[nodiscard]] std::string text_of(server which);

// Serves until the record ends.
void run(server which, requests& all, server_run& to);

}  // namespace bench
