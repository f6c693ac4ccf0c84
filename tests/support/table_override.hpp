// SPDX-License-Identifier: Apache-2.0
// support/table_override.hpp - a table over the driver's that replaces some functions.
#pragma once

#include "driver/table.hpp"

#include <atomic>
#include <vector>

namespace weir::test {

// While an object of this class exists, every call goes through its table: a copy of the driver's,
// changed by `edit`. The replacements call the driver through original(). One at a time. A thread
// may still be in the table after this object ends.
class table_override {
 public:
  explicit table_override(void (*edit)(detail::driver_table&)) {
    static auto& copies = *new std::vector<detail::driver_table*>;
    const detail::driver_table& current = detail::driver();
    auto* const copy = new detail::driver_table{current};
    copies.push_back(copy);
    edit(*copy);
    original_ = &current;
    detail::table_in_use.store(copy);
  }
  table_override(const table_override&) = delete;
  table_override& operator=(const table_override&) = delete;
  ~table_override() { detail::table_in_use.store(original_); }

  [[nodiscard]] static const detail::driver_table& original() noexcept { return *original_; }

 private:
  static inline std::atomic<const detail::driver_table*> original_{nullptr};
};

}  // namespace weir::test
