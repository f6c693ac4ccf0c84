// SPDX-License-Identifier: Apache-2.0
// kernel/blocks/shared_area.hpp - where the dynamic shared memory of blocks lies.
#pragma once

#include <cstddef>

namespace weir::embedded::kernel {

// Memory for one block at a time, at the end of a mapping, so that what a kernel does beyond it is
// found.
//
// Thread safety: one thread at a time.
class shared_area {
 public:
  shared_area() = default;
  shared_area(const shared_area&) = delete;
  shared_area& operator=(const shared_area&) = delete;
  ~shared_area();

  // So many bytes, aligned to 128. What is in them is left from before. Throws std::bad_alloc.
  [[nodiscard]] unsigned char* of(std::size_t bytes);

 private:
  std::byte* mapped_ = nullptr;
  std::size_t bytes_ = 0;  // without the guard
};

}  // namespace weir::embedded::kernel
