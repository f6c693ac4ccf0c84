// SPDX-License-Identifier: Apache-2.0
// api/core/thread_singleton.hpp - one object per thread, usable until the process has exited.
// process.
#pragma once

#include <utility>

namespace weir::detail {

// The calling thread's T, created at first use and destroyed when the thread ends. If a destructor
// of a static or of another thread-local object uses it after that, a new object is created and
// leaked.
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
      delete std::exchange(pointer_, nullptr);
    }
  };

  static void make() {
    pointer_ = new T;
    if (!ended_) {
      static thread_local const thread_exit_hook destroy_at_thread_exit;
      static_cast<void>(&destroy_at_thread_exit);
    }
  }

  // Plain values, which can be read at any time, unlike an object with a destructor.
  static inline thread_local constinit T* pointer_ = nullptr;
  static inline thread_local constinit bool ended_ = false;
};

}  // namespace weir::detail
