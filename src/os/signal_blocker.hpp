// SPDX-License-Identifier: Apache-2.0
// os/signal_blocker.hpp - keeps the program's signals away from weir's own threads.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace weir::os {

// Blocks all signals for the calling thread, and so for threads that it starts while the object
// exists.
class signal_blocker {
 public:
  signal_blocker() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &previous_mask_);
  }
  signal_blocker(const signal_blocker&) = delete;
  signal_blocker& operator=(const signal_blocker&) = delete;
  ~signal_blocker() { pthread_sigmask(SIG_SETMASK, &previous_mask_, nullptr); }

 private:
  sigset_t previous_mask_{};
};

}  // namespace weir::os
