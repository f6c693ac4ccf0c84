// SPDX-License-Identifier: Apache-2.0
// api/core/never_destroyed.hpp - static objects that exist until the process ends.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace weir::detail {

// Holds a T whose destructor never runs, because other statics, other threads and the driver's
// threads may use it while the process exits. Used for function-local statics.
template <class T>
class never_destroyed {
 public:
  template <class... Arguments>
  explicit never_destroyed(Arguments&&... arguments) {
    ::new (memory_) T(std::forward<Arguments>(arguments)...);
  }
  never_destroyed(const never_destroyed&) = delete;
  never_destroyed& operator=(const never_destroyed&) = delete;

  T& operator*() noexcept { return *std::launder(reinterpret_cast<T*>(memory_)); }

 private:
  alignas(T) std::byte memory_[sizeof(T)];
};

}  // namespace weir::detail
