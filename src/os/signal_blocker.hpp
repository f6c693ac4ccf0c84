// SPDX-License-Identifier: Apache-2.0
// os/signal_blocker.hpp - keeps the program's signals away from weir's own threads.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <initializer_list>

namespace weir::os {

// Blocks all signals but the accepted ones for the calling thread, and so for threads that it
// starts while the object exists.
class signal_blocker {
 public:
  signal_blocker(std::initializer_list<int> accepted = {}) noexcept {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int signal : accepted) sigdelset(&blocked, signal);
    pthread_sigmask(SIG_SETMASK, &blocked, &previous_mask_);
  }
  signal_blocker(const signal_blocker&) = delete;
  signal_blocker& operator=(const signal_blocker&) = delete;
  ~signal_blocker() { pthread_sigmask(SIG_SETMASK, &previous_mask_, nullptr); }

 private:
  sigset_t previous_mask_{};
};

}  // namespace weir::os
