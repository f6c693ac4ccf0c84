// SPDX-License-Identifier: Apache-2.0
// embedded/kernel/fibers/access_guard.hpp - accesses of the driver to memory that may be gone.
#pragma once

#include <setjmp.h>

#include <atomic>

namespace weir::embedded::kernel {

// Runs a function that reads and writes memory of the program on this thread. If the processor
// refuses an access, the signal handler of fault.hpp jumps back to run(). The jump skips the rest
// of the function, which must therefore own nothing and hold no lock. Guards are not nested.
class access_guard {
 public:
  access_guard() noexcept = default;
  access_guard(const access_guard&) = delete;
  access_guard& operator=(const access_guard&) = delete;

  // Returns true if the function returned, and false if the processor refused an access.
  template <class Access>
  [[nodiscard]] bool run(const Access& access) noexcept {
#if defined(__x86_64__)
    const bool refused = __builtin_setjmp(landing_) != 0;  // a third of the time of sigsetjmp()
#else
    const bool refused = sigsetjmp(landing_, 0) != 0;
#endif
    if (refused) {
      active_ = nullptr;
      return false;
    }
    active_ = this;
    // The handler runs on this thread, so the compiler alone could move accesses past the guard.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    call(access);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    active_ = nullptr;
    return true;
  }

  // Returns the address of the refused access. For a signal that does not tell it, returns null.
  [[nodiscard]] const void* refused_address() const noexcept { return refused_address_; }

  // Returns the guard whose function runs on this thread, or null. For the signal handler.
  [[nodiscard]] static access_guard* active() noexcept { return active_; }
  // Leaves the function, from the signal handler.
  [[noreturn]] void leave(const void* address) noexcept;

 private:
  // Not inlined: the compiler takes the jump into account at calls only.
  template <class Access>
  [[gnu::noinline]] static void call(const Access& access) noexcept {
    access();
  }

  static constinit thread_local access_guard* active_ [[gnu::tls_model("initial-exec")]];

  const void* refused_address_ = nullptr;
#if defined(__x86_64__)
  void* landing_[5];  // as __builtin_setjmp() requires
#else
  sigjmp_buf landing_;
#endif
};

}  // namespace weir::embedded::kernel
