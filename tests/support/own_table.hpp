// support/own_table.hpp - a table over the driver's, with functions of the test's in it.
#pragma once

#include "driver/table.hpp"

#include <atomic>
#include <vector>

namespace weir::test {

// While one lives every call passes through its table, which is the driver's but for what `change` puts there; that finds
// what it replaces in below(). One at a time. A thread may be in it for longer than it lives.
class own_table {
 public:
  explicit own_table(void (*change)(detail::driver_table&)) {
    static auto& never_destroyed = *new std::vector<detail::driver_table*>;
    const detail::driver_table& found = detail::driver();
    auto* const mine = new detail::driver_table{found};
    never_destroyed.push_back(mine);
    change(*mine);
    below_ = &found;
    detail::table_in_use.store(mine);
  }
  own_table(const own_table&) = delete;
  own_table& operator=(const own_table&) = delete;
  ~own_table() { detail::table_in_use.store(below_); }

  [[nodiscard]] static const detail::driver_table& below() noexcept { return *below_; }

 private:
  static inline std::atomic<const detail::driver_table*> below_{nullptr};
};

}  // namespace weir::test
