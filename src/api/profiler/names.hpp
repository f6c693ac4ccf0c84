// SPDX-License-Identifier: Apache-2.0
// api/profiler/names.hpp - the names that the program has given to objects, stored by handle.
#pragma once

#include "api/core/check.hpp"

#include <atomic>
#include <string>

namespace weir::detail {

// Number of stored names. While it is 0, as is usual, a lookup costs one load.
inline constinit std::atomic<int> name_count{0};

// Returns the name of a stream, event, pool, context or device. Empty if it has none.
[[nodiscard]] std::string find_name(subject object);

// Called when weir destroys an object, because the driver may give the handle to another object.
void erase_name(subject object) noexcept;
inline void forget_name(subject object) noexcept {
  if (name_count.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    erase_name(object);
  }
}

// Returns the name in quotes, followed by a space, for use in messages. Empty if the object has no
// name.
[[nodiscard]] std::string quoted_name(subject object);

}  // namespace weir::detail
