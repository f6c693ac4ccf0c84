// SPDX-License-Identifier: Apache-2.0
// api/profiler/names.hpp - the names that the program has given to objects, stored by handle.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace weir::detail {

enum class object_kind : unsigned char { stream, event, pool, context, device };

// Number of stored names. While it is 0, as is usual, a lookup costs one load.
inline constinit std::atomic<int> name_count{0};

// Returns the name of the object with this handle, or of the device with this ordinal. Empty if it
// has none.
[[nodiscard]] std::string find_name(object_kind kind, std::uintptr_t handle);

// Called when weir destroys an object, because the driver may give the handle to another object.
void erase_name(object_kind kind, std::uintptr_t handle) noexcept;
inline void forget_name(object_kind kind, const void* handle) noexcept {
  if (name_count.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    erase_name(kind, reinterpret_cast<std::uintptr_t>(handle));
  }
}

// Returns the name in quotes, followed by a space, for use in messages. Empty if the object has no
// name.
[[nodiscard]] std::string quoted_name(object_kind kind, const void* handle);

}  // namespace weir::detail
