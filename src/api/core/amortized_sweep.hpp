// SPDX-License-Identifier: Apache-2.0
// api/core/amortized_sweep.hpp - erases unused entries of a growing table from time to time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <unordered_map>

namespace weir::detail {

// Sweeps a table when it has twice the entries that the last sweep left, but at least 64. So the
// time of the sweeps is proportional to the number of insertions.
//
// Thread safety: the caller holds the lock of the table.
class amortized_sweep {
 public:
  // Called before each insertion. Erases the entries that satisfy `is_unused` if a sweep is due.
  template <class Table, class IsUnused>
  void before_insertion(Table& table, const IsUnused& is_unused) {
    if (table.size() < next_size_) return;
    std::erase_if(table, is_unused);
    next_size_ = std::max<std::size_t>(64, 2 * table.size());
  }

 private:
  std::size_t next_size_ = 64;  // of the table
};

}  // namespace weir::detail
