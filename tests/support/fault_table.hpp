// SPDX-License-Identifier: Apache-2.0
// tests/support/fault_table.hpp - counts driver calls and injects failures, by members of
// driver_table.
#pragma once

#include "driver/call_interceptor.hpp"

#include <array>
#include <mutex>

namespace weir::detail {

// While an object of this class exists, every driver call of the process passes through it.
//
//   fault_table faults;
//   faults.fail(&driver_table::cuEventCreate, 2, CUDA_ERROR_OUT_OF_MEMORY);
//   ...  // the second cuEventCreate from here on returns that, without reaching the driver
//   EXPECT_EQ(faults.count(&driver_table::cuEventDestroy_v2), 1);
//
// Like weir::testing::fail_call and call_counts, but its faults can be set and replaced while it
// exists.
//
// Thread safety: all members may be called from any thread, while other threads call the driver.
class fault_table final : call_observer {
 public:
  fault_table() { add_observer(*this); }
  ~fault_table() { remove_observer(*this); }

  // Makes the nth call of a function from now on return `code` without reaching the driver; the
  // next call is number 1. Each function has one fault at a time: a later call replaces it.
  template <class Function>
  void fail(Function driver_table::*function, int nth, CUresult code) noexcept {
    set_fault(index_of(function), nth, nth, code);
  }

  // Like fail(), for the nth call and all later ones.
  template <class Function>
  void fail_from(Function driver_table::*function, int nth, CUresult code) noexcept {
    set_fault(index_of(function), nth, no_end, code);
  }

  // Returns the number of calls of a function since this table was created, including failed ones.
  template <class Function>
  [[nodiscard]] int count(Function driver_table::*function) const noexcept {
    return count_at(index_of(function));
  }

  // Returns the number of calls of all functions.
  [[nodiscard]] int count_all() const noexcept;

 private:
  // Makes the calls numbered first to last fail; calls are counted since the object was created.
  struct injected_fault {
    int first = 0;
    int last = 0;
    CUresult code = CUDA_SUCCESS;
  };
  struct call_record {
    int calls = 0;
    injected_fault failing;
  };
  static constexpr int no_end = -1;

  // Returns the index of a function in the table.
  template <class Function>
  static std::size_t index_of(Function driver_table::*function) noexcept {
    static constexpr driver_table any{};
    const auto begin = reinterpret_cast<const unsigned char*>(&any);
    const auto member = reinterpret_cast<const unsigned char*>(&(any.*function));
    return static_cast<std::size_t>(member - begin) / sizeof(Function);
  }

  CUresult before_call(std::size_t function) noexcept override;
  void set_fault(std::size_t function, int first, int last, CUresult code) noexcept;
  [[nodiscard]] int count_at(std::size_t function) const noexcept;

  mutable std::mutex lock_;
  std::array<call_record, function_count> functions_;  // guarded by lock_
};

}  // namespace weir::detail
