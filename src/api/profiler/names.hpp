// api/profiler/names.hpp - the names that the program has given, by handle.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace weir::detail {

enum class object_kind : unsigned char { stream, event, pool, context, device };

// How many names there are. None, as mostly, makes looking one up a load.
inline constinit std::atomic<int> name_count{0};

// The name of what has that handle, or, of a device, that number; empty if it has none.
[[nodiscard]] std::string find_name(object_kind what, std::uintptr_t handle);

// Called where weir destroys a thing: another one may get its handle.
void erase_name(object_kind what, std::uintptr_t handle) noexcept;
inline void forget_name(object_kind what, const void* handle) noexcept {
  if (name_count.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    erase_name(what, reinterpret_cast<std::uintptr_t>(handle));
  }
}

// '"copies" ' for texts, or nothing.
[[nodiscard]] std::string quoted_name(object_kind what, const void* handle);

}  // namespace weir::detail
