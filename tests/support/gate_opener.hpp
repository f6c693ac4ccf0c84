// SPDX-License-Identifier: Apache-2.0
// support/gate_opener.hpp - opens a gate once a thread waits for it.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "support/fault_table.hpp"
#include "support/gate.hpp"

namespace weir::test {

// Opens the gate as soon as any thread has called the given blocking function of the driver. So the
// wait starts before the work can end, and a caller that does not wait is detected. It also opens
// the gate in its destructor, and after a minute.
class gate_opener {
 public:
  template <class Function>
  gate_opener(gate& held, Function detail::driver_table::*waiting)
      : thread_{[this, &held, waiting] {
          const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes{1};
          while (calls_.count(waiting) == 0 && !stopping_ &&
                 std::chrono::steady_clock::now() < deadline) {
            std::this_thread::yield();
          }
          held.open();
        }} {}
  gate_opener(const gate_opener&) = delete;
  gate_opener& operator=(const gate_opener&) = delete;
  ~gate_opener() {
    stopping_ = true;
    thread_.join();
  }

 private:
  detail::fault_table calls_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;  // last: it uses the others
};

}  // namespace weir::test
