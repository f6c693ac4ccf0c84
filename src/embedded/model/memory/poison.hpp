// model/poison.hpp - telling the address sanitizer what of the driver's memory the program may
// touch.
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

namespace weir::embedded::model {

// Is there a sanitizer? Then blocks lie apart from each other, in their exact sizes, so that it
// sees every overrun.
#if defined(WEIR_ADDRESS_SANITIZER)
inline constexpr bool asan_build = true;
#else
inline constexpr bool asan_build = false;
#endif

// Nothing happens where there is none.
inline void poison([[maybe_unused]] const void* at, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(WEIR_ADDRESS_SANITIZER)
  __asan_poison_memory_region(at, bytes);
#endif
}
inline void unpoison([[maybe_unused]] const void* at, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(WEIR_ADDRESS_SANITIZER)
  __asan_unpoison_memory_region(at, bytes);
#endif
}
[[nodiscard]] inline bool is_poisoned([[maybe_unused]] const void* at) noexcept {
#if defined(WEIR_ADDRESS_SANITIZER)
  return __asan_address_is_poisoned(at) != 0;
#else
  return false;
#endif
}

}  // namespace weir::embedded::model
