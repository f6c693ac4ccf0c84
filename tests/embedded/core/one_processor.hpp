// one_processor.hpp - threads that have to share a processor.
#pragma once

#include <sched.h>

#include <atomic>
#include <thread>
#include <vector>

namespace weir::embedded::test {

// The calling thread runs from now on where all do that have called this: on the first processor that the test may use.
inline void share_a_processor() {
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

// Threads that compute there for as long as this lives.
class busy_processor {
 public:
  explicit busy_processor(int threads) {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this] {
        share_a_processor();
        while (!ends_) {
        }
      });
    }
  }
  ~busy_processor() { ends_ = true; }

  busy_processor(const busy_processor&) = delete;
  busy_processor& operator=(const busy_processor&) = delete;

 private:
  std::atomic<bool> ends_{false};
  std::vector<std::jthread> threads_;
};

}  // namespace weir::embedded::test
