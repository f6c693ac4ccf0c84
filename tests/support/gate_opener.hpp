// support/gate_opener.hpp - opens a gate once somebody waits for it.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "support/fault_table.hpp"
#include "support/gate.hpp"

namespace weir::test {

// Opens the gate as soon as any thread has called that function of the driver, which waits: so the
// wait is asked for before the work can end, and a caller who does not wait is found out. At its
// own end, or after a minute if somebody waits in another way, it opens the gate in any case.
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
