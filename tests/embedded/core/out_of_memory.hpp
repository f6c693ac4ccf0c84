// out_of_memory.hpp - allocations that fail.
#pragma once

namespace weir::embedded {

// While it lives, this thread's allocations fail, but for the first few.
class out_of_memory {
 public:
  explicit out_of_memory(int after = 0) noexcept;
  out_of_memory(const out_of_memory&) = delete;
  out_of_memory& operator=(const out_of_memory&) = delete;
  ~out_of_memory();
};

}  // namespace weir::embedded
