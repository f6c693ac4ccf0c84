// SPDX-License-Identifier: Apache-2.0
// kernel/condition_values.hpp - the conditions of graphs, for kernels to set.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace weir::embedded::kernel {

// The value of a condition, by the handle under which kernels know it: theirs to set for as long as
// anybody holds it.
class condition_value {
 public:
  // Throws std::bad_alloc.
  static std::shared_ptr<condition_value> make(std::uint64_t handle);

  explicit condition_value(std::uint64_t handle) noexcept : handle_{handle} {}
  condition_value(const condition_value&) = delete;
  condition_value& operator=(const condition_value&) = delete;
  ~condition_value();

  void set(std::uint32_t to) noexcept { value_.store(to, std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t get() const noexcept {
    return value_.load(std::memory_order_relaxed);
  }

 private:
  const std::uint64_t handle_;
  std::atomic<std::uint32_t> value_{0};
};

// Sets the one with this handle. False where there is none.
//
// Thread safety: any thread.
[[nodiscard]] bool set_condition(std::uint64_t handle, std::uint32_t to) noexcept;

}  // namespace weir::embedded::kernel
