// SPDX-License-Identifier: Apache-2.0
// tests/support/fault_table.cpp - counts driver calls and injects failures.
#include "support/fault_table.hpp"

#include <limits>

namespace weir::detail {

int fault_table::count_all() const noexcept {
  int all = 0;
  for (std::size_t i = 0; i < function_count; ++i) all += count_at(i);
  return all;
}

CUresult fault_table::before_call(std::size_t function) noexcept {
  const std::lock_guard guard{lock_};
  call_record& record = functions_[function];
  ++record.calls;
  const injected_fault& fault = record.failing;
  return fault.first <= record.calls && record.calls <= fault.last ? fault.code : CUDA_SUCCESS;
}

void fault_table::set_fault(std::size_t function, int first, int last, CUresult code) noexcept {
  const std::lock_guard guard{lock_};
  call_record& record = functions_[function];
  record.failing = {record.calls + first,
                    last == no_end ? std::numeric_limits<int>::max() : record.calls + last, code};
}

int fault_table::count_at(std::size_t function) const noexcept {
  const std::lock_guard guard{lock_};
  return functions_[function].calls;
}

}  // namespace weir::detail
