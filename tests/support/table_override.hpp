// support/table_override.hpp - a table over the driver's, with functions of the test's in it.
#pragma once

#include "driver/table.hpp"

#include <atomic>
#include <vector>

namespace weir::test {

// While one lives every call passes through its table, which is the driver's but for what `edit`
// puts there; that finds what it replaces in original(). One at a time. A thread may be in it for
// longer than it lives.
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
