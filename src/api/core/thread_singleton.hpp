// SPDX-License-Identifier: Apache-2.0
// api/core/thread_singleton.hpp - one object per thread, usable until the process has exited.
#pragma once

#include "os/thread_end.hpp"

#include <utility>

namespace weir::detail {

// The T of the calling thread, created at first use and destroyed when the thread ends. A
// destructor of a static or of another thread-local object may call get() after that. Then a new T
// is created. The thread destroys it after all of its thread-local objects. Only the thread that
// ends the process keeps it.
template <class T>
class thread_singleton {
 public:
  [[nodiscard]] static T& get() {
    if (pointer_ == nullptr) make();
    return *pointer_;
  }

 private:
  struct thread_exit_hook {
    ~thread_exit_hook() {
      ended_ = true;
      destroy();
    }
  };

  static void destroy() noexcept { delete std::exchange(pointer_, nullptr); }

  static void make() {
    pointer_ = new T;
    if (ended_) {
      os::at_thread_end<&destroy>();
      return;
    }
    static thread_local const thread_exit_hook destroy_at_thread_exit;
    static_cast<void>(&destroy_at_thread_exit);
  }

  // These have no destructors, so they can be read after the thread-local objects of the thread
  // were destroyed.
  static inline thread_local constinit T* pointer_ = nullptr;
  static inline thread_local constinit bool ended_ = false;  // set by the thread_exit_hook
};

}  // namespace weir::detail
