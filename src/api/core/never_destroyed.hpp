// api/core/never_destroyed.hpp - static objects that are there until the process is gone.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace weir::detail {

// A T in place whose destructor never runs: other statics, other threads and the driver's may use
// it while the process ends. For function-local statics.
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
