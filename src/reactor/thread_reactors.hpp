// reactor/thread_reactors.hpp - the reactors that the calling thread stands in for.
#pragma once

#include <cstdint>

namespace weir::detail {

class reactor;

// A thread that has begun a drive, or polls one, is taken at its word: where it blocks it goes on
// driving, as nobody else may. So it is until there is no drive of that device any more, wherever
// and by whomever the last one is ended; if they are begun anew while other devices are driven, it
// may count again.
//
// One for each thread, which a library that is loaded at run time has little room for: hence the
// bits.
class thread_reactors {
 public:
  // Of the first 64 devices, more than a machine has.
  void add(int device) noexcept;
  // Forgets those that nobody drives.
  [[nodiscard]] bool any() noexcept;
  // callback(reactor&) for each. It may come back here.
  void for_each(void (*callback)(reactor& each, void* argument), void* argument) noexcept;

 private:
  std::uint64_t devices_ = 0;
  std::uint32_t period_ = 0;
};

// The calling thread's.
[[nodiscard]] thread_reactors& this_thread_reactors() noexcept;

}  // namespace weir::detail
