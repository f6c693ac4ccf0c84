// support/opener.hpp - opens a gate once somebody waits for it.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "support/fault_table.hpp"
#include "support/gate.hpp"

namespace weir::test {

// Opens the gate as soon as any thread has called that function of the driver, which waits: so the wait is asked for
// before the work can end, and a caller who does not wait is found out. At its own end, or after a minute if somebody
// waits in another way, it opens the gate in any case.
class opener {
 public:
  template <class Function>
  opener(gate& held, Function detail::driver_table::*waiting)
      : thread_{[this, &held, waiting] {
          const auto enough = std::chrono::steady_clock::now() + std::chrono::minutes{1};
          while (calls_.count(waiting) == 0 && !ends_ && std::chrono::steady_clock::now() < enough) {
            std::this_thread::yield();
          }
          held.open();
        }} {}
  opener(const opener&) = delete;
  opener& operator=(const opener&) = delete;
  ~opener() {
    ends_ = true;
    thread_.join();
  }

 private:
  detail::failing_table calls_;
  std::atomic<bool> ends_{false};
  std::thread thread_;  // last: it uses the others
};

}  // namespace weir::test
