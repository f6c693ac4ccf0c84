// SPDX-License-Identifier: Apache-2.0
// out_of_memory.hpp - makes allocations fail.
#pragma once

namespace weir::embedded {

// While an object of this class exists, allocations of this thread fail after the first few.
class out_of_memory {
 public:
  explicit out_of_memory(int after = 0) noexcept;
  out_of_memory(const out_of_memory&) = delete;
  out_of_memory& operator=(const out_of_memory&) = delete;
  ~out_of_memory();
};

}  // namespace weir::embedded
