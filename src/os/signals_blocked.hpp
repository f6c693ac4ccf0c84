// os/signals_blocked.hpp - threads of weir's own take none of the program's signals.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace weir::detail {

// A thread that begins meanwhile has all signals blocked.
class signals_blocked {
 public:
  signals_blocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;
  ~signals_blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace weir::detail
