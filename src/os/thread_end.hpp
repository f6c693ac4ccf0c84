// SPDX-License-Identifier: Apache-2.0
// os/thread_end.hpp - a function that runs when a thread ends, after the destructors of its
// thread-local objects.
#pragma once

#include <pthread.h>

namespace weir::os {

// Runs function() on the calling thread when the thread ends, after the destructors of its
// thread-local objects. It runs once, however often this was called before. function() may call
// this again, or a later destructor may: the system repeats the destructors of thread-specific data
// PTHREAD_DESTRUCTOR_ITERATIONS times. It does not run on the thread that ends the process, nor if
// the system has no key left.
template <void (*function)() noexcept>
void at_thread_end() noexcept {
  struct key {
    key() noexcept {
      is_valid = ::pthread_key_create(&value, [](void*) { function(); }) == 0;
    }
    pthread_key_t value{};
    bool is_valid;
  };
  static const key own;
  // The value only has to differ from null.
  if (own.is_valid) static_cast<void>(::pthread_setspecific(own.value, &own));
}

}  // namespace weir::os
