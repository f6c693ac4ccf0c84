// SPDX-License-Identifier: Apache-2.0
// shared_processor.hpp - makes threads share one processor.
#pragma once

#include <sched.h>

#include <atomic>
#include <thread>
#include <vector>

namespace weir::embedded::test {

// Pins the calling thread to the first processor in the test's affinity mask, with all other
// callers.
inline void pin_to_first_processor() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  int processor = 0;
  while (processor < CPU_SETSIZE - 1 && CPU_ISSET(processor, &allowed) == 0) ++processor;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  sched_setaffinity(0, sizeof one, &one);
}

// Threads that compute on that processor during the lifetime of this object.
class processor_load {
 public:
  explicit processor_load(int threads) {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this] {
        pin_to_first_processor();
        while (!ends_) {
        }
      });
    }
  }
  ~processor_load() { ends_ = true; }

  processor_load(const processor_load&) = delete;
  processor_load& operator=(const processor_load&) = delete;

 private:
  std::atomic<bool> ends_{false};
  std::vector<std::jthread> threads_;
};

}  // namespace weir::embedded::test
