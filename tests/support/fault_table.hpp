// SPDX-License-Identifier: Apache-2.0
// tests/support/fault_table.hpp - a driver table that counts calls and injects failures, for tests.
#pragma once

#include "driver/table.hpp"

namespace weir::detail {

// While an object of this class exists, every driver call of the process passes through it. There
// may be one at a time.
//
//   fault_table faults;
//   faults.fail(&driver_table::cuEventCreate, 2, CUDA_ERROR_OUT_OF_MEMORY);
//   ...  // the second cuEventCreate from here on returns that, without reaching the driver
//   EXPECT_EQ(faults.count(&driver_table::cuEventDestroy_v2), 1);
//
// Thread safety: all members may be called from any thread, while other threads call the driver.
class fault_table {
 public:
  // Wraps the current table; selects a driver if none is selected. Throws std::logic_error if
  // another fault_table exists.
  fault_table();

  // Restores the previous table. Calls in progress on other threads end with the table they started
  // with.
  ~fault_table();

  fault_table(const fault_table&) = delete;
  fault_table& operator=(const fault_table&) = delete;

  // Makes the nth call of a function from now on return `code` without reaching the driver; the
  // next call is number 1. Each function has one fault at a time: a later call replaces it.
  template <class Function>
  void fail(Function driver_table::*function, int nth, CUresult code) noexcept {
    fail_at(index_of(function), nth, code);
  }

  // Like fail(), for the nth call and all later ones.
  template <class Function>
  void fail_from(Function driver_table::*function, int nth, CUresult code) noexcept {
    fail_from_at(index_of(function), nth, code);
  }

  // Returns the number of calls of a function since this table was created, including failed ones.
  template <class Function>
  [[nodiscard]] int count(Function driver_table::*function) const noexcept {
    return count_at(index_of(function));
  }

  // Returns the number of calls of all functions.
  [[nodiscard]] int count_all() const noexcept;

 private:
  // Returns the index of a function in the table.
  template <class Function>
  static std::size_t index_of(Function driver_table::*function) noexcept {
    static constexpr driver_table any{};
    const auto begin = reinterpret_cast<const unsigned char*>(&any);
    const auto member = reinterpret_cast<const unsigned char*>(&(any.*function));
    return static_cast<std::size_t>(member - begin) / sizeof(Function);
  }

  static void fail_at(std::size_t function_index, int nth, CUresult code) noexcept;
  static void fail_from_at(std::size_t function_index, int nth, CUresult code) noexcept;
  static int count_at(std::size_t function_index) noexcept;

  const driver_table* previous_;
};

}  // namespace weir::detail
