// api/core/thread_singleton.hpp - an object of each thread that can be used to the very end of the
// process.
#pragma once

#include <utility>

namespace weir::detail {

// The calling thread's T, made at the first use and destroyed when the thread ends. Objects of weir
// that are static, or belong to a thread themselves, may need it even later: then a new one is
// made, which stays behind.
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

  // Plain values: unlike an object with a destructor they can be looked at at any time.
  static inline thread_local constinit T* pointer_ = nullptr;
  static inline thread_local constinit bool ended_ = false;
};

}  // namespace weir::detail
