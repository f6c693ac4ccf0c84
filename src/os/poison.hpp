// SPDX-License-Identifier: Apache-2.0
// os/poison.hpp - tells the address sanitizer which memory the program may touch.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define WEIR_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEIR_ADDRESS_SANITIZER 1
#endif
#endif

#if defined(WEIR_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#endif

namespace weir::os {

// True in an address sanitizer build. The embedded driver then allocates blocks of the exact size
// with gaps between them, so that every overrun is detected.
#if defined(WEIR_ADDRESS_SANITIZER)
inline constexpr bool asan_build = true;
#else
inline constexpr bool asan_build = false;
#endif

// Makes the address sanitizer report every access to these bytes. Does nothing without the
// sanitizer.
inline void poison([[maybe_unused]] const void* address,
                   [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(WEIR_ADDRESS_SANITIZER)
  __asan_poison_memory_region(address, bytes);
#endif
}
// Allows access to these bytes again. Does nothing without the sanitizer.
inline void unpoison([[maybe_unused]] const void* address,
                     [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(WEIR_ADDRESS_SANITIZER)
  __asan_unpoison_memory_region(address, bytes);
#endif
}
// Returns true if an access to this byte would be reported; false without the sanitizer.
[[nodiscard]] inline bool is_poisoned([[maybe_unused]] const void* address) noexcept {
#if defined(WEIR_ADDRESS_SANITIZER)
  return __asan_address_is_poisoned(address) != 0;
#else
  return false;
#endif
}

}  // namespace weir::os
