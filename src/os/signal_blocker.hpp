// os/signal_blocker.hpp - threads of weir's own take none of the program's signals.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace weir::detail {

// A thread that begins meanwhile has all signals blocked.
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

}  // namespace weir::detail
