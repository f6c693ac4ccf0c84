// SPDX-License-Identifier: Apache-2.0
// driver/call_interceptor.hpp - a driver table that shows every call of the process to observers,
// which may fail it.
#pragma once

#include "driver/table.hpp"

#include <bitset>
#include <cstddef>
#include <string_view>

namespace weir::detail {

// The number of functions in driver_table. The index of a function is its place in functions.def.
inline constexpr std::size_t function_count = sizeof(driver_table) / sizeof(void*);
using function_set = std::bitset<function_count>;

// Returns the functions with this exported symbol or base name; none for an unknown name.
[[nodiscard]] function_set functions_named(std::string_view name) noexcept;
// Returns the base name of a function: "cuMemFree" for cuMemFree_v2.
[[nodiscard]] const char* base_name_of(std::size_t function) noexcept;

// Sees the driver calls that the program makes through weir, on all threads, including those that
// weir makes itself.
class call_observer {
 public:
  call_observer() noexcept = default;
  call_observer(const call_observer&) = delete;
  call_observer& operator=(const call_observer&) = delete;

  // Called before each driver call, on its thread; may block. Returns CUDA_SUCCESS to let the call
  // pass, or the code that the call returns without reaching the driver. Must not call the driver.
  [[nodiscard]] virtual CUresult before_call(std::size_t function) noexcept = 0;

 protected:
  ~call_observer() = default;
};

// Shows calls to the observer from now on. Selects a driver if none is in use. The first observer
// installs the intercepting table over the table in use. Throws weir::error and std::bad_alloc.
//
// Thread safety: may be called from any thread, while other threads call the driver.
void add_observer(call_observer& observer);
// Waits until no thread is in before_call() of the observer, which is then not called any more. The
// last observer removes the intercepting table, unless another table was installed over it.
void remove_observer(call_observer& observer) noexcept;

}  // namespace weir::detail
